// Package avatar is the live session: an agent with a face, a voice and
// speech recognition (session §A.1, protocol §2 to §8).
//
// A [Session] is one serial queue that owns the session's state. The socket's
// reader, timers, peers, requests and callers hand it functions to run; nothing
// else touches the state, and there is no mutex around it. What callers may read
// at any time is a [Snapshot] that the queue publishes; a second queue calls the
// listener, so that a slow or re-entrant one never blocks the session.
//
// The package uses the control plane directly, but media and sockets through the
// interfaces [Media] and [Socket]. It must not import syscall/js, nor depend on
// whether it runs in a page.
package avatar

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/control"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/sessionend"
)

// State is where a session is in its life (session §B.1).
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

// StateChanged is emitted at every change of state.
type StateChanged struct {
	State State `json:"state"`
}

// Name implements [event.Event].
func (StateChanged) Name() string { return "stateChange" }

// Snapshot is the part of a session's state that can be read at any time
// (session §A.1.4).
type Snapshot struct {
	State            State                  `json:"state"`
	Mode             event.Mode             `json:"mode"`
	Speaking         bool                   `json:"speaking"`
	ResponsePending  bool                   `json:"responsePending"`
	Paused           bool                   `json:"paused"`
	Timings          map[string]int64       `json:"timings" ts:"Timings"`
	TapToTalkActive  bool                   `json:"tapToTalkActive"`
	Kickoff          *event.Kickoff         `json:"kickoff"`
	Capabilities     Capabilities           `json:"capabilities"`
	ClientConfig     *control.Configuration `json:"clientConfig"`
	PartnerID        string                 `json:"partnerId"`
	StickyID         string                 `json:"stickyId"`
	MicEnabled       bool                   `json:"micEnabled"`
	MicStarted       bool                   `json:"micStarted"`
	ThreadID         string                 `json:"threadId,omitempty"`
	AudioOutputMuted bool                   `json:"audioOutputMuted"`
	AudioVolume      float64                `json:"audioOutputVolume"`
	Disclosure       *event.Disclosure      `json:"disclosure"`
	// Gated is true while the start waits for the acknowledgement of the disclosure.
	Gated bool `json:"gated"`
}

// Capabilities are the agent's abilities as the service reported them. Before that, only
// Interruptions is true (protocol §4.2).
type Capabilities struct {
	ScreenShare    bool `json:"screenShare"`
	CameraAnalysis bool `json:"cameraAnalysis"`
	WebSearch      bool `json:"webSearch"`
	Interruptions  bool `json:"interruptions"`
	TapToTalk      bool `json:"tapToTalk"`
}

// Session is one live conversation. Its methods may be called from any
// goroutine, and from listeners.
type Session struct {
	session.Transport

	opts Options
	dial socketio.Dial

	engine *media.Engine
	media  Media // engine, except in tests

	base session.Base // its queue owns the fields after snapshot

	free    func() // closes the connections of the session for requests
	spread  spread
	readers sync.WaitGroup // the readers of open sockets, and the completion signals under way

	snapshot atomic.Pointer[Snapshot]

	state   State
	mode    event.Mode
	token   string
	vars    map[string]any
	caps    map[string]string
	config  *control.Configuration
	thread  string
	sticky  string
	started time.Time        // of the running or last connect
	timings map[string]int64 // milliseconds since started

	conn      *connection    // the present connection, nil without one
	running   *procedure     // the connect, rebuild or resume under way
	prepared  *connection    // joining or joined ahead of time
	preparing *procedure     // the prepare under way
	expiry    *session.Timer // of prepared

	turn     turnState
	turns    session.Turns
	actions  actionQueue
	tools    session.Tools
	tokens   session.Tokens
	shown    turnOutput
	stall    session.Watchdog
	life     lifeState
	recovery recoveryState
	devices  deviceState

	notifier     *sessionend.Notifier
	lastNotifier *sessionend.Notifier // of the previous connect
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
	caps, err := converse.MergeCapabilities(map[string]string{"avatar": "on", "generate_followup_questions": "on"}, o.Capabilities)
	if err != nil {
		return nil, err
	}
	dial := socketio.DialerOf(fetch.Carried(o.HTTPClient), o.HTTPClient)
	network, free := fetch.Open(o.HTTPClient)
	o.HTTPClient = fetch.As(network) // for all parts of the session
	s := &Session{
		opts: o, dial: dial, free: free,
		state: Idle, mode: event.Video,
		token: o.Token, vars: vars, caps: caps,
		thread: o.ThreadID, sticky: o.StickyID,
		timings: map[string]int64{},
	}
	s.opts.PartnerID = cmp.Or(s.opts.PartnerID, session.PartnerOf(o.Token))
	s.sticky = cmp.Or(s.sticky, session.RandomID(stickyIDLength))
	s.spread = newSpread(s.sticky)
	s.devices.volume = 1
	s.devices.micOn = true
	s.opts.Token = "" // s.token is the only copy; Disconnect clears it
	s.turn.kickoff = o.Kickoff
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
	if o.TURNCredentials != nil {
		s.base.Secrets.Add(o.TURNCredentials.Credential)
		s.recovery.loginExpiry = o.TURNCredentials.Expiry
	}
	s.Transport = session.NewTransport(session.NewConversation(&s.base, session.Behaviour{
		Kind:      "avatar session",
		State:     func() string { return string(s.Snapshot().State) },
		Connected: func() bool { return s.Snapshot().State == Connected },
		Final:     func() bool { return false },
		SetToken:  s.setToken,
		MergeVars: s.mergeVars,
		Crashed:   s.crashed,
	}), &s.tools, s.completingNotifier)
	s.stall = session.Watchdog{Base: &s.base, Period: *o.BrainStall}
	s.tools = session.Tools{
		Base: &s.base, HTTPClient: o.HTTPClient, URL: *o.GenieURL, Trace: o.TraceContext, SpiralLimit: *o.ToolSpiralLimit,
		Life:   func() context.Context { return s.life.ctx },
		Caller: func() session.Caller { return session.Caller{Token: s.token, Place: s.conn} },
	}
	s.tokens = session.Tokens{
		Base: &s.base, Need: o.OnTokenNeeded, Life: o.TokenLife,
		Get: func() string { return s.token }, Set: s.setToken,
	}
	s.turns = session.Turns{Base: &s.base, Over: func() { s.media.WatchSpeech(false) }}
	s.tools.Tokens, s.tools.Turns = &s.tokens, &s.turns
	s.openMedia()
	s.publish()
	return s, nil
}

// Snapshot returns the session's present properties. The result does not change.
func (s *Session) Snapshot() *Snapshot { return s.snapshot.Load() }

// Status returns the part of the snapshot that sessions of several kinds share.
func (s *Session) Status() session.Status {
	snap := s.Snapshot()
	return session.Status{
		ThreadID: snap.ThreadID, Kickoff: snap.Kickoff, ResponsePending: snap.ResponsePending, Timings: snap.Timings,
		Ended: snap.State == Disconnecting || snap.State == Disconnected || snap.State == Broken,
	}
}

// publish stores a snapshot of the state, which any goroutine may read.
func (s *Session) publish() {
	snap := &Snapshot{
		State: s.state, Mode: s.mode,
		Speaking: s.turn.speaking, ResponsePending: s.turn.pending,
		Paused: s.life.paused, Timings: s.timings,
		TapToTalkActive: s.turn.tap,
		Kickoff:         s.turn.kickoff,
		Capabilities:    capabilitiesOf(s.config), ClientConfig: s.config,
		PartnerID: s.opts.PartnerID, StickyID: s.sticky,
		MicEnabled: s.devices.micOn, MicStarted: s.media.MicStarted(),
		ThreadID:         s.thread,
		AudioOutputMuted: s.devices.muted, AudioVolume: s.devices.volume,
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

func (s *Session) setState(state State) {
	if s.state == state {
		return
	}
	s.state = state
	s.base.Emit(StateChanged{State: state})
}

// TimingPhase is a phase of a connect (session §A.1.4).
type TimingPhase string

// The phases, besides those of [media.Phase].
const (
	phaseMicRequested    TimingPhase = "micRequested"
	phaseSocketOpen      TimingPhase = "socketOpen"
	phaseServerConnected TimingPhase = "serverConnected"
	phaseJoinComplete    TimingPhase = "joinComplete"
	phaseSTVReply        TimingPhase = "stvNewSessionReply"
	phaseICEConnected    TimingPhase = "iceConnectedStv"
	phaseASRReady        TimingPhase = "asrReady"
	phaseMediaReady      TimingPhase = "mediaReady"
	phaseApproved        TimingPhase = "approved"
	phaseConnected       TimingPhase = "connected"
)

// mark records that a phase of the connect was reached (session §A.1.4). The
// map is replaced, not changed: snapshots hold the old one.
func (s *Session) mark(phase TimingPhase) {
	if _, ok := s.timings[string(phase)]; ok || s.state == ReconnectingState || s.state == Resuming {
		return // a rebuild is no connect
	}
	timings := make(map[string]int64, len(s.timings)+1)
	for k, v := range s.timings {
		timings[k] = v
	}
	timings[string(phase)] = time.Since(s.started).Milliseconds()
	s.timings = timings
}

// procedure is a connect, rebuild, resume or prepare under way: it can be
// cancelled, and ends once.
type procedure struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	stop   context.CancelFunc // frees the limit's timer
	done   chan error         // receives the outcome; nil without a waiting caller

	joiners []chan error // further callers of a connect, and all of a prepare
}

// newProcedure returns a procedure that reports on done, without a limit yet.
func newProcedure(done chan error) *procedure {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &procedure{ctx: ctx, cancel: cancel, stop: func() {}, done: done}
}

// limit bounds p by the overall limit, which is never paused or extended
// (protocol §2.2).
func (p *procedure) limit(d time.Duration) *procedure {
	p.ctx, p.stop = context.WithTimeoutCause(p.ctx, d, timeout("ConnectTimeout", fault.PhaseConnect))
	return p
}

// finish ends p and sends err to the waiting callers.
func (p *procedure) finish(err error) {
	p.cancel(err)
	p.stop()
	if p.done != nil {
		p.done <- err
		p.done = nil
	}
	for _, joiner := range p.joiners {
		joiner <- err
	}
	p.joiners = nil
}

// setToken stores the token for later handshakes, those of the socket included.
func (s *Session) setToken(token string) {
	s.token = token
	if s.conn != nil {
		if err := s.conn.socket.SetAuth(auth(token)); err != nil {
			s.base.Log("warn", err.Error(), nil)
		}
	}
	s.updateNotifier()
	s.tokens.Watch()
}

// crashed ends this session after a bug in it.
func (s *Session) crashed(e *fault.Error) { s.end(e, string(e.Code)) }
