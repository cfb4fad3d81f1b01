package chat

import (
	"net/http"
	"strings"
	"testing"
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

// What a page can call first is in the first part of the program: it works while the second
// part can't be had.
func TestFirstCallsNeedNoSecondPart(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"firstSettings", "firstStream", "firstStreamLeft", "firstAbort", "firstConverse"} {
		t.Run(first, func(t *testing.T) {
			t.Parallel()
			h, p := openPage(t)
			h.Refuse("/js/dist/chat.rest-", http.StatusServiceUnavailable)
			p.Allow("Failed to load resource") // after the first turn
			p.Call(nil, "turn.js", first)
		})
	}
}
