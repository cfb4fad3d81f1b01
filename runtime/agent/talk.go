package agent

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/completion"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// maxHeld is how many texts may wait for a switch (session-api A.3.2).
const maxHeld = 8

// Sent is what became of a text.
type Sent struct {
	// Turn is the answer, in the mode [Chat]; nil in the other, where the answer is
	// spoken.
	Turn *converse.Turn
	// Left says that the text was sent; false that the session ended first.
	Left bool
}

// heldText is a text that waits for a switch.
type heldText struct {
	text string
	ctx  context.Context
	// outcome is told once what to wait for.
	outcome chan func() (Sent, error)
}

func (h *heldText) refuse(err error) {
	h.outcome <- func() (Sent, error) { return Sent{}, err }
}

// SendText sends one turn: in the mode [Chat] it returns the whole answer, in the
// other as soon as the text has left. During a switch up to 8 texts wait and leave
// through whatever transport carries the conversation then; several that leave to
// an avatar do so as one turn, as they do when one session holds them.
//
// Errors are those of [chat.Session.SendText] and [avatar.Session.Speak];
// invalid_state when the session is not connected or a ninth text would wait;
// aborted at the end of ctx, also while the text waits.
func (s *Session) SendText(ctx context.Context, text string) (Sent, error) {
	if strings.TrimSpace(text) == "" {
		return Sent{}, fault.New(fault.BadRequest, "the text is empty")
	}
	h := &heldText{text: text, ctx: ctx, outcome: make(chan func() (Sent, error), 1)}
	s.base.Work.Do(func() {
		switch {
		case s.state == Connected:
			s.held = append(s.held, h)
			s.deliver()
		case s.state != Switching:
			h.refuse(s.not(Connected))
		case len(s.held) >= maxHeld:
			h.refuse(fault.New(fault.InvalidState, "too many texts wait for the switch"))
		default:
			s.held = append(s.held, h)
		}
	})
	select {
	case wait := <-h.outcome:
		return wait()
	case <-ctx.Done():
	}
	s.base.Work.Post(func() {
		if i := slices.Index(s.held, h); i >= 0 {
			s.held = slices.Delete(s.held, i, i+1)
			h.refuse(fault.From(context.Cause(ctx)))
		}
	})
	wait := <-h.outcome
	return wait()
}

// deliver sends the texts that wait, in their order.
func (s *Session) deliver() {
	held := s.held
	s.held = nil
	if len(held) == 0 {
		return
	}
	if c := s.current.chat; c != nil {
		for _, h := range held {
			wait := c.Start(h.ctx, h.text, chat.TurnOptions{})
			h.outcome <- func() (Sent, error) {
				turn, err := wait()
				return Sent{Turn: &turn, Left: true}, err
			}
		}
		return
	}
	s.speak(held)
}

// speak sends texts to the avatar as one turn. It is taken back when everybody who
// waits for it has gone.
func (s *Session) speak(held []*heldText) {
	texts := make([]string, len(held))
	ctx, cancel := context.WithCancelCause(context.Background())
	gone := make(chan struct{}, len(held))
	for i, h := range held {
		texts[i] = h.text
		stop := context.AfterFunc(h.ctx, func() {
			gone <- struct{}{}
			if len(gone) == cap(gone) {
				cancel(context.Cause(h.ctx))
			}
		})
		context.AfterFunc(ctx, func() { stop() })
	}
	type outcome struct {
		left bool
		err  error
	}
	done := make(chan struct{})
	var end outcome
	avatar := s.current.avatar
	s.base.Spawn(func() {
		end.left, end.err = avatar.Speak(ctx, strings.Join(texts, "\n"))
		close(done)
		cancel(nil)
	})
	for _, h := range held {
		h.outcome <- func() (Sent, error) {
			select {
			case <-done:
				return Sent{Left: end.left}, end.err
			case <-h.ctx.Done():
			}
			if len(held) == 1 {
				<-done // taken back, or sent all the same
				return Sent{Left: end.left}, end.err
			}
			return Sent{}, fault.From(context.Cause(h.ctx))
		}
	}
}

// handler is a function of the application that every transport gets.
type handler struct {
	register func(line) (remove func(), err error)
}

// OnToolCall registers a handler for the tool called name, in this transport and
// in those to come, and returns the function that removes it. The error is
// bad_request.
func (s *Session) OnToolCall(name string, h session.ToolHandler, schema converse.ArgsSchema) (remove func(), err error) {
	if err := session.CheckToolHandler(name, h); err != nil {
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
		s.handlers = append(s.handlers, h)
		for _, t := range s.transports() {
			t.lend(h)
		}
	})
	return func() {
		s.base.Work.Post(func() {
			s.handlers = slices.DeleteFunc(s.handlers, func(other *handler) bool { return other == h })
			for _, t := range s.transports() {
				if remove := t.removes[h]; remove != nil {
					delete(t.removes, h)
					remove()
				}
			}
		})
	}
}

// transports are those that are not let go.
func (s *Session) transports() []*transport {
	return slices.DeleteFunc([]*transport{s.current, s.next}, func(t *transport) bool { return t == nil || t.gone })
}

// RespondToTool answers a call that the brain waits for, whichever transport
// brought it. response is an object. Errors: bad_request, invalid_state.
func (s *Session) RespondToTool(ctx context.Context, id string, response map[string]any) (session.ToolAnswer, error) {
	t, err := s.live(ctx)
	if err != nil {
		return session.ToolAnswer{}, err
	}
	return t.RespondToTool(ctx, id, response)
}

// live returns the transport that carries the conversation.
func (s *Session) live(ctx context.Context) (*transport, error) {
	type answer struct {
		t   *transport
		err error
	}
	a, err := session.Ask(ctx, &s.base, func(reply chan<- answer) {
		if s.state != Connected && s.state != Switching {
			reply <- answer{err: s.not(Connected)}
			return
		}
		reply <- answer{t: s.current}
	})
	return a.t, errors.Join(err, a.err)
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
		if s.state != Connected && s.state != Switching {
			return
		}
		s.updates = session.Merged(s.updates, vars)
		if err := s.current.UpdateRequestVars(vars); err != nil {
			s.base.Log("warn", "variables: "+err.Error(), nil)
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
		if s.state == Closed || s.state == Broken {
			return
		}
		s.token = token
		s.opts.Avatar.Token, s.opts.Chat.Token = "", ""
		for _, t := range s.transports() {
			if err := t.SetToken(token); err != nil {
				s.base.Log("warn", "token: "+err.Error(), nil)
			}
		}
	})
	return nil
}

// CompleteThread sends the completion signal now. It fails with invalid_state once
// the session has ended; every other outcome is in the result.
func (s *Session) CompleteThread(ctx context.Context) (completion.Result, error) {
	t, err := s.live(ctx)
	if err != nil {
		return completion.Result{}, err
	}
	return t.CompleteThread(ctx)
}
