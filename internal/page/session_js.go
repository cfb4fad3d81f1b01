//go:build js && wasm

package page

import (
	"context"
	"slices"
	"syscall/js"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/runtime/completion"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// Session has the methods that all kinds of sessions export to js/.
type Session interface {
	SetToken(token string) error
	UpdateRequestVars(vars map[string]any) error
	SetDynamicPrompt(data any) error
	OnToolCall(name string, handler session.ToolHandler, schema converse.ArgsSchema) (remove func(), err error)
	OnOAuthRequired(handler session.ConsentHandler) (remove func(), err error)
	RespondToTool(ctx context.Context, id string, response map[string]any) (session.ToolAnswer, error)
	CompleteThread(ctx context.Context) (completion.Result, error)

	// Fail ends the session after a bug that was caught in one of its callbacks.
	Fail(err error)
	// Settle returns when a session that has ended has emitted its last event.
	Settle()
	// Close ends the session and returns when its last event was delivered.
	Close()
}

// Open makes a session from the options of its TypeScript class, and returns the methods
// that only this kind of session has.
type Open func(h *Handle, options js.Value) (Session, Methods, error)

// Handle is the page's side of one session.
type Handle struct {
	owner
	program  *Program
	session  Session        // nil until it is made
	dispatch js.Value       // called with the events
	handlers map[int]func() // removes a handler, by the number that TypeScript assigned
	omitted  []string       // names of frequent events that have no listener in the page
}

func (p *Program) newHandle() *Handle {
	h := &Handle{program: p, handlers: map[int]func(){}}
	h.owner = newOwner(p.ctx, h.Failed)
	return h
}

// Open makes a session and returns its methods. dispatch is called with the session's
// events: a list of names, payloads and times in turn.
func (p *Program) Open(open Open, options, dispatch js.Value) (map[string]any, error) {
	h := p.newHandle()
	h.dispatch = dispatch
	s, methods, err := open(h, options)
	if err != nil {
		h.end()
		return nil, err
	}
	p.live[h] = struct{}{}
	object := h.methods(s, methods)
	object["dispose"] = h.async(func(context.Context, Args) (any, error) {
		h.dispose()
		return nil, nil
	})
	return object, nil
}

// dispose ends the session and releases its callbacks. It returns after its last event
// was delivered.
func (h *Handle) dispose() {
	if _, ok := h.program.live[h]; !ok {
		return
	}
	delete(h.program.live, h)
	h.cancel()
	h.session.Close()
	h.end()
}

// OpenTransport makes a session that belongs to h's session. attach, a function of the page,
// receives the kind and the methods of the new session and returns an object with two
// functions: dispatch is called for events, and release before the methods become
// invalid. The caller must call the release that is returned after the session was closed.
func (h *Handle) OpenTransport(kind string, attach js.Value, open func(*Handle) (Session, Methods, error)) (release func(), err error) {
	inside := h.program.newHandle()
	s, methods, err := open(inside)
	if err != nil {
		inside.end()
		return nil, err
	}
	released, err := inside.give(kind, attach, inside.methods(s, methods))
	if err != nil {
		s.Close()
		inside.end()
		return nil, err
	}
	return func() {
		if _, err := jsbridge.Invoke(released); err != nil {
			jsbridge.Log("error", "agentruntime: "+err.Error())
		}
		inside.end()
	}, nil
}

// give passes methods to the page and returns its function release.
func (h *Handle) give(kind string, attach js.Value, methods map[string]any) (release js.Value, err error) {
	facade, err := invoke(attach, kind, methods)
	if err != nil {
		return release, err
	}
	if h.dispatch, err = jsbridge.Get(facade, "dispatch"); err != nil {
		return release, err
	}
	return jsbridge.Get(facade, "release")
}

// methods returns the JavaScript form of s (session §A): own, the methods of its kind,
// and those of every session.
func (h *Handle) methods(s Session, own Methods) map[string]any {
	h.session = s
	object := h.object(Methods{
		Sync: map[string]Sync{
			"setToken":          SyncArg("token", s.SetToken),
			"setDynamicPrompt":  SyncArg("data", func(o map[string]any) error { return s.SetDynamicPrompt(o) }),
			"updateRequestVars": SyncObject("requestVars", s.UpdateRequestVars),
			"addToolHandler":    h.addToolHandler,
			"addConsentHandler": h.addConsentHandler,
			"removeHandler":     h.removeHandler,
			"omitEvents":        SyncArg("names", h.omit),
			"redact":            redact,
		},
		Async: map[string]Async{
			"respondToTool":  h.respondToTool,
			"completeThread": AsyncResult(s.CompleteThread),
			"settle": AsyncErr(func(context.Context) error {
				s.Settle()
				return nil
			}),
		},
	})
	for name, f := range h.object(own) {
		object[name] = f
	}
	return object
}

// Failed ends the session after a bug that was caught in one of its callbacks.
func (h *Handle) Failed(err error) {
	if h.session != nil {
		h.session.Fail(err)
	}
}

// omit replaces the list of event names that are not passed to the page: most of the cost
// of an event is its conversion for the page (docs/performance.md).
func (h *Handle) omit(names []string) error {
	h.omitted = names
	return nil
}

// redact returns its argument, a plain value, without secrets: what a recording keeps of an event.
func redact(a Args) (any, error) {
	var value any
	if err := a.Into("value", 0, &value); err != nil {
		return nil, err
	}
	return fault.RedactValue(value), nil
}

// Listen is the session's listener; it passes the events to the page.
func (h *Handle) Listen(events []event.Timed) {
	list := make([]jsbridge.Event, 0, len(events))
	for _, e := range events {
		if slices.Contains(h.omitted, e.Name()) {
			continue
		}
		one := jsbridge.Event{Name: e.Name(), Payload: e.Event, At: e.At}
		if failed, ok := e.Event.(event.Failed); ok {
			one.Payload = failed.Error // becomes an AgentError
		}
		list = append(list, one)
	}
	if len(list) == 0 {
		return
	}
	if err := jsbridge.Emit(h.dispatch, list...); err != nil {
		jsbridge.Log("error", "agentruntime: "+err.Error())
	}
}

// addToolHandler registers a function of the page for a tool. Its arguments are a number
// that the page chooses for removeHandler, the tool's name, the function, and the schema of
// the tool's arguments.
func (h *Handle) addToolHandler(a Args) (any, error) {
	var (
		name   string
		schema converse.ArgsSchema
	)
	if err := a.Into("name", 1, &name); err != nil {
		return nil, err
	}
	if err := a.Into("argsSchema", 3, &schema); err != nil {
		return nil, err
	}
	return h.keep(a, func() (func(), error) { return h.session.OnToolCall(name, handler[event.ToolCall](h, a.At(2)), schema) })
}

// addConsentHandler registers a function of the page for requests of the visitor's
// consent. Its arguments are the number and the function.
func (h *Handle) addConsentHandler(a Args) (any, error) {
	return h.keep(a, func() (func(), error) { return h.session.OnOAuthRequired(handler[event.OAuthRequired](h, a.At(1))) })
}

// handler returns a handler that calls fn and waits for its result, at most until the page
// disposes the session. It returns nil for undefined.
func handler[E any](h *Handle, fn js.Value) func(context.Context, E) (any, error) {
	return func(_ context.Context, e E) (any, error) {
		v, err := Consult(h.ctx, fn, e)
		if err != nil || v.IsUndefined() {
			return nil, err
		}
		return v, nil
	}
}

// keep registers a handler and stores the function that removes it.
func (h *Handle) keep(a Args, register func() (func(), error)) (any, error) {
	var id int
	if err := a.Into("handler", 0, &id); err != nil {
		return nil, err
	}
	remove, err := register()
	if err == nil {
		h.handlers[id] = remove
	}
	return nil, err
}

func (h *Handle) removeHandler(a Args) (any, error) {
	var id int
	if err := a.Into("handler", 0, &id); err != nil {
		return nil, err
	}
	if remove := h.handlers[id]; remove != nil {
		delete(h.handlers, id)
		remove()
	}
	return nil, nil
}

func (h *Handle) respondToTool(ctx context.Context, a Args) (any, error) {
	var (
		id       string
		response map[string]any
	)
	if err := a.Into("id", 0, &id); err != nil {
		return nil, err
	}
	if err := a.Into("response", 1, &response); err != nil {
		return nil, err
	}
	return h.session.RespondToTool(ctx, id, response)
}

// Disconnect makes the method disconnect of a session. With keep, the conversation stays
// open at the service.
func Disconnect(f func(session.DisconnectOptions)) Sync {
	return func(a Args) (any, error) {
		var options struct {
			Final  *bool  `json:"final"`
			Reason string `json:"reason"`
		}
		if err := a.Into("options", 0, &options); err != nil {
			return nil, err
		}
		f(session.DisconnectOptions{Keep: options.Final != nil && !*options.Final, Reason: options.Reason})
		return nil, nil
	}
}

// The rest of this file is about options that are functions of the page. A function that
// was not given becomes nil in Go.

// Consult calls fn with converted arguments and waits for its result, which may be a
// promise.
func Consult(ctx context.Context, fn js.Value, args ...any) (js.Value, error) {
	result, err := invoke(fn, args...)
	if err != nil {
		return result, err
	}
	return jsbridge.Await(ctx, result)
}

// Asked converts an option that is asked for a value of type T, such as onTokenNeeded. Undefined and
// null are the zero value; the error for a value of another type has the option's name.
func Asked[T any](name string, fn js.Value) func(context.Context) (T, error) {
	if jsbridge.Absent(fn) {
		return nil
	}
	return func(ctx context.Context) (asked T, err error) {
		value, err := Consult(ctx, fn)
		if err == nil {
			err = jsbridge.FromJS(name+"'s result", value, &asked)
		}
		return asked, err
	}
}

// invoke calls fn with converted arguments.
func invoke(fn js.Value, args ...any) (js.Value, error) {
	values := make([]any, len(args))
	for i, a := range args {
		v, err := jsbridge.ToJS(a)
		if err != nil {
			return js.Undefined(), err
		}
		values[i] = v
	}
	return jsbridge.Invoke(fn, values...)
}

// Hook converts an option that is called for each event of a kind, such as onAuditEvent.
// Its exceptions are ignored.
func Hook[E any](fn js.Value) func(E) {
	if jsbridge.Absent(fn) {
		return nil
	}
	return func(e E) { _, _ = invoke(fn, e) }
}

// Logger converts the option logger, whose exceptions are ignored.
func Logger(fn js.Value) func(level, message string, data map[string]any) {
	if jsbridge.Absent(fn) {
		return nil
	}
	return func(level, message string, data map[string]any) { _, _ = invoke(fn, level, message, data) }
}
