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
	left    bool // was handed to a connection
}

// tell sends a command. Until it is acknowledged it is kept, because what is sent into
// a connection that is breaking is lost, and a service that recovers the session has
// the old state.
func (s *Session) tell(name string, payload any) {
	l := s.conn
	if l == nil {
		return
	}
	c := &command{name: name, payload: payload}
	l.untold = append(slices.DeleteFunc(l.untold, func(other *command) bool { return topic(other.name) == topic(name) }), c)
	s.deliverCommand(l, c)
}

func (s *Session) deliverCommand(l *connection, c *command) {
	err := l.socket.Ask(c.name, func() {
		s.base.Work.Post(func() {
			s.turn.acknowledges = true
			l.untold = slices.DeleteFunc(l.untold, func(other *command) bool { return other == c })
		})
	}, c.payload)
	if err != nil {
		s.base.Log("info", c.name+" waits for the connection: "+err.Error(), nil)
		return
	}
	c.left = true
}

// tellAgain sends, on a connection that was recovered, the commands that may be lost.
func (s *Session) tellAgain(l *connection) {
	for _, c := range l.untold {
		if s.turn.acknowledges || !c.left {
			s.deliverCommand(l, c)
		}
	}
}

// topic is what a command is about: the newer of two about the same is what counts.
func topic(name string) string {
	switch name {
	case control.ResumeConversation:
		return control.PauseConversation
	case control.UnmuteUser:
		return control.MuteUser
	}
	return name
}
