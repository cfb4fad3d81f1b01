package avatar

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
)

//go:generate go run ../../internal/eventsgen

// Event is something that happened in a session. Each is declared once, here;
// the TypeScript types and the table in docs/events.md are generated from these
// declarations and their comments (session-api A.1.5).
type Event interface {
	// Name is the event's name in JavaScript.
	Name() string
}

// StateChanged is emitted at every change of state.
type StateChanged struct {
	State State `json:"state"`
}

// StreamReady says that the signalling is reached, long before pictures; once
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
	State       string `json:"state"`
	Reason      string `json:"reason,omitempty"`
	Recoverable *bool  `json:"recoverable,omitempty"`
	Attempt     int    `json:"attempt,omitempty"`
	MaxAttempts int    `json:"maxAttempts,omitempty"`
	Detail      string `json:"detail,omitempty"`
}

// MediaRecovering is emitted when the repair of a peer begins.
type MediaRecovering struct {
	Channel media.Channel `json:"channel"`
	State   string        `json:"state"`
}

// MediaRecovered ends a repair that worked.
type MediaRecovered struct {
	Channel media.Channel `json:"channel"`
	Method  string        `json:"method" ts:"'ice-restart' | 're-subscribe'"`
}

// Reconnecting says that the socket is lost, or (Cold) that a full rebuild began.
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

// HardwareMuteChanged reports a mute by the system or the device; the muted side
// waits 5 s.
type HardwareMuteChanged struct {
	Muted bool `json:"muted"`
}

// LocalSpeakingChanged reports that the level of the microphone crossed the
// threshold.
type LocalSpeakingChanged struct {
	Speaking bool `json:"speaking"`
}

// LocalMicLevel is the level of the microphone, 0 to 1, every 50 ms while
// somebody listens.
type LocalMicLevel struct {
	Level float64 `json:"level"`
}

// TapToTalkStarted opens a tap-to-talk window.
type TapToTalkStarted struct{}

// TapToTalkEnded closes it.
type TapToTalkEnded struct{}

// UserStartedTalking says that the service heard the visitor.
type UserStartedTalking struct{}

// SmartTurnStatus is the service's estimate of the end of a turn.
type SmartTurnStatus struct {
	Status      string   `json:"status"`
	TimeoutMs   *float64 `json:"timeoutMs,omitempty"`
	Probability *float64 `json:"probability,omitempty"`
}

// ResponsePending says that the brain was prompted; strictly paired with
// [ResponseSettled].
type ResponsePending struct{}

// ResponseSettled ends [ResponsePending].
type ResponseSettled struct{}

// BrainStalled is emitted every brainStallMs of silence; Count grows.
type BrainStalled struct {
	AfterMs int64 `json:"afterMs"`
	Count   int   `json:"count"`
}

// BrainSegment is every piece the brain pushes that passed the action gate.
type BrainSegment struct {
	converse.Segment
}

// TurnStarted begins a piece of speech.
type TurnStarted struct {
	SpeechID  string `json:"speechId"`
	TurnID    string `json:"turnId"`
	IsNewTurn bool   `json:"isNewTurn"`
}

// TurnEnded ends it, once per speechId.
type TurnEnded struct {
	SpeechID string `json:"speechId"`
	TurnID   string `json:"turnId,omitempty"`
}

// Transcript is what was said: "user" once per turn, "final" a whole sentence
// before its sound, "partial" a timed piece of the utterance now playing.
type Transcript struct {
	Type     string  `json:"type" ts:"'user' | 'final' | 'partial'"`
	Text     string  `json:"text"`
	SpeechID *string `json:"speechId"`
	Words    []Word  `json:"words,omitempty"`
}

// Word is one word of a partial transcript, in milliseconds from the start of
// the utterance.
type Word struct {
	Word    string `json:"word"`
	StartMs int64  `json:"startMs"`
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

// Interrupted says that the visitor cut the avatar.
type Interrupted struct{}

// ToolCalled is emitted once per distinct call and turn, before its handlers.
type ToolCalled struct {
	ToolCall
}

// ToolCallResult is emitted for every handler that returned something or failed.
type ToolCallResult struct {
	Call  ToolCall     `json:"call"`
	OK    bool         `json:"ok"`
	Value any          `json:"value,omitempty"`
	Error *fault.Error `json:"error,omitempty"`
}

// ToolCallInvalid replaces [ToolCalled] when the arguments don't fit the schema.
type ToolCallInvalid struct {
	Call   ToolCall `json:"call"`
	Errors []string `json:"errors"`
}

// ToolSpiralDetected is emitted once per turn that calls too many tools.
type ToolSpiralDetected struct {
	Count int `json:"count"`
	Limit int `json:"limit"`
}

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

// OAuthRequired asks the visitor to authorise a tool; once per URL and turn.
type OAuthRequired struct {
	AuthURL         string `json:"authUrl"`
	ToolName        string `json:"toolName,omitempty"`
	ToolDisplayName string `json:"toolDisplayName,omitempty"`
}

// OAuthRequiredResult is emitted for every handler of [OAuthRequired].
type OAuthRequiredResult struct {
	Result OAuthRequired `json:"result"`
	OK     bool          `json:"ok"`
	Value  any           `json:"value,omitempty"`
	Error  *fault.Error  `json:"error,omitempty"`
}

// AgentActionDenied says that the policy or the hook refused something.
type AgentActionDenied struct {
	Type   string `json:"type"`
	Reason string `json:"reason"`
	// ToolName is set for tool calls.
	ToolName string `json:"toolName,omitempty"`
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

// ResumeReady says that the pause expired and Resume will rebuild.
type ResumeReady struct {
	Ready bool `json:"ready"`
}

// Resumed confirms a resume.
type Resumed struct{}

// SessionCompleted is emitted once per attempt to tell the service that the
// conversation is over.
type SessionCompleted struct {
	Reason     string `json:"reason"`
	Sent       bool   `json:"sent"`
	Suppressed bool   `json:"suppressed"`
	Peers      int    `json:"peers"`
}

// Warning is something a page may want to know and need not act on.
type Warning struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
	Detail  string     `json:"detail,omitempty"`
	// Kind is video or audio for playback_blocked and media_attach_failed.
	Kind string `json:"kind,omitempty" ts:"'video' | 'audio'"`
	// RequestVarKeys are names only.
	RequestVarKeys []string `json:"requestVarKeys,omitempty"`
}

// Failed is a problem that ends the session, or an attempt that failed and is
// repeated: only a fatal code, or the event ended after it, means the end.
type Failed struct {
	*fault.Error
}

// Ended is emitted once for every end of a session, with its reason.
type Ended struct {
	Reason string `json:"reason,omitempty"`
}

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
func (HardwareMuteChanged) Name() string  { return "hardwareMuteChanged" }
func (LocalSpeakingChanged) Name() string { return "localSpeakingChanged" }
func (LocalMicLevel) Name() string        { return "localMicLevel" }
func (TapToTalkStarted) Name() string     { return "tapToTalkStarted" }
func (TapToTalkEnded) Name() string       { return "tapToTalkEnded" }
func (UserStartedTalking) Name() string   { return "userStartedTalking" }
func (SmartTurnStatus) Name() string      { return "smartTurnStatus" }
func (ResponsePending) Name() string      { return "responsePending" }
func (ResponseSettled) Name() string      { return "responseSettled" }
func (BrainStalled) Name() string         { return "brainStalled" }
func (BrainSegment) Name() string         { return "brainSegment" }
func (TurnStarted) Name() string          { return "turnStart" }
func (TurnEnded) Name() string            { return "turnEnd" }
func (Transcript) Name() string           { return "transcript" }
func (SpeechChunk) Name() string          { return "speechChunk" }
func (AvatarStartTalking) Name() string   { return "avatarStartTalking" }
func (AvatarStopTalking) Name() string    { return "avatarStopTalking" }
func (Interrupted) Name() string          { return "interrupted" }
func (ToolCalled) Name() string           { return "toolCall" }
func (ToolCallResult) Name() string       { return "toolCallResult" }
func (ToolCallInvalid) Name() string      { return "toolCallInvalid" }
func (ToolSpiralDetected) Name() string   { return "toolSpiralDetected" }
func (ToolSpiralRecovering) Name() string { return "toolSpiralRecovering" }
func (SpiralRecovered) Name() string      { return "spiralRecovered" }
func (OAuthRequired) Name() string        { return "oauthRequired" }
func (OAuthRequiredResult) Name() string  { return "oauthRequiredResult" }
func (AgentActionDenied) Name() string    { return "agentActionDenied" }
func (IdleWarning) Name() string          { return "idleWarning" }
func (TimeWarning) Name() string          { return "timeWarning" }
func (TimeExpired) Name() string          { return "timeExpired" }
func (ResumeReady) Name() string          { return "resumeReady" }
func (Resumed) Name() string              { return "resumed" }
func (SessionCompleted) Name() string     { return "sessionCompleted" }
func (Warning) Name() string              { return "warning" }
func (Failed) Name() string               { return "error" }
func (Ended) Name() string                { return "ended" }
