// Package chat implements the conversation in text: the same brain and the same threads
// as a live session, over streamed HTTP replies, without a socket, media or a
// permission prompt (session §A.2, protocol §9 and §10).
//
// There are three ways to receive an answer, which can be combined: every event goes to
// Options.OnEvent, [Session.SendText] waits for one turn, and [Session.Stream]
// iterates over its segments. [Session.Close] is for native programs: it waits until
// the completion signal was sent; [Session.Disconnect] never waits.
//
// The state of a [Session] belongs to one serial queue; each turn is read by a
// goroutine of its own, which passes the segments to the queue as they arrive. A
// [Snapshot] of the state can be read at any time.
//
// The package must not import runtime/avatar, runtime/media, runtime/control or
// internal/socketio, because pages without an avatar load it.
package chat

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/sessionend"
)

// State is the phase of a session (session §B.2).
type State string

// The states. Closed is final.
const (
	Idle      State = "idle"
	Connected State = "connected"
	Closed    State = "closed"
)

// StateChanged is emitted at every change of state.
type StateChanged struct {
	State State `json:"state"`
}

// Name implements [event.Event].
func (StateChanged) Name() string { return "stateChange" }

// Snapshot is the part of a session's state that can be read at any time.
type Snapshot struct {
	State State `json:"state"`
	// ThreadID is the dialogue's id: the one given, or that of the first reply.
	ThreadID  string         `json:"threadId,omitempty"`
	PartnerID string         `json:"partnerId"`
	Kickoff   *event.Kickoff `json:"kickoff"`
	// ResponsePending reports that a turn was sent and its answer has not begun.
	ResponsePending bool `json:"responsePending"`
}

// Session is one conversation in text. Its methods may be called from any goroutine and,
// except those that wait for a turn or for the end, from listeners: a listener that waits
// blocks the events that it waits for.
type Session struct {
	session.Transport

	opts Options

	base     session.Base // its queue owns what follows snapshot
	snapshot atomic.Pointer[Snapshot]
	readers  sync.WaitGroup // of turns

	state   State
	token   string
	thread  string
	vars    map[string]any // never changed, only replaced, because requests use it
	caps    map[string]string
	kickoff *event.Kickoff

	turn    *turn   // the turn under way, nil without one
	waiting []*turn // will be sent later, in this order
	pending bool    // responsePending was emitted and not settled
	warned  bool    // the warning of an empty turn was emitted, which happens once

	tools  session.Tools
	turns  session.Turns
	tokens session.Tokens
	stall  session.Watchdog

	life context.Context // handlers are called with it
	die  context.CancelFunc

	notifier *sessionend.Notifier
	free     func() // closes the connections of the session
}

// New returns a session in state idle; it opens nothing. The error is a
// *[fault.Error] about the options.
func New(o Options) (*Session, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	vars, err := converse.CheckVars(o.RequestVars)
	if err != nil {
		return nil, err
	}
	caps, err := converse.MergeCapabilities(nil, o.Capabilities)
	if err != nil {
		return nil, err
	}
	network, free := fetch.Open(o.HTTPClient)
	o.HTTPClient = fetch.As(network) // for all parts of the session
	s := &Session{
		opts: o, free: free,
		state: Idle, token: o.Token, thread: o.ThreadID, vars: vars, caps: caps, kickoff: o.Kickoff,
	}
	if s.opts.PartnerID == "" {
		s.opts.PartnerID = session.PartnerOf(o.Token)
	}
	s.opts.Token, s.opts.RequestVars = "", nil // s.token is the only copy; the end clears it
	s.life, s.die = context.WithCancel(context.Background())
	s.base.Start(session.Hooks{
		Publish: s.publish,
		Crashed: s.crashed,
		Actor: func() session.Actor {
			snap := s.Snapshot()
			return session.Actor{PartnerID: snap.PartnerID, SubjectID: s.opts.SubjectID, ThreadID: snap.ThreadID}
		},
		OnEvent: o.OnEvent, OnEvents: o.OnEvents, OnAuditEvent: o.OnAuditEvent, Log: o.Log,
	})
	s.base.Secrets.Add(o.Token)
	s.base.Secrets.AddNamed(vars)
	s.Transport = session.NewTransport(session.NewConversation(&s.base, session.Behaviour{
		Kind:      "chat session",
		State:     func() string { return string(s.Snapshot().State) },
		Connected: func() bool { return s.Snapshot().State == Connected },
		Final:     func() bool { return s.Snapshot().State == Closed },
		SetToken:  s.setToken,
		MergeVars: func(vars map[string]any) { s.vars = session.Merged(s.vars, vars) },
		Crashed:   s.crashed,
	}), &s.tools, s.completingNotifier)
	s.stall = session.Watchdog{Base: &s.base, Period: *o.BrainStall}
	s.tools = session.Tools{
		Base: &s.base, HTTPClient: o.HTTPClient, URL: *o.GenieURL, Trace: o.TraceContext, SpiralLimit: *o.ToolSpiralLimit,
		Life:   func() context.Context { return s.life },
		Caller: func() session.Caller { return session.Caller{Token: s.token} },
	}
	s.tokens = session.Tokens{
		Base: &s.base, Need: o.OnTokenNeeded, Life: o.TokenLife,
		Get: func() string { return s.token }, Set: s.setToken,
	}
	s.turns = session.Turns{Base: &s.base}
	s.tools.Tokens, s.tools.Turns = &s.tokens, &s.turns
	s.base.Work.Post(s.tokens.Watch)
	s.publish()
	return s, nil
}

func (s *Session) setToken(token string) {
	s.token = token
	s.arm()
	s.tokens.Watch()
}

// Snapshot returns the session's present properties. The returned value is never changed.
func (s *Session) Snapshot() *Snapshot { return s.snapshot.Load() }

// Status returns the part of the snapshot that avatar sessions have too.
func (s *Session) Status() session.Status {
	snap := s.Snapshot()
	return session.Status{
		ThreadID: snap.ThreadID, Kickoff: snap.Kickoff, ResponsePending: snap.ResponsePending, Ended: snap.State != Connected,
	}
}

// HoldKickoff reports that the kickoff is used up: in text Connect sends it, so that it
// can't be held.
func (s *Session) HoldKickoff(bool) (used bool) { return true }

// publish stores a snapshot of the state, which any goroutine may read. Most events
// change nothing of it.
func (s *Session) publish() {
	now := Snapshot{
		State: s.state, ThreadID: s.thread, PartnerID: s.opts.PartnerID, Kickoff: s.kickoff, ResponsePending: s.pending,
	}
	if last := s.snapshot.Load(); last == nil || *last != now {
		fresh := now // so that only a changed snapshot is allocated
		s.snapshot.Store(&fresh)
	}
}

func (s *Session) setState(state State) {
	s.state = state
	s.base.Emit(StateChanged{State: state})
}

// Connect opens the session and queues the kickoff. It does not wait for the network. The
// error is invalid_state on a session that is connected or has ended (session §A.2.2), and
// aborted, or timeout, if ctx has ended before.
func (s *Session) Connect(ctx context.Context) error {
	if ctx.Err() != nil {
		return session.EndOf(ctx)
	}
	var err error = fault.New(fault.InternalError, "the session failed while it was starting")
	// Call waits, so that the session is connected when Connect returns.
	s.base.Work.Call(func() { err = s.connect() })
	return err
}

func (s *Session) connect() error {
	if s.state != Idle {
		return not(s.state, Idle)
	}
	s.watch()
	s.setState(Connected)
	s.base.Audit("session.connect", "connected", "")
	s.base.Audit("token.mint", "accepted", "taken into use")
	if s.kickoff != nil {
		t := &turn{text: s.kickoff.Text, kickoff: true, ctx: context.Background()}
		t.reply.Lean = true // it has no caller
		s.enter(t)
	}
	return nil
}

// not returns the error of a call in state that needs the state want.
func not(state, want State) error {
	return fault.New(fault.InvalidState, "the session is "+string(state)+", not "+string(want))
}

// Disconnect ends the session for good and sends the completion signal. It may be called
// at any time and more than once; it does not wait. The turn under way fails with
// aborted, waiting turns with invalid_state. The token is cleared.
func (s *Session) Disconnect(o session.DisconnectOptions) {
	if o.Reason == "" {
		o.Reason = "disconnect"
	}
	s.base.Work.Do(func() { s.close(o, nil) })
}

// close ends the session; err is nil for an end that was requested. Everything happens
// before it returns, because a page that is unloaded may run nothing later
// (protocol §8.8).
func (s *Session) close(o session.DisconnectOptions, err *fault.Error) {
	if s.state == Closed {
		return
	}
	if err != nil {
		s.base.Emit(event.Failed{Error: err})
	}
	s.base.Audit("session.disconnect", "ended", o.Reason)
	s.setState(Closed)
	s.base.Emit(event.Ended{Reason: o.Reason})
	s.token = ""
	s.tokens.Stop()
	s.base.Audit("token.revoke", "ended", "forgotten")
	s.tools.Forget()
	s.die()
	under, behind := err, err // a bug must not look like a requested end
	if err == nil {
		under = fault.New(fault.Aborted, "the session was disconnected")
		behind = fault.New(fault.InvalidState, "the session was disconnected before the turn began")
	}
	if t := s.turn; t != nil {
		s.leave(t, under)
	}
	for _, t := range s.waiting {
		t.settle(s, behind)
	}
	s.waiting = nil
	if s.notifier != nil {
		if !o.Keep {
			s.notifier.Notify(o.Reason)
		}
		s.notifier.Close()
	}
}

// crashed ends the session after a bug in it.
func (s *Session) crashed(err *fault.Error) {
	s.close(session.DisconnectOptions{Keep: true, Reason: string(err.Code)}, err)
}

// Close disconnects and waits until the completion signal was sent or has failed (at the
// latest after Options.CompleteTimeout), no reader runs, and the listener has received
// every event, so that a listener must not call it. It does not wait for the
// application's own handlers, whose context has ended.
func (s *Session) Close() {
	s.Disconnect(session.DisconnectOptions{})
	s.readers.Wait()
	s.Settle()
	s.free()
	s.base.Finish()
}

// Events yields every event from the beginning of the loop on; see [session.Base.Events].
func (s *Session) Events(ctx context.Context) iter.Seq[event.Event] { return s.base.Events(ctx) }

// Settle returns when a disconnected session emits nothing more: the completion signal
// was sent or failed, and the listener has received the outcome, so that a listener must
// not call it.
func (s *Session) Settle() { s.base.Settle(&s.notifier) }

// completingNotifier returns the sender of the completion signal, nil after the end.
func (s *Session) completingNotifier() *sessionend.Notifier {
	if s.state == Closed {
		return nil
	}
	s.watch()
	return s.notifier
}

// watch creates the sender of the completion signal, once, because a session sends one
// signal.
func (s *Session) watch() {
	if s.notifier != nil {
		return
	}
	s.notifier = sessionend.New(sessionend.Options{
		URL:        *s.opts.GenieURL,
		HTTPClient: s.opts.HTTPClient,
		Trace:      s.opts.TraceContext,
		Settings:   s.opts.Settings,
		// The page unloads: every request must be under way when this returns.
		Leave:   func(reason string) { s.Disconnect(session.DisconnectOptions{Reason: reason}) },
		Attempt: s.base.Completed,
		Renew:   s.tokens.Once(),
	})
	s.arm()
}

// arm sets the thread and the token of the notifier's request, so that the request can
// be sent without waiting for the queue.
func (s *Session) arm() {
	if s.notifier != nil {
		s.notifier.SetThread(s.thread, s.token)
	}
}
