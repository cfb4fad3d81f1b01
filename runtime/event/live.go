package event

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// StreamReady reports that the signalling is connected, long before the first picture;
// once per connect.
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

// TrackAdded is emitted for every incoming track, whether or not an element plays it.
type TrackAdded struct {
	Track   any `json:"track" ts:"MediaStreamTrack"`
	Streams any `json:"streams,omitempty" ts:"readonly MediaStream[]"`
}

// VideoMetadata reports the picture's size once it is known.
type VideoMetadata struct {
	VideoWidth  int `json:"videoWidth"`
	VideoHeight int `json:"videoHeight"`
}

// MediaReady is emitted once per connect, when the media can be played and a page can hide
// its spinner. Degraded means that no picture arrived.
type MediaReady struct {
	Mode        Mode `json:"mode"`
	VideoWidth  int  `json:"videoWidth,omitempty"`
	VideoHeight int  `json:"videoHeight,omitempty"`
	Degraded    bool `json:"degraded,omitempty"`
}

// DisclosureShown is emitted before any speech of the avatar, once per connect.
type DisclosureShown struct {
	Disclosure
}

// ConnectTimings is emitted after the state connected, once per successful connect, with
// the milliseconds from the connect call to each phase.
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

// ConnectivityState is the ICE state of a peer, or the state of the socket or the network.
type ConnectivityState string

// The states.
const (
	ICENew          ConnectivityState = "new"
	ICEChecking     ConnectivityState = "checking"
	ICEConnected    ConnectivityState = "connected" // also of the socket
	ICECompleted    ConnectivityState = "completed"
	ICEDisconnected ConnectivityState = "disconnected" // also of the socket
	ICEFailed       ConnectivityState = "failed"
	ICEClosed       ConnectivityState = "closed"
	RecoverFailed   ConnectivityState = "recover_failed"  // a peer was not repaired
	ReconnectRetry  ConnectivityState = "reconnect_retry" // of the socket
	NetworkOnline   ConnectivityState = "online"
	NetworkOffline  ConnectivityState = "offline"
)

// RepairReason is why a peer is repaired, other than its state.
type RepairReason string

// The reasons besides the states of ICE.
const (
	NoCandidates RepairReason = "no candidates"
	NoBytes      RepairReason = "no bytes"
	Stalled      RepairReason = "stalled"
)

// Redacted implements [Diagnostic].
func (c ConnectivityChanged) Redacted() Event {
	c.Detail = fault.Redact(c.Detail)
	return c
}

// MediaRecovering is emitted when the repair of a peer begins.
type MediaRecovering struct {
	Channel Channel `json:"channel"`
	State   string  `json:"state" ts:"ConnectivityState | RepairReason"`
}

// MediaRecovered is emitted when the repair of a peer has succeeded.
type MediaRecovered struct {
	Channel Channel `json:"channel"`
	Method  string  `json:"method" ts:"'ice-restart' | 're-subscribe'"`
}

// Reconnecting reports that the socket is lost or, with Cold, that a full rebuild began.
// Attempt is the number of the next attempt, MaxAttempts the most that are made; if only the
// time is bounded, how many it is enough for.
type Reconnecting struct {
	Reason      string `json:"reason"`
	Attempt     int    `json:"attempt"`
	MaxAttempts int    `json:"maxAttempts"`
	Cold        bool   `json:"cold,omitempty"`
}

// Reconnected reports that the session is connected again. Recovered means that the service
// kept the session; otherwise it was rebuilt.
type Reconnected struct {
	Recovered bool `json:"recovered"`
}

// ConnectionQuality is emitted every statsIntervalMs for each channel.
type ConnectionQuality struct {
	Channel       Channel `json:"channel"`
	RTTMs         float64 `json:"rttMs"`
	PacketLossPct float64 `json:"packetLossPct"`
	JitterMs      float64 `json:"jitterMs"`
	BitrateKbps   float64 `json:"bitrateKbps"`
}

// MicStarted reports that the microphone is attached.
type MicStarted struct{}

// ControlsChanged reports that a call of the page or program has changed micEnabled,
// audioOutputMuted or audioOutputVolume, or has begun a pause; in pages also, that it has
// changed micError or playbackBlocked.
type ControlsChanged struct{}

// DevicesChanged reports that a microphone or a speaker was plugged in or removed: list
// the devices again. It is emitted in pages only, also before the session connects.
type DevicesChanged struct{}

// HardwareMuteChanged reports, in pages only, that the system or the device muted or unmuted the
// microphone; a mute is reported after 5 s, and ends when another microphone is used, or none.
// Track is the device's track.
type HardwareMuteChanged struct {
	Muted bool `json:"muted"`
	Track any  `json:"track" ts:"MediaStreamTrack"`
}

// LocalSpeakingChanged reports, in pages only, that the level of the microphone crossed the
// threshold.
type LocalSpeakingChanged struct {
	Speaking bool `json:"speaking"`
}

// LocalMicLevel reports, in pages only, the level of the microphone, 0 to 1, every 50 ms while the event
// has a listener.
type LocalMicLevel struct {
	Level float64 `json:"level"`
}

// TapToTalkStarted is emitted when a tap-to-talk window opens.
type TapToTalkStarted struct{}

// TapToTalkEnded is emitted when a tap-to-talk window closes.
type TapToTalkEnded struct{}

// UserStartedTalking reports that the service has detected the visitor's speech.
type UserStartedTalking struct{}

// SmartTurnStatus is the service's estimate of the end of the visitor's turn.
type SmartTurnStatus struct {
	Status      string   `json:"status"`
	TimeoutMs   *float64 `json:"timeoutMs,omitempty"`
	Probability *float64 `json:"probability,omitempty"`
}

// SpeechChunk is emitted about 400 ms before its text is heard. Late chunks of other
// utterances are not filtered out.
type SpeechChunk struct {
	Text       string  `json:"text"`
	DurationMs float64 `json:"durationMs"`
	SpeechID   string  `json:"speechId"`
}

// Utterance has the ids of something that the avatar says. TurnID is absent if the
// utterance is no answer, such as the opening phrase.
type Utterance struct {
	SpeechID string `json:"speechId"`
	TurnID   string `json:"turnId,omitempty"`
}

// AvatarStartTalking reports that the avatar begins to talk. It is not emitted for an
// opening that is not spoken.
type AvatarStartTalking struct {
	Utterance
}

// AvatarStopTalking carries the text that was really spoken.
type AvatarStopTalking struct {
	Text string `json:"text"`
	Utterance
}

// TurnUnconfirmed reports that a typed turn may be lost: it was sent and speak() returned
// true, but the service has not confirmed it. It is emitted once per turn: when the session
// is rebuilt or ends, or after a minute. If the service acknowledges turns, the session
// itself sends unconfirmed ones again after a lost connection.
type TurnUnconfirmed struct {
	Text string `json:"text"`
	// Typed is the part of the text that a log may show: without the kickoff, unless that has echo.
	Typed string `json:"typed"`
	// Repeated is true if a transcript has repeated the text.
	Repeated bool `json:"repeated"`
	// ClientTurnID is the id that was sent with the turn.
	ClientTurnID string `json:"clientTurnId"`
}

// Interrupted reports that the visitor interrupted the avatar.
type Interrupted struct{}

// ToolSpiralRecovering is emitted before a rebuild that is forced because Count tool calls
// in a row gave the visitor nothing to see or hear.
type ToolSpiralRecovering struct {
	Count        int    `json:"count"`
	Limit        int    `json:"limit"`
	LastTurnText string `json:"lastTurnText"`
}

// SpiralRecovered is emitted when the unanswered question was sent again, after the rebuild
// that [ToolSpiralRecovering] announced.
type SpiralRecovered struct {
	Text string `json:"text"`
}

// AgentActionDenied reports that agentActions or onAgentAction refused an action of the
// agent.
type AgentActionDenied struct {
	Type   string `json:"type"`
	Reason string `json:"reason"`
	// ToolName is set for tool calls.
	ToolName string `json:"toolName,omitempty"`
}

// Redacted implements [Diagnostic].
func (a AgentActionDenied) Redacted() Event {
	a.Reason = fault.Redact(a.Reason)
	return a
}

// IdleWarning reports that an idle session ends in InMs milliseconds: a minute before that, or
// at once where idleTimeoutMs is less.
type IdleWarning struct {
	InMs int64 `json:"inMs"`
}

// TimeWarning reports that the service ends the conversation in RemainingTime seconds.
type TimeWarning struct {
	RemainingTime float64 `json:"remainingTime"`
}

// TimeExpired reports that a time limit was reached. Type is idle_timeout, pause_expiry, or
// absent for the limit of the service.
type TimeExpired struct {
	Type string `json:"type,omitempty" ts:"'idle_timeout' | 'pause_expiry'"`
}

// ResumeReady reports that the pause expired, so that resume() connects the media again.
type ResumeReady struct {
	Ready bool `json:"ready"`
}

// Resumed confirms a resume.
type Resumed struct{}

// Mode is video if the service sends a picture, otherwise audio.
type Mode string

// The modes.
const (
	Video Mode = "video"
	Audio Mode = "audio"
)

// Channel identifies a peer in events (protocol §8.5).
type Channel string

// The channels.
const (
	ChannelASR   Channel = "asr"   // the microphone's uplink
	ChannelSTV   Channel = "stv"   // the avatar's downlink
	ChannelVoice Channel = "voice" // the agent's voice in audio mode
)

// Disclosure is the notice that the visitor talks to a machine
// (session §A.1.3, getDisclosure).
type Disclosure struct {
	Type           string `json:"type"`
	DisclosureText string `json:"disclosureText"`
	FiredAt        string `json:"firedAt"` // RFC 3339
	Synthetic      bool   `json:"synthetic"`

	Provenance Provenance `json:"provenance"`
	Scope      string     `json:"scope"` // always "session"
}

// Provenance is the origin of the voice and the picture.
type Provenance struct {
	GeneratedBy string `json:"generatedBy"`
	Voice       string `json:"voice"` // always "synthetic"
	SessionID   string `json:"sessionId,omitempty"`
}

// Name implements [Event].
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
func (ControlsChanged) Name() string      { return "controlsChanged" }
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
