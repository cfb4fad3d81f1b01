import type { ErrorCode, WarningCode } from "../generated/codes.js"
import { END_MESSAGES, LOAD_FAILED } from "./partlabels.js"
import { PERMANENT_ERRORS, withSame } from "./samemessages.js"

export { END_MESSAGES, PERMANENT_ERRORS }

/**
 * Messages for visitors by the code of an error or a warning: what it means to them, and what they can do. That of `mic_policy_denied` is
 * for a `mic_permission_denied` that is due to the page's policy, which no setting of the visitor changes.
 */
export const ERROR_MESSAGES: Partial<Record<ErrorCode | WarningCode | "mic_policy_denied", string>> = withSame({
  aborted: "You stopped that.",
  agent_not_found: "This page asked for an agent that does not exist. Please contact the site's owner.",
  bad_request: "This page is not set up correctly. Please contact the site's owner.",
  capability_disabled: "This agent does not offer that.",
  capacity_unavailable: "All agents are busy right now. Please try again in a moment.",
  client_variables_disabled: "The agent gave no answer. It may not accept additional details: please begin a new conversation.",
  connect_failed: "The connection could not be made. Please try again.",
  disclosure_required: "Please confirm the notice first.",
  guardrail_blocked: "That may not be sent here. Please put it in another way.",
  internal_error: "Something went wrong on this page. Please reload it.",
  invalid_state: "That is not possible right now.",
  load_failed: LOAD_FAILED,
  media_no_video: "No picture arrives. You can type, or start again on another network.",
  media_recover_failed: "The picture was lost and did not come back. Please start again, on another network if you can.",
  mic_attach_failed: "The microphone could not be connected. You can type instead.",
  mic_in_use: "Another program is using the microphone. Close it and try again, or type instead.",
  mic_not_found: "No microphone was found. Connect one and try again, or type instead.",
  mic_not_started: "The microphone is not on yet.",
  mic_permission_denied: "The microphone is not allowed here. Allow it in the browser's settings for this page, or type instead.",
  mic_policy_denied: "This page is not permitted to use the microphone. You can type instead.",
  network_error: "The service could not be reached. Please try again in a moment.",
  peer_removed: "The service ended your part of this conversation.",
  rate_limited: "That was a lot at once. Please wait a moment.",
  reconnect_failed: "The connection was lost and did not come back. Please start again.",
  response_too_large: "The answer was too long.",
  server_error: "The service has a problem. Please try again.",
  stv_task_fail: "The agent's picture failed. Please start again.",
  thread_access_denied: "This conversation can't be continued here. Please begin a new one.",
  tier_exceeded: "This site has used up its conversations for now.",
  unauthorized: "Your access to this conversation has expired. Please try again, or reload this page.",
  unsupported_browser: "This browser can't run the agent. Please open the page in an up-to-date browser.",
  whep_failed: "The picture could not be fetched. Please try again.",
})

/** The key of the message for an error or a warning of this page. Only Chromium's browsers tell the page's policy, as in runtime/media. */
export function messageKey(code: string | undefined): string | undefined {
  if (code !== "mic_permission_denied") return code
  const { featurePolicy } = (globalThis.document ?? {}) as { featurePolicy?: { allowsFeature(name: string): boolean } }
  return featurePolicy?.allowsFeature("microphone") === false ? "mic_policy_denied" : code
}

/** The message for an error or a warning, by its code. */
export function errorMessage(error: unknown): string {
  return messageOf(ERROR_MESSAGES, messageKey((error as { code?: string } | undefined)?.code)) ?? "Something went wrong. Please try again."
}

/** The message for the end of a conversation, by the reason of `ended`, which is the code of an error if there was one. */
export function endMessage(reason: string | undefined): string {
  return messageOf(END_MESSAGES, reason) ?? messageOf(ERROR_MESSAGES, reason) ?? "The conversation is over. You can start a new one."
}

const messageOf = (messages: Readonly<Record<string, string | undefined>>, key: unknown): string | undefined =>
  typeof key === "string" && Object.hasOwn(messages, key) ? messages[key] : undefined
