package signaling

import "encoding/json"

// Empty is the payload of events that carry nothing; it is sent as {}
// (protocol §0.3).
type Empty struct{}

// JoinRequest is the payload of [Join] (protocol §3.2). NewJoin fills the
// fields that never vary.
type JoinRequest struct {
	Room            string  `json:"room"`
	Channel         string  `json:"channel"`
	Kaltura         Context `json:"kaltura"`
	UserAgent       string  `json:"userAgent"`
	UserAgentHints  *string `json:"userAgentHints"`
	IsMobile        bool    `json:"isMobile"`
	ChannelPassword *string `json:"channel_password"`
	PeerName        string  `json:"peer_name"`
	PeerVideo       bool    `json:"peer_video"`
	PeerAudio       bool    `json:"peer_audio"`
	// Traceparent and Tracestate are the W3C trace context of the application, an addition of
	// this runtime.
	Traceparent string `json:"traceparent,omitempty"`
	Tracestate  string `json:"tracestate,omitempty"`
}

// NewJoin returns the join request for room.
func NewJoin(room, userAgent string, c Context) JoinRequest {
	c.ForceExperience = "avatar_only"
	return JoinRequest{
		Room: room, Channel: room, Kaltura: c, UserAgent: userAgent,
		PeerName: "unknown", PeerAudio: true,
	}
}

// Context is the part of a [JoinRequest] that concerns the brain
// (protocol §3.2).
type Context struct {
	KS              string            `json:"ks"`
	ThreadID        string            `json:"threadId,omitempty"`
	EntryID         string            `json:"entryId,omitempty"`
	ContextID       string            `json:"contextId,omitempty"`
	ContextType     string            `json:"contextType,omitempty"`
	ForceExperience string            `json:"force_experience,omitempty"`
	Capabilities    map[string]string `json:"capabilities,omitempty"`
	RequestVars     map[string]any    `json:"request_vars,omitempty"`
}

// GenieContext is the payload of [UpdateGenieContext]. It replaces the whole context
// that the service has (protocol §3.9).
type GenieContext struct {
	Capabilities map[string]string `json:"capabilities,omitempty"`
	RequestVars  map[string]any    `json:"request_vars,omitempty"`
	ContextID    string            `json:"contextId,omitempty"`
	ContextType  string            `json:"contextType,omitempty"`
}

// RoomRequest is the payload of [StvNewSession] when a client sends it
// (protocol §3.3).
type RoomRequest struct {
	RoomID string `json:"room_id"`
}

// Approval is the payload of [ApprovedPermissions] (protocol §3.5).
type Approval struct {
	Room string `json:"room"`
}

// Text is the payload of [TextEntered] (protocol §3.6).
type Text struct {
	Text          string `json:"text"`
	IsFinal       bool   `json:"isFinal"`
	IsSpeechStart bool   `json:"isSpeechStart,omitempty"`
	// ClientTurnID is the client's id of a final text; a text that is sent again keeps
	// its id (local-service choice A22).
	ClientTurnID string `json:"clientTurnId,omitempty"`
}

// BargeIn is the marker that stops an interruptible utterance
// (protocol §3.6).
func BargeIn() Text { return Text{IsSpeechStart: true} }

// HTMLClick is the payload of [HTMLElementClick] (protocol §3.11).
type HTMLClick struct {
	HTMLText string `json:"htmlText"`
}

// Hello is the payload of [ServerConnected] (protocol §4.2).
type Hello struct {
	FinalURL        string `json:"finalUrl"`
	AgentName       string `json:"agentName,omitempty"`
	HostName        string `json:"hostName,omitempty"`
	LoadingVideoURL string `json:"loadingVideoURL,omitempty"`
}

// Configuration is the agent's configuration from the event clientConfiguration
// (protocol §4.2).
type Configuration struct {
	Configuration              map[string]any    `json:"configuration"`
	NLUFeatures                map[string]any    `json:"nluFeatures"`
	LanguageCode               string            `json:"languageCode"`
	ForwardLoopMode            bool              `json:"forwardLoopMode"`
	ImaginativeAIMode          bool              `json:"imaginativeAiMode"`
	IsTapToTalk                bool              `json:"isTapToTalk"`
	InterruptionsEnabled       *bool             `json:"interruptionsEnabled,omitempty"` // true when absent
	PauseConversationEnabled   bool              `json:"pauseConversationEnabled"`
	ShowTranscription          bool              `json:"showTranscription"`
	AgentPersonaName           *string           `json:"agentPersonaName"`
	UserName                   *string           `json:"userName"`
	IsWebSearchEnabled         bool              `json:"isWebSearchEnabled"`
	IsScreenShareEnabled       bool              `json:"isScreenShareEnabled"`
	IsCameraAnalysisEnabled    bool              `json:"isCameraAnalysisEnabled"`
	YouTubeURL                 string            `json:"youtubeUrl"`
	AudioMode                  bool              `json:"audioMode"`
	PhoneMode                  bool              `json:"phoneMode"`
	ShouldAggregateCurrentTurn bool              `json:"shouldAggregateCurrentTurn"`
	InitialHTML                string            `json:"initialHtml"`
	VisualPhotos               []json.RawMessage `json:"visualPhotos"`
	VisualVideos               []json.RawMessage `json:"visualVideos"`
}

// ConfigurationEnvelope is the payload of [ClientConfig] as the service sends
// it; the inner object may also be sent without the envelope.
type ConfigurationEnvelope struct {
	ClientConfiguration Configuration `json:"clientConfiguration"`
}

// StvNewSessionReply is the payload of [StvNewSession] when the service sends
// it (protocol §4.2).
type StvNewSessionReply struct {
	SessionID string `json:"session_id,omitempty"`
	Status    string `json:"status"`
	WebRTCURL string `json:"webrtc_url,omitempty"`
}

// Availability is the payload of [AvailabilityResult] (protocol §4.2).
type Availability struct {
	Available bool            `json:"available"`
	Reason    string          `json:"reason,omitempty"`
	Details   json.RawMessage `json:"details,omitempty"`
	Error     string          `json:"error,omitempty"`
}

// CapacityDetails is the observed shape of [Availability.Details]
// (protocol §4.2).
type CapacityDetails struct {
	StvAvailable      bool `json:"stvAvailable"`
	WhisperAvailable  bool `json:"whisperAvailable"`
	ActiveCalls       int  `json:"activeCalls"`
	MaxCalls          int  `json:"maxCalls"`
	CapacityAvailable bool `json:"capacityAvailable"`
}

// PermissionRequest is the payload of [AskPermissions] (protocol §4.2).
type PermissionRequest struct {
	Constraints Constraints `json:"constraints"`
}

// Constraints are the devices that the service asks for.
type Constraints struct {
	Audio any `json:"audio"` // bool, or an object
	Video any `json:"video"`
}

// Unsupported is the payload of [UnsupportedClient] (protocol §4.3).
type Unsupported struct {
	Code string `json:"code"`
}

// ASRInitRequest is the payload of [ASRInit] (protocol §5.1).
type ASRInitRequest struct {
	SessionID string `json:"sessionId"`
}

// Description is a session description inside an offer or an answer.
type Description struct {
	Type string `json:"type"`
	SDP  string `json:"sdp"`
}

// Offer is the payload of [ASROffer] and [VoiceOffer] (protocol §5.1).
type Offer struct {
	Offer       Description `json:"offer"`
	IsReconnect bool        `json:"is_reconnect"`
}

// Answer is the payload of [ASRAnswer] and [VoiceAnswer] (protocol §5.1).
type Answer struct {
	Answer Description `json:"answer"`
}

// Candidate is an ICE candidate as a browser serialises it
// (protocol §5.2).
type Candidate struct {
	Candidate        string  `json:"candidate"`
	SDPMid           *string `json:"sdpMid,omitempty"`
	SDPMLineIndex    *uint16 `json:"sdpMLineIndex,omitempty"`
	UsernameFragment *string `json:"usernameFragment,omitempty"`
}

// ClientCandidate is the payload of [ASRClientCandidate] and of
// [VoiceCandidate] (protocol §5.2).
type ClientCandidate struct {
	Candidate Candidate `json:"candidate"`
}

// ServerCandidate is the payload of [ASRServerCandidate]
// (protocol §5.2).
type ServerCandidate struct {
	UID           string `json:"uid"`
	Type          string `json:"type"` // "ice_candidate"
	Candidate     string `json:"candidate"`
	SDPMLineIndex uint16 `json:"sdpMLineIndex"`
}

// PeerError is the payload of [ASRError] and [VoiceError].
type PeerError struct {
	Error string `json:"error,omitempty"`
}

// RawText is the payload of [AgentRawText]. Delta is one segment as JSON text:
// it is encoded twice on the wire (protocol §4.4).
type RawText struct {
	SpeechID string `json:"speechId"`
	TurnID   string `json:"turnId"`
	Delta    string `json:"delta"`
}

// StartSpeech is the payload of [AgentStartSpeech] (protocol §4.5).
type StartSpeech struct {
	SpeechID  string `json:"speechId"`
	TurnID    string `json:"turnId"`
	IsNewTurn bool   `json:"isNewTurn"`
}

// EndTurn is the payload of [AgentEndTurn] (protocol §4.5).
type EndTurn struct {
	SpeechID string `json:"speechId"`
	TurnID   string `json:"turnId"`
}

// Sentence is the payload of [GeneratingSpeech] (protocol §4.6).
type Sentence struct {
	Text     string `json:"text"`
	SpeechID string `json:"speechId"`
}

// SpeechChunk is the payload of [StvSpeechChunk]; DurationMs is the exact
// length of its sound in milliseconds (protocol §4.6).
type SpeechChunk struct {
	Text       string  `json:"text"`
	SpeechID   string  `json:"speechId"`
	DurationMs float64 `json:"durationMs"`
}

// FinishedTalking is the payload of [StvFinishedTalking]; AgentContent is what
// was really spoken (protocol §4.6).
type FinishedTalking struct {
	AgentContent string `json:"agentContent"`
}

// FinishedGenerating is the payload of [StvFinishedGenerating]
// (protocol §4.6).
type FinishedGenerating struct {
	SpeechID string `json:"speechId"`
}

// TurnToTalk is the payload of [AgentTurnToTalk] (protocol §4.7).
type TurnToTalk struct {
	UserTranscription string `json:"userTranscription,omitempty"`
}

// SmartTurn is the payload of [SmartTurnStatus]; TimeoutMs is in milliseconds
// (protocol §4.7).
type SmartTurn struct {
	Status      string   `json:"status"`
	TimeoutMs   *float64 `json:"timeout_ms,omitempty"`
	Probability *float64 `json:"probability,omitempty"`
}

// TimeWarning is the payload of [ConversationTimeWarning]; RemainingTime is in
// seconds (protocol §4.8).
type TimeWarning struct {
	RemainingTime float64 `json:"remainingTime"`
}

// SpeechDetected is the payload of [DebugSpeechDetected] (protocol §4.10).
type SpeechDetected struct {
	Transcript         string `json:"transcript"`
	IsFinal            bool   `json:"isFinal"`
	SegmentType        string `json:"segmentType"` // new, correction, final
	IsSpeechStartEvent bool   `json:"isSpeechStartEvent"`
}

// LLMInput is the payload of [DebugLLMInput] (protocol §4.10).
type LLMInput struct {
	UserInput      string `json:"userInput"`
	FinalSegment   string `json:"finalSegment"`
	PendingSegment string `json:"pendingSegment"`
	SpeechID       string `json:"speechId"`
	SegmentType    string `json:"segmentType"`
	IsFinal        bool   `json:"isFinal"`
}

// StvTask is the payload of [DebugStvTask]; Duration is in milliseconds
// (protocol §4.10).
type StvTask struct {
	Text     string `json:"text"`
	SpeechID string `json:"speechId"`
	Duration int    `json:"duration"`
}

// ConversationState is the payload of [DebugState] (protocol §4.10).
type ConversationState struct {
	State                string `json:"state"`
	PreparingAnswerState string `json:"preparingAnswerState"`
}
