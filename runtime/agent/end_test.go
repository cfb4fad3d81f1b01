package agent

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// TestThePageGoesAwayDuringASwitch: both transports receive pagehide, and one completion
// signal is sent.
func TestThePageGoesAwayDuringASwitch(t *testing.T) {
	connected(t, Options{Options: session.Options{ThreadID: "th-1"}, Mode: Chat}, func(r *rig) {
		switched := r.stuckSwitch(background)
		if n := len(r.page.listeners); n != 2 {
			t.Fatalf("%d listeners at the page", n)
		}
		r.page.hide()
		expect.Len(t, r.completed(), 1, "told of the end")
		if err := <-switched; err == nil {
			t.Error("the switch worked")
		}
		if got := all[event.Ended](r); !slices.Equal(got, []event.Ended{{Reason: "pagehide"}}) || r.Snapshot().State != Broken {
			t.Errorf("ended %+v in state %s", got, r.Snapshot().State)
		}
	})
}

// TestTheEndIsToldOnce: a later transport does not send the completion signal again.
func TestTheEndIsToldOnce(t *testing.T) {
	connected(t, Options{Options: session.Options{ThreadID: "th-1"}, Mode: Chat}, func(r *rig) {
		if got, err := r.CompleteThread(background); !got.OK || got.Reason != "manual" || err != nil {
			t.Errorf("%+v, %v", got, err)
		}
		r.mustSwitch(Avatar)
		if got, err := r.CompleteThread(background); got.Reason != "already_sent" || err != nil {
			t.Errorf("%+v, %v", got, err)
		}
		r.Disconnect(session.DisconnectOptions{})
		synctest.Wait()
		expect.Len(t, r.completed(), 1, "told")
		expect.Fail(r.CompleteThread(background))(t, fault.InvalidState, "after the end")
		expect.Fail(r.RespondToTool(background, "t", map[string]any{}))(t, fault.InvalidState, "after the end")
	})
}

// TestATransportThatDoesNotCloseHoldsNothingUp but Close.
func TestATransportThatDoesNotCloseHoldsNothingUp(t *testing.T) {
	run(t, Options{Options: session.Options{ThreadID: "th-1"}}, func(r *rig) {
		r.closed = make(chan struct{})
		r.auto = func(x *exchange) { x.say("Answer.", "th-1"); x.w.Close() }
		r.mustConnect()
		r.mustSwitch(Chat)
		if end := <-r.send(background, "Hello"); end.err != nil {
			t.Errorf("%+v", end)
		}
		r.mustSwitch(Avatar)
		r.mustSwitch(Chat)
		all := [2]<-chan bool{}
		for i := range all { // at once
			all[i] = later(func() bool { r.Close(); return true })
		}
		select {
		case <-all[0]:
			t.Error("closed while transports are open")
		default:
		}
		close(r.closed)
		<-all[0]
		<-all[1]
		if r.freed[Avatar] != 2 || r.freed[Chat] != 2 {
			t.Errorf("freed %v", r.freed)
		}
	})
}

// TestNothingIsKeptOfATransportThatWasLetGo.
func TestNothingIsKeptOfATransportThatWasLetGo(t *testing.T) {
	w := newWorld(t)
	var last weak.Pointer[chat.Session]
	brain := "https://brain.example"
	given := w.with(Options{Options: session.Options{Token: "token", ThreadID: "th-1", GenieURL: &brain}, Mode: Chat})
	open := given.NewChat
	given.NewChat = func(o chat.Options) (*chat.Session, func(), error) {
		s, release, err := open(o)
		last = weak.Make(s)
		return s, release, err
	}
	s := must.Get(New(given))(t)
	must.Get(s.OnToolCall("save", func(context.Context, event.ToolCall) (any, error) { return nil, nil }, nil))(t)
	w.auto = func(x *exchange) { x.say("Answer.", "th-1"); x.w.Close() }
	must.Do(t, s.Connect(background))
	must.Get(s.SendText(background, "Hello"))(t)
	w.turns = nil
	must.Do(t, s.SwitchMode(background, Avatar))
	gone := false
	for range 1000 { // its goroutines end beside the switch
		runtime.GC()
		if gone = last.Value() == nil; gone {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if !gone {
		t.Error("the chat session is still reachable")
	}
	s.Close()
}

// TestABugEndsTheSession, and tells of it.
func TestABugEndsTheSession(t *testing.T) {
	connected(t, Options{Options: session.Options{ThreadID: "th-1"}, Mode: Chat}, func(r *rig) {
		switched := r.stuckSwitch(background)
		r.Forget()
		r.Fail(errors.New("a callback broke"))
		expect.Error(t, <-switched, fault.InvalidState, "err")
		r.want("error", "state failed transport_failed", "ended internal_error")
		expect.Len(t, r.completed(), 0, "told of the end")
		r.Forget()
		r.Fail(errors.New("another callback broke"))
		r.want() // it has ended
	})
}
