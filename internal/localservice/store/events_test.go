package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
)

// TestEventsAreStoredWithWhatTheyTell: the end of a conversation, once, and new values of
// its analysis; what changes nothing is no event (service.md, Threads and Events).
func TestEventsAreStoredWithWhatTheyTell(t *testing.T) {
	s := open(t)
	scope := Scope{PartnerID: onlyPartner(t, s).ID, UserID: "ann"}
	thread, idle := newThread(t, s, scope), newThread(t, s, scope)
	events := func() (list []string) {
		t.Helper()
		all := must.Get(s.Events(t.Context(), 10))(t)
		for _, e := range all {
			if e.ThreadID == idle.ID {
				e.Type = "idle " + e.Type
			}
			list = append(list, fmt.Sprint(e.Type, e.Keys, e.Depth))
			must.Do(t, s.DropEvent(t.Context(), e.Seq))
		}
		return list
	}
	set := func(change func(*Thread)) {
		t.Helper()
		must.Get(s.UpdateThread(t.Context(), scope, thread.ID, func(t *Thread) error { change(t); return nil }))(t)
	}
	want := func(what string, want ...string) {
		t.Helper()
		if got := events(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: events %q, want %q", what, got, want)
		}
	}
	want("at first")
	set(func(t *Thread) {
		t.Analysis = map[string]any{"mood": "good", "n": 1.0, "stars": map[string]any{"n": 1.0}}
	})
	want("three new values", "analysis_updated[mood n stars] 0")
	set(func(t *Thread) { t.Analysis["mood"], t.Analysis["stars"] = "good", map[string]any{"n": 1.0} })
	set(func(t *Thread) { t.Title = "x" })
	want("no new value")
	set(func(t *Thread) { t.Analysis["n"], t.Depth = 2.0, 2 })
	want("a consequence of another event", "analysis_updated[n] 2")
	set(func(t *Thread) { t.Analysis["note"], t.Analysis["stars"] = nil, map[string]any{"n": 2.0} })
	want("null, and a new value in an object", "analysis_updated[note stars] 0")
	set(func(t *Thread) { t.Analysis = map[string]any{} })
	want("a cleared analysis")
	for n := range 2 {
		expect.Equal(t, must.Get(s.CompleteThread(t.Context(), scope, thread.ID))(t), (n == 0), "completion %d is the first", n)
		must.Get(s.CompleteIdle(t.Context(), time.Now().Add(time.Minute), nil))(t)
	}
	want("two ends", "session_ended[] 0", "idle session_ended[] 0")
	set(func(t *Thread) { t.Analysis = map[string]any{"a": 1.0} })
	select {
	case <-s.NewEvents():
	default:
		t.Error("new events were not announced")
	}
}
