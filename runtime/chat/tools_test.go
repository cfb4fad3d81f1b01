package chat

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// TestABlockingToolIsAnsweredWhileItsReplyStreams: the handler's answer leaves in
// the middle of the turn, which goes on.
func TestABlockingToolIsAnsweredWhileItsReplyStreams(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		_, err := r.OnToolCall("save_note", func(ctx context.Context, call event.ToolCall) (any, error) {
			a, err := r.RespondToTool(ctx, call.ToolMetadata.ID, map[string]any{"status": "ok"})
			if err != nil || !a.OK || !call.ToolMetadata.WaitForResponse {
				t.Errorf("%+v: %+v, %v", call, a, err)
			}
			return "saved", err
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.mustConnect()
		answer := r.later(r.t.Context(), "Save a note")
		x := r.asked(0).answer().say(think, blocking)
		want := `/assistant/tool_response KS token {"response":{"status":"ok"},"tool_id":"ti-4","tool_invocation_id":"ti-4","tool_name":"save_note"}`
		if got := r.brain.otherCalls(); !slices.Equal(got, []string{want}) {
			t.Errorf("calls %q", got)
		}
		x.say(text("Saved.")).end()
		if got := answer.ended(); got.err != nil || got.turn.Text != "Saved." {
			t.Errorf("%q, %v", got.turn.Text, got.err)
		}
		r.wantEvents(
			"user Save a note", "turnStart", "responsePending", "brainSegment think", "responseSettled",
			`toolCall save_note{"note":"x"}`, "brainSegment tool", "toolCallResult save_note true",
			"brainSegment text", "final Saved.", "turnEnd",
		)
	})
}

func TestAToolIsAnsweredByWhoeverKnowsItsID(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		respond := func(id string) (session.ToolAnswer, error) {
			return r.RespondToTool(r.t.Context(), id, map[string]any{"status": "ok"})
		}
		if _, err := respond("ti-4"); !errors.Is(err, fault.InvalidState) {
			t.Errorf("before connect: %v", err)
		}
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
		if _, err := respond("ti-4"); !errors.Is(err, fault.InvalidState) {
			t.Errorf("after the end: %v", err)
		}
		// One that was on its way when the session ended.
		if a, err := r.core.Tools.Respond(r.t.Context(), "ti-4", map[string]any{}); err != nil || a.Reason != "unknown_or_stale" {
			t.Errorf("as the session ended: %+v, %v", a, err)
		}
	})
}

// TestATurnCanBeAbortedFromItsTool: the handler runs on, and what it returns is
// reported; the next turn does not wait for it.
func TestATurnCanBeAbortedFromItsTool(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		ctx, cancel := context.WithCancel(r.t.Context())
		release := make(chan struct{})
		_, err := r.OnToolCall("save_note", func(ctx context.Context, _ event.ToolCall) (any, error) {
			cancel()
			<-release
			return "late", ctx.Err() // of the session, which goes on
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.mustConnect()
		answer := r.later(ctx, "Save a note")
		r.asked(0).answer().say(blocking)
		if got := answer.ended(); !errors.Is(got.err, fault.Aborted) {
			t.Errorf("ended with %v", got.err)
		}
		next := r.later(r.t.Context(), "Hello")
		r.asked(1).answer().say(text("Hi")).end()
		if got := next.ended(); got.err != nil {
			t.Error(got.err)
		}
		close(release)
		if got := all[event.ToolCallResult](r); len(got) != 1 || !got[0].OK || got[0].Value != "late" {
			t.Errorf("results %+v", got)
		}
		r.wantQuiet()
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
