package avatar

import (
	"slices"

	"github.com/agentruntime/agentruntime/runtime/control"
)

// command sets what the service knows of the session: that it may speak, that it is
// paused, the variables. The service does nothing more when it gets one a second time.
type command struct {
	name    string
	payload any
	sent    bool // on some connection
}

// sendCommand sends a command. Until it is acknowledged it is kept, because what is sent on
// a connection that is breaking is lost, and a service that recovers the session has
// the old state.
func (s *Session) sendCommand(name string, payload any) {
	l := s.conn
	if l == nil {
		return
	}
	c := &command{name: name, payload: payload}
	l.unacknowledged = append(slices.DeleteFunc(l.unacknowledged, func(other *command) bool { return setting(other.name) == setting(name) }), c)
	s.transmit(l, c)
}

func (s *Session) transmit(l *connection, c *command) {
	err := l.socket.Ask(c.name, func() {
		s.base.Work.Post(func() {
			s.turn.acknowledges = true
			l.unacknowledged = slices.DeleteFunc(l.unacknowledged, func(other *command) bool { return other == c })
		})
	}, c.payload)
	if err != nil {
		s.base.Log("info", c.name+" waits for the connection: "+err.Error(), nil)
		return
	}
	c.sent = true
}

// resendCommands sends, on a connection that was recovered, the commands that may be lost.
func (s *Session) resendCommands(l *connection) {
	for _, c := range l.unacknowledged {
		if s.turn.acknowledges || !c.sent {
			s.transmit(l, c)
		}
	}
}

// setting is what a command sets: of two commands for the same, only the newer counts.
func setting(name string) string {
	switch name {
	case control.ResumeConversation:
		return control.PauseConversation
	case control.UnmuteUser:
		return control.MuteUser
	}
	return name
}
