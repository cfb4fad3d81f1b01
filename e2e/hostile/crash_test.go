package hostile

import (
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
)

// The end of a program in the middle of turns is the end of every call, stream and
// session, and of the visitor's microphone; the next session has a new program. What ends it is a full stack.
func TestTheEndOfTheProgramIsTheEndOfEverythingInIt(t *testing.T) {
	t.Parallel()
	h, p := openPage(t)
	p.Allow("WebSocket is closed before the connection is established")
	p.Allow("Maximum call stack")
	var got struct {
		Open               map[string]string
		Exits              []int
		States             []string
		Errors, Ends       [][]string
		Before, Held, Gone map[string]int
		Late, Next         string
	}
	p.Call(&got, "crash.js", "theEndOfTheProgramIsTheEndOfEverythingInIt")
	for name, o := range got.Open {
		want := "internal_error"
		if name == "an event" {
			want = "ended"
		}
		expect.Equal(t, o, want, "%s came to", name)
	}
	if !slices.Equal(got.States, []string{"failed", "failed", "closed", "closed"}) || got.Late != "internal_error" {
		t.Errorf("states %q, a late turn came to %s", got.States, got.Late)
	}
	for i := range got.States {
		if !slices.Equal(got.Ends[i], []string{"internal_error"}) || !slices.Equal(got.Errors[i], []string{"internal_error"}) {
			t.Errorf("session %d emitted the ends %q and the errors %q", i, got.Ends[i], got.Errors[i])
		}
	}
	for _, what := range []string{"peers", "sockets", "microphones", "contexts"} {
		if got.Before[what] == 0 && what != "contexts" || got.Held[what] != 0 {
			t.Errorf("%d %s before, %d afterwards", got.Before[what], what, got.Held[what])
		}
	}
	expect.List(t, got.Exits, []int{2}, "onExit was called with")
	expect.Equal(t, got.Next, "Nice to meet you, Sam. I'll remember your name.", "the next program says")
	h.AwaitNoSessions(h.Context())
}

// TestAMicrophoneGrantedAfterTheRuntimeIsClosed: the visitor answers the browser's question only after the
// page has ended the whole runtime.
func TestAMicrophoneGrantedAfterTheRuntimeIsClosed(t *testing.T) {
	t.Parallel()
	_, p := openPage(t)
	var got struct{ Outcome, State string }
	p.Call(&got, "crash.js", "microphoneGrantedAfterTheRuntimeIsClosed")
	if got.Outcome != "invalid_state" || got.State != "ended" {
		t.Errorf("startMic came to %s; the track is %s", got.Outcome, got.State)
	}
}
