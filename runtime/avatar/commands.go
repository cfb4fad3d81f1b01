package avatar

import (
	"slices"

	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/control"
)

// command changes a setting of the session at the service, e.g. the approval, the pause or
// the variables. A repeated command has no further effect.
type command struct {
	name    string
	payload any
	sent    bool // on some connection
}

// sendCommand sends a command and keeps it until it is acknowledged, because what is sent
// on a breaking connection is lost, and a service that recovers the session has the old
// setting.
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
	err := l.socket.EmitWithAck(c.name, func(socketio.Args) {
		s.core.Work.Post(func() {
			s.turn.acknowledges = true
			l.unacknowledged = slices.DeleteFunc(l.unacknowledged, func(other *command) bool { return other == c })
		})
	}, c.payload)
	if err != nil {
		s.core.Log("info", c.name+" waits for the connection: "+err.Error(), nil)
		return
	}
	c.sent = true
}

// resendCommands sends the commands that may be lost again, on a recovered connection.
func (s *Session) resendCommands(l *connection) {
	for _, c := range l.unacknowledged {
		if s.turn.acknowledges || !c.sent {
			s.transmit(l, c)
		}
	}
}

// setting returns the setting that a command changes. Of two commands for the same setting
// only the newer is kept.
func setting(name string) string {
	switch name {
	case control.ResumeConversation:
		return control.PauseConversation
	case control.UnmuteUser:
		return control.MuteUser
	}
	return name
}
