package avatar

import (
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/runtime/control"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/session"
)

const (
	turnIDLength = 16
	// confirmLimit is how long the service may take to show a sign of a typed turn. It
	// is longer than the heartbeat, 45 s, so that a dead connection is noticed first.
	confirmLimit = time.Minute
)

// sentTurn is a typed turn that was sent, until the service shows a sign of it. The
// session is the only owner of sending it again: the socket keeps none.
type sentTurn struct {
	id, text string
	repeated bool // the service has repeated the text, which does not say that it is stored
	again    bool // waits to be sent again, for the service to tell by its id whether it has it
	limit    *session.Timer
}

// deliver sends t on the present connection, or fails.
func (s *Session) deliver(t *sentTurn) error {
	err := s.conn.socket.Ask(control.TextEntered, func() {
		s.base.Work.Post(func() { s.acknowledged(t) })
	}, control.Text{Text: t.text, IsFinal: true, ClientTurnID: t.id})
	if err != nil {
		return err
	}
	t.again = false
	s.awaitSign(t)
	if !slices.Contains(s.turn.unconfirmed, t) {
		s.turn.unconfirmed = append(s.turn.unconfirmed, t)
	}
	if len(s.turn.unconfirmed) > maxHeld {
		s.settleTurns(s.turn.unconfirmed[0])
	}
	return nil
}

// awaitSign limits the time that t may take, as far as the session is connected.
func (s *Session) awaitSign(t *sentTurn) {
	t.limit.Stop()
	t.limit = s.base.After(confirmLimit, func() {
		if s.state == Connected && !t.again {
			s.settleTurns(t)
		} else {
			s.awaitSign(t)
		}
	})
}

// acknowledged notes that the service has stored t.
func (s *Session) acknowledged(t *sentTurn) {
	s.turn.acknowledges = true
	s.forgetTurn(t)
}

func (s *Session) forgetTurn(t *sentTurn) {
	t.limit.Stop()
	s.turn.unconfirmed = slices.DeleteFunc(s.turn.unconfirmed, func(other *sentTurn) bool { return other == t })
}

// repeated notes the turns that the service repeats in a user's transcript
// (wire-protocol §4.7).
func (s *Session) repeated(transcript string) {
	for _, t := range s.turn.unconfirmed {
		before, after, found := strings.Cut(transcript, strings.TrimSpace(converse.Clean(t.text)))
		if found && !t.repeated {
			t.repeated = true
			transcript = before + after // two turns may have the same words
		}
	}
}

// settleTurns ends the wait for a sign of turns: those without one are reported. Of a
// service that acknowledges turns, nothing else is one.
func (s *Session) settleTurns(turns ...*sentTurn) {
	for _, t := range slices.Clone(turns) {
		s.forgetTurn(t)
		if s.turn.acknowledges || !t.repeated {
			s.base.Emit(TurnUnconfirmed{Text: t.text, ClientTurnID: t.id})
		}
	}
}

// settleAllTurns is for the end of a session at the service: no sign can come any more.
func (s *Session) settleAllTurns() { s.settleTurns(s.turn.unconfirmed...) }

// reconsiderTurns decides after a lost connection what becomes of the turns of which
// there was no sign. A service that acknowledges turns drops a repeated one, so that
// they are sent again. Others would answer twice; of these what was missed may still
// come if the service has recovered the session.
func (s *Session) reconsiderTurns(recovered bool) {
	switch {
	case s.turn.acknowledges:
		for _, t := range s.turn.unconfirmed {
			t.again = true
		}
	case !recovered:
		s.settleAllTurns()
	}
}
