package agent

import (
	"context"
	"slices"

	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/sessionend"
)

// handler is a function of the application that every transport gets.
type handler struct {
	register func(line) (remove func(), err error)
}

// OnToolCall registers a handler for the tool called name, in this transport and
// in those to come, and returns the function that removes it. The error is
// bad_request.
func (s *Session) OnToolCall(name string, h session.ToolHandler, schema converse.ArgsSchema) (remove func(), err error) {
	if err := session.CheckToolHandler(name, h, schema); err != nil {
		return nil, err
	}
	return s.lend(&handler{func(l line) (func(), error) { return l.OnToolCall(name, h, schema) }}), nil
}

// OnOAuthRequired registers a handler for requests of the visitor's consent, in
// this transport and in those to come, and returns the function that removes it.
// The error is bad_request.
func (s *Session) OnOAuthRequired(h session.ConsentHandler) (remove func(), err error) {
	if err := session.CheckConsentHandler(h); err != nil {
		return nil, err
	}
	return s.lend(&handler{func(l line) (func(), error) { return l.OnOAuthRequired(h) }}), nil
}

func (s *Session) lend(h *handler) (remove func()) {
	s.base.Work.Do(func() {
		if s.over() {
			return
		}
		s.handlers = append(s.handlers, h)
		for _, t := range s.transports() {
			t.lend(h)
		}
	})
	return func() {
		s.base.Work.Do(func() {
			s.handlers = slices.DeleteFunc(s.handlers, func(other *handler) bool { return other == h })
			for _, t := range s.transports() {
				t.takeBack(h)
			}
		})
	}
}

// RespondToTool answers a call that the brain waits for. One that came over a
// transport that was let go since is unknown_or_stale: the turn that it belonged to
// is over. response is an object. Errors: bad_request, invalid_state.
func (s *Session) RespondToTool(ctx context.Context, id string, response map[string]any) (session.ToolAnswer, error) {
	t, err := s.live(ctx)
	if err != nil {
		return session.ToolAnswer{}, err
	}
	return t.RespondToTool(ctx, id, response)
}

// live returns the transport that carries the conversation. The error is
// invalid_state once it has ended.
func (s *Session) live(ctx context.Context) (*transport, error) {
	t, err := session.Ask(ctx, &s.base, func(reply chan<- *transport) {
		if s.over() {
			reply <- nil
			return
		}
		reply <- s.current
	})
	if err == nil && t == nil {
		err = fault.New(fault.InvalidState, "the session has ended")
	}
	return t, err
}

// UpdateRequestVars merges vars into the conversation's variables, for this
// transport and those to come; "" or nil clears one. Errors: invalid_state,
// validation_error.
func (s *Session) UpdateRequestVars(vars map[string]any) error {
	vars, err := converse.CheckVars(vars)
	if err != nil {
		return err
	}
	if state := s.Snapshot().State; state != Connected && state != Switching {
		return fault.New(fault.InvalidState, "the session is "+string(state)+", not connected")
	}
	s.base.Work.Do(func() {
		s.updates = session.Merged(s.updates, vars)
		for _, t := range s.transports() {
			t.missed = session.Merged(t.missed, vars)
			s.refresh(t)
		}
	})
	return nil
}

// SetDynamicPrompt tells the brain what the visitor has before them: data is
// stored as JSON in the variable page_context. Errors: invalid_state,
// bad_request.
func (s *Session) SetDynamicPrompt(data any) error {
	vars, err := session.DynamicPrompt(data)
	if err != nil {
		return err
	}
	return s.UpdateRequestVars(vars)
}

// SetToken replaces the token for everything that needs one later. The error is
// bad_request.
func (s *Session) SetToken(token string) error {
	if token == "" {
		return fault.New(fault.BadRequest, "token is required")
	}
	s.base.Work.Do(func() {
		if s.over() {
			return
		}
		s.token, s.opts.Avatar.Token, s.opts.Chat.Token = token, "", ""
		for _, t := range s.transports() {
			if err := t.SetToken(token); err != nil { // it ended, and will be heard of
				s.base.Log("warn", "token: "+err.Error(), nil)
			}
		}
	})
	return nil
}

// CompleteThread sends the completion signal now; it is sent once in the life of
// the session, over whatever transport. The error is invalid_state once the session
// has ended; every other outcome is in the result.
func (s *Session) CompleteThread(ctx context.Context) (sessionend.Result, error) {
	t, err := s.live(ctx)
	if err != nil {
		return sessionend.Result{}, err
	}
	return t.CompleteThread(ctx)
}
