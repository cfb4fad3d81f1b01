package agent

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// TestTheKickoffIsSentOnce, by the transport that carries the conversation when it may be
// sent.
func TestTheKickoffIsSentOnce(t *testing.T) {
	kickoff := &event.Kickoff{Text: "Begin"}
	auto := func(x *exchange) { x.say("Answer.", "th-1"); x.w.Close() }
	run(t, Options{Options: session.Options{Kickoff: kickoff}, Mode: Chat}, func(r *rig) {
		r.auto = auto
		r.mustConnect()
		for _, m := range []Mode{Avatar, Chat, Avatar} {
			r.mustSwitch(m)
		}
		if got, spoken := r.asked(), r.spoken(); !slices.Equal(got, []string{"Begin"}) || len(spoken) != 0 {
			t.Errorf("asked %q, spoken %q", got, spoken)
		}
	})
	t.Run("spoken", func(t *testing.T) {
		run(t, Options{Options: session.Options{Kickoff: kickoff}}, func(r *rig) {
			r.auto = auto
			r.mustConnect()
			for _, m := range []Mode{Chat, Avatar} {
				r.mustSwitch(m)
			}
			if got, spoken := r.asked(), r.spoken(); len(got) != 0 || !slices.Equal(spoken, []string{"Begin"}) {
				t.Errorf("asked %q, spoken %q", got, spoken)
			}
		})
	})
	t.Run("the opening was not over", func(t *testing.T) {
		run(t, Options{Options: session.Options{Kickoff: kickoff}}, func(r *rig) {
			r.auto = auto
			r.When(signaling.ApprovedPermissions, nil)
			r.mustConnect()
			r.mustSwitch(Chat)
			r.mustSwitch(Avatar)
			r.socket().Say(signaling.StvFinishedTalking, signaling.FinishedTalking{})
			if got, spoken := r.asked(), r.spoken(); !slices.Equal(got, []string{"Begin"}) || len(spoken) != 0 {
				t.Errorf("asked %q, spoken %q", got, spoken)
			}
		})
	})
	t.Run("in a text that did not last", func(t *testing.T) {
		run(t, Options{Options: session.Options{Kickoff: kickoff}}, func(r *rig) {
			r.auto = auto
			r.When(signaling.ApprovedPermissions, nil)
			r.mustConnect()
			var first sync.Once // of two chat sessions
			r.inner = func(s *chat.Session, e event.Event) {
				if e == event.Event(chat.StateChanged{State: chat.Connected}) {
					first.Do(func() { s.Disconnect(chatEnd("gone")) })
				}
			}
			if err := r.SwitchMode(background, Chat); !errors.Is(err, fault.ConnectFailed) {
				t.Errorf("err = %v", err)
			}
			r.socket().Say(signaling.StvFinishedTalking, signaling.FinishedTalking{})
			r.mustSwitch(Chat)
			r.mustSwitch(Avatar)
			if got, spoken := r.asked(), r.spoken(); !slices.Equal(got, []string{"Begin"}) || len(spoken) != 0 {
				t.Errorf("asked %q, spoken %q", got, spoken)
			}
		})
	})
	t.Run("it ended during the switch", func(t *testing.T) {
		run(t, Options{Options: session.Options{Kickoff: kickoff}}, func(r *rig) {
			r.auto = auto
			r.When(signaling.ApprovedPermissions, nil)
			r.mustConnect()
			s := r.socket()
			r.listen = func(e event.Event) {
				if _, ok := e.(TransportChanged); ok {
					s.Say(signaling.StvFinishedTalking, signaling.FinishedTalking{})
					time.Sleep(time.Millisecond) // until it was heard
				}
			}
			r.mustSwitch(Chat)
			if got, spoken := r.asked(), r.spoken(); !slices.Equal(got, []string{"Begin"}) || len(spoken) != 0 {
				t.Errorf("asked %q, spoken %q", got, spoken)
			}
		})
	})
	t.Run("the switch failed", func(t *testing.T) {
		run(t, Options{Options: session.Options{Kickoff: kickoff}}, func(r *rig) {
			r.When(signaling.ApprovedPermissions, nil)
			r.mustConnect()
			r.fail = func(Mode) error { return fault.New(fault.BadRequest, "no") }
			if err := r.SwitchMode(background, Chat); err == nil {
				t.Error("the switch worked")
			}
			r.socket().Say(signaling.StvFinishedTalking, signaling.FinishedTalking{})
			if spoken := r.spoken(); !slices.Equal(spoken, []string{"Begin"}) {
				t.Errorf("spoken %q", spoken)
			}
		})
	})
	t.Run("that of the first transport wins", func(t *testing.T) {
		o := Options{
			Options: session.Options{
				Kickoff: kickoff,
			},
			Mode:   Chat,
			Chat:   chat.Options{Options: session.Options{Kickoff: &event.Kickoff{Text: "In text"}}},
			Avatar: avatar.Options{Options: session.Options{Kickoff: &event.Kickoff{Text: "Aloud"}}},
		}
		run(t, o, func(r *rig) {
			r.auto = auto
			r.mustConnect()
			r.mustSwitch(Avatar)
			if got, spoken := r.asked(), r.spoken(); !slices.Equal(got, []string{"In text"}) || len(spoken) != 0 {
				t.Errorf("asked %q, spoken %q", got, spoken)
			}
		})
	})
}
