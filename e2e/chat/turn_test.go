package chat

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice"
)

// One question is asked in every way there is, and the answers are the same.
func TestOneTurnInEveryWay(t *testing.T) {
	t.Parallel()
	h, p := openPage(t)
	var got struct {
		Events, Awaited, Streamed, Bare, Once, SSE string
		Order                                      []string
		Segments                                   map[string]int
		Final                                      bool
	}
	p.Call(&got, "turn.js", "oneTurnInEveryWay")
	if !strings.Contains(got.Events, "thread") {
		t.Errorf("the answer is %q", got.Events)
	}
	for way, text := range map[string]string{
		"awaited": got.Awaited, "streamed": got.Streamed, "without a session": got.Bare, "once": got.Once, "as server-sent events": got.SSE,
	} {
		if text != got.Events {
			t.Errorf("%s: %q\nwant %q", way, text, got.Events)
		}
	}
	want := "stateChange connected; transcript user; turnStart; responsePending; responseSettled; transcript final; widget; turnEnd"
	if order := strings.Join(got.Order, "; "); order != want {
		t.Errorf("events %s\nwant   %s", order, want)
	}
	if got.Segments["awaited"] != got.Segments["heard"] || got.Segments["streamed"] != got.Segments["awaited"] || !got.Final {
		t.Errorf("segments %v, the last one final: %v", got.Segments, got.Final)
	}
	if small, large := h.Count("GET", "/js/dist/chat.wasm"), h.Count("GET", "/js/dist/agentruntime.wasm"); small != 1 || large != 0 {
		t.Errorf("chat.wasm was fetched %d times, agentruntime.wasm %d times", small, large)
	}
}

// stopLimit is how soon the service must have stopped a turn after the abort.
const stopLimit = 200 * time.Millisecond

func TestAnAbortedTurnStopsAndTheNextWorks(t *testing.T) {
	log := newStops()
	h, p := openPageOf(t, localservice.Options{Script: []byte(turns), Logger: slog.New(log)})
	var got struct {
		Codes         []string
		Errors        []string
		Next          string
		Before, After map[string]int
	}
	p.Call(&got, "turn.js", "abortedTurnStopsAndTheNextWorks")
	if !slices.Equal(got.Codes, []string{"aborted", "aborted"}) || !slices.Equal(got.Errors, []string{"aborted", "aborted", "aborted"}) {
		t.Errorf("codes %q, errors of the session %q", got.Codes, got.Errors)
	}
	if !strings.Contains(got.Next, "Ivy") {
		t.Errorf("the next turn: %q", got.Next)
	}
	for name, n := range got.Before {
		if got.After[name] > n {
			t.Errorf("%d %s, %d before", got.After[name], name, n)
		}
	}
	for n := range 4 {
		line := log.await(h.Context(), t, n)
		if line["reason"].String() != "client gone" || line["stopped_after"].Duration() > stopLimit {
			t.Errorf("turn %d was stopped: %v", n, line)
		}
	}
}

func TestErrorSegmentsFailOrWarnOrAreReturned(t *testing.T) {
	t.Parallel()
	_, p := openPage(t)
	type outcome struct{ Code, Partial, Text, Warning string }
	var got struct {
		Thrown, Denied, Warned, Once, Returned outcome
		State                                  string
	}
	p.Call(&got, "turn.js", "errorSegmentsFailOrWarnOrAreReturned")
	const said, reason = "So far so good.", "the model is down"
	for what, c := range map[string]struct{ got, want outcome }{
		"thrown": {got.Thrown, outcome{Code: "stream_error", Partial: said}},
		"denied": {got.Denied, outcome{Code: "thread_access_denied"}},
		"warned": {got.Warned, outcome{Text: said, Partial: reason, Warning: "stream_error"}},
		"once":   {got.Once, outcome{Code: "stream_error", Partial: said}},
		"return": {got.Returned, outcome{Text: said, Partial: reason}},
	} {
		if c.got != c.want {
			t.Errorf("%s: %+v, want %+v", what, c.got, c.want)
		}
	}
	if got.State != "connected" {
		t.Errorf("a failed turn leaves the session %s", got.State)
	}
}
