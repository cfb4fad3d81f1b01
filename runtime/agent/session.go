package agent

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// State is where a session is in its life (session-api B.3).
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
	Timings map[string]int64 `json:"timings"`
	// Transport carries the conversation, and is the way to everything that is not
	// passed on: a *[avatar.Session] or a *[chat.Session].
	Transport any `json:"-"`
}

// Session is one conversation. Its methods may be called from any goroutine, and
// from listeners, but for those that wait.
type Session struct {
	opts Options
	deps Deps

	base     session.Base // its queue owns what follows snapshot
	snapshot atomic.Pointer[Snapshot]
	leaving  sync.WaitGroup // transports that were let go and are not closed yet

	state   State
	mode    Mode
	token   string
	thread  string
	updates map[string]any // variables that were updated, over those of the options
	kickoff *event.Kickoff // nil once it was sent

	current *transport              // carries the turns, nil before connect and after the end
	next    *transport              // connects during a switch
	settle  func(error)             // tells who waits for the connect or the switch under way
	cancel  context.CancelCauseFunc // of it

	handlers []*handler
	held     []*heldText
	pending  bool // responsePending was passed on and not settled
}

// New returns a session in state idle; it opens nothing. The error is a
// *[fault.Error] about the options of the first transport.
func New(o Options, d Deps) (*Session, error) {
	fill(&o.Mode, Avatar)
	if err := o.Mode.check(); err != nil {
		return nil, err
	}
	if _, err := converse.CheckVars(o.RequestVars); err != nil {
		return nil, err
	}
	s := &Session{opts: o, deps: d, state: Idle, mode: o.Mode, token: o.Token, thread: o.ThreadID, kickoff: o.Kickoff}
	s.opts.Token = "" // s.token is forgotten with the end
	if s.kickoff == nil {
		s.kickoff = map[Mode]*event.Kickoff{Avatar: o.Avatar.Kickoff, Chat: o.Chat.Kickoff}[o.Mode]
	}
	s.base.Start(session.Hooks{
		Publish: s.publish,
		Crashed: func(e *fault.Error) {
			s.base.Emit(Failed{Error: e})
			s.end(Broken, transportFailed, string(e.Code), true)
		},
		OnEvent: o.OnEvent, Log: o.Log, // audit events are the transports'
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

// publish makes the state readable for everybody.
func (s *Session) publish() {
	snap := &Snapshot{State: s.state, Mode: s.mode, ThreadID: s.thread, Timings: map[string]int64{}}
	if s.current != nil {
		snap.Transport = s.current.inner()
	}
	for _, t := range []*transport{s.current, s.next} {
		if t != nil && t.avatar != nil {
			snap.Timings = t.avatar.Snapshot().Timings
		}
	}
	s.snapshot.Store(snap)
}

func (s *Session) setState(state State, reason string) {
	s.state = state
	s.base.Emit(StateChanged{State: state, Reason: reason})
}
