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
// The package must not import runtime/avatar, runtime/media or internal/socketio,
// because pages without an avatar load it.
package chat

import (
	"cmp"
	"context"
	"sync/atomic"

	"github.com/agentruntime/agentruntime/runtime/completion"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
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
	session.Conversation

	opts Options

	core     session.Core // its queue owns what follows snapshot
	snapshot atomic.Pointer[Snapshot]

	state   State
	kickoff *event.Kickoff

	turn    *turn   // the turn under way, nil without one
	waiting []*turn // will be sent later, in this order
}

// New returns a session in state idle; it opens nothing. The error is a
// *[fault.Error] about the options.
func New(o Options) (*Session, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	o.Sent = cmp.Or(o.Sent, new(atomic.Bool)) // a session reports one end
	s := &Session{opts: o, state: Idle, kickoff: o.Kickoff}
	s.core.Start(&s.opts.Options, session.Kind{
		Name: "chat session", Status: s.status, Publish: s.publish, Crashed: s.crashed,
		Disconnect: s.Disconnect, Completing: s.completing,
	})
	if err := s.core.Reach(nil); err != nil {
		return nil, err
	}
	s.Conversation = s.core.Conversation()
	s.core.Begin()
	s.core.Work.Post(s.core.Tokens.Watch)
	s.publish()
	return s, nil
}

// Snapshot returns the session's present properties. The returned value is never changed.
func (s *Session) Snapshot() *Snapshot { return s.snapshot.Load() }

func (s *Session) status() session.Status {
	snap := s.Snapshot()
	return session.Status{
		State: string(snap.State), Connected: snap.State == Connected, Final: snap.State == Closed,
		PartnerID: snap.PartnerID, ThreadID: snap.ThreadID,
		Kickoff: snap.Kickoff, ResponsePending: snap.ResponsePending, Ended: snap.State != Connected,
	}
}

// HoldKickoff reports that the kickoff is used up: in text Connect sends it, so that it
// can't be held.
func (s *Session) HoldKickoff(bool) (used bool) { return true }

// publish stores a snapshot of the state, which any goroutine may read. Most events
// change nothing of it.
func (s *Session) publish() {
	now := Snapshot{
		State: s.state, ThreadID: s.core.Thread, PartnerID: s.opts.PartnerID, Kickoff: s.kickoff, ResponsePending: s.core.Pending,
	}
	if last := s.snapshot.Load(); last == nil || *last != now {
		fresh := now // so that only a changed snapshot is allocated
		s.snapshot.Store(&fresh)
	}
}

func (s *Session) setState(state State) {
	s.state = state
	s.core.Emit(StateChanged{State: state})
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
	s.core.Work.Call(func() { err = s.connect() })
	return err
}

func (s *Session) connect() error {
	if s.state != Idle {
		return not(s.state, Idle)
	}
	s.core.DropNotifier()
	s.core.Notify(s.opts.Page, nil)
	s.setState(Connected)
	s.core.Audit("session.connect", "connected", "")
	s.core.Audit("token.mint", "accepted", "taken into use")
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
	o.Reason = cmp.Or(o.Reason, "disconnect")
	s.core.Work.Do(func() { s.close(o, nil) })
}

// close ends the session; err is nil for an end that was requested. Everything happens
// before it returns, because a page that is unloaded may run nothing later
// (protocol §8.8).
func (s *Session) close(o session.DisconnectOptions, err *fault.Error) {
	if s.state == Closed {
		return
	}
	if err != nil {
		s.core.Emit(event.Failed{Error: err})
	}
	s.core.Audit("session.disconnect", "ended", o.Reason)
	s.setState(Closed)
	s.core.Emit(event.Ended{Reason: o.Reason})
	s.core.Token = ""
	s.core.Tokens.Stop()
	s.core.Audit("token.revoke", "ended", "forgotten")
	s.core.Tools.Forget()
	s.core.Die()
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
	if s.core.Notifier != nil && !o.Keep {
		s.core.Notifier.Notify(o.Reason)
	}
	s.core.DropNotifier()
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
	s.core.Close()
}

// completing returns the sender of the completion signal. A session that never connected gets
// one; after the end there is none.
func (s *Session) completing() *completion.Notifier {
	if s.core.Notifier == nil && s.state == Idle {
		s.core.Notify(nil, nil)
	}
	return s.core.Notifier
}
