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
	"context"
	"maps"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
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
	State State      `json:"state"`
	Mode  event.Mode `json:"mode"`
	// Speaking is true while the avatar talks.
	Speaking bool `json:"speaking"`
	// ResponsePending reports that a turn was sent and its answer has not begun.
	ResponsePending bool `json:"responsePending"`
	Paused          bool `json:"paused"`
	// Timings are the milliseconds from the connect call, by phase.
	Timings         map[string]int64 `json:"timings" ts:"Timings"`
	TapToTalkActive bool             `json:"tapToTalkActive"`
	Kickoff         *event.Kickoff   `json:"kickoff"`
	// Capabilities are what the agent can do, as the service reports it.
	Capabilities Capabilities             `json:"capabilities"`
	ClientConfig *signaling.Configuration `json:"clientConfig"`
	PartnerID    string                   `json:"partnerId"`
	StickyID     string                   `json:"stickyId"`
	// MicEnabled is true while the microphone is not muted.
	MicEnabled bool `json:"micEnabled"`
	// MicStarted is true while a microphone is attached.
	MicStarted       bool              `json:"micStarted"`
	ThreadID         string            `json:"threadId,omitempty"`
	AudioOutputMuted bool              `json:"audioOutputMuted"`
	AudioVolume      float64           `json:"audioOutputVolume"`
	Disclosure       *event.Disclosure `json:"disclosure"`
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
	session.Conversation

	opts Options
	dial socketio.Dial

	engine *media.Engine
	media  Media // engine, except in tests

	core session.Core // its queue owns the fields after snapshot

	closed context.Context // ends with Close
	close  context.CancelFunc

	random func() float64 // distributes over time what very many sessions would do at the same moment; set by tests

	snapshot atomic.Pointer[Snapshot]

	phase   phase
	mode    event.Mode
	config  *signaling.Configuration
	started time.Time        // of the running or last connect
	timings map[string]int64 // milliseconds since started

	conn      *connection    // the present connection, nil without one
	running   *attempt       // the connect, rebuild or resume under way
	prepared  *connection    // joining or joined ahead of time
	preparing *attempt       // the preparation under way
	expiry    *session.Timer // of prepared

	outbox    outbox
	turn      turnState
	actions   actionQueue
	answer    answerState
	lifecycle lifecycleState
	recovery  recoveryState
	devices   deviceState
}

// New returns a session in state idle; it opens nothing. The error is a
// *[fault.Error] about the options.
func New(o Options) (*Session, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Session{
		opts: o, dial: socketio.DialerOf(fetch.Carried(o.HTTPClient), o.HTTPClient),
		random: rand.Float64, phase: idle, mode: event.Video, timings: map[string]int64{},
	}
	s.closed, s.close = context.WithCancel(context.Background())
	s.core.Start(&s.opts.Options, session.Kind{
		Name: "avatar session", Status: s.status, Publish: s.publish, Crashed: s.endWith,
		SetToken: s.setToken, MergeVars: s.mergeVars,
		Disconnect: s.Disconnect, Completing: s.completing,
		Place: func() any { return s.conn },
	})
	if err := s.core.Reach(map[string]string{"avatar": "on", "generate_followup_questions": "on"}); err != nil {
		return nil, err
	}
	s.Conversation = s.core.Conversation()
	s.core.Turns.Over = func() { s.media.WatchSpeech(false) }
	s.outbox.session = s
	s.recovery.rebuilt, s.recovery.last = map[event.Channel]bool{}, map[event.Channel]media.Stats{}
	s.devices.volume = 1
	s.devices.micOn = true
	s.turn.kickoff = o.Kickoff
	if o.TURNCredentials != nil {
		s.core.Secrets.Add(o.TURNCredentials.Credential)
		s.recovery.loginExpiry = o.TURNCredentials.Expiry
	}
	s.openMedia()
	s.publish()
	return s, nil
}

// Snapshot returns the session's present properties. The result does not change.
func (s *Session) Snapshot() *Snapshot { return s.snapshot.Load() }

func (s *Session) status() session.Status {
	snap := s.Snapshot()
	return session.Status{
		State: string(snap.State), Connected: snap.State == Connected, Final: s.closed.Err() != nil,
		PartnerID: snap.PartnerID, ThreadID: snap.ThreadID,
		Kickoff: snap.Kickoff, ResponsePending: snap.ResponsePending, Timings: snap.Timings,
		Ended: snap.State == Disconnecting || snap.State == Disconnected || snap.State == Broken,
	}
}

// publish stores a snapshot of the state, which any goroutine may read.
func (s *Session) publish() {
	snap := &Snapshot{
		State: s.phase.state(), Mode: s.mode,
		Speaking: s.turn.speaking, ResponsePending: s.core.Pending,
		Paused: s.lifecycle.paused, Timings: s.timings,
		TapToTalkActive: s.turn.tap,
		Kickoff:         s.turn.kickoff,
		Capabilities:    capabilitiesOf(s.config), ClientConfig: s.config,
		PartnerID: s.opts.PartnerID, StickyID: s.opts.StickyID,
		MicEnabled: s.devices.micOn, MicStarted: s.media.MicStarted(),
		ThreadID:         s.core.Thread,
		AudioOutputMuted: s.devices.muted, AudioVolume: s.devices.volume,
		Disclosure: s.lifecycle.disclosure, Gated: s.gated(),
	}
	s.snapshot.Store(snap)
}

func capabilitiesOf(c *signaling.Configuration) Capabilities {
	if c == nil {
		return Capabilities{Interruptions: true}
	}
	return Capabilities{
		ScreenShare: c.IsScreenShareEnabled, CameraAnalysis: c.IsCameraAnalysisEnabled,
		WebSearch: c.IsWebSearchEnabled, TapToTalk: c.IsTapToTalk,
		Interruptions: c.InterruptionsEnabled == nil || *c.InterruptionsEnabled,
	}
}

// phase is where a session is, in the detail that the session needs. Its public [State] and the
// key of the decisions ([Session.decisionPhase]) are derived from it.
type phase string

// The phases. Those without a comment of their own are the state of the same name.
const (
	idle          = phase(Idle)
	preparing     = phase(Preparing)
	connecting    = phase(Connecting)
	live          = phase("live")       // connected
	offline       = phase("offline")    // reconnecting: the socket is down, and reconnects by itself
	rebuilding    = phase("rebuilding") // reconnecting: the session is made again
	announced     = phase("announced")  // resuming: the service announced it, and confirms it itself
	resuming      = phase("resuming")   // the media of an expired pause are made again
	disconnecting = phase(Disconnecting)
	disconnected  = phase(Disconnected)
	broken        = phase(Broken)
)

func (p phase) state() State {
	switch p {
	case live:
		return Connected
	case offline, rebuilding:
		return ReconnectingState
	case announced, resuming:
		return Resuming
	}
	return State(p)
}

// setPhase is the one place that changes the phase, and so the state.
func (s *Session) setPhase(p phase) {
	before := s.phase.state()
	s.phase = p
	if state := p.state(); state != before {
		s.core.Emit(StateChanged{State: state})
	}
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
	switch s.phase.state() {
	case ReconnectingState, Resuming: // a rebuild is no connect
		return
	case Idle, Disconnecting, Disconnected, Broken: // nor is a preparation
		return
	}
	if _, ok := s.timings[string(phase)]; ok {
		return
	}
	timings := make(map[string]int64, len(s.timings)+1)
	maps.Copy(timings, s.timings)
	timings[string(phase)] = time.Since(s.started).Milliseconds()
	s.timings = timings
}

// setToken stores the token for later requests and handshakes, those of the socket included.
func (s *Session) setToken(token string) {
	for _, conn := range []*connection{s.conn, s.prepared} {
		if conn == nil {
			continue
		}
		if err := conn.socket.SetAuth(auth(token)); err != nil {
			s.core.Log("warn", err.Error(), nil)
		}
	}
	s.core.SetToken(token)
}

// around returns wait, varied by up to the fraction part of it in both directions.
func (s *Session) around(wait time.Duration, part float64) time.Duration {
	return time.Duration(float64(wait) * (1 + part*(2*s.random()-1)))
}
