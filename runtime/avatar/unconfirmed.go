package avatar

import (
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/control"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/session"
)

const (
	turnIDLength = 16
	// confirmLimit is how long the service may take to confirm a typed turn. It is longer
	// than the heartbeat, 45 s, so that a dead connection is detected first.
	confirmLimit = time.Minute
)

// sentTurn is a typed turn that was sent and is not confirmed yet. Only the session sends
// it again; the socket keeps no copy.
type sentTurn struct {
	id, text string
	repeated bool // the service has repeated the text, which does not prove that it is stored
	again    bool // waits to be sent again; the service recognises a duplicate by the id
	limit    *session.Timer
}

// deliver sends t on the present connection, or fails.
func (s *Session) deliver(t *sentTurn) error {
	err := s.conn.socket.EmitWithAck(control.TextEntered, func(socketio.Args) {
		s.core.Work.Post(func() { s.acknowledged(t) })
	}, control.Text{Text: t.text, IsFinal: true, ClientTurnID: t.id})
	if err != nil {
		return err
	}
	t.again = false
	s.core.Turns.Asked(t.id)
	s.awaitSign(t)
	if !slices.Contains(s.turn.unconfirmed, t) {
		s.turn.unconfirmed = append(s.turn.unconfirmed, t)
	}
	if len(s.turn.unconfirmed) > maxHeld {
		s.settleTurns(s.turn.unconfirmed[0])
	}
	return nil
}

// awaitSign ends the wait for t after confirmLimit, which starts again if the session is
// not connected then.
func (s *Session) awaitSign(t *sentTurn) {
	t.limit.Stop()
	t.limit = s.core.After(confirmLimit, func() {
		if s.state == Connected && !t.again {
			s.settleTurns(t)
		} else {
			s.awaitSign(t)
		}
	})
}

// acknowledged records that the service has stored t.
func (s *Session) acknowledged(t *sentTurn) {
	s.turn.acknowledges = true
	s.forgetTurn(t)
}

func (s *Session) forgetTurn(t *sentTurn) {
	t.limit.Stop()
	s.turn.unconfirmed = slices.DeleteFunc(s.turn.unconfirmed, func(other *sentTurn) bool { return other == t })
}

// repeated marks the turns whose text the service repeats in a user's transcript
// (protocol §4.7).
func (s *Session) repeated(transcript string) {
	for _, t := range s.turn.unconfirmed {
		before, after, found := strings.Cut(transcript, strings.TrimSpace(converse.Clean(t.text)))
		if found && !t.repeated {
			t.repeated = true
			transcript = before + after // two turns may have the same words
		}
	}
}

// settleTurns ends the wait for the confirmation of turns and reports those without one. If
// the service acknowledges turns, a repeated text is no confirmation.
func (s *Session) settleTurns(turns ...*sentTurn) {
	for _, t := range slices.Clone(turns) {
		s.forgetTurn(t)
		if s.turn.acknowledges || !t.repeated {
			s.core.Turns.Unanswered(t.id)
			s.core.Emit(event.TurnUnconfirmed{Text: t.text, ClientTurnID: t.id})
		}
	}
}

// settleAllTurns is for the end of a session at the service, after which nothing can be
// confirmed.
func (s *Session) settleAllTurns() { s.settleTurns(s.turn.unconfirmed...) }

// reconsiderTurns handles unconfirmed turns after a lost connection. A service that
// acknowledges turns drops duplicates, so they are sent again. Another service would answer
// twice: its turns are reported, unless it has recovered the session, when a missed
// confirmation may still come.
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
