package chat

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/httpclient"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// TestAStallIsReportedUntilTheAnswerBegins: tools, thinking and keepalives don't end a
// stall (session §A.2.3).
func TestAStallIsReportedUntilTheAnswerBegins(t *testing.T) {
	widget := `{"type":"unisphere-tool","content":"- a","metadata":{"runtimeName":"followups-tool"}}`
	for name, life := range map[string]string{"text": text("Hi"), "widget": widget} {
		t.Run(name, func(t *testing.T) {
			connected(t, Options{}, func(r *rig) {
				time.Sleep(time.Hour) // no turn, no stall
				answer := r.later(r.t.Context(), "Hello")
				time.Sleep(7 * time.Second)
				x := r.asked(0).answer().say(think, keepalive, `{"type":"tool","content":"go {}"}`, text(""))
				time.Sleep(18 * time.Second)
				x.say(life)
				time.Sleep(time.Hour)
				x.end()
				if err := answer.ended().err; err != nil {
					t.Error(err)
				}
				time.Sleep(time.Hour)
				expect.List(t, all[event.BrainStalled](r), []event.BrainStalled{{AfterMs: 12_000, Count: 1}, {AfterMs: 12_000, Count: 2}}, "stalls")
			})
		})
	}
}

// TestAnEmptyTurnWithVariablesWarnsOnce: session §O16. What counts is what the
// turn was sent with.
func TestAnEmptyTurnWithVariablesWarnsOnce(t *testing.T) {
	connected(t, Options{}, func(r *rig) {
		n := 0
		empty := func(meanwhile map[string]any) {
			answer := r.later(r.t.Context(), "Hello")
			if err := r.UpdateRequestVars(meanwhile); err != nil {
				t.Error(err)
			}
			r.asked(n).answer().end()
			n++
			if got := answer.ended(); got.err != nil || !got.turn.Empty {
				t.Errorf("%+v, %v", got.turn, got.err)
			}
		}
		empty(map[string]any{"b": 1, "a": "private"})
		expect.Len(t, all[event.Warning](r), 0, "warned of variables that were not sent")
		for range 3 {
			empty(nil)
		}
		w := all[event.Warning](r)
		if len(w) != 1 || w[0].Code != fault.EmptyTurnWithRequestVars || !slices.Equal(w[0].RequestVarKeys, []string{"a", "b"}) {
			t.Errorf("warnings %+v", w)
		}
		if b, err := json.Marshal(w); err != nil || strings.Contains(string(b), "private") {
			t.Errorf("%s, %v", b, err)
		}
	})
}

func TestARefusedTurnIsNotAnEmptyOne(t *testing.T) {
	connected(t, Options{Options: session.Options{RequestVars: map[string]any{"a": 1}}, OnErrorSegment: converse.Warn}, func(r *rig) {
		answer := r.later(r.t.Context(), "Hello")
		r.asked(0).answer().say(denied).end()
		if got := answer.ended(); got.err != nil {
			t.Error(got.err)
		}
		if w := all[event.Warning](r); len(w) != 1 || w[0].Code != fault.ThreadAccessDenied || w[0].Detail != "No permission for thread 5f0c" {
			t.Errorf("warnings %+v", w)
		}
	})
}

// TestEveryReplyIsReported: before the events of its segments, and a listener that
// panics there breaks nothing.
func TestEveryReplyIsReported(t *testing.T) {
	var r *rig
	var got []httpclient.Response
	o := Options{OnResponse: func(resp httpclient.Response) {
		got = append(got, resp)
		expect.Equal(t, len(r.Recorded()), 3, "after events")
		panic("a bug in the page")
	}}
	run(t, o, func(rig *rig) {
		r = rig
		r.mustConnect()
		answer := r.later(r.t.Context(), "Hello")
		r.asked(0).answer().say(text("Hi")).end()
		if end := answer.ended(); end.err != nil || end.turn.Text != "Hi" {
			t.Errorf("%q, %v", end.turn.Text, end.err)
		}
		if len(got) != 1 || got[0].Path != "/assistant/converse" || got[0].Status != 200 || got[0].RequestID != "r-1" {
			t.Errorf("responses %+v", got)
		}
		expect.Equal(t, r.Snapshot().State, Connected, "the session is")
	})
}
