package chat

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/completion"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

const completed = `/thread/session_completed KS token {"id":"5f0c"}`

func TestALifecycle(t *testing.T) {
	run(t, Options{Options: session.Options{Kickoff: &event.Kickoff{Text: "Begin", Echo: true}}}, func(r *rig) {
		if s := r.Snapshot(); s.State != Idle || s.Kickoff.Sent {
			t.Errorf("at first %+v", s)
		}
		must.Do(t, r.Connect(context.Background()))
		if s := r.Snapshot(); s.State != Connected || !s.Kickoff.Sent || !s.ResponsePending {
			t.Errorf("connected %+v", s)
		}
		expect.Error(t, r.Connect(context.Background()), fault.InvalidState, "connected twice")
		r.asked(0).answer().say(think, text("Welcome.")).end()
		if s := r.Snapshot(); s.ThreadID != "5f0c" || s.ResponsePending {
			t.Errorf("after the kickoff %+v", s)
		}
		r.Disconnect(session.DisconnectOptions{})
		r.Disconnect(session.DisconnectOptions{Reason: "again"})
		if s := r.Snapshot(); s.State != Closed || s.ThreadID != "5f0c" {
			t.Errorf("closed %+v", s)
		}
		r.wantEvents(
			"stateChange connected", "user Begin", "turnStart", "responsePending", "brainSegment think", "responseSettled",
			"brainSegment text", "final Welcome.", "turnEnd",
			"stateChange closed", "ended disconnect", "sessionCompleted disconnect true",
		)
		expect.Error(t, r.Connect(context.Background()), fault.InvalidState, "connected again")
		expect.List(t, r.brain.otherCalls(), []string{completed}, "calls")
	})
}

// TestConnectIsDoneWhenItReturns, also when the session is busy with another call.
func TestConnectIsDoneWhenItReturns(t *testing.T) {
	for range 1000 {
		s := must.Get(New(Options{Options: session.Options{Token: "token"}}))(t)
		s.core.Work.Post(func() {})
		must.Do(t, s.Connect(context.Background()))
		if state := s.Snapshot().State; state != Connected {
			t.Fatalf("the session is %s", state)
		}
		s.Close()
	}
}

func TestAnIdleSessionCanBeClosed(t *testing.T) {
	run(t, Options{Options: session.Options{ThreadID: "5f0c"}}, func(r *rig) {
		r.Disconnect(session.DisconnectOptions{})
		r.wantEvents("stateChange closed", "ended disconnect")
		expect.Error(t, r.Connect(context.Background()), fault.InvalidState, "connect")
		expect.Len(t, r.brain.otherCalls(), 0, "a conversation was ended that did not begin")
	})
}

// TestAKickoff is sent first, once, and a failure of it is a warning too.
func TestAKickoff(t *testing.T) {
	kickoff := &event.Kickoff{Text: "Begin"}
	run(t, Options{Options: session.Options{Kickoff: kickoff}}, func(r *rig) {
		kickoff.Text = "changed by its owner"
		must.Do(t, r.Connect(context.Background()))
		answer := r.later(r.t.Context(), "Hello")
		x := r.asked(0)
		expect.Equal(t, x.body, `{"userMessage":"Begin","sse":false}`, "first request")
		x.answer().say(denied).end()
		r.asked(1).answer().say(text("Hi")).end()
		if got := answer.ended(); got.err != nil {
			t.Error(got.err)
		}
		r.wantEvents(
			"stateChange connected", "turnStart", "responsePending", "responseSettled", "brainSegment error",
			"error thread_access_denied", "warning kickoff_failed", "turnEnd",
			"user Hello", "turnStart", "responsePending", "responseSettled", "brainSegment text", "final Hi", "turnEnd",
		)
		if w := all[event.Warning](r); !strings.Contains(w[0].Detail, "No permission") {
			t.Errorf("warning %+v", w)
		}
		if kickoff.Sent {
			t.Error("the caller's options were changed")
		}
	})
}

// TestATokenIsReplaced for what comes later, and forgotten at the end.
func TestATokenIsReplaced(t *testing.T) {
	connected(t, Options{Options: session.Options{ThreadID: "5f0c"}}, func(r *rig) {
		first := r.later(r.t.Context(), "One")
		r.later(r.t.Context(), "Two")
		expect.Error(t, r.SetToken(""), fault.BadRequest, "no token")
		if err := r.SetToken("fresh"); err != nil {
			t.Error(err)
		}
		r.asked(0).answer().end()
		first.ended()
		if one, two := r.asked(0).token, r.asked(1).token; one != "token" || two != "fresh" {
			t.Errorf("tokens %q and %q", one, two)
		}
		r.Close()
		expect.List(t, r.brain.otherCalls(), []string{strings.Replace(completed, "token", "fresh", 1)}, "calls")
		expect.Error(t, r.SetToken("late"), fault.InvalidState, "closed")
		expect.Equal(t, r.core.Token, "", "the token is remembered")
	})
}

// TestARequestSaysWhatItShould: the variables are merged, and sent whole with the turns that begin
// later.
func TestARequestSaysWhatItShould(t *testing.T) {
	given := map[string]any{"name": "Sam"}
	o := Options{Options: session.Options{ThreadID: "old", RequestVars: given, Capabilities: map[string]string{"show_link": "off"}}}
	run(t, o, func(r *rig) {
		expect.Error(t, r.UpdateRequestVars(map[string]any{"a": 1}), fault.InvalidState, "before connect")
		r.mustConnect()
		given["name"] = "changed by its owner"
		update := map[string]any{"tier": 2, "name": nil}
		r.Start(r.t.Context(), "One", TurnOptions{ForceExperience: "flashcards", ModelType: "fast"})
		if err := r.UpdateRequestVars(update); err != nil {
			t.Error(err)
		}
		update["tier"] = "changed by its owner"
		if err := r.SetDynamicPrompt(map[string]any{"slide": 3, "__proto__": 1}); err != nil {
			t.Error(err)
		}
		expect.Error(t, r.SetDynamicPrompt(func() {}), fault.BadRequest, "a function")
		expect.Error(t, r.UpdateRequestVars(map[string]any{"sys__ks": "x"}), fault.ValidationError, "reserved")
		r.later(r.t.Context(), "Two")
		r.asked(0).answer().say(think).end()
		for i, want := range []string{
			`{"userMessage":"One","sse":false,"threadId":"old","model_type":"fast","force_experience":"flashcards","request_vars":{"name":"Sam"},"capabilities":{"show_link":"off"}}`,
			`{"userMessage":"Two","sse":false,"threadId":"old","request_vars":{"name":null,"page_context":"{\"slide\":3}","tier":2},"capabilities":{"show_link":"off"}}`,
		} {
			if x := r.asked(i); x.body != want || x.token != "token" {
				t.Errorf("sent %s with %q, want %s", x.body, x.token, want)
			}
		}
	})
}

// TestTheFirstThreadIsKept: a service that answers in another thread does not take
// the conversation there.
func TestTheFirstThreadIsKept(t *testing.T) {
	connected(t, Options{}, func(r *rig) {
		var seen []string
		r.Listen(func(event.Event) { seen = append(seen, r.Snapshot().ThreadID) })
		answer := r.later(r.t.Context(), "Hello")
		x := r.asked(0).answer().say(keepalive)
		expect.Equal(t, r.Snapshot().ThreadID, "", "thread")
		x.say(think, `{"type":"text","content":"Hi","threadId":"other"}`).end()
		answer.ended()
		expect.Equal(t, r.Snapshot().ThreadID, "5f0c", "thread")
		// What a listener reads is at least as new as the event.
		if i := slices.Index(seen, "5f0c"); i != 4 || slices.Contains(seen[i:], "") {
			t.Errorf("listeners saw %q", seen)
		}
		r.Close()
		expect.List(t, r.brain.otherCalls(), []string{completed}, "calls")
	})
}

// TestABugEndsOneSession: it tells of the error, ends, and settles every turn.
func TestABugEndsOneSession(t *testing.T) {
	connected(t, Options{Options: session.Options{ThreadID: "5f0c"}}, func(r *rig) {
		under, waiting := r.later(r.t.Context(), "One"), r.later(r.t.Context(), "Two")
		r.asked(0).answer().say(text("Hi"))
		r.Forget()
		r.core.Work.Post(func() { panic("a bug") })
		r.wantEvents("error internal_error", "stateChange closed", "ended internal_error", "turnEnd")
		expect.Error(t, under.ended().err, fault.InternalError, "the turn ended with")
		expect.Error(t, waiting.ended().err, fault.InternalError, "the waiting turn ended with")
		expect.Len(t, r.brain.otherCalls(), 0, "calls")
	})
}

func TestAPageThatCantBeWatchedFailsTheConnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		r.opts.Page = brokenPage{r.page}
		expect.Error(t, r.Connect(context.Background()), fault.InternalError, "connect")
		r.wantEvents("error internal_error", "stateChange closed", "ended internal_error")
		r.Close()
	})
}

type brokenPage struct{ *fakePage }

func (brokenPage) Watch(completion.Listener) func() { panic("no page") }

func TestAuditTellsWhoAndWhat(t *testing.T) {
	var mu sync.Mutex
	var got []string
	o := Options{Options: session.Options{PartnerID: "999", SubjectID: "visitor-7", OnAuditEvent: func(a event.Audit) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, strings.Join([]string{a.Type, a.Outcome, a.Reason, a.Actor.PartnerID, a.Actor.SubjectID, a.Target}, " "))
	}}}
	connected(t, o, func(r *rig) {
		r.mustWork()
		r.Disconnect(session.DisconnectOptions{Reason: "enough"})
		synctest.Wait()
		want := []string{
			"session.connect connected  999 visitor-7 ",
			"token.mint accepted taken into use 999 visitor-7 ",
			"turn.converse started  999 visitor-7 ",
			"session.disconnect ended enough 999 visitor-7 5f0c",
			"token.revoke ended forgotten 999 visitor-7 5f0c",
			"session.complete sent enough 999 visitor-7 5f0c",
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
	})
}

// TestCallsFromEverywhere is for the race detector: every method, from several
// goroutines, during turns and an end.
func TestCallsFromEverywhere(t *testing.T) {
	for range 20 {
		r := newRig(t, Options{})
		r.opts.Page = nil
		var wg sync.WaitGroup
		each := func(f func(ctx context.Context)) {
			for range 3 {
				wg.Go(func() {
					for range 5 {
						ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
						f(ctx)
						cancel()
					}
				})
			}
		}
		connects := make(chan error, 15)
		each(func(context.Context) { connects <- r.Connect(context.Background()) })
		each(func(ctx context.Context) { _, _ = r.SendText(ctx, "Hello", TurnOptions{}) })
		each(func(ctx context.Context) {
			for range r.Stream(ctx, "Hello", TurnOptions{}) {
				break
			}
		})
		each(func(context.Context) { _ = r.UpdateRequestVars(map[string]any{"a": 1}) })
		each(func(context.Context) { _ = r.SetToken("fresh") })
		each(func(ctx context.Context) { _, _ = r.RespondToTool(ctx, "ti-4", map[string]any{}) })
		each(func(ctx context.Context) { _, _ = r.CompleteThread(ctx) })
		each(func(context.Context) { _ = r.Snapshot() })
		wg.Wait()
		connected := 0
		for range cap(connects) {
			if <-connects == nil {
				connected++
			}
		}
		if connected != 1 {
			t.Errorf("%d of %d connects succeeded, want the first alone", connected, cap(connects))
		}
		for range 3 {
			wg.Go(r.Close)
			wg.Go(func() { r.Disconnect(session.DisconnectOptions{}) })
		}
		wg.Wait()
		for _, x := range r.brain.turns {
			if !x.isOver() {
				t.Error("a turn is still being read")
			}
		}
	}
}
