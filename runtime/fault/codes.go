package fault

import (
	"slices"
)

// Code is the stable name of an error or a warning, to be used in a switch. A Code is
// itself an error, so that errors.Is(err, fault.Timeout) reports whether an error in
// err's chain has that code.
type Code string

// Error returns the code itself, which makes a Code a target for errors.Is.
func (c Code) Error() string { return string(c) }

// The meaning of each code is in its row of the table below, from which
// docs/errors.md is generated; a test fails when a constant has no row.

// The running session (session §C.2 "Runtime", protocol Appendix A).
const (
	BadRequest          Code = "bad_request"
	InvalidState        Code = "invalid_state"
	ValidationError     Code = "validation_error"
	UnknownCapability   Code = "unknown_capability"
	InsecureTransport   Code = "insecure_transport"
	RegionUnavailable   Code = "region_unavailable"
	Timeout             Code = "timeout"
	ConnectFailed       Code = "connect_failed"
	CapacityUnavailable Code = "capacity_unavailable"
	TierExceeded        Code = "tier_exceeded"
	PeerRemoved         Code = "peer_removed"
	UnsupportedClient   Code = "unsupported_client"
	CapacityTimeout     Code = "capacity_timeout"
	SocketError         Code = "socket_error"
	STVTaskFail         Code = "stv_task_fail"
	WHEPFailed          Code = "whep_failed"
	WHEPTimeout         Code = "whep_timeout"
	WHEPPrivateIP       Code = "whep_private_ip"
	STVSessionGone      Code = "stv_session_gone"
	MediaRecoverFailed  Code = "media_recover_failed"
	ReconnectFailed     Code = "reconnect_failed"
	ReconnectTimeout    Code = "reconnect_timeout"
	ResumeFailed        Code = "resume_failed"
	DisclosureRequired  Code = "disclosure_required"
	RateLimited         Code = "rate_limited"
	GuardrailBlocked    Code = "guardrail_blocked"
	CapabilityDisabled  Code = "capability_disabled"
	Ended               Code = "ended"
	InternalError       Code = "internal_error"
	LoadFailed          Code = "load_failed"
	UnsupportedBrowser  Code = "unsupported_browser"
	HandlerFailed       Code = "handler_failed"
	RecordingFailed     Code = "recording_failed"
)

// The microphone (protocol §5.4): thrown by an explicit start, warnings
// when the microphone starts in the background.
const (
	MicNotStarted           Code = "mic_not_started"
	MicPermissionDenied     Code = "mic_permission_denied"
	MicNotFound             Code = "mic_not_found"
	MicInUse                Code = "mic_in_use"
	MicAttachFailed         Code = "mic_attach_failed"
	DevicesPermissionDenied Code = "devices_permission_denied"
	NoiseProcessorFailed    Code = "noise_processor_failed"
)

// Text turns over HTTP (session §C.2 "Chat", protocol §9.6).
const (
	Aborted                 Code = "aborted"
	NetworkError            Code = "network_error"
	ThreadAccessDenied      Code = "thread_access_denied"
	StreamError             Code = "stream_error"
	ClientVariablesDisabled Code = "client_variables_disabled"
)

// Replies of the HTTP services (protocol §9.7).
const (
	Unauthorized            Code = "unauthorized"
	Forbidden               Code = "forbidden"
	NotFound                Code = "not_found"
	MethodNotAllowed        Code = "method_not_allowed"
	Conflict                Code = "conflict"
	ServerError             Code = "server_error"
	OtherError              Code = "error"
	APIException            Code = "api_exception"
	InvalidResponse         Code = "invalid_response"
	ResponseTooLarge        Code = "response_too_large"
	OVPError                Code = "ovp_error"
	GenieIDMismatch         Code = "genie_id_mismatch"
	IntellectNotFound       Code = "intellect_not_found"
	AgentNotFound           Code = "agent_not_found"
	CatalogItemNotFound     Code = "catalog_item_not_found"
	InvalidInsightSettings  Code = "invalid_insight_settings"
	VoiceNotFoundElevenLabs Code = "voice_not_found_elevenlabs"
	VoiceNotFoundCartesia   Code = "voice_not_found_cartesia"
	VoiceNotFoundProviderA  Code = "voice_not_found_provider_a"
	VoiceNotFoundProviderB  Code = "voice_not_found_provider_b"
	InvalidFilter           Code = "invalid_filter"
	MissingDiscriminator    Code = "missing_discriminator"
)

// Management and token helpers (session §C.2 "Management", service.md
// "Errors"), and the site manifest of the site navigator.
const (
	WrongTokenScope      Code = "wrong_token_scope"
	EntitlementViolation Code = "entitlement_violation"
	TTLTooLong           Code = "ttl_too_long"
	SessionFailed        Code = "session_failed"
	NoSecret             Code = "no_secret"
	NoFormData           Code = "no_formdata"
	ConfirmationRequired Code = "confirmation_required"
	ProtectedResource    Code = "protected_resource"
	ToolInUse            Code = "tool_in_use"
	SkillInUse           Code = "skill_in_use"
	KnowledgeInUse       Code = "knowledge_in_use"
	CapabilityVetoed     Code = "capability_vetoed"
	PromptLintFailed     Code = "prompt_lint_failed"
	ProvisionFailed      Code = "provision_failed"
	InvalidURL           Code = "invalid_url"
	BadJSONPath          Code = "bad_jsonpath"
	BadArg               Code = "bad_arg"
	HTTPError            Code = "http_error"
	TooLarge             Code = "too_large"
	BadManifest          Code = "bad_manifest"
)

// Warnings only (session §C.3): the session goes on.
const (
	KickoffFailed              Code = "kickoff_failed"
	EmptyTurnWithRequestVars   Code = "empty_turn_with_request_vars"
	PlaybackBlocked            Code = "playback_blocked"
	MediaAttachFailed          Code = "media_attach_failed"
	MediaNoVideo               Code = "media_no_video"
	PrepareExpired             Code = "prepare_expired"
	WHEPDeleteFailed           Code = "whep_delete_failed"
	ReservedUserAttrUnresolved Code = "reserved_user_attr_unresolved"
)

// FatalCodes are the codes after which the server has ended the session
// (protocol §4.3); JavaScript has them as FATAL_ERROR_CODES.
var FatalCodes = [...]Code{CapacityUnavailable, TierExceeded, BadRequest, PeerRemoved, UnsupportedClient}

// Fatal reports whether c is one of FatalCodes.
func (c Code) Fatal() bool { return slices.Contains(FatalCodes[:], c) }

// Group is where a code occurs; docs/errors.md has a section for each.
type Group string

// The groups, in the order of docs/errors.md.
const (
	GroupSession    Group = "Live session"
	GroupMicrophone Group = "Microphone"
	GroupChat       Group = "Text turns"
	GroupHTTP       Group = "HTTP replies"
	GroupManagement Group = "Management and site manifest"
	GroupWarning    Group = "Warnings"
)

// Groups lists the groups in the order of docs/errors.md.
var Groups = [...]Group{GroupSession, GroupMicrophone, GroupChat, GroupHTTP, GroupManagement, GroupWarning}

// Retry is whether the same call may succeed later.
type Retry uint8

const (
	// RetryNo: Appendix A specifies false, or nothing.
	RetryNo Retry = iota
	// RetryYes: a later attempt may succeed.
	RetryYes
	// RetryUnlessStatus: true for a failure of the network, false once the
	// server has replied with an HTTP status.
	RetryUnlessStatus
	// RetryIfAborted: true only when the caller aborted the attempt.
	RetryIfAborted
)

// String returns the word used in docs/errors.md.
func (r Retry) String() string {
	switch r {
	case RetryYes:
		return "yes"
	case RetryUnlessStatus:
		return "unless the server replied"
	case RetryIfAborted:
		return "when aborted"
	default:
		return "no"
	}
}

// Info is the declaration of one code.
type Info struct {
	Code  Code
	Group Group
	// Title is a short name for people, Meaning one line of explanation, which is
	// also the detail of an error that has none of its own.
	Title, Meaning string
	// Status is the number the code always carries (protocol §4.3); 0
	// when the status comes from a reply or there is none.
	Status int
	Retry  Retry
}

const (
	// statusCapacity and statusTier are the service's own numbers for the
	// two capacity refusals, outside the range of HTTP (protocol §4.3).
	statusCapacity = 6001
	statusTier     = 6002
	// statusRemoved is the status of an error that reports a removed participant.
	statusRemoved = 401
)

// table declares every code, once.
var table = [...]Info{
	{Code: BadRequest, Group: GroupSession, Title: "Bad request", Meaning: "an argument or an address is wrong, or the server refused the request as invalid"},
	{Code: InvalidState, Group: GroupSession, Title: "Not allowed now", Meaning: "the call does not fit the state the session is in"},
	{Code: ValidationError, Group: GroupSession, Title: "Validation failed", Meaning: "request variables or fields have a form that is not accepted"},
	{Code: UnknownCapability, Group: GroupSession, Title: "Unknown capability", Meaning: "the name is not one of the known capabilities"},
	{Code: InsecureTransport, Group: GroupSession, Title: "Insecure transport", Meaning: "plain http or ws to a public host; use https or wss"},
	{Code: RegionUnavailable, Group: GroupSession, Title: "Not offered in this region", Meaning: "the region has no such service and no address was given for it"},
	{Code: Timeout, Group: GroupSession, Title: "Timed out", Meaning: "a step took too long; the phase names it", Retry: RetryYes},
	{Code: ConnectFailed, Group: GroupSession, Title: "Connecting failed", Meaning: "connecting failed for another reason, or was aborted by a disconnect", Retry: RetryIfAborted},
	{Code: CapacityUnavailable, Group: GroupSession, Title: "No free agent", Meaning: "every avatar is in use; try again later", Status: statusCapacity, Retry: RetryYes},
	{Code: TierExceeded, Group: GroupSession, Title: "Plan limit reached", Meaning: "the account's plan allows no further session", Status: statusTier},
	{Code: PeerRemoved, Group: GroupSession, Title: "Removed by the server", Meaning: "the server removed this participant", Status: statusRemoved},
	{Code: UnsupportedClient, Group: GroupSession, Title: "Client refused", Meaning: "the server could not set up a session for this client"},
	{Code: CapacityTimeout, Group: GroupSession, Title: "No capacity in time", Meaning: "waiting for a free avatar took too long"},
	{Code: SocketError, Group: GroupSession, Title: "Socket error", Meaning: "the control socket was refused or failed"},
	{Code: STVTaskFail, Group: GroupSession, Title: "Video engine failed", Meaning: "the server's video engine reported a failure"},
	{Code: WHEPFailed, Group: GroupSession, Title: "Video subscription failed", Meaning: "the media server could not be reached or refused the subscription", Retry: RetryUnlessStatus},
	{Code: WHEPTimeout, Group: GroupSession, Title: "Video subscription timed out", Meaning: "the media server did not answer in time", Retry: RetryYes},
	{Code: WHEPPrivateIP, Group: GroupSession, Title: "Private media address", Meaning: "the media address is private and allowPrivateHosts is off"},
	{Code: STVSessionGone, Group: GroupSession, Title: "Video session gone", Meaning: "the video session no longer exists, even after one repair", Retry: RetryYes},
	{Code: MediaRecoverFailed, Group: GroupSession, Title: "Media recovery failed", Meaning: "the picture could not be recovered, not even by a rebuild; connect again on another network, or continue in text"},
	{Code: ReconnectFailed, Group: GroupSession, Title: "Reconnecting failed", Meaning: "every reconnect attempt failed", Retry: RetryYes},
	{Code: ReconnectTimeout, Group: GroupSession, Title: "Reconnecting timed out", Meaning: "the connection did not come back within the reconnect window"},
	{Code: ResumeFailed, Group: GroupSession, Title: "Resume failed", Meaning: "a paused session could not be rebuilt"},
	{Code: DisclosureRequired, Group: GroupSession, Title: "Disclosure not acknowledged", Meaning: "turns are held until the disclosure is acknowledged"},
	{Code: RateLimited, Group: GroupSession, Title: "Too many requests", Meaning: "a rate limit was reached, here or on the server"},
	{Code: GuardrailBlocked, Group: GroupSession, Title: "Blocked by guardrail", Meaning: "the page's guardrail refused the text"},
	{Code: CapabilityDisabled, Group: GroupSession, Title: "Capability is off", Meaning: "the call needs a capability that is switched off"},
	{Code: Ended, Group: GroupSession, Title: "Session ended", Meaning: "the session is over"},
	{Code: InternalError, Group: GroupSession, Title: "Internal error", Meaning: "the runtime itself failed; please report it"},
	{Code: LoadFailed, Group: GroupSession, Title: "Runtime not loaded", Meaning: "the page could not fetch, compile or start the WebAssembly file; the message names the address and the cause"},
	{Code: UnsupportedBrowser, Group: GroupSession, Title: "Browser not supported", Meaning: "the browser has no WebAssembly, or no WebRTC, or its settings switch them off"},
	{Code: HandlerFailed, Group: GroupSession, Title: "Handler failed", Meaning: "a function of yours, such as a handler of a tool or the token of an element, threw or rejected; the detail has its error"},
	{Code: RecordingFailed, Group: GroupSession, Title: "Recording incomplete", Meaning: "the browser could not record the sound or the picture; what was recorded until then, and all events, are kept"},

	{Code: MicNotStarted, Group: GroupMicrophone, Title: "Microphone not started", Meaning: "the call needs a running microphone; start it first"},
	{Code: MicPermissionDenied, Group: GroupMicrophone, Title: "Microphone not permitted", Meaning: "the person or the page's policy refused the microphone"},
	{Code: MicNotFound, Group: GroupMicrophone, Title: "No microphone", Meaning: "no microphone is present, or none fits the constraints"},
	{Code: MicInUse, Group: GroupMicrophone, Title: "Microphone busy", Meaning: "the microphone exists but could not be opened"},
	{Code: MicAttachFailed, Group: GroupMicrophone, Title: "Microphone not attached", Meaning: "a microphone was opened but could not be attached to the connection"},
	{Code: DevicesPermissionDenied, Group: GroupMicrophone, Title: "Devices not available", Meaning: "opening the microphone failed for another reason"},
	{Code: NoiseProcessorFailed, Group: GroupMicrophone, Title: "Audio processor failed", Meaning: "the page's own audio processor threw"},

	{Code: Aborted, Group: GroupChat, Title: "Aborted", Meaning: "the caller cancelled"},
	{Code: NetworkError, Group: GroupChat, Title: "Network error", Meaning: "the request got no HTTP reply, or the reply broke off", Retry: RetryUnlessStatus},
	{Code: ThreadAccessDenied, Group: GroupChat, Title: "Thread belongs to another user", Meaning: "the thread belongs to another user; start without it or use the user who created it"},
	{Code: StreamError, Group: GroupChat, Title: "The turn failed", Meaning: "the server reported an error inside the reply; detail and body have it"},
	{Code: ClientVariablesDisabled, Group: GroupChat, Title: "Request variables are off", Meaning: "the agent does not take variables from the client; switch \"client variables\" on in the agent's settings, or send none"},

	{Code: Unauthorized, Group: GroupHTTP, Title: "Not authorised", Meaning: "HTTP 401: the token is missing, expired or not valid"},
	{Code: Forbidden, Group: GroupHTTP, Title: "Forbidden", Meaning: "HTTP 403: the token does not allow this"},
	{Code: NotFound, Group: GroupHTTP, Title: "Not found", Meaning: "HTTP 404: it does not exist, or not for this token"},
	{Code: MethodNotAllowed, Group: GroupHTTP, Title: "Method not allowed", Meaning: "HTTP 405: the address does not take this method"},
	{Code: Conflict, Group: GroupHTTP, Title: "Conflict", Meaning: "HTTP 409: it clashes with what exists, such as a name in use"},
	{Code: ServerError, Group: GroupHTTP, Title: "Server error", Meaning: "HTTP 500 or above, or a success status without the required body"},
	{Code: OtherError, Group: GroupHTTP, Title: "Unexpected status", Meaning: "an HTTP status that has no code of its own"},
	{Code: APIException, Group: GroupHTTP, Title: "Refused by the service", Meaning: "HTTP 200 with an error in the body, for example a token of the wrong kind"},
	{Code: InvalidResponse, Group: GroupHTTP, Title: "Unreadable reply", Meaning: "a reply that looks like JSON but does not parse, or lacks what it must have"},
	{Code: ResponseTooLarge, Group: GroupHTTP, Title: "Reply too large", Meaning: "the reply is larger than 10 MiB"},
	{Code: OVPError, Group: GroupHTTP, Title: "Session API error", Meaning: "a call inside a session API multirequest failed"},
	{Code: GenieIDMismatch, Group: GroupHTTP, Title: "Configuration mismatch", Meaning: "the token and the agent belong to different configurations"},
	{Code: IntellectNotFound, Group: GroupHTTP, Title: "Intellect not found", Meaning: "the agent has no intellect"},
	{Code: AgentNotFound, Group: GroupHTTP, Title: "Agent not found", Meaning: "no agent has this id, or no widget"},
	{Code: CatalogItemNotFound, Group: GroupHTTP, Title: "Catalog item not found", Meaning: "no catalog item has this id"},
	{Code: InvalidInsightSettings, Group: GroupHTTP, Title: "Invalid insight settings", Meaning: "the insight settings are not acceptable"},
	{Code: VoiceNotFoundElevenLabs, Group: GroupHTTP, Title: "Voice not found", Meaning: "the voice provider ElevenLabs does not know this voice id"},
	{Code: VoiceNotFoundCartesia, Group: GroupHTTP, Title: "Voice not found", Meaning: "the voice provider Cartesia does not know this voice id"},
	{Code: VoiceNotFoundProviderA, Group: GroupHTTP, Title: "Voice not found", Meaning: "voice provider A does not know this voice id"},
	{Code: VoiceNotFoundProviderB, Group: GroupHTTP, Title: "Voice not found", Meaning: "voice provider B does not know this voice id"},
	{Code: InvalidFilter, Group: GroupHTTP, Title: "Invalid filter", Meaning: "the list filter has a type the service does not know"},
	{Code: MissingDiscriminator, Group: GroupHTTP, Title: "Missing type field", Meaning: "an object lacks the field that names its type"},

	{Code: WrongTokenScope, Group: GroupManagement, Title: "Wrong kind of token", Meaning: "this call needs a token of another kind"},
	{Code: EntitlementViolation, Group: GroupManagement, Title: "Entitlement violation", Meaning: "the token must not switch entitlement off"},
	{Code: TTLTooLong, Group: GroupManagement, Title: "Token life too long", Meaning: "the requested token life is above the maximum"},
	{Code: SessionFailed, Group: GroupManagement, Title: "No token", Meaning: "the session API did not return a token"},
	{Code: NoSecret, Group: GroupManagement, Title: "No admin secret", Meaning: "the call needs the admin secret, on a server"},
	{Code: NoFormData, Group: GroupManagement, Title: "No form data", Meaning: "the environment cannot build an upload"},
	{Code: ConfirmationRequired, Group: GroupManagement, Title: "Confirmation required", Meaning: "a permanent deletion has to be confirmed"},
	{Code: ProtectedResource, Group: GroupManagement, Title: "Protected", Meaning: "the agent is marked as being in production"},
	{Code: ToolInUse, Group: GroupManagement, Title: "Tool in use", Meaning: "an intellect still names this tool"},
	{Code: SkillInUse, Group: GroupManagement, Title: "Skill in use", Meaning: "an intellect still names this skill"},
	{Code: KnowledgeInUse, Group: GroupManagement, Title: "Knowledge in use", Meaning: "an intellect still names this knowledge record"},
	{Code: CapabilityVetoed, Group: GroupManagement, Title: "Capability vetoed", Meaning: "the stored configuration forbids this capability"},
	{Code: PromptLintFailed, Group: GroupManagement, Title: "Prompt check failed", Meaning: "a prompt has findings that must be fixed"},
	{Code: ProvisionFailed, Group: GroupManagement, Title: "Provisioning failed", Meaning: "one step failed; the body names it and what was already created"},
	{Code: InvalidURL, Group: GroupManagement, Title: "Invalid address", Meaning: "a tool's address is not a usable URL"},
	{Code: BadJSONPath, Group: GroupManagement, Title: "Invalid JSON path", Meaning: "a JSON path does not parse"},
	{Code: BadArg, Group: GroupManagement, Title: "Invalid argument", Meaning: "site manifest: an argument is wrong"},
	{Code: HTTPError, Group: GroupManagement, Title: "HTTP error", Meaning: "site manifest: the server answered with an error status"},
	{Code: TooLarge, Group: GroupManagement, Title: "Too large", Meaning: "site manifest: the file is too large"},
	{Code: BadManifest, Group: GroupManagement, Title: "Invalid manifest", Meaning: "site manifest: the file is not a manifest"},

	{Code: KickoffFailed, Group: GroupWarning, Title: "Kickoff not sent", Meaning: "the first turn could not be sent"},
	{Code: EmptyTurnWithRequestVars, Group: GroupWarning, Title: "Silent turn", Meaning: "a turn came back empty while request variables are set: the agent probably does not take them; switch \"client variables\" on in the agent's settings, or send none"},
	{Code: PlaybackBlocked, Group: GroupWarning, Title: "Playback blocked", Meaning: "the browser refused to play without a gesture"},
	{Code: MediaAttachFailed, Group: GroupWarning, Title: "Media not attached", Meaning: "a track could not be bound to its element"},
	{Code: MediaNoVideo, Group: GroupWarning, Title: "No picture", Meaning: "no picture arrived, or it did not come back"},
	{Code: PrepareExpired, Group: GroupWarning, Title: "Preparation expired", Meaning: "a prepared connection was not used in time"},
	{Code: WHEPDeleteFailed, Group: GroupWarning, Title: "Viewer not released", Meaning: "a scripted video could not release its viewer"},
	{Code: ReservedUserAttrUnresolved, Group: GroupWarning, Title: "User attribute unknown", Meaning: "a prompt refers to an attribute the user does not have"},
}

// Codes returns the declaration of every code, in the order of docs/errors.md.
func Codes() []Info { return append([]Info(nil), table[:]...) }

// Lookup returns the declaration of c, and false for a code that has none.
func Lookup(c Code) (Info, bool) {
	for i := range table {
		if table[i].Code == c {
			return table[i], true
		}
	}
	return Info{}, false
}
