package agent

import (
	"context"
	"slices"

	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/sessionend"
)

// line is what both kinds of session can do.
type line interface {
	OnToolCall(name string, h session.ToolHandler, schema converse.ArgsSchema) (remove func(), err error)
	OnOAuthRequired(h session.ConsentHandler) (remove func(), err error)
	RespondToTool(ctx context.Context, id string, response map[string]any) (session.ToolAnswer, error)
	UpdateRequestVars(vars map[string]any) error
	SetToken(token string) error
	CompleteThread(ctx context.Context) (sessionend.Result, error)
	Status() session.Status
	HoldKickoff(hold bool) (used bool)
	Disconnect(o session.DisconnectOptions)
	WaitDelivered()
	Close()
}

var (
	_ line = (*avatar.Session)(nil)
	_ line = (*chat.Session)(nil)
)

// transport is one session of either kind that the agent session holds.
type transport struct {
	line
	mode    Mode
	open    func(context.Context) error // connects
	send    func([]*text)               // sends texts in their order
	release func()

	// What follows belongs to the session's queue.

	pending bool                // it owes an answer
	turn    *TurnEnded          // what the end of the turn under way will be, nil without one
	missed  map[string]any      // variables that it could not be told yet
	over    *Ended              // it ended by itself
	gone    bool                // it was let go, and is not heard any more
	late    bool                // it was let go long ago: nothing waits for its texts
	removes map[*handler]func() // of the session's handlers in it
}

// open makes a transport that has the session's handlers; it does not connect.
func (s *Session) open(mode Mode) (*transport, error) {
	// What ends while it is being made is not heard of: the error tells enough.
	t := &transport{mode: mode, removes: map[*handler]func(){}, gone: true}
	listen := func(e event.Event) { s.hear(t, e) }
	_, err := session.Guarded(func() (any, error) {
		if mode == Avatar {
			o := s.avatarOptions()
			o.OnEvent = listen
			a, release, err := s.deps.Avatar(o)
			t.line, t.release = a, release
			t.open, t.send = func(ctx context.Context) error { return a.Connect(ctx) }, func(x []*text) { s.speak(t, a, x) }
			return nil, err
		}
		o := s.chatOptions()
		o.OnEvent = listen
		c, release, err := s.deps.Chat(o)
		t.line, t.release = c, release
		t.open, t.send = func(context.Context) error { return c.Connect() }, func(x []*text) { s.ask(t, c, x) }
		return nil, err
	})
	if err != nil {
		return nil, err
	}
	t.gone = false
	for _, h := range s.handlers {
		t.lend(h)
	}
	return t, nil
}

// lend registers a handler of the session.
func (t *transport) lend(h *handler) {
	// Its name and function were checked when the session took it.
	if remove, err := h.register(t.line); err == nil {
		t.removes[h] = remove
	}
}

// takeBack removes it.
func (t *transport) takeBack(h *handler) {
	if remove := t.removes[h]; remove != nil {
		delete(t.removes, h)
		remove()
	}
}

// transports are those that were not let go.
func (s *Session) transports() []*transport {
	return slices.DeleteFunc([]*transport{s.current, s.next}, func(t *transport) bool { return t == nil || t.gone })
}

// connect returns when everything that belongs to the outcome was heard.
func (t *transport) connect(ctx context.Context) error {
	err := t.open(ctx)
	t.WaitDelivered()
	return err
}

// lost returns the error of a transport that was up and is not any more.
func (t *transport) lost() error {
	if t.over == nil && !t.Status().Ended {
		return nil
	}
	return fault.New(fault.ConnectFailed, "the transport ended as soon as it was up").InPhase(fault.PhaseConnect)
}

// used reports whether the kickoff has left.
func (t *transport) used() bool {
	k := t.Status().Kickoff
	return k != nil && k.Sent
}

// free returns when a transport that was disconnected is gone. Its bugs are its
// own.
func (t *transport) free(base *session.Base) {
	for _, f := range []func(){t.Close, t.release} {
		if f == nil {
			continue
		}
		if _, err := session.Guarded(func() (any, error) { f(); return nil, nil }); err != nil {
			base.Log("error", "closing a transport: "+err.Error(), nil)
		}
	}
}
