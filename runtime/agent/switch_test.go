package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// TestSwitchesInOrder both ways: the old transport answers until the new one is up,
// and the text that waited leaves last.
func TestSwitchesInOrder(t *testing.T) {
	connected(t, Options{Mode: Chat}, func(r *rig) {
		r.want("state connecting user_requested", "transport chat", "state connected")
		first := r.send(background, "My name is Sam")
		r.turn(0).reply("Hello Sam.", "th-1")
		if end := <-first; end.err != nil || !end.Left || end.Turn.Text != "Hello Sam." || end.Turn.ThreadID != "th-1" {
			t.Errorf("first turn: %+v", end)
		}
		r.Forget()

		join := r.Answer[signaling.Join]
		switched := r.stuckSwitch(background)
		waits := r.send(background, "What is my name?")
		r.want("state switching user_requested", "transport avatar")
		join(r.socket(), fakeservice.Event{})
		must.Do(t, <-switched)
		if end := <-waits; end.err != nil || !end.Left || end.Turn != nil {
			t.Errorf("the text that waited: %+v", end)
		}
		r.want("state switching user_requested", "transport avatar", "state connected", "mode avatar true", "responsePending")
		if got := r.spoken(); len(got) != 1 || got[0] != "What is my name?" {
			t.Errorf("spoken %q", got)
		}
		if s := r.Snapshot(); s.State != Connected || s.Mode != Avatar || s.ThreadID != "th-1" || s.Timings["connected"] == 0 && len(s.Timings) == 0 {
			t.Errorf("%+v", s)
		}

		r.When(signaling.Join, join)
		s := r.socket()
		s.Say(signaling.AgentTurnToTalk, signaling.TurnToTalk{UserTranscription: "What is my name?"})
		s.Segment(map[string]any{"type": "avatar", "content": "Sam."})
		synctest.Wait()
		r.Forget()
		r.mustSwitch(Chat)
		r.want("state switching user_requested", "transport chat", "state connected", "mode chat true")
		last := r.send(background, "And mine was?")
		x := r.turn(1)
		expect.Equal(t, x.body["threadId"], "th-1", "the turn went to thread")
		x.reply("Sam.", "th-1")
		<-last
		expect.Len(t, r.completed(), 0, "told of an end during the conversation")
		r.Forget()
		r.Disconnect(session.DisconnectOptions{})
		r.want("state closed user_requested", "ended disconnect")
		if got := r.completed(); len(got) != 1 || got[0] != `KS token /thread/session_completed {"id":"th-1"}` {
			t.Errorf("told of the end: %q", got)
		}
	})
}

// TestNothingOfTheOldTransportIsLost: what it has emitted by the switch comes before the new
// mode, and belongs to the turn that ends then.
func TestNothingOfTheOldTransportIsLost(t *testing.T) {
	connected(t, Options{Options: session.Options{ThreadID: "th-1"}, Mode: Avatar}, func(r *rig) {
		r.inner = func(_ *chat.Session, e event.Event) {
			if said, ok := e.(event.Transcript); ok && said.Text == "Hello" {
				time.Sleep(time.Second) // its listener is slow
			}
		}
		r.mustSwitch(Chat)
		asked := r.send(background, "Hi")
		x := r.turn(0)
		x.say("Hello", "th-1")
		x.say(" Sam.", "th-1")
		synctest.Wait()
		r.Forget()
		r.mustSwitch(Avatar)
		r.want(
			"state switching user_requested", "transport avatar", "final: Hello", "final:  Sam.", "turnEnd",
			"state connected", "mode avatar true",
		)
		if end := <-asked; !errors.Is(end.err, fault.Aborted) || end.Turn.Text != "Hello Sam." {
			t.Errorf("%+v", end)
		}
	})
	for _, c := range []struct {
		name      string
		meanwhile func(*rig)
		want      []string
		completed int
	}{
		{"the visitor leaves meanwhile", func(r *rig) { r.Disconnect(session.DisconnectOptions{}) }, []string{
			"state switching user_requested", "transport avatar", "state closed user_requested", "ended disconnect",
		}, 1},
		{"the new one ends meanwhile", func(r *rig) { r.Socket(r.Dialled() - 1).Drop(socketio.ServerDisconnect) }, []string{
			"state switching user_requested", "transport avatar", "state connected", "mode avatar true",
			"state failed transport_failed", "ended io server disconnect",
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			connected(t, Options{Options: session.Options{ThreadID: "th-1"}, Mode: Avatar}, func(r *rig) {
				r.inner = func(_ *chat.Session, e event.Event) {
					if _, ok := e.(event.Ended); ok {
						c.meanwhile(r)
						time.Sleep(time.Second)
					}
				}
				r.mustSwitch(Chat)
				r.Forget()
				if err := r.SwitchMode(background, Avatar); errors.Is(err, fault.InvalidState) != (c.completed > 0) {
					t.Errorf("err = %v", err)
				}
				r.want(c.want...)
				if got := r.completed(); len(got) != c.completed {
					t.Errorf("told of the end: %q", got)
				}
			})
		})
	}
}

// TestASwitchThatFailsBringsTheConversationBack, with what waited for it.
func TestASwitchThatFailsBringsTheConversationBack(t *testing.T) {
	connected(t, Options{Options: session.Options{ThreadID: "th-1"}, Mode: Chat}, func(r *rig) {
		r.Forget()
		switched := r.stuckSwitch(background)
		waits := r.send(background, "Still there?")
		r.socket().Say(signaling.ThrowToNoAgent, signaling.Empty{})
		expect.Error(t, <-switched, fault.CapacityUnavailable, "err")
		r.turn(0).reply("Yes.", "th-1")
		if end := <-waits; end.err != nil || end.Turn.Text != "Yes." {
			t.Errorf("the text that waited: %+v", end)
		}
		r.want(
			"state switching user_requested", "transport avatar", "error", "transport chat", "state connected transport_failed",
			"user: Still there?", "turnStart", "responsePending", "responseSettled", "final: Yes.", "turnEnd",
		)
		if s := r.Snapshot(); s.State != Connected || s.Mode != Chat || s.Transport != any(r.current.transportSession.(*chat.Session)) {
			t.Errorf("%+v", s)
		}
		r.When(signaling.Join, newWorld(t).Answer[signaling.Join])
		r.mustSwitch(Avatar) // it can be tried again
		expect.Equal(t, len(r.completed()), 0, "told of an end")
	})
}

// TestATransportThatCanNotBeMadeLeavesTheConversation, whether it has an error or
// a bug.
func TestATransportThatCanNotBeMadeLeavesTheConversation(t *testing.T) {
	for name, c := range map[string]struct {
		fail func(Mode) error
		want fault.Code
	}{
		"error": {func(Mode) error { return fault.New(fault.BadRequest, "no such option") }, fault.BadRequest},
		"panic": {func(Mode) error { panic("a bug") }, fault.InternalError},
	} {
		connected(t, Options{}, func(r *rig) {
			r.Forget()
			r.fail = c.fail
			expect.Error(t, r.SwitchMode(background, Chat), c.want, "%s", name)
			r.want("state switching user_requested", "state connected transport_failed")
			if sent := <-r.send(background, "Hello"); !sent.Left || sent.err != nil {
				t.Errorf("%s: %+v", name, sent)
			}
		})
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.fail = c.fail
			if s, err := New(w.with(Options{Options: session.Options{Token: "token"}})); s != nil || !errors.Is(err, c.want) {
				t.Errorf("%s in New: %v, %v", name, s, err)
			}
		})
	}
}

func TestAConnectThatFailsIsFinal(t *testing.T) {
	run(t, Options{Options: session.Options{ThreadID: "th-1"}}, func(r *rig) {
		r.When(signaling.Join, func(s *fakeservice.Socket, _ fakeservice.Event) { s.Say(signaling.RemovePeer, signaling.Empty{}) })
		expect.Error(t, r.Connect(background), fault.PeerRemoved, "err")
		r.want("state connecting user_requested", "transport avatar", "error", "state failed transport_failed")
		expect.Error(t, r.Connect(background), fault.InvalidState, "again")
		expect.Error(t, r.SwitchMode(background, Chat), fault.InvalidState, "switch")
		r.Disconnect(session.DisconnectOptions{})
		r.want("state connecting user_requested", "transport avatar", "error", "state failed transport_failed", "state closed user_requested")
		expect.Len(t, r.completed(), 0, "told of the end of nothing")
	})
}

func TestCallsInTheWrongState(t *testing.T) {
	run(t, Options{Mode: Chat}, func(r *rig) {
		expect.Error(t, r.SwitchMode(background, Avatar), fault.InvalidState, "switch before the connect")
		expect.Error(t, r.SwitchMode(background, "video"), fault.BadRequest, "switch to nowhere")
		expect.Fail(r.SendText(background, "Hello"))(t, fault.InvalidState, "text before the connect")
		expect.Error(t, r.UpdateRequestVars(map[string]any{"a": 1}), fault.InvalidState, "variables before the connect")
		r.mustConnect()
		r.Forget()
		expect.Equal(t, r.SwitchMode(background, Chat), nil, "a switch to the present mode")
		expect.Fail(r.SendText(background, " \n"))(t, fault.BadRequest, "an empty text")
		r.want()
		r.stuck()
		first := r.switchLater(background, Avatar)
		expect.Error(t, r.SwitchMode(background, Avatar), fault.InvalidState, "a second switch")
		r.Disconnect(session.DisconnectOptions{})
		expect.Error(t, <-first, fault.InvalidState, "the first")
	})
	for _, o := range []Options{
		{Mode: "video"},
		{Options: session.Options{RequestVars: map[string]any{"secrets": "x"}}},
		{Avatar: avatar.Options{Options: session.Options{RequestVars: map[string]any{"sys__ks": "x"}}}},
		{Mode: Avatar, Chat: chat.Options{Options: session.Options{RequestVars: map[string]any{"a": []int{1}}}}},
		{},
	} {
		if s, err := New(newWorld(t).with(o)); s != nil || !errors.Is(err, fault.BadRequest) && !errors.Is(err, fault.ValidationError) {
			t.Errorf("%v, %v", s, err)
		}
	}
}

// TestTheEndOfItsContextEndsAChange: a connect for good, a switch back to where the
// conversation was.
func TestTheEndOfItsContextEndsAChange(t *testing.T) {
	over, cancel := context.WithCancel(background)
	cancel()
	run(t, Options{Mode: Chat}, func(r *rig) {
		expect.Error(t, r.Connect(over), fault.Aborted, "before it began")
		r.mustConnect()
		r.Forget()
		expect.Error(t, r.SwitchMode(over, Avatar), fault.Aborted, "before it began")
		expect.Fail(r.SendText(over, "Hello"))(t, fault.Aborted, "a text")
		r.want()
		r.stuck()
		ctx, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		expect.Error(t, r.SwitchMode(ctx, Avatar), fault.Timeout, "a deadline")
		r.want("state switching user_requested", "transport avatar", "transport chat", "state connected transport_failed")
	})
	run(t, Options{}, func(r *rig) {
		r.stuck()
		ctx, cancel := context.WithCancel(background)
		time.AfterFunc(time.Second, cancel)
		expect.Error(t, r.Connect(ctx), fault.Aborted, "connect")
		r.want("state connecting user_requested", "transport avatar", "state failed transport_failed")
	})
}

// TestATransportThatEndsByItself in every state, and what a disconnect adds.
func TestATransportThatEndsByItself(t *testing.T) {
	connected(t, Options{}, func(r *rig) {
		r.Forget()
		r.socket().Drop(socketio.ServerDisconnect)
		r.want("state failed transport_failed", "ended io server disconnect")
		if s := r.Snapshot(); s.State != Broken || s.Transport == nil {
			t.Errorf("%+v", s)
		}
		r.Disconnect(session.DisconnectOptions{})
		r.Disconnect(session.DisconnectOptions{})
		r.want("state failed transport_failed", "ended io server disconnect", "state closed user_requested")
	})
	t.Run("the old one, of a switch that works", func(t *testing.T) {
		connected(t, Options{}, func(r *rig) {
			r.Forget()
			s := r.socket()
			r.Listen(func(e event.Event) {
				if _, ok := e.(TransportChanged); ok {
					s.Drop(socketio.ServerDisconnect)
				}
			})
			must.Do(t, r.SwitchMode(background, Chat))
			r.want("state switching user_requested", "transport chat", "state connected", "mode chat false")
		})
	})
	t.Run("the old one, of a switch that fails", func(t *testing.T) {
		connected(t, Options{Mode: Chat}, func(r *rig) {
			r.Forget()
			switched := r.stuckSwitch(background)
			waits := r.send(background, "Hello?")
			old := r.current.transportSession.(*chat.Session)
			old.Disconnect(chatEnd("gone"))
			r.want("state switching user_requested", "transport avatar")
			r.socket().Say(signaling.ThrowToNoAgent, signaling.Empty{})
			expect.Error(t, <-switched, fault.CapacityUnavailable, "err")
			if end := <-waits; !errors.Is(end.err, fault.InvalidState) {
				t.Errorf("the text that waited: %+v", end)
			}
			r.want("state switching user_requested", "transport avatar", "error", "state failed transport_failed", "ended gone")
		})
	})
	t.Run("the new one, as it is up", func(t *testing.T) {
		end := func(s *chat.Session, e event.Event) {
			if e == event.Event(chat.StateChanged{State: chat.Connected}) {
				s.Disconnect(chatEnd("gone"))
			}
		}
		connected(t, Options{}, func(r *rig) {
			r.Forget()
			r.inner = end
			expect.Error(t, r.SwitchMode(background, Chat), fault.ConnectFailed, "err")
			r.want("state switching user_requested", "transport chat", "transport avatar", "state connected transport_failed")
		})
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.inner = end
			brain := "https://brain.example"
			s := must.Get(New(w.with(Options{Options: session.Options{Token: "token", GenieURL: &brain}, Mode: Chat})))(t)
			if err := s.Connect(background); !errors.Is(err, fault.ConnectFailed) || s.Snapshot().State != Broken {
				t.Errorf("%v in state %s", err, s.Snapshot().State)
			}
			s.Close()
		})
	})
	t.Run("the new one, before it is up", func(t *testing.T) {
		connected(t, Options{}, func(r *rig) {
			r.Forget()
			r.Listen(func(e event.Event) {
				if c, ok := e.(TransportChanged); ok && c.Mode == Chat {
					r.other.transportSession.(*chat.Session).Disconnect(chatEnd("gone"))
				}
			})
			expect.Error(t, r.SwitchMode(background, Chat), fault.InvalidState, "err")
			r.want("state switching user_requested", "transport chat", "transport avatar", "state connected transport_failed")
		})
	})
}

// TestDisconnectInEveryState tells of one end, and settles what was under way.
func TestDisconnectInEveryState(t *testing.T) {
	for name, c := range map[string]struct {
		at   func(r *rig) <-chan error
		want []string
	}{
		"idle":      {func(*rig) <-chan error { return nil }, nil},
		"connected": {func(r *rig) <-chan error { r.mustConnect(); return nil }, nil},
		"connecting": {func(r *rig) <-chan error {
			r.stuck()
			return later(func() error { return r.Connect(background) })
		}, nil},
		"switching": {func(r *rig) <-chan error {
			r.mustConnect() // and to text, so that the switch makes a third transport
			r.mustSwitch(Chat)
			r.stuck()
			return r.switchLater(background, Avatar)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, Options{Options: session.Options{ThreadID: "th-1"}}, func(r *rig) {
				pending := c.at(r)
				var texts []<-chan sent
				if name == "switching" {
					texts = append(texts, r.send(background, "one"), r.send(background, "two"))
				}
				r.Forget()
				r.Disconnect(session.DisconnectOptions{Reason: "bye"})
				r.Disconnect(session.DisconnectOptions{})
				if s := r.Snapshot(); s.State != Closed {
					t.Errorf("state %s", s.State)
				}
				if pending != nil {
					expect.Error(t, <-pending, fault.InvalidState, "the call under way")
				}
				for _, x := range texts {
					if end := <-x; !errors.Is(end.err, fault.InvalidState) {
						t.Errorf("a text that waited: %+v", end)
					}
				}
				r.want("state closed user_requested", "ended bye")
				want := 1
				if name == "idle" {
					want = 0
				}
				expect.Len(t, r.completed(), want, "told of the end")
			})
		})
	}
	connected(t, Options{Options: session.Options{ThreadID: "th-1"}}, func(r *rig) {
		r.Disconnect(session.DisconnectOptions{Keep: true})
		synctest.Wait()
		expect.Len(t, r.completed(), 0, "told of an end that is none")
	})
}

// TestAListenerMayDisconnectAtAnyEvent, and no call hangs.
func TestAListenerMayDisconnectAtAnyEvent(t *testing.T) {
	for _, at := range []string{
		"state connecting user_requested", "transport chat", "state connected", "state switching user_requested",
		"transport avatar", "mode avatar false",
	} {
		t.Run(at, func(t *testing.T) {
			run(t, Options{Mode: Chat}, func(r *rig) {
				r.Listen(func(e event.Event) {
					if lineOf(e) == at {
						r.Disconnect(session.DisconnectOptions{})
					}
				})
				err := r.Connect(background)
				synctest.Wait()
				if err == nil {
					err = r.SwitchMode(background, Avatar)
				}
				if at != "mode avatar false" && !errors.Is(err, fault.InvalidState) {
					t.Errorf("err = %v", err)
				}
				if got := all[event.Ended](r); len(got) != 1 || r.Snapshot().State != Closed {
					t.Errorf("ended %+v in state %s", got, r.Snapshot().State)
				}
				events := r.events()
				expect.Equal(t, lineOf(events[len(events)-1]), "ended disconnect", "the last event was")
			})
		})
	}
}

// TestASecondConnectJoinsTheFirst, and its context ends its own wait alone.
func TestASecondConnectJoinsTheFirst(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		join := r.Answer[signaling.Join]
		r.stuck()
		connect := func() error { return r.Connect(background) }
		first, second := later(connect), later(connect)
		ctx, cancel := context.WithCancel(background)
		cancel()
		expect.Error(t, r.Connect(ctx), fault.Aborted, "a wait that was cut short")
		join(r.socket(), fakeservice.Event{})
		if a, b := <-first, <-second; a != nil || b != nil {
			t.Errorf("connected with %v and %v", a, b)
		}
		expect.Error(t, r.Connect(background), fault.InvalidState, "while connected")
		r.want("state connecting user_requested", "transport avatar", "state connected")
	})
}

// TestTurnsUnderWayHaveTimingsWhenTheirTransportIsLeft: one event for each.
func TestTurnsUnderWayHaveTimingsWhenTheirTransportIsLeft(t *testing.T) {
	for _, c := range []struct{ mode, other Mode }{{Avatar, Chat}, {Chat, Avatar}} {
		for how, leave := range map[string]func(*rig){
			"switch":     func(r *rig) { r.mustSwitch(c.other) },
			"disconnect": func(r *rig) { r.Disconnect(session.DisconnectOptions{}) },
			"close":      func(r *rig) { r.Close() },
		} {
			connected(t, Options{Options: session.Options{ThreadID: "th-1"}, Mode: c.mode}, func(r *rig) {
				asked := r.send(background, "And to drink?")
				synctest.Wait()
				leave(r)
				<-asked
				synctest.Wait()
				if got := all[event.TurnTimings](r); len(got) != 1 || got[0].From != "typed" || got[0].Outcome != "ended" {
					t.Errorf("%s from %s: %+v", how, c.mode, got)
				}
			})
		}
	}
}

// TestTurnsOfAnAvatarThatIsLeftAreShownOrReported, before the switch or the end.
func TestTurnsOfAnAvatarThatIsLeftAreShownOrReported(t *testing.T) {
	for _, c := range []struct {
		leave func(*rig)
		want  []string
	}{
		{func(r *rig) { r.mustSwitch(Chat) }, []string{
			"state switching user_requested", "transport chat", "responseSettled", "user: stored", "turnUnconfirmed", "state connected", "mode chat true",
		}},
		{func(r *rig) { r.Disconnect(session.DisconnectOptions{}) }, []string{
			"user: stored", "turnUnconfirmed", "responseSettled", "state closed user_requested", "ended disconnect",
		}},
	} {
		connected(t, Options{Options: session.Options{ThreadID: "th-1"}}, func(r *rig) {
			r.Set(func(s *fakeservice.Service) { s.Acknowledge = func(text string) bool { return text != "lost" } })
			<-r.send(background, "stored")
			<-r.send(background, "lost")
			synctest.Wait()
			r.Forget()
			c.leave(r)
			r.want(c.want...)
		})
	}
}
