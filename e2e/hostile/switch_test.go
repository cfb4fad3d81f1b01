package hostile

import (
	"slices"
	"testing"
)

// codes are the possible outcomes of a call while the conversation's mode is switched.
var codes = []string{"undefined", "true", "false", "text", "aborted", "invalid_state"}

// Whatever listeners call, and however fast a page calls it, every call settles, and
// the conversation goes on.
func TestHammeredSwitchesLeaveAWorkingConversation(t *testing.T) {
	t.Parallel()
	h, p := openPage(t)
	p.Allow("WebSocket is closed before the connection is established")
	p.Allow("Failed to load resource") // an offer whose session ended before the answer
	var got struct {
		Outcomes       map[string]int
		Text, Spoken   string
		Listeners      map[string]int
		Modes, GivenUp int
		Left, Ends     []string
		State          string
	}
	p.Call(&got, "switch.js", "hammeredSwitchesLeaveAWorkingConversation")
	t.Logf("%d switches, %d given up; calls %v; listeners %v", got.Modes, got.GivenUp, got.Outcomes, got.Listeners)
	for code, n := range got.Outcomes {
		if !slices.Contains(codes, code) {
			t.Errorf("%d calls came to %q", n, code)
		}
	}
	if got.GivenUp < 5 || got.Modes < 5 {
		t.Errorf("%d switches, %d given up", got.Modes, got.GivenUp)
	}
	if got.State != "connected" || got.Text != "Your name is Sam." || got.Spoken != "Your name is Sam." || len(got.Ends) != 0 {
		t.Errorf("afterwards %+v", got)
	}
	for _, left := range got.Left {
		t.Error("left: ", left)
	}
	h.AwaitNoSessions(h.Context())
	if ends := h.completions(); len(ends) != 1 {
		t.Errorf("the reported ends are %q", ends)
	}
}

// A listener may end the session at any moment of a switch: each call settles, and the
// listeners and the service receive one end each.
func TestDisconnectInEveryListenerOfASwitch(t *testing.T) {
	t.Parallel()
	h, p := openPage(t)
	p.Allow("WebSocket is closed before the connection is established")
	p.Allow("Failed to load resource") // an offer whose session ended before the answer
	var got struct {
		Sessions []struct {
			When, State, Asked, Switched, Again string
			Ends, Completions                   []string
		}
		Left []string
	}
	p.Call(&got, "switch.js", "disconnectInEveryListenerOfASwitch")
	for _, s := range got.Sessions {
		if s.State != "closed" || !slices.Equal(s.Ends, []string{"first"}) {
			t.Errorf("%s: state %s, ends %q", s.When, s.State, s.Ends)
		}
		if !slices.Equal(s.Completions, []string{"first"}) {
			t.Errorf("%s: the service received: %q", s.When, s.Completions)
		}
		if s.Again != "invalid_state" && s.Again != "aborted" {
			t.Errorf("%s: a later switch came to %s", s.When, s.Again)
		}
		for _, o := range []string{s.Asked, s.Switched} {
			if !slices.Contains(codes, o) && o != "Your name is Sam." {
				t.Errorf("%s: %+v", s.When, s)
			}
		}
	}
	for _, left := range got.Left {
		t.Error("left: ", left)
	}
	h.AwaitNoSessions(h.Context())
	if ends := h.completions(); len(ends) != len(got.Sessions) {
		t.Errorf("received %d ends, want %d: %q", len(ends), len(got.Sessions), ends)
	}
}
