package session

import (
	"context"
	"fmt"
	"io"

	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/sessionend"
)

// Conversation has the methods that sessions of every kind share (session §A).
// A session embeds it and sets it up with [NewConversation]. The methods may be called from
// any goroutine.
type Conversation struct {
	base *Base
	of   Behaviour
}

// Behaviour is how one kind of session implements its [Conversation]. The functions
// without a result run on the queue, the others on any goroutine.
type Behaviour struct {
	Kind  string        // for messages, e.g. "avatar session"
	State func() string // the present state
	// Connected reports whether the session accepts calls that need the service.
	Connected func() bool
	// Final reports whether the session can't connect again, and so needs no token.
	Final func() bool

	SetToken  func(token string)
	MergeVars func(vars map[string]any)
	Crashed   func(*fault.Error)
}

// NewConversation returns the conversation of a session with that base.
func NewConversation(base *Base, of Behaviour) Conversation { return Conversation{base, of} }

// Live returns invalid_state if the session is not connected, else nil.
func (c *Conversation) Live() error {
	if !c.of.Connected() {
		return fault.New(fault.InvalidState, "the session is "+c.of.State()+", not connected")
	}
	return nil
}

// SetToken replaces the token for everything that needs one later: handshakes, turns
// in text, tool answers, the completion signal. Errors: bad_request, and
// invalid_state where the session has ended for good.
func (c *Conversation) SetToken(token string) error {
	if token == "" {
		return fault.New(fault.BadRequest, "token is required")
	}
	if c.of.Final() {
		return fault.New(fault.InvalidState, "the session is "+c.of.State())
	}
	c.base.Secrets.Add(token)
	c.base.Work.Do(func() {
		if !c.of.Final() {
			c.of.SetToken(token)
			c.base.Audit("token.refresh", "accepted", "")
		}
	})
	return nil
}

// UpdateRequestVars merges vars into the variables of the prompt; "" or nil clears
// one. Errors: validation_error, invalid_state.
func (c *Conversation) UpdateRequestVars(vars map[string]any) error {
	vars, err := converse.CheckVars(vars)
	if err != nil {
		return err
	}
	if err := c.Live(); err != nil {
		return err
	}
	c.base.Secrets.AddNamed(vars)
	c.base.Work.Do(func() { c.of.MergeVars(vars) })
	return nil
}

// SetDynamicPrompt describes to the brain what the visitor sees on the page: data is stored
// as JSON in the variable page_context, which nil clears. Errors: bad_request, invalid_state.
func (c *Conversation) SetDynamicPrompt(data any) error {
	if err := c.Live(); err != nil {
		return err
	}
	vars, err := dynamicPrompt(data)
	if err != nil {
		return err
	}
	return c.UpdateRequestVars(vars)
}

// Fail ends this session after a bug that was caught elsewhere, in a callback of
// the page for example.
func (c *Conversation) Fail(err error) {
	c.base.Work.Post(func() { c.of.Crashed(fault.From(err)) })
}

// WaitDelivered blocks until the listener has received every event so far, and the calls
// that it then made on the session are under way. A listener must not call it.
func (c *Conversation) WaitDelivered() { c.base.WaitDelivered() }

// Format prints no more than the state, whatever the verb: the token is secret.
func (c *Conversation) Format(w fmt.State, _ rune) {
	_, _ = io.WriteString(w, c.of.Kind+", "+c.of.State()) // fmt has no way to report a failed write
}

// Transport has the methods of a session that reaches the service itself, over a
// socket or over HTTP.
type Transport struct {
	Conversation
	tools *Tools
	// notifier returns the sender of the completion signal, nil once the session has
	// ended. It runs on the queue.
	notifier func() *sessionend.Notifier
}

// NewTransport returns the transport part of a session.
func NewTransport(c Conversation, tools *Tools, notifier func() *sessionend.Notifier) Transport {
	return Transport{c, tools, notifier}
}

// OnToolCall registers a handler for the tool called name and returns the
// function that removes it. Handlers of one name run in the order of their
// registration; if several have a schema, the newest schema is used. The error is
// bad_request.
func (t *Transport) OnToolCall(name string, h ToolHandler, schema converse.ArgsSchema) (remove func(), err error) {
	return t.tools.OnToolCall(name, h, schema)
}

// OnOAuthRequired registers a handler for requests of the visitor's consent and
// returns the function that removes it. The error is bad_request.
func (t *Transport) OnOAuthRequired(h ConsentHandler) (remove func(), err error) {
	return t.tools.OnOAuthRequired(h)
}

// RespondToTool answers a call that the brain waits for. response is an object.
// Errors: bad_request, invalid_state.
func (t *Transport) RespondToTool(ctx context.Context, id string, response map[string]any) (ToolAnswer, error) {
	if err := t.Live(); err != nil {
		return ToolAnswer{}, err
	}
	return t.tools.Respond(ctx, id, response)
}

// CompleteThread sends the completion signal now. It fails with invalid_state
// once the session has ended, and with aborted at the end of ctx (timeout for a
// deadline), which does not cancel the signal; every other outcome is in the result.
func (t *Transport) CompleteThread(ctx context.Context) (sessionend.Result, error) {
	n, err := Ask(ctx, t.base, func(reply chan<- *sessionend.Notifier) { reply <- t.notifier() })
	if err != nil {
		return sessionend.Result{}, err
	}
	if n == nil {
		return sessionend.Result{}, fault.New(fault.InvalidState, "the session is "+t.of.State())
	}
	r, err := n.NotifyNow(ctx)
	if err != nil {
		return r, EndOf(ctx)
	}
	return r, nil
}
