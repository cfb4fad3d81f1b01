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

// transportSession is what both kinds of session can do.
type transportSession interface {
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
	_ transportSession = (*avatar.Session)(nil)
	_ transportSession = (*chat.Session)(nil)
)

// transport is one session of either kind that the agent session holds.
type transport struct {
	transportSession
	mode    Mode
	open    func(context.Context) error // connects
	send    func([]*text)               // sends texts in their order
	release func()

	// What follows belongs to the session's queue.

	pending     bool                // its answer has not begun
	turn        *TurnEnded          // what the end of the turn under way will be, nil without one
	pendingVars map[string]any      // variables that it could not take yet
	ended       *Ended              // it ended without a call of Disconnect
	released    bool                // it was released; its events are ignored
	overdue     bool                // returnLimit has passed since its release: its texts hold up no others
	removes     map[*handler]func() // of the session's handlers in it
}

// open makes a transport that has the session's handlers; it does not connect.
func (s *Session) open(mode Mode) (*transport, error) {
	// Events during its construction are ignored: the error reports a failure.
	t := &transport{mode: mode, removes: map[*handler]func(){}, released: true}
	listen := func(e event.Event) { s.onEvent(t, e) }
	_, err := session.Guarded(func() (any, error) {
		if mode == Avatar {
			o := s.avatarOptions()
			o.OnEvent = listen
			a, release, err := s.deps.Avatar(o)
			t.transportSession, t.release = a, release
			t.open, t.send = func(ctx context.Context) error { return a.Connect(ctx) }, func(x []*text) { s.speak(t, a, x) }
			return nil, err
		}
		o := s.chatOptions()
		o.OnEvent = listen
		c, release, err := s.deps.Chat(o)
		t.transportSession, t.release = c, release
		t.open, t.send = func(context.Context) error { return c.Connect() }, func(x []*text) { s.ask(t, c, x) }
		return nil, err
	})
	if err != nil {
		return nil, err
	}
	t.released = false
	for _, h := range s.handlers {
		t.addHandler(h)
	}
	return t, nil
}

// addHandler registers a handler of the session.
func (t *transport) addHandler(h *handler) {
	// Its name and function were checked when the session took it.
	if remove, err := h.register(t.transportSession); err == nil {
		t.removes[h] = remove
	}
}

// removeHandler removes it.
func (t *transport) removeHandler(h *handler) {
	if remove := t.removes[h]; remove != nil {
		delete(t.removes, h)
		remove()
	}
}

// transports returns those that were not released.
func (s *Session) transports() []*transport {
	return slices.DeleteFunc([]*transport{s.current, s.next}, func(t *transport) bool { return t == nil || t.released })
}

// connect returns when every event of the outcome was delivered.
func (t *transport) connect(ctx context.Context) error {
	err := t.open(ctx)
	t.WaitDelivered()
	return err
}

// lost returns the error of a transport that ended right after it had connected.
func (t *transport) lost() error {
	if t.ended == nil && !t.Status().Ended {
		return nil
	}
	return fault.New(fault.ConnectFailed, "the transport ended as soon as it was up").InPhase(fault.PhaseConnect)
}

// used reports whether the kickoff has left.
func (t *transport) used() bool {
	k := t.Status().Kickoff
	return k != nil && k.Sent
}

// free returns when a disconnected transport is closed. A panic in it is logged and
// does not end the agent session.
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
