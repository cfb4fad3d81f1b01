package fault

import "slices"

// Code is the stable machine name of an error or a warning: the thing to
// switch on. A Code is itself an error, so errors.Is(err, fault.Timeout) asks
// whether anything in err's chain carries that code.
type Code string

// Error returns the code itself, which makes a Code a target for errors.Is.
func (c Code) Error() string { return string(c) }

// What each code means is in its row of the table below (and, generated from
// it, in docs/errors.md); a test fails when a constant has no row.

// The running session (session-api.md C.2 "Runtime", wire-protocol Appendix A).
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
	HandlerFailed       Code = "handler_failed"
)

// The microphone (wire-protocol §5.4): thrown by an explicit start, warnings
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

// Text turns over HTTP (session-api.md C.2 "Chat", wire-protocol §9.6).
const (
	Aborted                 Code = "aborted"
	NetworkError            Code = "network_error"
	ThreadAccessDenied      Code = "thread_access_denied"
	StreamError             Code = "stream_error"
	ClientVariablesDisabled Code = "client_variables_disabled"
)

// Replies of the HTTP services (wire-protocol §9.7).
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

// Management and token helpers (session-api.md C.2 "Management", service.md
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

// Warnings only (session-api.md C.3): the session goes on.
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

// FatalCodes are the codes after which the server has given the session up
// (wire-protocol §4.3); JavaScript sees them as FATAL_ERROR_CODES.
var FatalCodes = [...]Code{CapacityUnavailable, TierExceeded, BadRequest, PeerRemoved, UnsupportedClient}

// Fatal reports whether c is one of FatalCodes.
func (c Code) Fatal() bool { return slices.Contains(FatalCodes[:], c) }
