package chat

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// TestEndingsOfATurn is the order of events of session §A.2.3 for everything
// that can become of a turn. Whatever it is, the next turn works.
func TestEndingsOfATurn(t *testing.T) {
	const (
		piece = `{"type":"unisphere-tool","content":"questions:\n- Why?","metadata":{"runtimeName":"followups-tool"}}`
		cut   = `{"type":"unisphere-tool","content":"{\"questions\":[","metadata":{"runtimeName":"followups-tool"}}`
		whole = `{"type":"unisphere-tool","content":"{\"questions\":[\"Why?\"]}","metadata":{"runtimeName":"followups-tool"},"segmentEnd":true}`
		other = `{"type":"unisphere-tool","content":"All well.","metadata":{"runtimeName":"summary-tool"},"segmentEnd":true}`
		oops  = `{"type":"error","content":"the model is tired"}`
	)
	for _, test := range []struct {
		name    string
		options Options
		reply   func(x *exchange)
		text    string     // of the answer
		code    fault.Code // of the error
		detail  string     // part of its text
		want    []string   // events after responsePending
	}{
		{
			name:  "an answer",
			reply: func(x *exchange) { x.answer().say(think, keepalive, text("Two "), text("things."), lastThink).end() },
			text:  "Two things.",
			want: []string{
				"brainSegment think", "brainSegment keepalive", "responseSettled", "brainSegment text", "final Two ",
				"brainSegment text", "final things.", "brainSegment think", "turnEnd",
			},
		},
		{
			name:  "no word at all",
			reply: func(x *exchange) { x.answer().end() },
			want:  []string{"responseSettled", "turnEnd"},
		},
		{
			name:  "thinking alone",
			reply: func(x *exchange) { x.answer().say(think, text("")).end() },
			want:  []string{"brainSegment think", "responseSettled", "brainSegment text", "turnEnd"},
		},
		{
			name: "tools, a question for consent, a widget and what is not known",
			reply: func(x *exchange) {
				x.answer().say(
					`{"type":"tool","content":"open_doc {\"id\":1}{\"id\":2}"}`, `{"type":"tool_response","content":"show_chart responded with size 113"}`,
					`{"type":"interruption","content":{"auth_url":"https://a.example/1"},"metadata":{"subtype":"oauth_required"}}`,
					piece, `{"type":"hologram","content":{"a":1}}`,
				).end()
			},
			want: []string{
				"responseSettled", `toolCall open_doc{"id":2}`, "brainSegment tool", `toolCall show_chart{"id":1}`, "brainSegment tool_response",
				"oauthRequired https://a.example/1", "brainSegment interruption", "brainSegment unisphere-tool",
				"brainSegment hologram", "widget followups", "turnEnd",
			},
		},
		{
			name: "server-sent events",
			reply: func(x *exchange) {
				x.reply(200, "text/event-stream").say("data: "+text("Hi"), "", "data: [DONE]", "").end()
			},
			text: "Hi",
			want: []string{"responseSettled", "brainSegment text", "final Hi", "turnEnd"},
		},
		{
			name:  "somebody else's thread",
			reply: func(x *exchange) { x.answer().say(denied).end() },
			code:  fault.ThreadAccessDenied, detail: "No permission for thread 5f0c",
			want: []string{"responseSettled", "brainSegment error", "error thread_access_denied", "turnEnd"},
		},
		{
			name:  "an error in the middle",
			reply: func(x *exchange) { x.answer().say(text("I "), oops).end() },
			text:  "I ", code: fault.StreamError, detail: "the model is tired",
			want: []string{"responseSettled", "brainSegment text", "final I ", "brainSegment error", "error stream_error", "turnEnd"},
		},
		{
			name:    "an error in the middle, of which to warn",
			options: Options{OnErrorSegment: converse.Warn},
			reply:   func(x *exchange) { x.answer().say(text("I "), oops, text("can")).end() },
			text:    "I can",
			want: []string{
				"responseSettled", "brainSegment text", "final I ", "brainSegment error", "brainSegment text", "final can",
				"warning stream_error", "turnEnd",
			},
		},
		{
			name:  "a token that has expired",
			reply: func(x *exchange) { x.reply(401, "application/json").write(`{"message":"expired"}`).end() },
			code:  fault.Unauthorized, detail: "expired",
			want: []string{"error unauthorized", "responseSettled", "turnEnd"},
		},
		{
			name:  "no network",
			reply: func(x *exchange) { x.reply(0, "") },
			code:  fault.NetworkError,
			want:  []string{"error network_error", "responseSettled", "turnEnd"},
		},
		{
			name: "a connection that breaks inside a widget",
			reply: func(x *exchange) {
				x.broken = errors.New("reset")
				x.answer().say(text("I "), cut).end()
			},
			text: "I ", code: fault.NetworkError,
			want: []string{"responseSettled", "brainSegment text", "final I ", "brainSegment unisphere-tool", "error network_error", "turnEnd"},
		},
		{
			name:  "a widget that another cuts off",
			reply: func(x *exchange) { x.answer().say(text("I "), cut, other, lastThink).end() },
			text:  "I ",
			want: []string{
				"responseSettled", "brainSegment text", "final I ", "brainSegment unisphere-tool", "brainSegment unisphere-tool",
				"widget followups (error)", "widget summary", "brainSegment think", "turnEnd",
			},
		},
		{
			name: "a connection that breaks behind a widget, during a tool",
			reply: func(x *exchange) {
				x.broken = errors.New("reset")
				x.answer().say(text("I "), whole, blocking).end()
			},
			text: "I ", code: fault.NetworkError,
			want: []string{
				"responseSettled", "brainSegment text", "final I ", "brainSegment unisphere-tool", "widget followups",
				`toolCall save_note{"note":"x"}`, "brainSegment tool", "error network_error", "turnEnd",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			connected(t, test.options, func(r *rig) {
				answer := r.later(r.t.Context(), "Hello")
				x := r.asked(0)
				test.reply(x)
				got := answer.ended()
				expect.Equal(t, got.turn.Text, test.text, "text")
				if (got.err == nil) != (test.code == "") || got.err != nil && !errors.Is(got.err, test.code) {
					t.Errorf("error %v, want %q", got.err, test.code)
				}
				if got.err != nil && !strings.Contains(got.err.Error(), test.detail) {
					t.Errorf("error %v says nothing of %q", got.err, test.detail)
				}
				r.wantEvents(append([]string{"user Hello", "turnStart", "responsePending"}, test.want...)...)
				if !x.isOver() {
					t.Error("the request is still open")
				}
				r.wantQuiet()
				r.mustWork()
			})
		})
	}
}

func TestTurnsRunOneAfterAnother(t *testing.T) {
	connected(t, Options{}, func(r *rig) {
		first := r.later(r.t.Context(), "One")
		second := r.later(r.t.Context(), "Two")
		x := r.asked(0)
		if n := r.requests(); n != 1 {
			t.Fatalf("%d turns at once", n)
		}
		x.answer().say(think, text("1")).end()
		if got := first.ended(); got.err != nil || got.turn.Text != "1" {
			t.Errorf("first: %q, %v", got.turn.Text, got.err)
		}
		x = r.asked(1)
		expect.Equal(t, x.body, `{"userMessage":"Two","sse":false,"threadId":"5f0c"}`, "second request")
		x.answer().say(text("2")).end()
		if got := second.ended(); got.err != nil || got.turn.Text != "2" {
			t.Errorf("second: %q, %v", got.turn.Text, got.err)
		}
		var ids []string
		for _, e := range all[event.TurnStarted](r) {
			ids = append(ids, e.TurnID)
		}
		for _, e := range all[event.TurnEnded](r) {
			ids = append(ids, e.TurnID)
		}
		if len(ids) != 4 || ids[0] == ids[1] || !slices.Equal(ids[:2], ids[2:]) || len(ids[0]) != turnIDLength {
			t.Errorf("turns %v", ids)
		}
	})
}

func TestATurnIsCheckedBeforeItIsSent(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		send := func(text string, o TurnOptions) error {
			_, err := r.SendText(r.t.Context(), text, o)
			return err
		}
		expect.Error(t, send("Hello", TurnOptions{}), fault.InvalidState, "before connect")
		r.mustConnect()
		for _, text := range []string{"", " \n"} {
			expect.Error(t, send(text, TurnOptions{}), fault.BadRequest, "%q", text)
		}
		for _, o := range []TurnOptions{{ForceExperience: "hologram"}, {ModelType: "slow"}} {
			expect.Error(t, send("Hello", o), fault.ValidationError, "%+v", o)
		}
		for range maxWaiting + 1 { // one of them is under way
			r.Start(r.t.Context(), "Hello", TurnOptions{})
		}
		expect.Error(t, send("Hello", TurnOptions{}), fault.RateLimited, "one too many")
		r.Disconnect(session.DisconnectOptions{})
		expect.Error(t, send("Hello", TurnOptions{}), fault.InvalidState, "after the end")
		expect.Equal(t, r.requests(), 1, "requests")
	})
}
