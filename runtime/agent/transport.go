package agent

import (
	"context"
	"slices"

	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/completion"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// transportSession has the methods that both kinds of session have.
type transportSession interface {
	OnToolCall(name string, h session.ToolHandler, schema converse.ArgsSchema) (remove func(), err error)
	OnOAuthRequired(h session.ConsentHandler) (remove func(), err error)
	RespondToTool(ctx context.Context, id string, response map[string]any) (session.ToolAnswer, error)
	UpdateRequestVars(vars map[string]any) error
	SetToken(token string) error
	CompleteThread(ctx context.Context) (completion.Result, error)
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
	settle  func() []event.Event        // reports the typed turns that the log lacks
	release func()

	// The fields below belong to the session's queue.

	pending     bool                // an answer is awaited that has not begun
	turn        *event.TurnEnded    // the event that will end the turn under way, nil without one
	pendingVars map[string]any      // variables that it could not take yet
	ended       *event.Ended        // set if it ended without a call of Disconnect
	released    bool                // it was released; its events but the timings of its last turn are ignored
	overdue     bool                // returnLimit has passed since its release: other texts no longer wait for its own
	removes     map[*handler]func() // remove the session's handlers from it
}

// open makes a transport that has the session's handlers; it does not connect.
func (s *Session) open(mode Mode) (*transport, error) {
	// Events during its construction are ignored: the error reports a failure.
	t := &transport{mode: mode, removes: map[*handler]func(){}, released: true}
	listen := func(events []event.Timed) {
		for _, e := range events {
			s.onEvent(t, e)
		}
	}
	_, err := session.Guarded(func() (any, error) {
		if mode == Avatar {
			o := s.opts.Avatar
			s.share(&o.Options)
			o.OnEvents = listen
			a, release, err := s.opts.NewAvatar(o)
			t.transportSession, t.release = a, release
			t.open, t.send = func(ctx context.Context) error { return a.Connect(ctx) }, func(x []*text) { s.speak(t, a, x) }
			t.settle = a.SettleTurns
			return nil, err
		}
		o := s.opts.Chat
		s.share(&o.Options)
		o.OnEvents = listen
		c, release, err := s.opts.NewChat(o)
		t.transportSession, t.release = c, release
		t.open, t.send = func(ctx context.Context) error { return c.Connect(ctx) }, func(x []*text) { s.ask(t, c, x) }
		t.settle = func() []event.Event { return nil }
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
	// Its name and function were checked when it was registered with the session.
	if remove, err := h.register(t.transportSession); err == nil {
		t.removes[h] = remove
	}
}

// removeHandler removes a handler of the session.
func (t *transport) removeHandler(h *handler) {
	if remove := t.removes[h]; remove != nil {
		delete(t.removes, h)
		remove()
	}
}

// transports returns the transports that were not released.
func (s *Session) transports() []*transport {
	return slices.DeleteFunc([]*transport{s.current, s.other}, func(t *transport) bool { return t == nil || t.released })
}

// lost returns the error of a transport that ended right after it had connected.
func (t *transport) lost() error {
	if t.ended == nil && !t.Status().Ended {
		return nil
	}
	return fault.New(fault.ConnectFailed, "the new transport ended right after it had connected; try again").InPhase(fault.PhaseConnect)
}

// used reports whether the kickoff was sent.
func (t *transport) used() bool {
	k := t.Status().Kickoff
	return k != nil && k.Sent
}

// free closes a disconnected transport and calls its release function. A panic in one of
// them is logged and does not end the agent session.
func (t *transport) free(core *session.Core) {
	for _, f := range []func(){t.Close, t.release} {
		if f == nil {
			continue
		}
		if _, err := session.Guarded(func() (any, error) { f(); return nil, nil }); err != nil {
			core.Log("error", "closing a transport: "+err.Error(), nil)
		}
	}
}
