package live

import (
	"cmp"
	"time"

	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// What the agent says when the user is silent for long.
const (
	wakeUpLine  = "Are you still there?"
	goodbyeLine = "I will hang up now. Goodbye!"
)

// watchIdle starts the clock of a silent user: first a check-in, later a
// goodbye and the end. Both are off by default (choice A18).
func (s *Session) watchIdle() {
	s.idle.stop()
	t := s.cfg.Timing
	switch {
	case !s.attentive() || s.active != nil:
	case t.WakeUp > 0 && !s.checkedIn:
		s.idle = s.after(t.WakeUp, s.unlessUserSpeaks(func() {
			s.checkedIn = true
			s.line(byWakeUp, wakeUpLine)
		}))
	case t.Goodbye > 0:
		s.idle = s.after(t.Goodbye, s.unlessUserSpeaks(func() { s.line(byGoodbye, goodbyeLine) }))
	}
}

// unlessUserSpeaks returns a function that calls f, or restarts the idle clock while the user speaks.
func (s *Session) unlessUserSpeaks(f func()) func() {
	return func() {
		if s.userSpeaks() {
			s.userActive()
			return
		}
		f()
	}
}

// userActive records that the user is there: the clock of a silent user starts again.
func (s *Session) userActive() {
	s.checkedIn = false
	s.watchIdle()
}

// limitTime starts the clock of the whole conversation, if it has one: a
// warning, then the end (protocol §4.8, choice A17).
func (s *Session) limitTime() {
	limit, notice := s.cfg.Timing.Conversation, s.cfg.Timing.Warning
	if own := s.profile.MaxConversation; own > 0 { // of the agent (management-api.md, F.3)
		limit, notice = own, cmp.Or(notice, DefaultWarning)
	}
	if limit <= 0 {
		return
	}
	if notice > 0 && notice < limit {
		s.limits[0] = s.after(limit-notice, func() {
			s.emit(signaling.ConversationTimeWarning, signaling.TimeWarning{RemainingTime: notice.Seconds()})
		})
	}
	s.limits[1] = s.after(limit, func() {
		s.emit(signaling.ConversationTimeExpired, signaling.Empty{})
		s.endConversation()
	})
}

// endConversation ends the session from the service's side.
func (s *Session) endConversation() {
	s.emit(signaling.ConversationEnded, signaling.Empty{})
	s.hangUp()
}

// hangUp closes the socket, after what was emitted before it.
func (s *Session) hangUp() {
	if p := s.active; p != nil {
		s.drop(p, outcome{spoken: p.spoken(time.Now())})
		s.silence()
	}
	if err := s.conn.Close(); err != nil {
		s.log.Debug("socket not closed", "err", err)
	}
}

// fatal ends the session with one of the five fatal events (protocol
// §4.3, choice A15).
func (s *Session) fatal(event string, payload any) {
	s.log.Info("session refused", "event", event)
	s.emit(event, payload)
	s.hangUp()
}
