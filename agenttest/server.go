// Package agenttest starts local services for tests: of bots, of servers, and of whatever
// else talks to an agent. Sessions of the test are real, and so are their sockets and media;
// what the agent answers is scripted. It must not depend on a kind of session.
package agenttest

import (
	"testing"

	"github.com/agentruntime/agentruntime/localservice"
	"github.com/agentruntime/agentruntime/runtime/appinit"
)

// Server is a local service that ends with its test.
type Server struct {
	*localservice.Service
	t testing.TB
}

// NewServer starts a service on free ports of loopback, with a database of its own. It is
// closed when the test has ended; the test fails if it can't be started or closed.
func NewServer(t testing.TB) *Server {
	t.Helper()
	return NewServerWith(t, localservice.Options{})
}

// NewServerWith is NewServer with options.
func NewServerWith(t testing.TB, o localservice.Options) *Server {
	t.Helper()
	service, err := localservice.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := service.Close(); err != nil {
			t.Errorf("close the local service: %v", err)
		}
	})
	return &Server{service, t}
}

// AppInit returns what a session with an agent needs, for a new visitor; see
// [localservice.Service.AppInit]. An error ends the test.
func (s *Server) AppInit(agent string) *appinit.Result {
	s.t.Helper()
	result, err := s.Service.AppInit(s.t.Context(), agent)
	if err != nil {
		s.t.Fatal(err)
	}
	return result
}

// Script replaces the rules of the answers, for later turns; see
// [localservice.Options.Script]. An error in them ends the test.
func (s *Server) Script(script string) {
	s.t.Helper()
	if err := s.SetScript(script); err != nil {
		s.t.Fatal(err)
	}
}
