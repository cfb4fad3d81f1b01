import type { ErrorCode, WarningCode } from "../generated/codes.js"

/**
 * Codes whose message is that of another code, the key: they differ for the page's author, who gets the code, but not in what they
 * mean to a visitor and in what a visitor can do.
 */
const same = {
  // Only the site's owner can help.
  bad_request: [
    "api_exception", "forbidden", "genie_id_mismatch", "insecure_transport", "intellect_not_found", "not_found", "region_unavailable", "unknown_capability",
    "unsupported_client", "validation_error", "whep_private_ip", "wrong_token_scope",
  ],
  capacity_unavailable: ["capacity_timeout"],
  connect_failed: ["resume_failed", "socket_error"],
  mic_attach_failed: ["devices_permission_denied"],
  network_error: ["timeout"],
  reconnect_failed: ["reconnect_timeout"],
  server_error: ["invalid_response", "stream_error"],
  stv_task_fail: ["stv_session_gone"],
  whep_failed: ["whep_timeout"],
} as const satisfies Partial<Record<ErrorCode | WarningCode, readonly (ErrorCode | WarningCode)[]>>

/** The messages, and those of the codes that have the same ones. */
export const withSame = (messages: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries([...Object.entries(messages), ...Object.entries(same).flatMap(([code, others]) => others.map((other) => [other, messages[code]!]))])

/** The codes of errors that another attempt of the visitor can't avoid: the page or the browser has to be changed first. */
export const PERMANENT_ERRORS: ReadonlySet<string> = new Set<ErrorCode>(["agent_not_found", "bad_request", "unsupported_browser", ...same.bad_request])
