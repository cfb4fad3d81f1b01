package hostile

import (
	"slices"
	"testing"
)

// crashes are ways in which a page ends the program that it runs (testdata/crash.js), with what the console says then,
// beside what every page may say.
var crashes = map[string][]string{
	"a full stack":   {"Maximum call stack"},
	"no more memory": {"out of memory", "fatal error"},
}

// The end of a program in the middle of turns is the end of every call, stream and
// session, and of the visitor's microphone; the next session has a new program.
func TestTheEndOfTheProgramIsTheEndOfEverythingInIt(t *testing.T) {
	t.Parallel()
	for name, says := range crashes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, p := openPage(t)
			p.Allow("WebSocket is closed before the connection is established")
			for _, text := range says {
				p.Allow(text)
			}
			var got struct {
				Open               map[string]string
				Exits              []int
				States             []string
				Errors, Ends       [][]string
				Before, Held, Gone map[string]int
				Late, Next         string
			}
			p.Call(&got, "crash.js", "theEndOfTheProgramIsTheEndOfEverythingInIt", name)
			for name, o := range got.Open {
				want := "internal_error"
				if name == "an event" {
					want = "ended"
				}
				if o != want {
					t.Errorf("%s came to %s", name, o)
				}
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
			if !slices.Equal(got.Exits, []int{2}) {
				t.Errorf("onExit was called with %v", got.Exits)
			}
			if got.Next != "Nice to meet you, Sam. I'll remember your name." {
				t.Errorf("the next program says %q", got.Next)
			}
			h.AwaitNoSessions(h.Context())
		})
	}
}

// An invalid result of a page's own fetch ends a turn with an error.
func TestAFetchThatGivesAnythingEndsTheTurn(t *testing.T) {
	t.Parallel()
	_, p := openPage(t)
	p.Allow("panic: ")
	var got map[string][]string
	p.Call(&got, "crash.js", "fetchThatGivesAnythingEndsTheTurn")
	for name, outcomes := range got {
		for _, o := range outcomes[:2] {
			if o != "network_error" && o != "server_error" && o != "stream_error" && o != "internal_error" && !(name == "a body that is locked") {
				t.Errorf("%s: %q", name, outcomes)
			}
		}
	}
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
