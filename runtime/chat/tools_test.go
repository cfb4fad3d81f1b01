package chat

import (
	"context"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

func TestAToolIsAnsweredByWhoeverKnowsItsID(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		respond := func(id string) (session.ToolAnswer, error) {
			return r.RespondToTool(r.t.Context(), id, map[string]any{"status": "ok"})
		}
		expect.Fail(respond("ti-4"))(t, fault.InvalidState, "before connect")
		r.mustConnect()
		r.later(r.t.Context(), "Save a note")
		r.asked(0).answer().say(blocking)
		if a, err := respond("ti-5"); err != nil || a.Reason != "unknown_or_stale" {
			t.Errorf("%+v, %v", a, err)
		}
		if a, err := respond("ti-4"); err != nil || !a.OK {
			t.Errorf("%+v, %v", a, err)
		}
		r.asked(0).say(strings.ReplaceAll(blocking, `\"x\"`, `\"y\"`))
		r.Disconnect(session.DisconnectOptions{})
		expect.Fail(respond("ti-4"))(t, fault.InvalidState, "after the end")
		// One that was on its way when the session ended.
		if a, err := r.core.Tools.Respond(r.t.Context(), "ti-4", map[string]any{}); err != nil || a.Reason != "unknown_or_stale" {
			t.Errorf("as the session ended: %+v, %v", a, err)
		}
	})
}

func TestEveryTurnMayCallTheSameTool(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		var ran int
		must.Get(r.OnToolCall("go", func(context.Context, event.ToolCall) (any, error) { ran++; return nil, nil }, nil))(t)
		r.mustConnect()
		for n := range 2 {
			answer := r.later(r.t.Context(), "Go")
			r.asked(n).answer().say(`{"type":"tool","content":"go {\"page\":4}"}`, `{"type":"tool","content":"go { \"page\" : 4 }"}`).end()
			if got := answer.ended(); got.err != nil {
				t.Error(got.err)
			}
			if ran != n+1 {
				t.Errorf("ran %d times after turn %d", ran, n+1)
			}
		}
	})
}
