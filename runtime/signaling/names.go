package signaling

// Events that the client sends (protocol §3).
const (
	Join                = "join"
	StvNewSession       = "stvNewSession" // the reply has the same name
	CheckAvailability   = "checkAvailability"
	ASRInit             = "asr-webrtc-init"
	ASROffer            = "asr-webrtc-offer"
	ASRClientCandidate  = "asr-webrtc-ice-candidate"
	ApprovedPermissions = "approvedPermissions"
	TextEntered         = "onTextEntered"
	DebugTextEntered    = "debug_text_entered"
	TapToTalkStart      = "tapToTalkStart"
	TapToTalkEnd        = "tapToTalkEnd"
	MuteUser            = "muteUser"
	UnmuteUser          = "unmuteUser"
	PauseConversation   = "pauseConversation"
	ResumeConversation  = "resumeConversation"
	UpdateGenieContext  = "updateGenieContext"
	ScreenShareShot     = "userScreenShareShot"
	CameraShot          = "userCameraShot" // of an older protocol, still sent where isCameraAnalysisEnabled is set
	HTMLElementClick    = "onHtmlElementClick"
	FormLeadInfo        = "setFormLeadInfo"
)

// Events that the service sends (protocol §4).
const (
	// Handshake, §4.2.
	ServerConnected    = "onServerConnected"
	ClientConfig       = "clientConfiguration"
	JoinComplete       = "joinComplete"
	AvailabilityResult = "availabilityResult"
	ShowAgent          = "showAgent"
	AskPermissions     = "askPermissions"

	// Fatal, §4.3.
	ThrowToNoAgent      = "throwToNoAgent"
	ThrowToExceededTier = "throwToExceededTier"
	ThrowToBadRequest   = "throwToBadRequest"
	RemovePeer          = "removePeer"
	UnsupportedClient   = "unsupportedClient"

	// Microphone signalling, §5.
	ASRReady           = "asr-webrtc-ready"
	ASRAnswer          = "asr-webrtc-answer"
	ASRServerCandidate = "asr-ice-candidate"
	ASRError           = "asr-webrtc-error"

	// Brain, §4.4 and §4.5.
	AgentRawText     = "agent_raw_text"
	AgentStartSpeech = "agent_start_speech"
	AgentEndTurn     = "agent_end_turn"

	// Speech, §4.6.
	GeneratingSpeech      = "generatingSpeech"
	StvSpeechChunk        = "stvSpeechChunk"
	StvStartedTalking     = "stvStartedTalking"
	StvFinishedTalking    = "stvFinishedTalking"
	StvFinishedGenerating = "stvFinishedGenerating"

	// Turn taking, §4.7.
	AgentTurnToTalk     = "agentTurnToTalk"
	AgentInterrupted    = "agentInterrupted"
	UserStartedTalking  = "userStartedTalking"
	SmartTurnStatus     = "smartTurnStatus"
	HideTapToTalkButton = "hideTapToTalkButton"
	ShowTapToTalkButton = "showTapToTalkButton"

	// Lifecycle, §4.8.
	ConversationTimeWarning = "conversationTimeWarning"
	ConversationTimeExpired = "conversationTimeExpired"
	ConversationEnded       = "conversationEnded"
	StvTaskFail             = "stvTaskFail"
	PauseSessionExpired     = "pauseSessionExpired"
	SessionReadyForResume   = "sessionReadyForResume"
	ResumingSession         = "resumingSession"
	ConversationResumed     = "conversationResumed"

	// Diagnostics, sent only with debugMode, §4.10.
	DebugSpeechDetected = "debug_vad_speech_detected"
	DebugLLMInput       = "debug_llm_input"
	DebugStvTask        = "debug_stvTaskGenerated"
	DebugState          = "debug_conversationStateChange"
)

// Audio-mode downlink: in audio mode the service offers a peer that carries the
// agent's voice (protocol §4.11).
const (
	VoiceOffer     = "webrtc-offer"         // service to client
	VoiceAnswer    = "webrtc-answer"        // client to service
	VoiceCandidate = "webrtc-ice-candidate" // both ways
	VoiceError     = "webrtc-error"         // service to client
)

// ClientEvents lists every event that a client sends, in the order of
// protocol §3.1, and those of §3.12 that are in use.
func ClientEvents() []string {
	return []string{
		Join, StvNewSession, CheckAvailability, ASRInit, ASROffer, ASRClientCandidate,
		ApprovedPermissions, TextEntered, DebugTextEntered, TapToTalkStart, TapToTalkEnd,
		MuteUser, UnmuteUser, PauseConversation, ResumeConversation, UpdateGenieContext,
		ScreenShareShot, HTMLElementClick, FormLeadInfo, CameraShot,
	}
}

// ServerEvents lists every event that the service sends, in the order of
// protocol §4.1.
func ServerEvents() []string {
	return []string{
		ServerConnected, ClientConfig, JoinComplete, StvNewSession, AvailabilityResult, ShowAgent, AskPermissions,
		ThrowToNoAgent, ThrowToExceededTier, ThrowToBadRequest, RemovePeer, UnsupportedClient,
		ASRReady, ASRAnswer, ASRServerCandidate, ASRError,
		AgentRawText, AgentStartSpeech, AgentEndTurn,
		GeneratingSpeech, StvSpeechChunk, StvStartedTalking, StvFinishedTalking, StvFinishedGenerating,
		AgentTurnToTalk, AgentInterrupted, UserStartedTalking, SmartTurnStatus, HideTapToTalkButton, ShowTapToTalkButton,
		ConversationTimeWarning, ConversationTimeExpired, ConversationEnded, StvTaskFail,
		PauseSessionExpired, SessionReadyForResume, ResumingSession, ConversationResumed,
		DebugSpeechDetected, DebugLLMInput, DebugStvTask, DebugState,
	}
}

// FatalEvents lists the events after which the service closes the socket
// (protocol §4.3).
func FatalEvents() []string {
	return []string{ThrowToNoAgent, ThrowToExceededTier, ThrowToBadRequest, RemovePeer, UnsupportedClient}
}

// Suffixes of a speechId that carry meaning; the rest of an id is opaque
// (protocol §7.2).
const (
	SuffixOpening = "-approved-permissions"
	SuffixWakeUp  = "-wake-up"
	SuffixGoodbye = "-hangup-message"
)

// SilentOpening is the opening phrase of an agent without an opening turn
// (protocol §7.6); compare after trimming white space.
const SilentOpening = "<blank>"

// NoVideoStatus is the status of an [StvNewSessionReply] in audio and telephony
// mode (protocol §4.2).
const NoVideoStatus = "audio/phone mode - no STV session"
