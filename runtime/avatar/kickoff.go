package avatar

import (
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// sendKickoff queues the first user turn, once in the life of the session,
// behind the opening turn and the disclosure (wire-protocol §7.6).
func (s *Session) sendKickoff() {
	k := s.turn.kickoff
	if k == nil || k.Sent || s.turn.kicked || s.turn.heldBack || s.gated() || s.life.paused {
		return
	}
	h := &heldText{}
	s.turn.kicked, s.turn.kicking = true, h
	ctx := s.life.ctx
	s.base.Spawn(func() {
		text, err := s.guard(ctx, k.Text, "speak")
		s.base.Work.Post(func() {
			if s.turn.kicking != h {
				return // its life is over, or it was taken back
			}
			if err == nil {
				err = s.countTurn()
			}
			if err != nil {
				s.turn.kicking = nil
				s.base.Warn(fault.KickoffFailed, err.Error())
				return
			}
			*h = heldText{text, func(sent bool) {
				s.turn.kicking = nil
				if sent {
					s.kickoffSent(text)
				}
			}}
			s.first(h)
		})
	})
}

// HoldKickoff keeps the kickoff from leaving, or lets it leave again, and reports
// whether it is used up: it has left, was refused, or there is none. With it, a
// conversation that moves to another session has one kickoff. It waits for the
// session's queue, so that the answer stays true.
func (s *Session) HoldKickoff(hold bool) (used bool) {
	s.base.Work.Call(func() {
		s.turn.heldBack = hold
		if h := s.turn.kicking; h != nil && hold {
			s.takeBack(h)
			s.turn.kicked, s.turn.kicking = false, nil
		}
		if !hold && s.state == Connected {
			s.sendKickoff()
		}
		k := s.turn.kickoff
		used = k == nil || k.Sent || s.turn.kicked && s.turn.kicking == nil
	})
	return used
}

// first puts a text of the session's own in front of those that wait.
func (s *Session) first(h *heldText) {
	s.turn.held = slices.Insert(s.turn.held, 0, h)
	s.flush()
}

// kickoffSent notes that the kickoff has left, never to be sent again.
func (s *Session) kickoffSent(text string) {
	sent := *s.turn.kickoff
	sent.Sent = true
	s.turn.kickoff = &sent
	if !sent.Echo {
		s.turn.echo = text
	}
}

// cutEcho removes the kickoff from the first user transcript
// (wire-protocol §7.6).
func (s *Session) cutEcho(heard string) string {
	echo := s.turn.echo
	s.turn.echo = ""
	if echo == "" {
		return heard
	}
	before, after, found := strings.Cut(heard, echo)
	if !found {
		return heard
	}
	var parts []string
	for _, part := range []string{before, after} {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "\n")
}
