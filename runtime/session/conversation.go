package session

import (
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/agentruntime/agentruntime/runtime/completion"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Conversation has the methods that sessions of every kind share (session §A). A session
// embeds it. The methods may be called from any goroutine.
type Conversation struct{ core *Core }

// Conversation returns the methods of the session with this core.
func (c *Core) Conversation() Conversation { return Conversation{c} }

// Status returns the part of the present state that sessions of all kinds have in common.
func (c *Conversation) Status() Status { return c.core.kind.Status() }

// Live returns invalid_state if the session is not connected, else nil.
func (c *Conversation) Live() error {
	if now := c.Status(); !now.Connected {
		return fault.New(fault.InvalidState, "the session is "+now.State+", not connected")
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
	if now := c.Status(); now.Final {
		return fault.New(fault.InvalidState, "the session is "+now.State+"; make a new one")
	}
	c.core.Secrets.Add(token)
	c.core.Work.Do(func() {
		if !c.Status().Final {
			c.core.kind.SetToken(token)
			c.core.Audit("token.refresh", "accepted", "")
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
	c.core.Secrets.AddNamed(vars)
	c.core.Work.Do(func() { c.core.kind.MergeVars(vars) })
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
	c.core.Work.Post(func() { c.core.kind.Crashed(fault.From(err)) })
}

// WaitDelivered blocks until the listener has received every event so far, and the calls
// that it then made on the session are under way. A listener must not call it.
func (c *Conversation) WaitDelivered() { c.core.WaitDelivered() }

// Format prints no more than the state, whatever the verb: the token is secret.
func (c *Conversation) Format(w fmt.State, _ rune) {
	_, _ = io.WriteString(w, c.core.kind.Name+", "+c.Status().State) // fmt has no way to report a failed write
}

// Events yields every event that is emitted from the beginning of the loop on, until ctx
// ends, or the session was closed and its last event was yielded. Several loops may run at
// once, beside the listeners of the options. The session reads more slowly while more than
// [MaxUndelivered] events wait for a loop.
func (c *Conversation) Events(ctx context.Context) iter.Seq[event.Event] { return c.core.events(ctx) }

// Settle blocks until a disconnected session emits nothing more: the completion signal was
// sent or failed, and the listener has received the outcome. A listener must therefore not
// call it.
func (c *Conversation) Settle() { c.core.Settle() }

// OnToolCall registers a handler for the tool called name and returns the
// function that removes it. Handlers of one name run in the order of their
// registration; if several have a schema, the newest schema is used. The error is
// bad_request.
func (c *Conversation) OnToolCall(name string, h ToolHandler, schema converse.ArgsSchema) (remove func(), err error) {
	if err := CheckToolHandler(name, h, schema); err != nil {
		return nil, err
	}
	tools, handler := &c.core.Tools, &toolHandler{run: h, schema: schema}
	c.core.Work.Do(func() {
		if tools.handlers == nil {
			tools.handlers = map[string][]*toolHandler{}
		}
		tools.handlers[name] = append(tools.handlers[name], handler)
	})
	return func() {
		c.core.Work.Post(func() { tools.handlers[name] = without(tools.handlers[name], handler) })
	}, nil
}

// OnOAuthRequired registers a handler for requests of the visitor's consent and
// returns the function that removes it. The error is bad_request.
func (c *Conversation) OnOAuthRequired(h ConsentHandler) (remove func(), err error) {
	if err := CheckConsentHandler(h); err != nil {
		return nil, err
	}
	tools := &c.core.Tools
	c.core.Work.Do(func() { tools.consents = append(tools.consents, &h) })
	return func() {
		c.core.Work.Post(func() { tools.consents = without(tools.consents, &h) })
	}, nil
}

// RespondToTool answers a call that the brain waits for. response is an object.
// Errors: bad_request, invalid_state.
func (c *Conversation) RespondToTool(ctx context.Context, id string, response map[string]any) (ToolAnswer, error) {
	if err := c.Live(); err != nil {
		return ToolAnswer{}, err
	}
	return c.core.Tools.Respond(ctx, id, response)
}

// CompleteThread sends the completion signal now. It fails with invalid_state
// once the session has ended, and with aborted at the end of ctx (timeout for a
// deadline), which does not cancel the signal; every other outcome is in the result.
func (c *Conversation) CompleteThread(ctx context.Context) (completion.Result, error) {
	n, err := Ask(ctx, c.core, func(reply chan<- *completion.Notifier) { reply <- c.core.kind.Completing() })
	if err != nil {
		return completion.Result{}, err
	}
	if n == nil {
		return completion.Result{}, fault.New(fault.InvalidState, "the session is "+c.Status().State)
	}
	r, err := n.NotifyNow(ctx)
	if err != nil {
		return r, EndOf(ctx)
	}
	return r, nil
}
