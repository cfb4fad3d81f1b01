//go:build js && wasm

package page

import (
	"context"
	"sync"
	"syscall/js"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/runtime/converse"
)

// Session is a session as a page holds it: the other end of a facade in js/.
type Session interface {
	// Methods lists what the facade calls (session-api A). Every session has
	// removeHandler and settle besides, and dispose unless another one holds it.
	Methods() Methods
	// Fail ends the session after a bug that was caught in one of its callbacks.
	Fail(error)
	// Settle returns when a session that has ended has nothing more to tell.
	Settle()
	// Close ends the session and returns when the page has heard its last event.
	Close()
}

// Open makes a session of a kind from the options that its facade gives.
type Open func(h *Handle, options js.Value) (Session, error)

// Program is a running program with the sessions of its page.
type Program struct {
	owner
	live map[*Handle]struct{}
}

// New returns a program that ends with ctx. It has to be closed.
func New(ctx context.Context) *Program {
	return &Program{newOwner(ctx, nil), map[*Handle]struct{}{}}
}

// Close ends the program's sessions, calls and streams.
func (p *Program) Close() {
	p.cancel()
	var all sync.WaitGroup
	for h := range p.live {
		all.Go(h.dispose)
	}
	all.Wait()
	p.end()
}

// Sessions returns the number of sessions that are not disposed.
func (p *Program) Sessions() int { return len(p.live) }

// Open makes a session and returns what the page calls of it. dispatch takes its
// events: a name and a payload.
func (p *Program) Open(open Open, options, dispatch js.Value) (map[string]any, error) {
	h := &Handle{program: p, events: jsbridge.NewEmitter(dispatch), handlers: map[int]func(){}}
	h.owner = newOwner(p.ctx, h.Failed)
	session, err := open(h, options)
	if err != nil {
		h.end()
		return nil, err
	}
	h.session = session
	p.live[h] = struct{}{}
	object := h.methods()
	object["dispose"] = h.later(func(context.Context, Call) (any, error) {
		h.dispose()
		return nil, nil
	})
	return object, nil
}

// Handle is what the page has of one session.
type Handle struct {
	owner
	program  *Program
	session  Session // nil until it is made
	events   jsbridge.Emitter
	handlers map[int]func() // what removes a handler, by the number that TypeScript gave it
}

// methods is the session as the page holds it.
func (h *Handle) methods() map[string]any {
	object := h.object(h.session.Methods())
	object["removeHandler"] = h.now(h.removeHandler)
	object["settle"] = h.later(func(context.Context, Call) (any, error) {
		h.session.Settle()
		return nil, nil
	})
	return object
}

// Failed ends the session after a bug that was caught in one of its callbacks.
func (h *Handle) Failed(err error) {
	if h.session != nil {
		h.session.Fail(err)
	}
}

// Emit hands an event to the page; payload is converted, errors become
// AgentErrors.
func (h *Handle) Emit(name string, payload any) {
	if err := h.events.Emit(name, payload); err != nil {
		jsbridge.Log("error", "agentruntime: "+err.Error())
	}
}

// dispose ends the session and frees what it holds of the page. It returns when
// the page has heard the last event.
func (h *Handle) dispose() {
	if _, ok := h.program.live[h]; !ok {
		return
	}
	delete(h.program.live, h)
	h.cancel()
	h.session.Close()
	h.end()
}

// ToolHandler is the method that registers a function of the page for a tool,
// under a number of the page's choice: number, name, function, schema.
func ToolHandler[C any, H ~func(context.Context, C) (any, error)](h *Handle, register func(name string, handler H, schema converse.ArgsSchema) (func(), error)) Now {
	return func(c Call) (any, error) {
		var (
			name   string
			schema converse.ArgsSchema
		)
		if err := c.Into("name", 1, &name); err != nil {
			return nil, err
		}
		if err := c.Into("argsSchema", 3, &schema); err != nil {
			return nil, err
		}
		return h.keep(c, func() (func(), error) { return register(name, asked[C](h, c.At(2)), schema) })
	}
}

// ConsentHandler is the method that registers a function of the page for
// requests of the visitor's consent: number, function.
func ConsentHandler[C any, H ~func(context.Context, C) (any, error)](h *Handle, register func(handler H) (func(), error)) Now {
	return func(c Call) (any, error) {
		return h.keep(c, func() (func(), error) { return register(asked[C](h, c.At(1))) })
	}
}

// asked is a handler that asks fn, for as long as the page has the session.
func asked[C any](h *Handle, fn js.Value) func(context.Context, C) (any, error) {
	return func(_ context.Context, about C) (any, error) { return handled(Consult(h.ctx, fn, about)) }
}

// keep registers a handler and keeps what removes it.
func (h *Handle) keep(c Call, register func() (func(), error)) (any, error) {
	var id int
	if err := c.Into("handler", 0, &id); err != nil {
		return nil, err
	}
	remove, err := register()
	if err == nil {
		h.handlers[id] = remove
	}
	return nil, err
}

func (h *Handle) removeHandler(c Call) (any, error) {
	var id int
	if err := c.Into("handler", 0, &id); err != nil {
		return nil, err
	}
	if remove := h.handlers[id]; remove != nil {
		delete(h.handlers, id)
		remove()
	}
	return nil, nil
}
