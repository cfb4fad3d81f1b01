package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/completion"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// handler is a function of the application that is registered with every transport.
type handler struct {
	register func(transportSession) (remove func(), err error)
}

// OnToolCall registers a handler for the tool called name, with the present transport and
// later ones, and returns the function that removes it. The error is bad_request.
func (s *Session) OnToolCall(name string, h session.ToolHandler, schema converse.ArgsSchema) (remove func(), err error) {
	if err := session.CheckToolHandler(name, h, schema); err != nil {
		return nil, err
	}
	return s.addHandler(&handler{func(l transportSession) (func(), error) { return l.OnToolCall(name, h, schema) }}), nil
}

// OnOAuthRequired registers a handler for requests of the visitor's consent, with the
// present transport and later ones, and returns the function that removes it. The error
// is bad_request.
func (s *Session) OnOAuthRequired(h session.ConsentHandler) (remove func(), err error) {
	if err := session.CheckConsentHandler(h); err != nil {
		return nil, err
	}
	return s.addHandler(&handler{func(l transportSession) (func(), error) { return l.OnOAuthRequired(h) }}), nil
}

func (s *Session) addHandler(h *handler) (remove func()) {
	s.core.Work.Do(func() {
		if s.over() {
			return
		}
		s.handlers = append(s.handlers, h)
		for _, t := range s.transports() {
			t.addHandler(h)
		}
	})
	return func() {
		s.core.Work.Do(func() {
			s.handlers = slices.DeleteFunc(s.handlers, func(other *handler) bool { return other == h })
			for _, t := range s.transports() {
				t.removeHandler(h)
			}
		})
	}
}

// RespondToTool answers a tool call that the brain waits for. The result is
// unknown_or_stale for a call of a transport that was released since, because its turn is
// over. response must be an object. Errors: bad_request, invalid_state.
func (s *Session) RespondToTool(ctx context.Context, id string, response map[string]any) (session.ToolAnswer, error) {
	t, err := s.live(ctx)
	if err != nil {
		return session.ToolAnswer{}, err
	}
	return t.RespondToTool(ctx, id, response)
}

// live returns the transport that carries the conversation. The error is
// invalid_state once the session has ended.
func (s *Session) live(ctx context.Context) (*transport, error) {
	t, err := session.Ask(ctx, &s.core, func(reply chan<- *transport) {
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

// mergeVars stores the variables for later transports and passes them to the present ones.
func (s *Session) mergeVars(vars map[string]any) {
	s.core.MergeVars(vars) // they override those of the options
	for _, t := range s.transports() {
		t.pendingVars = session.Merged(t.pendingVars, vars)
		s.refresh(t)
	}
}

// keepToken replaces every token for later transports.
func (s *Session) keepToken(token string) {
	s.core.Token, s.opts.Avatar.Token, s.opts.Chat.Token = token, "", ""
	s.core.Tokens.Since = time.Now()
}

// setToken replaces the token for the present transports and for later ones.
func (s *Session) setToken(token string) {
	if s.over() {
		return
	}
	s.keepToken(token)
	for _, t := range s.transports() {
		if err := t.SetToken(token); err != nil { // it ended, and its end will be reported
			s.core.Log("warn", "token: "+err.Error(), nil)
		}
	}
}

// CompleteThread sends the completion signal now; it is sent once in the life of the
// session, whichever transport sends it. The error is invalid_state once the session has
// ended; every other outcome is in the result.
func (s *Session) CompleteThread(ctx context.Context) (completion.Result, error) {
	t, err := s.live(ctx)
	if err != nil {
		return completion.Result{}, err
	}
	return t.CompleteThread(ctx)
}

const (
	// maxWaiting is how many texts may wait for a switch (session §A.3.2).
	maxWaiting = 8
	// returnLimit bounds how long later texts wait until a released transport has
	// returned those that it did not send, to keep the order. That takes long only
	// while BeforeSend of the application runs.
	returnLimit = time.Second
)

// Sent is the outcome of a text.
type Sent struct {
	// Turn is the answer in the mode [Chat]; with an error, what was received of it. It is
	// nil in the mode [Avatar], where the answer is spoken.
	Turn *converse.Turn
	// Left reports, if there is no error, whether the text was sent; false means that the
	// session ended first.
	Left bool
}

// text is one call of SendText. It belongs to the queue.
type text struct {
	ctx  context.Context
	text string
	// carrier is the transport that took it; nil while it waits.
	carrier *transport
	ended   chan sent // receives one value
}

type sent struct {
	Sent
	err error
}

// SendText sends one turn. In the mode [Chat] it returns the whole answer; in the mode
// [Avatar] it returns as soon as the text was sent. During a switch up to 8 texts wait, and
// are then sent in their order over the transport that carries the conversation. Several
// waiting texts become one turn of an avatar, as in [avatar.Session.Speak].
//
// Errors are those of [chat.Session.SendText] and [avatar.Session.Speak];
// invalid_state when the session is not connected or a ninth text would wait;
// aborted at the end of ctx (timeout for a deadline), also while the text waits.
func (s *Session) SendText(ctx context.Context, words string) (Sent, error) {
	if strings.TrimSpace(words) == "" {
		return Sent{}, fault.New(fault.BadRequest, "the text is empty")
	}
	if ctx.Err() != nil {
		return Sent{}, session.EndOf(ctx)
	}
	x := &text{ctx: ctx, text: words, ended: make(chan sent, 1)}
	s.core.Work.Do(func() { s.take(x) })
	stop := context.AfterFunc(ctx, func() { s.core.Work.Post(func() { s.withdraw(x) }) })
	defer stop()
	end := <-x.ended
	return end.Sent, end.err
}

func (s *Session) take(x *text) {
	waiting := 0
	for _, other := range s.texts {
		if other.carrier == nil {
			waiting++
		}
	}
	switch {
	case s.state != Connected && s.state != Switching:
		s.settle(x, Sent{}, s.not(Connected))
	case waiting >= maxWaiting:
		s.settle(x, Sent{}, fault.New(fault.InvalidState, "too many texts wait for the switch"))
	default:
		s.texts = append(s.texts, x)
		s.deliver()
	}
}

// withdraw drops a text that waits. A text that a transport has taken gets its outcome there.
func (s *Session) withdraw(x *text) {
	if x.carrier == nil && slices.Contains(s.texts, x) {
		s.settle(x, Sent{}, session.EndOf(x.ctx))
	}
}

// settle sends the outcome to the caller that waits for x, after all events so far.
func (s *Session) settle(x *text, what Sent, err error) {
	s.texts = slices.DeleteFunc(s.texts, func(other *text) bool { return other == x })
	s.core.AfterDelivered(func() { x.ended <- sent{what, err} })
}

// refuseTexts ends the texts that wait; the others get their outcome from their transport.
func (s *Session) refuseTexts() {
	for _, x := range slices.Clone(s.texts) {
		if x.carrier == nil {
			s.settle(x, Sent{}, s.not(Connected))
		}
	}
}

// carries reports whether t has a text without an outcome.
func (s *Session) carries(t *transport) bool {
	return slices.ContainsFunc(s.texts, func(x *text) bool { return x.carrier == t })
}

// deliver sends the texts that wait, in their order.
func (s *Session) deliver() {
	if s.state != Connected {
		return
	}
	var ready []*text
	for _, x := range s.texts {
		if x.carrier == nil {
			ready = append(ready, x)
		} else if x.carrier.released && !x.carrier.overdue {
			return // x may still be returned unsent, and is the next in order
		}
	}
	if len(ready) > 0 {
		s.current.send(ready)
	}
}

// ask sends each text as one turn of a chat.
func (s *Session) ask(t *transport, c *chat.Session, texts []*text) {
	for _, x := range texts {
		x.carrier = t
		wait := c.Start(x.ctx, x.text, chat.TurnOptions{})
		s.core.Spawn(func() {
			turn, err := wait()
			s.core.Work.Post(func() {
				// A turn that had begun when its session ended fails with aborted instead.
				unsent := errors.Is(err, fault.InvalidState)
				s.carried(t, []*text{x}, Sent{Turn: &turn, Left: err == nil}, err, unsent)
			})
		})
	}
}

// speak sends texts to the avatar as one turn. When the context of one of them ends, the
// turn is taken back, if it was not sent, and the others are sent again.
func (s *Session) speak(t *transport, a *avatar.Session, texts []*text) {
	words := make([]string, len(texts))
	ctx, cancel := context.WithCancelCause(context.Background())
	stops := make([]func() bool, len(texts))
	for i, x := range texts {
		x.carrier = t
		words[i] = x.text
		stops[i] = context.AfterFunc(x.ctx, func() { cancel(context.Cause(x.ctx)) })
	}
	wait := a.Start(ctx, strings.Join(words, "\n"))
	s.core.Spawn(func() {
		left, err := wait()
		for _, stop := range stops {
			stop()
		}
		unsent := !left && (err == nil || errors.Is(err, fault.InvalidState) || ctx.Err() != nil)
		cancel(nil)
		s.core.Work.Post(func() { s.carried(t, texts, Sent{Left: left}, err, unsent) })
	})
}

// carried handles the outcome of texts that t had. Those that were not sent wait again,
// unless t is the current transport and would refuse them again.
func (s *Session) carried(t *transport, texts []*text, what Sent, err error, unsent bool) {
	for _, x := range texts {
		switch {
		case unsent && x.ctx.Err() != nil:
			s.settle(x, Sent{}, session.EndOf(x.ctx))
		case unsent && !s.over() && (s.state == Switching || t != s.current || errors.Is(err, fault.Aborted)):
			x.carrier = nil
		default:
			s.settle(x, what, err)
		}
	}
	s.deliver()
	s.checkKnown()
}
