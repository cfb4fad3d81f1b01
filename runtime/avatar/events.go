package avatar

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
)

// Event is something that happened in a session. Each is declared once, here or
// in runtime/event; the TypeScript types and the tables in docs/events.md are
// generated from these declarations and their comments (session-api A.1.5).
type Event = event.Event

// The events that a live session shares with other kinds.
type (
	ResponsePending     = event.ResponsePending
	ResponseSettled     = event.ResponseSettled
	BrainStalled        = event.BrainStalled
	BrainSegment        = event.BrainSegment
	WidgetShown         = event.WidgetShown
	TurnStarted         = event.TurnStarted
	TurnEnded           = event.TurnEnded
	Transcript          = event.Transcript
	ToolCalled          = event.ToolCalled
	ToolCallResult      = event.ToolCallResult
	ToolCallInvalid     = event.ToolCallInvalid
	ToolSpiralDetected  = event.ToolSpiralDetected
	OAuthRequired       = event.OAuthRequired
	OAuthRequiredResult = event.OAuthRequiredResult
	SessionCompleted    = event.SessionCompleted
	Warning             = event.Warning
	Failed              = event.Failed
	Ended               = event.Ended
)

// What these events, the options and the snapshot are made of.
type (
	Word         = event.Word
	ToolCall     = event.ToolCall
	ToolMetadata = event.ToolMetadata
	Kickoff      = event.Kickoff
	AuditEvent   = event.Audit
)

// StateChanged is emitted at every change of state.
type StateChanged struct {
	State State `json:"state"`
}

// StreamReady says that the signalling is connected, long before pictures; once
// per connect.
type StreamReady struct {
	FinalURL  string `json:"finalUrl"`
	AgentName string `json:"agentName,omitempty"`
	HostName  string `json:"hostName,omitempty"`
}

// CapacityChanged is emitted for every capacity reply.
type CapacityChanged struct {
	Available bool            `json:"available"`
	Details   json.RawMessage `json:"details,omitempty"`
}

// TrackAdded is emitted for every incoming track, also without elements.
type TrackAdded struct {
	Track   any `json:"track" ts:"MediaStreamTrack"`
	Streams any `json:"streams,omitempty" ts:"readonly MediaStream[]"`
}

// VideoMetadata tells the picture's size once it is known.
type VideoMetadata struct {
	media.Picture
}

// MediaReady is emitted once per connect: the event to hide a spinner on.
// Degraded means that no picture came.
type MediaReady struct {
	Mode        Mode `json:"mode"`
	VideoWidth  int  `json:"videoWidth,omitempty"`
	VideoHeight int  `json:"videoHeight,omitempty"`
	Degraded    bool `json:"degraded,omitempty"`
}

// DisclosureShown precedes any speech of the avatar; once per connect.
type DisclosureShown struct {
	Disclosure
}

// ConnectTimings follows the state connected, once per successful connect:
// milliseconds from the connect call, by phase.
type ConnectTimings map[string]int64

// ConnectivityChanged reports a peer's, the socket's or the network's state.
type ConnectivityChanged struct {
	Channel     string `json:"channel" ts:"'socket' | 'network' | MediaChannel"`
	State       string `json:"state" ts:"ConnectivityState"`
	Reason      string `json:"reason,omitempty"`
	Recoverable *bool  `json:"recoverable,omitempty"`
	Attempt     int    `json:"attempt,omitempty"`
	MaxAttempts int    `json:"maxAttempts,omitempty"`
	Detail      string `json:"detail,omitempty"`
}

// ConnectivityState is a state of a peer (that of ICE), of the socket or of the network.
type ConnectivityState string

// The states.
const (
	ICENew         ConnectivityState = "new"
	ICEChecking    ConnectivityState = "checking"
	UpAgain        ConnectivityState = "connected" // the socket's too
	ICECompleted   ConnectivityState = "completed"
	Down           ConnectivityState = "disconnected" // the socket's too
	ICEFailed      ConnectivityState = "failed"
	ICEClosed      ConnectivityState = "closed"
	RecoverFailed  ConnectivityState = "recover_failed"  // a peer was not repaired
	ReconnectRetry ConnectivityState = "reconnect_retry" // of the socket
	NetworkOnline  ConnectivityState = "online"
	NetworkOffline ConnectivityState = "offline"
)

// RepairReason is what is wrong with a peer: its state, or what it does not do.
type RepairReason string

// The reasons besides the states of ICE.
const (
	NoCandidates RepairReason = "no candidates"
	NoBytes      RepairReason = "no bytes"
	Stalled      RepairReason = "stalled"
)

// TimingPhase is a phase of a connect (session-api A.1.4).
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

// Redacted implements [event.Diagnostic].
func (c ConnectivityChanged) Redacted() Event {
	c.Detail = fault.Redact(c.Detail)
	return c
}

// MediaRecovering is emitted when the repair of a peer begins.
type MediaRecovering struct {
	Channel media.Channel `json:"channel"`
	State   string        `json:"state" ts:"ConnectivityState | RepairReason"`
}

// MediaRecovered ends a repair that worked.
type MediaRecovered struct {
	Channel media.Channel `json:"channel"`
	Method  string        `json:"method" ts:"'ice-restart' | 're-subscribe'"`
}

// Reconnecting says that the socket is lost, or (Cold) that a full rebuild began. Attempt
// is the number of the attempt that comes next, MaxAttempts 0 when only the time is bounded.
type Reconnecting struct {
	Reason      string `json:"reason"`
	Attempt     int    `json:"attempt"`
	MaxAttempts int    `json:"maxAttempts"`
	Cold        bool   `json:"cold,omitempty"`
}

// Reconnected ends a reconnection; Recovered means that the service kept the
// session.
type Reconnected struct {
	Recovered bool `json:"recovered"`
}

// ConnectionQuality is measured every statsIntervalMs, per channel.
type ConnectionQuality struct {
	Channel       media.Channel `json:"channel"`
	RTTMs         float64       `json:"rttMs"`
	PacketLossPct float64       `json:"packetLossPct"`
	JitterMs      float64       `json:"jitterMs"`
	BitrateKbps   float64       `json:"bitrateKbps"`
}

// MicStarted says that the microphone is attached.
type MicStarted struct{}

// DevicesChanged says that a microphone or a speaker was plugged in or taken away: list
// the devices again. A page emits it, also before it connects.
type DevicesChanged struct{}

// HardwareMuteChanged reports a mute by the system or the device; the muted side
// waits 5 s. Track is the device's.
type HardwareMuteChanged struct {
	Muted bool `json:"muted"`
	Track any  `json:"track" ts:"MediaStreamTrack"`
}

// LocalSpeakingChanged reports that the level of the microphone crossed the
// threshold.
type LocalSpeakingChanged struct {
	Speaking bool `json:"speaking"`
}

// LocalMicLevel is the level of the microphone, 0 to 1, every 50 ms while
// the event has a listener.
type LocalMicLevel struct {
	Level float64 `json:"level"`
}

// TapToTalkStarted opens a tap-to-talk window.
type TapToTalkStarted struct{}

// TapToTalkEnded closes it.
type TapToTalkEnded struct{}

// UserStartedTalking says that the service has detected the visitor's speech.
type UserStartedTalking struct{}

// SmartTurnStatus is the service's estimate of the end of a turn.
type SmartTurnStatus struct {
	Status      string   `json:"status"`
	TimeoutMs   *float64 `json:"timeoutMs,omitempty"`
	Probability *float64 `json:"probability,omitempty"`
}

// SpeechChunk comes about 400 ms before it sounds; it is not filtered by
// utterance.
type SpeechChunk struct {
	Text       string  `json:"text"`
	DurationMs float64 `json:"durationMs"`
	SpeechID   string  `json:"speechId"`
}

// AvatarStartTalking says that the avatar begins to talk.
type AvatarStartTalking struct{}

// AvatarStopTalking carries the text that was really spoken.
type AvatarStopTalking struct {
	Text string `json:"text"`
}

// TurnUnconfirmed says that a typed turn was sent and that the service has shown no
// sign of it, though speak() answered true: it may be lost. It comes once for a turn:
// when the session is rebuilt or ends, or after a minute. A turn that the service is
// known to acknowledge is sent again by itself after a lost connection.
type TurnUnconfirmed struct {
	Text string `json:"text"`
	// ClientTurnID is the id under which it was sent.
	ClientTurnID string `json:"clientTurnId"`
}

// Interrupted says that the visitor cut the avatar.
type Interrupted struct{}

// ToolSpiralRecovering precedes a forced rebuild.
type ToolSpiralRecovering struct {
	Count        int    `json:"count"`
	Limit        int    `json:"limit"`
	LastTurnText string `json:"lastTurnText"`
}

// SpiralRecovered says that the lost question was asked again.
type SpiralRecovered struct {
	Text string `json:"text"`
}

// AgentActionDenied says that the policy or the hook refused something.
type AgentActionDenied struct {
	Type   string `json:"type"`
	Reason string `json:"reason"`
	// ToolName is set for tool calls.
	ToolName string `json:"toolName,omitempty"`
}

// Redacted implements [event.Diagnostic].
func (a AgentActionDenied) Redacted() Event {
	a.Reason = fault.Redact(a.Reason)
	return a
}

// IdleWarning precedes the end of an idle session.
type IdleWarning struct {
	InMs int64 `json:"inMs"`
}

// TimeWarning is the service's time limit coming near, in seconds.
type TimeWarning struct {
	RemainingTime float64 `json:"remainingTime"`
}

// TimeExpired says which time ran out: idle_timeout, pause_expiry, or the
// service's limit (empty).
type TimeExpired struct {
	Type string `json:"type,omitempty" ts:"'idle_timeout' | 'pause_expiry'"`
}

// ResumeReady says that the pause expired, so that resuming rebuilds the session.
type ResumeReady struct {
	Ready bool `json:"ready"`
}

// Resumed confirms a resume.
type Resumed struct{}

// Name implements [Event].
func (StateChanged) Name() string         { return "stateChange" }
func (StreamReady) Name() string          { return "streamReady" }
func (CapacityChanged) Name() string      { return "capacityChanged" }
func (TrackAdded) Name() string           { return "track" }
func (VideoMetadata) Name() string        { return "videoMetadata" }
func (MediaReady) Name() string           { return "mediaReady" }
func (DisclosureShown) Name() string      { return "disclosure" }
func (ConnectTimings) Name() string       { return "connectTimings" }
func (ConnectivityChanged) Name() string  { return "connectivityChanged" }
func (MediaRecovering) Name() string      { return "mediaRecovering" }
func (MediaRecovered) Name() string       { return "mediaRecovered" }
func (Reconnecting) Name() string         { return "reconnecting" }
func (Reconnected) Name() string          { return "reconnected" }
func (ConnectionQuality) Name() string    { return "connectionQuality" }
func (MicStarted) Name() string           { return "micStarted" }
func (DevicesChanged) Name() string       { return "devicesChanged" }
func (HardwareMuteChanged) Name() string  { return "hardwareMuteChanged" }
func (LocalSpeakingChanged) Name() string { return "localSpeakingChanged" }
func (LocalMicLevel) Name() string        { return "localMicLevel" }
func (TapToTalkStarted) Name() string     { return "tapToTalkStarted" }
func (TapToTalkEnded) Name() string       { return "tapToTalkEnded" }
func (UserStartedTalking) Name() string   { return "userStartedTalking" }
func (SmartTurnStatus) Name() string      { return "smartTurnStatus" }
func (SpeechChunk) Name() string          { return "speechChunk" }
func (AvatarStartTalking) Name() string   { return "avatarStartTalking" }
func (AvatarStopTalking) Name() string    { return "avatarStopTalking" }
func (Interrupted) Name() string          { return "interrupted" }
func (TurnUnconfirmed) Name() string      { return "turnUnconfirmed" }
func (ToolSpiralRecovering) Name() string { return "toolSpiralRecovering" }
func (SpiralRecovered) Name() string      { return "spiralRecovered" }
func (AgentActionDenied) Name() string    { return "agentActionDenied" }
func (IdleWarning) Name() string          { return "idleWarning" }
func (TimeWarning) Name() string          { return "timeWarning" }
func (TimeExpired) Name() string          { return "timeExpired" }
func (ResumeReady) Name() string          { return "resumeReady" }
func (Resumed) Name() string              { return "resumed" }
