// Package agent implements one conversation over two transports, a video avatar with
// voice or a text chat, and the switch between them (session §A.3).
//
// A [Session] owns the thread, the variables, the handlers of client commands and
// the texts that have no outcome yet; a transport (*[avatar.Session] or
// *[chat.Session]) carries the turns. During a switch there are two transports: the old
// one is released only when the new one is connected, so that a switch that fails loses
// nothing. The events of a transport that are passed on are not changed.
//
// The state belongs to a serial queue. Connect and SwitchMode run on the goroutine of
// their caller and do every step that changes the state on the queue.
//
// The package must not import syscall/js, and must not depend on how a transport
// reaches the service.
package agent

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// State is the phase of a session (session §B.3).
type State string

// The states. Broken and Closed are final.
const (
	Idle       State = "idle"
	Connecting State = "connecting"
	Connected  State = "connected"
	Switching  State = "switching"
	Broken     State = "failed"
	Closed     State = "closed"
)

// The reasons of a change of state.
const (
	userRequested   = "user_requested"
	transportFailed = "transport_failed"
)

// Snapshot is the part of a session's state that can be read at any time.
type Snapshot struct {
	State State `json:"state"`
	// Mode is that of the transport that carries the conversation; during a switch the old one.
	Mode     Mode   `json:"mode"`
	ThreadID string `json:"threadId,omitempty"`
	// Timings are those of the avatar's connect, empty without an avatar.
	Timings map[string]int64 `json:"timings" ts:"Timings"`
	// Transport is the session that carries the conversation, a *[avatar.Session] or a
	// *[chat.Session]. Events that are not passed on can be received from it.
	Transport any `json:"-"`
}

// Session is one conversation. Its methods may be called from any goroutine and, except
// those that wait, from listeners.
type Session struct {
	session.Conversation

	opts Options
	own  session.Options // of the core

	core     session.Core // its queue owns what follows snapshot
	snapshot atomic.Pointer[Snapshot]
	leaving  sync.WaitGroup // transports that were released and are not closed yet

	state    State
	mode     Mode
	kickoff  *event.Kickoff // nil once it is used up
	reported *atomic.Bool   // whether the conversation's end was reported, see completion.Settings

	current *transport         // carries the turns; after the end, the last transport that did
	other   *transport         // of a switch: the new one while it connects, then the old one until its last event has come
	cancel  context.CancelFunc // of the connect or the switch under way, nil without one
	joiners []chan<- error     // further callers of the connect under way
	known   chan<- struct{}    // closed when a switch need no longer wait for the thread's id; nil if none waits

	handlers []*handler
	texts    []*text // without an outcome yet, in the order of the calls
}

// New returns a session in state idle; it opens nothing. The error is a
// *[fault.Error] about the options of the first transport.
func New(o Options) (*Session, error) {
	o.Mode = cmp.Or(o.Mode, Avatar)
	if err := o.Mode.check(); err != nil {
		return nil, err
	}
	for _, vars := range []*map[string]any{&o.RequestVars, &o.Avatar.RequestVars, &o.Chat.RequestVars} {
		var err error
		if *vars, err = converse.CheckVars(*vars); err != nil {
			return nil, err
		}
	}
	// The options of the first transport override the shared ones.
	kickoff, thread := o.Chat.Kickoff, o.Chat.ThreadID
	if o.Mode == Avatar {
		kickoff, thread = o.Avatar.Kickoff, o.Avatar.ThreadID
	}
	kickoff, thread = cmp.Or(kickoff, o.Kickoff), cmp.Or(thread, o.ThreadID)
	o.setDefaults()
	s := &Session{
		opts:  o,
		state: Idle, mode: o.Mode, kickoff: kickoff, reported: new(atomic.Bool),
	}
	if ask := s.opts.OnTokenNeeded; ask != nil {
		s.opts.OnTokenNeeded = func(ctx context.Context) (string, error) {
			var old string
			s.core.Work.Call(func() { old = s.core.Token })
			token, err := ask(ctx)
			if err == nil && token != "" {
				s.core.Work.Post(func() { // for later transports
					if old != "" && s.core.Token == old { // else SetToken gave a newer one, or the session has ended
						s.keepToken(token)
					}
				})
			}
			return token, err
		}
	}
	// The transports ask for tokens and report audit events.
	s.own = s.opts.Options
	s.own.OnTokenNeeded, s.own.OnAuditEvent = nil, nil
	s.core.Start(&s.own, session.Kind{
		Name: "agent session", Status: s.status, Publish: s.publish, Crashed: s.crashed,
		SetToken: s.setToken, MergeVars: s.mergeVars,
	})
	s.core.Token, s.core.Thread = o.Token, thread // the only copy; the end clears it
	s.core.Tokens.Since = time.Now().Add(-o.TokenAge)
	s.opts.Token, s.own.Token = "", ""
	s.Conversation = s.core.Conversation()
	var err error
	if s.current, err = s.open(o.Mode); err != nil {
		return nil, err
	}
	s.publish()
	return s, nil
}

// Snapshot returns the session's present properties. The returned value is never changed.
func (s *Session) Snapshot() *Snapshot { return s.snapshot.Load() }

func (s *Session) status() session.Status {
	snap := s.Snapshot()
	over := snap.State == Broken || snap.State == Closed
	return session.Status{
		State: string(snap.State), Connected: snap.State == Connected || snap.State == Switching, Final: over,
		ThreadID: snap.ThreadID, Timings: snap.Timings, Ended: over,
	}
}

// Stats are those of the present avatar, from its own beginning ([avatar.Session.Stats]). The
// error is invalid_state in text mode.
func (s *Session) Stats(ctx context.Context) (media.Stats, error) {
	if a, ok := s.Snapshot().Transport.(*avatar.Session); ok {
		return a.Stats(ctx)
	}
	return media.Stats{}, fault.New(fault.InvalidState, "statistics of media need the mode avatar")
}

// publish stores a snapshot of the state, which any goroutine may read.
func (s *Session) publish() {
	snap := &Snapshot{State: s.state, Mode: s.mode, ThreadID: s.core.Thread, Timings: map[string]int64{}}
	if s.current != nil {
		snap.Transport = s.current.transportSession
	}
	for _, t := range []*transport{s.current, s.other} {
		if t == nil {
			continue
		}
		if timings := t.Status().Timings; timings != nil {
			snap.Timings = timings
		}
	}
	s.snapshot.Store(snap)
}

func (s *Session) setState(state State, reason string) {
	s.state = state
	s.core.Emit(StateChanged{State: state, Reason: reason})
}
