package avatar

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/completion"
	"github.com/agentruntime/agentruntime/runtime/control"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// State is where a session is in its life (session-api B.1).
type State string

// The states.
const (
	Idle              State = "idle"
	Preparing         State = "preparing"
	Connecting        State = "connecting"
	Connected         State = "connected"
	ReconnectingState State = "reconnecting" // Reconnecting is the event
	Resuming          State = "resuming"
	Disconnecting     State = "disconnecting"
	Disconnected      State = "disconnected"
	Broken            State = "error"
)

// Mode says whether the service sends a picture.
type Mode string

// The modes.
const (
	Video Mode = "video"
	Audio Mode = "audio"
)

// Socket is the control connection's transport; *[socketio.Client] is one.
type Socket interface {
	Open()
	Events() <-chan socketio.Event
	Emit(name string, args ...any) error
	ID() string
	SetAuth(auth any) error
	Reconnect()
	Close() error
}

// Deps are the parts a session is built on.
type Deps struct {
	Plane Plane
	Dial  func(url string, o socketio.ClientOptions) (Socket, error)
	Fetch fetch.Client
	Send  fetch.Sender
	// Page reports what the browser does with the page and the network; nil
	// natively.
	Page completion.Page
}

// Snapshot is what can be read of a session at any time (session-api A.1.4).
type Snapshot struct {
	State            State                  `json:"state"`
	Mode             Mode                   `json:"mode"`
	Speaking         bool                   `json:"speaking"`
	ResponsePending  bool                   `json:"responsePending"`
	Paused           bool                   `json:"paused"`
	Timings          map[string]int64       `json:"timings"`
	TapToTalkActive  bool                   `json:"tapToTalkActive"`
	Kickoff          *Kickoff               `json:"kickoff"`
	Capabilities     Capabilities           `json:"capabilities"`
	ClientConfig     *control.Configuration `json:"clientConfig"`
	PartnerID        string                 `json:"partnerId"`
	StickyID         string                 `json:"stickyId"`
	MicEnabled       bool                   `json:"micEnabled"`
	MicStarted       bool                   `json:"micStarted"`
	ThreadID         string                 `json:"threadId,omitempty"`
	AudioOutputMuted bool                   `json:"audioOutputMuted"`
	AudioVolume      float64                `json:"audioOutputVolume"`
	Disclosure       *Disclosure            `json:"disclosure"`
	// Gated says that the disclosure holds the start.
	Gated bool `json:"gated"`
}

// Capabilities are what the service said the agent can do; before it said so
// all are false but Interruptions (wire-protocol §4.2).
type Capabilities struct {
	ScreenShare    bool `json:"screenShare"`
	CameraAnalysis bool `json:"cameraAnalysis"`
	WebSearch      bool `json:"webSearch"`
	Interruptions  bool `json:"interruptions"`
	TapToTalk      bool `json:"tapToTalk"`
}

// Disclosure is the notice that the visitor talks to a machine
// (session-api A.1.3, getDisclosure).
type Disclosure struct {
	Type           string `json:"type"`
	DisclosureText string `json:"disclosureText"`
	FiredAt        string `json:"firedAt"` // RFC 3339
	Synthetic      bool   `json:"synthetic"`

	Provenance Provenance `json:"provenance"`
	Scope      string     `json:"scope"` // always "session"
}

// Provenance says what made the voice and the picture.
type Provenance struct {
	GeneratedBy string `json:"generatedBy"`
	Voice       string `json:"voice"` // always "synthetic"
	SessionID   string `json:"sessionId,omitempty"`
}

// Session is one live conversation. Its methods may be called from any
// goroutine, and from listeners.
type Session struct {
	opts Options
	deps Deps

	work  queue // owns everything below heard
	heard queue // calls the listener, in order

	readers sync.WaitGroup // of sockets that are not closed yet

	snapshot atomic.Pointer[Snapshot]
	waiting  atomic.Int64 // events that the listener has not heard yet

	state   State
	mode    Mode
	token   string
	vars    map[string]any
	caps    map[string]string
	config  *control.Configuration
	thread  string
	sticky  string
	started time.Time        // of the running or last connect
	timings map[string]int64 // milliseconds since started

	link      *link      // the present connection, nil without one
	running   *procedure // the connect, rebuild or resume under way
	prepared  *link      // joining or joined ahead of time
	preparing *procedure // the prepare under way
	expiry    *timer     // of prepared

	turn     turnState
	lane     laneState
	tools    toolState
	life     lifeState
	recovery recoveryState
	output   outputState

	completer *completion.Completer
}

// New returns a session in state idle; it opens nothing. The error is a
// *[fault.Error] about the options.
func New(o Options, d Deps) (*Session, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	vars, err := converse.CheckVars(o.RequestVars)
	if err != nil {
		return nil, err
	}
	caps, err := converse.MergeCapabilities(map[string]string{"avatar": "on", "generate_followup_questions": "on"}, o.Capabilities)
	if err != nil {
		return nil, err
	}
	s := &Session{
		opts: o, deps: d,
		state: Idle, mode: Video,
		token: o.Token, vars: vars, caps: caps,
		thread: o.ThreadID, sticky: o.StickyID,
		timings: map[string]int64{},
	}
	setDefault(&s.opts.PartnerID, partnerOf(o.Token))
	setDefault(&s.sticky, randomID(stickyIDLength))
	s.output.volume = 1
	s.output.micOn = true
	s.opts.Token = "" // s.token is forgotten with a disconnect
	s.turn.kickoff = o.Kickoff
	s.work.after = s.publish
	s.work.caught = s.crashed
	s.heard.caught = func(p any) { s.log("error", fmt.Sprintf("a listener panicked: %v\n%s", p, debug.Stack()), nil) }
	s.publish()
	return s, nil
}

// Snapshot returns the session's present properties. What it points to is never
// changed.
func (s *Session) Snapshot() *Snapshot { return s.snapshot.Load() }

// publish makes the state readable for everybody.
func (s *Session) publish() {
	snap := &Snapshot{
		State: s.state, Mode: s.mode,
		Speaking: s.turn.speaking, ResponsePending: s.turn.pending,
		Paused: s.life.paused, Timings: s.timings,
		TapToTalkActive: s.turn.tap,
		Kickoff:         s.turn.kickoff,
		Capabilities:    capabilitiesOf(s.config), ClientConfig: s.config,
		PartnerID: s.opts.PartnerID, StickyID: s.sticky,
		MicEnabled: s.output.micOn, MicStarted: s.deps.Plane.Microphone().Started(),
		ThreadID:         s.thread,
		AudioOutputMuted: s.output.muted, AudioVolume: s.output.volume,
		Disclosure: s.life.disclosure, Gated: s.gated(),
	}
	s.snapshot.Store(snap)
}

func capabilitiesOf(c *control.Configuration) Capabilities {
	if c == nil {
		return Capabilities{Interruptions: true}
	}
	return Capabilities{
		ScreenShare: c.IsScreenShareEnabled, CameraAnalysis: c.IsCameraAnalysisEnabled,
		WebSearch: c.IsWebSearchEnabled, TapToTalk: c.IsTapToTalk,
		Interruptions: c.InterruptionsEnabled == nil || *c.InterruptionsEnabled,
	}
}

// maxUnheard is how many events may wait for the listener before the socket is
// read more slowly, so that a flood from the service can't fill the memory.
const maxUnheard = 1024

// emit hands e to the listener, after everything emitted before it. The snapshot
// that the listener reads is at least as new as e.
func (s *Session) emit(e Event) {
	if s.opts.OnEvent == nil {
		return
	}
	s.publish()
	s.waiting.Add(1)
	s.heard.post(func() {
		defer s.waiting.Add(-1)
		s.opts.OnEvent(e)
	})
}

func (s *Session) setState(state State) {
	if s.state == state {
		return
	}
	s.state = state
	s.emit(StateChanged{State: state})
}

func (s *Session) warn(code fault.Code, detail string) {
	s.warning(Warning{Code: code, Detail: detail})
}

// warning emits w with its code's message, and nothing secret in its detail.
func (s *Session) warning(w Warning) {
	w.Message = fault.New(w.Code, "").Title
	w.Detail = fault.Redact(w.Detail)
	s.emit(w)
}

func (s *Session) log(level, message string, data map[string]any) {
	if s.opts.Log == nil {
		return
	}
	// What the application's logger breaks is its own.
	_, _ = callHandler(func() (any, error) {
		s.opts.Log(level, fault.Redact(message), data)
		return nil, nil
	})
}

// spawn runs f beside the queue; its panic ends this session only.
func (s *Session) spawn(f func()) {
	go func() {
		defer func() {
			if p := recover(); p != nil {
				s.crashed(p)
			}
		}()
		f()
	}()
}

// crashed ends this session, and only this one, after a panic: a bug must not
// take the page along.
func (s *Session) crashed(p any) {
	s.log("error", fmt.Sprintf("panic: %v\n%s", p, debug.Stack()), nil)
	s.work.post(func() {
		s.end(fault.New(fault.InternalError, fmt.Sprint(p)), string(fault.InternalError))
	})
}

// Fail ends this session after a bug that was caught elsewhere, in a callback of
// the page for example.
func (s *Session) Fail(err error) {
	s.work.post(func() { s.end(fault.From(err), string(fault.InternalError)) })
}

// live returns the error of a call that needs a connected session, nil if it is.
func (s *Session) live() error {
	if state := s.Snapshot().State; state != Connected {
		return fault.New(fault.InvalidState, "the session is "+string(state)+", not connected")
	}
	return nil
}

// mark records that a phase of the connect was reached (session-api A.1.4). The
// map is replaced, not changed: snapshots hold the old one.
func (s *Session) mark(phase string) {
	if _, ok := s.timings[phase]; ok || s.state == ReconnectingState || s.state == Resuming {
		return // a rebuild is no connect
	}
	timings := make(map[string]int64, len(s.timings)+1)
	for k, v := range s.timings {
		timings[k] = v
	}
	timings[phase] = time.Since(s.started).Milliseconds()
	s.timings = timings
}

// SetToken replaces the token for later handshakes, tool answers and the
// completion signal.
func (s *Session) SetToken(token string) error {
	if token == "" {
		return fault.New(fault.BadRequest, "token is required")
	}
	s.work.do(func() {
		s.token = token
		if s.link != nil {
			if err := s.link.socket.SetAuth(auth(token)); err != nil {
				s.log("warn", err.Error(), nil)
			}
		}
		s.arm()
	})
	return nil
}

// ask runs f on the queue and returns what it sends on the channel it is
// given, or the end of ctx.
func ask[T any](ctx context.Context, s *Session, f func(chan<- T)) (T, error) {
	result := make(chan T, 1)
	s.work.post(func() { f(result) })
	select {
	case v := <-result:
		return v, nil
	case <-ctx.Done():
		var none T
		return none, fault.From(context.Cause(ctx))
	}
}
