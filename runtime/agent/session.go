// Package agent is one conversation over either transport: a face and a voice, or
// text, and the switch between them (session-api part A.3).
//
// A [Session] owns the thread, the variables, the handlers of client commands and
// the texts that have no outcome; a transport (*[avatar.Session] or
// *[chat.Session]) carries the turns. During a switch there are two: the old one is
// released when the new one is up, so that a switch that fails loses nothing. What a
// transport emits is passed on as it is.
//
// The state belongs to a serial queue. A connect and a switch run on the goroutine
// of their caller, step by step, and post to the queue what changes the state.
//
// The package must not import syscall/js, and must not depend on how a transport
// reaches the service.
package agent

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/sessionend"
)

// State is the phase of a session (session-api B.3).
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

// Snapshot is what can be read of a session at any time.
type Snapshot struct {
	State    State  `json:"state"`
	Mode     Mode   `json:"mode"`
	ThreadID string `json:"threadId,omitempty"`
	// Timings are those of the avatar's connect, empty without one.
	Timings map[string]int64 `json:"timings" ts:"Timings"`
	// Transport carries the conversation, and is the way to everything that is not
	// passed on: a *[avatar.Session] or a *[chat.Session].
	Transport any `json:"-"`
}

// Session is one conversation. Its methods may be called from any goroutine, and
// from listeners, but for those that wait.
type Session struct {
	session.Conversation

	opts Options
	deps Deps

	base     session.Base // its queue owns what follows snapshot
	snapshot atomic.Pointer[Snapshot]
	leaving  sync.WaitGroup // transports that were released and are not closed yet

	state   State
	mode    Mode
	token   string
	thread  string
	updates map[string]any // variables that were updated, over those of the options
	kickoff *event.Kickoff // nil once it is used up
	once    *sessionend.Once

	current *transport         // carries the turns; after the end the last that did
	next    *transport         // connects during a switch
	cancel  context.CancelFunc // of the connect or the switch under way, nil without one
	joiners []chan<- error     // further callers of the connect under way
	known   chan<- struct{}    // closed when a switch need not wait for the thread's id; nil if none does

	handlers []*handler
	texts    []*text // that were not settled, in the order of the calls
	pending  bool    // responsePending was emitted and not settled
}

// New returns a session in state idle; it opens nothing. The error is a
// *[fault.Error] about the options of the first transport.
func New(o Options, d Deps) (*Session, error) {
	fill(&o.Mode, Avatar)
	if err := o.Mode.check(); err != nil {
		return nil, err
	}
	for _, vars := range []*map[string]any{&o.RequestVars, &o.Avatar.RequestVars, &o.Chat.RequestVars} {
		var err error
		if *vars, err = converse.CheckVars(*vars); err != nil {
			return nil, err
		}
	}
	// What the first transport has of its own wins.
	kickoff, thread := o.Chat.Kickoff, o.Chat.ThreadID
	if o.Mode == Avatar {
		kickoff, thread = o.Avatar.Kickoff, o.Avatar.ThreadID
	}
	fill(&kickoff, o.Kickoff)
	fill(&thread, o.ThreadID)
	d.own()
	s := &Session{
		opts: o, deps: d,
		state: Idle, mode: o.Mode, token: o.Token, thread: thread, kickoff: kickoff, once: new(sessionend.Once),
	}
	if ask := s.opts.OnTokenNeeded; ask != nil {
		s.opts.OnTokenNeeded = func(ctx context.Context) (string, error) {
			token, err := ask(ctx)
			if err == nil && token != "" {
				s.base.Work.Post(func() { // for the transports to come
					if s.token != "" {
						s.token = token
					}
				})
			}
			return token, err
		}
	}
	s.opts.Token = "" // s.token is the only copy; the end clears it
	s.base.Start(session.Hooks{
		Publish: s.publish,
		Crashed: s.crashed,
		OnEvent: o.OnEvent, OnEvents: o.OnEvents, Log: o.Log, // audit events are the transports'
	})
	s.Conversation = session.NewConversation(&s.base, session.Behaviour{
		Kind:  "agent session",
		State: func() string { return string(s.Snapshot().State) },
		Connected: func() bool {
			state := s.Snapshot().State
			return state == Connected || state == Switching
		},
		Final:     func() bool { return false },
		SetToken:  s.setToken,
		MergeVars: s.mergeVars,
		Crashed:   s.crashed,
	})
	s.publish()
	var err error
	if s.current, err = s.open(o.Mode); err != nil {
		return nil, err
	}
	s.publish()
	return s, nil
}

// Snapshot returns the session's present properties. What it points to is never
// changed.
func (s *Session) Snapshot() *Snapshot { return s.snapshot.Load() }

// publish stores a snapshot of the state, which any goroutine may read.
func (s *Session) publish() {
	snap := &Snapshot{State: s.state, Mode: s.mode, ThreadID: s.thread, Timings: map[string]int64{}}
	if s.current != nil {
		snap.Transport = s.current.transportSession
	}
	for _, t := range []*transport{s.current, s.next} {
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
	s.base.Emit(StateChanged{State: state, Reason: reason})
}
