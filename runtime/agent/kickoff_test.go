package agent

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
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
	begin := session.Options{Kickoff: &event.Kickoff{Text: "Begin"}}
	unopened := func(r *rig) { // connects an avatar whose opening is not over
		r.When(signaling.ApprovedPermissions, nil)
		r.mustConnect()
	}
	for name, c := range map[string]struct {
		options       Options
		do            func(r *rig)
		asked, spoken string
	}{
		"asked": {Options{Options: begin, Mode: Chat}, func(r *rig) {
			r.mustConnect()
			for _, m := range []Mode{Avatar, Chat, Avatar} {
				r.mustSwitch(m)
			}
		}, "Begin", ""},
		"spoken": {Options{Options: begin}, func(r *rig) {
			r.mustConnect()
			for _, m := range []Mode{Chat, Avatar} {
				r.mustSwitch(m)
			}
		}, "", "Begin"},
		"the opening was not over": {Options{Options: begin}, func(r *rig) {
			unopened(r)
			r.mustSwitch(Chat)
			r.mustSwitch(Avatar)
			r.socket().Say(signaling.StvFinishedTalking, signaling.FinishedTalking{})
		}, "Begin", ""},
		"in a text that did not last": {Options{Options: begin}, func(r *rig) {
			unopened(r)
			var first sync.Once // of two chat sessions
			r.inner = func(s *chat.Session, e event.Event) {
				if e == event.Event(chat.StateChanged{State: chat.Connected}) {
					first.Do(func() { s.Disconnect(chatEnd("gone")) })
				}
			}
			expect.Error(r.t, r.SwitchMode(background, Chat), fault.ConnectFailed, "err")
			r.socket().Say(signaling.StvFinishedTalking, signaling.FinishedTalking{})
			r.mustSwitch(Chat)
			r.mustSwitch(Avatar)
		}, "Begin", ""},
		"it ended during the switch": {Options{Options: begin}, func(r *rig) {
			unopened(r)
			s := r.socket()
			r.Listen(func(e event.Event) {
				if _, ok := e.(TransportChanged); ok {
					s.Say(signaling.StvFinishedTalking, signaling.FinishedTalking{})
					time.Sleep(time.Millisecond) // until it was heard
				}
			})
			r.mustSwitch(Chat)
		}, "Begin", ""},
		"the switch failed": {Options{Options: begin}, func(r *rig) {
			unopened(r)
			r.fail = func(Mode) error { return fault.New(fault.BadRequest, "no") }
			if err := r.SwitchMode(background, Chat); err == nil {
				r.t.Error("the switch worked")
			}
			r.socket().Say(signaling.StvFinishedTalking, signaling.FinishedTalking{})
		}, "", "Begin"},
		"that of the first transport wins": {Options{
			Options: begin, Mode: Chat,
			Chat:   chat.Options{Options: session.Options{Kickoff: &event.Kickoff{Text: "In text"}}},
			Avatar: avatar.Options{Options: session.Options{Kickoff: &event.Kickoff{Text: "Aloud"}}},
		}, func(r *rig) {
			r.mustConnect()
			r.mustSwitch(Avatar)
		}, "In text", ""},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, c.options, func(r *rig) {
				r.auto = func(x *exchange) { x.say("Answer.", "th-1"); x.w.Close() }
				c.do(r)
				if asked, spoken := strings.Join(r.asked(), "|"), strings.Join(r.spoken(), "|"); asked != c.asked || spoken != c.spoken {
					t.Errorf("asked %q, spoken %q", asked, spoken)
				}
			})
		})
	}
}
