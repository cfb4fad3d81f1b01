// Generated from runtime/fault/codes.go by "go generate ./runtime/event"; don't edit.

/**
 * Every error code of the runtime; docs/errors.md has their meanings. A server may send
 * another one: handle it where a switch has its default.
 */
export type ErrorCode =
  // Live session
  | "bad_request"
  | "invalid_state"
  | "validation_error"
  | "unknown_capability"
  | "insecure_transport"
  | "region_unavailable"
  | "timeout"
  | "connect_failed"
  | "capacity_unavailable"
  | "tier_exceeded"
  | "peer_removed"
  | "unsupported_client"
  | "capacity_timeout"
  | "socket_error"
  | "stv_task_fail"
  | "whep_failed"
  | "whep_timeout"
  | "whep_private_ip"
  | "stv_session_gone"
  | "media_recover_failed"
  | "reconnect_failed"
  | "reconnect_timeout"
  | "resume_failed"
  | "disclosure_required"
  | "rate_limited"
  | "guardrail_blocked"
  | "capability_disabled"
  | "ended"
  | "internal_error"
  | "load_failed"
  | "unsupported_browser"
  | "handler_failed"
  | "recording_failed"
  // Microphone
  | "mic_not_started"
  | "mic_permission_denied"
  | "mic_not_found"
  | "mic_in_use"
  | "mic_attach_failed"
  | "devices_permission_denied"
  | "noise_processor_failed"
  // Text turns
  | "aborted"
  | "network_error"
  | "thread_access_denied"
  | "stream_error"
  | "client_variables_disabled"
  // HTTP replies
  | "unauthorized"
  | "forbidden"
  | "not_found"
  | "method_not_allowed"
  | "conflict"
  | "server_error"
  | "error"
  | "api_exception"
  | "invalid_response"
  | "response_too_large"
  | "ovp_error"
  | "genie_id_mismatch"
  | "intellect_not_found"
  | "agent_not_found"
  | "catalog_item_not_found"
  | "invalid_insight_settings"
  | "voice_not_found_elevenlabs"
  | "voice_not_found_cartesia"
  | "voice_not_found_provider_a"
  | "voice_not_found_provider_b"
  | "invalid_filter"
  | "missing_discriminator"
  // Management and site manifest
  | "wrong_token_scope"
  | "entitlement_violation"
  | "ttl_too_long"
  | "session_failed"
  | "no_secret"
  | "no_formdata"
  | "confirmation_required"
  | "protected_resource"
  | "tool_in_use"
  | "skill_in_use"
  | "knowledge_in_use"
  | "capability_vetoed"
  | "prompt_lint_failed"
  | "provision_failed"
  | "invalid_url"
  | "bad_jsonpath"
  | "bad_arg"
  | "http_error"
  | "too_large"
  | "bad_manifest"

/** The part of connecting that failed. */
export type ErrorPhase = "serverConnect" | "join" | "joinComplete" | "agent" | "asr" | "whep" | "connect" | "reconnect"

/** Code of a warning: one that is never thrown, or that of an error which the session survived. */
export type WarningCode =
  // Warnings
  | "kickoff_failed"
  | "empty_turn_with_request_vars"
  | "playback_blocked"
  | "media_attach_failed"
  | "media_no_video"
  | "prepare_expired"
  | "whep_delete_failed"
  | "reserved_user_attr_unresolved"
  | ErrorCode

/** TimingPhase is a phase of a connect. */
export type TimingPhase = "micRequested" | "socketOpen" | "serverConnected" | "joinComplete" | "stvNewSessionReply" | "iceConnectedStv" | "asrReady" | "mediaReady" | "approved" | "connected" | "whepSent" | "whepAnswer" | "firstTrack" | "firstFrame"

/** Milliseconds from the connect call, by phase. */
export type Timings = Partial<Record<TimingPhase, number>>
