package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// unstick lets the avatar that is connecting go on.
func (r *rig) unstick() { newWorld(r.t).Answer[signaling.Join](r.socket(), fakeservice.Event{}) }

// finish lets the avatar connect, and waits for the end of the switch to it.
func (r *rig) finish(switched <-chan error) {
	r.t.Helper()
	r.unstick()
	must.Do(r.t, <-switched)
}

// TestTextsThatWaitLeaveTogether: eight at most, to the avatar as one turn.
func TestTextsThatWaitLeaveTogether(t *testing.T) {
	connected(t, Options{Mode: Chat}, func(r *rig) {
		switched := r.stuckSwitch(background)
		ctx, cancel := context.WithCancel(background)
		var waits []<-chan sent
		for i := range maxWaiting {
			c := background
			if i == 2 {
				c = ctx
			}
			waits = append(waits, r.send(c, fmt.Sprint("text ", i)))
		}
		expect.Fail(r.SendText(background, "one too many"))(t, fault.InvalidState, "the ninth")
		cancel()
		if end := <-waits[2]; !errors.Is(end.err, fault.Aborted) {
			t.Errorf("taken back: %+v", end)
		}
		waits[2] = r.send(background, "in its place")
		r.finish(switched)
		for i, x := range waits {
			if end := <-x; end.err != nil || !end.Left {
				t.Errorf("text %d: %+v", i, end)
			}
		}
		want := "text 0\ntext 1\ntext 3\ntext 4\ntext 5\ntext 6\ntext 7\nin its place"
		if got := r.spoken(); len(got) != 1 || got[0] != want {
			t.Errorf("spoken %q", got)
		}
	})
}

// TestATextThatIsTakenBackTakesNoOtherAlong of those that the avatar takes as one turn.
func TestATextThatIsTakenBackTakesNoOtherAlong(t *testing.T) {
	waits := func(ctx context.Context, text string, _ avatar.SendInfo) (string, error) {
		if strings.HasPrefix(text, "gone") {
			<-ctx.Done()
			return "", ctx.Err()
		}
		return text, nil
	}
	for name, o := range map[string]avatar.Options{"during the opening": {}, "while BeforeSend considers it": {BeforeSend: waits}} {
		t.Run(name, func(t *testing.T) {
			connected(t, Options{Mode: Chat, Avatar: o}, func(r *rig) {
				if o.BeforeSend == nil {
					r.When(signaling.ApprovedPermissions, nil) // the opening goes on
				}
				switched := r.stuckSwitch(background)
				ctx, cancel := context.WithCancel(background)
				gone, stays := r.send(ctx, "gone"), r.send(background, "stays")
				r.finish(switched)
				synctest.Wait()
				cancel()
				if end := <-gone; !errors.Is(end.err, fault.Aborted) {
					t.Errorf("taken back: %+v", end)
				}
				if o.BeforeSend == nil {
					r.socket().Say(signaling.StvFinishedTalking, signaling.FinishedTalking{})
				}
				if end := <-stays; end.err != nil || !end.Left {
					t.Errorf("the other: %+v", end)
				}
				expect.List(t, r.spoken(), []string{"stays"}, "spoken")
			})
		})
	}
}

// TestATurnInTextGoesOnUntilTheAvatarIsUp: complete if it is by then, else aborted
// with what there is; those behind it go to the avatar, in their order, before what
// was sent during the switch.
func TestATurnInTextGoesOnUntilTheAvatarIsUp(t *testing.T) {
	connected(t, Options{Options: session.Options{ThreadID: "th-1"}, Mode: Chat}, func(r *rig) {
		first := r.send(background, "one")
		second := r.send(background, "two")
		switched := r.stuckSwitch(background)
		r.turn(0).say("The answer ", "th-1")
		r.turn(0).say("to one", "th-1")
		r.turn(0).end()
		if end := <-first; end.err != nil || end.Turn.Text != "The answer to one" {
			t.Errorf("complete during the switch: %+v", end)
		}
		third, fourth := r.send(background, "three"), r.send(background, "four")
		r.turn(1).say("The answer to", "th-1")
		synctest.Wait()
		r.Forget()
		r.finish(switched)
		if end := <-second; !errors.Is(end.err, fault.Aborted) || end.Turn == nil || end.Turn.Text != "The answer to" {
			t.Errorf("cut by the switch: %+v", end)
		}
		for _, x := range []<-chan sent{third, fourth} {
			if end := <-x; end.err != nil || !end.Left {
				t.Errorf("sent during the switch: %+v", end)
			}
		}
		expect.List(t, r.spoken(), []string{"three\nfour"}, "spoken")
		if r.turn(1).ctx.Err() == nil {
			t.Error("the request of the turn that was cut is open")
		}
		r.want("turnEnd", "state connected", "mode avatar true", "responsePending")
	})
	t.Run("texts behind it", func(t *testing.T) {
		connected(t, Options{Options: session.Options{ThreadID: "th-1"}, Mode: Chat}, func(r *rig) {
			first := r.send(background, "one")
			second, third := r.send(background, "two"), r.send(background, "three")
			switched := r.stuckSwitch(background)
			fourth := r.send(background, "four")
			r.finish(switched)
			if end := <-first; !errors.Is(end.err, fault.Aborted) {
				t.Errorf("cut by the switch: %+v", end)
			}
			for _, x := range []<-chan sent{second, third, fourth} {
				if end := <-x; end.err != nil || !end.Left {
					t.Errorf("behind it: %+v", end)
				}
			}
			expect.List(t, r.spoken(), []string{"two\nthree\nfour"}, "spoken")
		})
	})
}

// TestWhatTheAvatarHoldsMovesToText: its opening was not over.
func TestWhatTheAvatarHoldsMovesToText(t *testing.T) {
	run(t, Options{Options: session.Options{ThreadID: "th-1"}}, func(r *rig) {
		r.When(signaling.ApprovedPermissions, nil)
		r.auto = func(x *exchange) { x.say("Answer.", "th-1"); x.w.Close() }
		r.mustConnect()
		first, second := r.send(background, "one"), r.send(background, "two")
		r.mustSwitch(Chat)
		third := r.send(background, "three")
		for i, x := range []<-chan sent{first, second, third} {
			if end := <-x; end.err != nil || end.Turn == nil || end.Turn.Text != "Answer." {
				t.Errorf("text %d: %+v", i, end)
			}
		}
		if got := r.asked(); !slices.Equal(got, []string{"one", "two", "three"}) || len(r.spoken()) != 0 {
			t.Errorf("asked %q, spoken %q", got, r.spoken())
		}
	})
}

// TestATextThatNobodyDecidesOnHoldsOthersUpForASecond: BeforeSend still runs for the avatar
// that was released.
func TestATextThatNobodyDecidesOnHoldsOthersUpForASecond(t *testing.T) {
	decide := make(chan struct{})
	slow := func(context.Context, string, avatar.SendInfo) (string, error) {
		<-decide
		return "", errors.New("no")
	}
	run(t, Options{Options: session.Options{ThreadID: "th-1"}, Avatar: avatar.Options{BeforeSend: slow}}, func(r *rig) {
		decide = make(chan struct{})
		r.auto = func(x *exchange) { x.say("Answer.", "th-1"); x.w.Close() }
		r.mustConnect()
		first := r.send(background, "one")
		r.mustSwitch(Chat)
		began := time.Now()
		if end := <-r.send(background, "two"); end.err != nil || time.Since(began) != returnLimit {
			t.Errorf("%+v after %v", end, time.Since(began))
		}
		close(decide)
		if end := <-first; !errors.Is(end.err, fault.GuardrailBlocked) {
			t.Errorf("refused in the end: %+v", end)
		}
	})
}

// TestATextOfATransportThatEndedIsNotLost, if the conversation moves on.
func TestATextOfATransportThatEndedIsNotLost(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.When(signaling.ApprovedPermissions, nil)
		r.auto = func(x *exchange) { x.say("Answer.", "th-1"); x.w.Close() }
		r.mustConnect()
		first := r.send(background, "one")
		s := r.socket()
		r.Listen(func(e event.Event) {
			if _, ok := e.(TransportChanged); ok {
				s.Drop(socketio.ServerDisconnect)
				time.Sleep(time.Millisecond) // until it was heard
			}
		})
		r.mustSwitch(Chat)
		if end := <-first; end.err != nil || end.Turn.Text != "Answer." {
			t.Errorf("%+v", end)
		}
	})
	run(t, Options{}, func(r *rig) {
		r.When(signaling.ApprovedPermissions, nil)
		r.mustConnect()
		first := r.send(background, "one")
		r.socket().Drop(socketio.ServerDisconnect)
		if end := <-first; end.err != nil || end.Left {
			t.Errorf("without a switch: %+v", end)
		}
	})
}

// TestTextsKeepTheirOrder, whoever sends them.
func TestTextsKeepTheirOrder(t *testing.T) {
	for _, m := range []Mode{Avatar, Chat} {
		run(t, Options{Options: session.Options{ThreadID: "th-1"}, Mode: m}, func(r *rig) {
			r.auto = func(x *exchange) { x.say("Answer.", "th-1"); x.w.Close() }
			r.mustConnect()
			var want []string
			var waits []<-chan sent
			for i := range 50 {
				text := fmt.Sprint("text ", i)
				want = append(want, text)
				waits = append(waits, r.send(background, text))
			}
			for _, x := range waits {
				if end := <-x; end.err != nil || !end.Left {
					t.Errorf("%+v", end)
				}
			}
			got := r.spoken()
			if m == Chat {
				got = r.asked()
			}
			expect.List(t, got, want, "%s", m)
		})
	}
}
