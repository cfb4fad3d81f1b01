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
	if k == nil || k.Sent || s.turn.kicked || s.gated() || s.life.paused {
		return
	}
	s.turn.kicked = true
	ctx := s.life.ctx
	s.base.Spawn(func() {
		text, err := s.guard(ctx, k.Text, "speak")
		s.base.Work.Post(func() {
			if ctx.Err() != nil {
				return // with its life
			}
			if err == nil {
				err = s.countTurn()
			}
			if err != nil {
				s.base.Warn(fault.KickoffFailed, err.Error())
				return
			}
			s.first(text, func() { s.kickoffSent(text) })
		})
	})
}

// first puts a text of the session's own in front of those that wait.
func (s *Session) first(text string, left func()) {
	h := &heldText{text, func(sent bool) {
		if sent {
			left()
		}
	}}
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
