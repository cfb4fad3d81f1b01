// Generated from runtime/fault by "go generate ./runtime/event"; don't edit.
import type { ErrorCode } from "./codes.js"

/** The names and texts that have a code of their own, wherever they are in the body of a refusal. The first one that is found counts, before the status. */
export const refusalNames: readonly (readonly [string, ErrorCode])[] = [
  ["AGENT_PARTNER_CONFIG_GENIE_ID_MISMATCH", "genie_id_mismatch"],
  ["AGENT_PARTNER_CONFIG_NOT_FOUND", "intellect_not_found"],
  ["AGENT_NOT_FOUND", "agent_not_found"],
  ["INVALID_WIDGET_ID", "agent_not_found"],
  ["CATALOG_ITEM_NOT_FOUND", "catalog_item_not_found"],
  ["INVALID_INSIGHT_SETTINGS", "invalid_insight_settings"],
  ["VOICE_DOES_NOT_EXIST_ON_ELEVEN_LABS", "voice_not_found_elevenlabs"],
  ["VOICE_DOES_NOT_EXIST_ON_CARTESIA", "voice_not_found_cartesia"],
  ["Invalid filter type", "invalid_filter"],
  ["union_tag_not_found", "missing_discriminator"],
  ["Client variables are not allowed", "client_variables_disabled"],
]

/** The codes of statuses. Any other status is `server_error` from 500 on, and `error` below. */
export const statusCodes: Readonly<Record<number, ErrorCode>> = {
  400: "bad_request",
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  405: "method_not_allowed",
  409: "conflict",
  422: "validation_error",
  429: "rate_limited",
}

/** The title of each code that a refusal may have, and its meaning, for a refusal without a text. */
export const refusalTexts: Readonly<Partial<Record<ErrorCode, readonly [title: string, meaning: string]>>> = {
  agent_not_found: ["Agent not found", "no agent has this id, or no widget"],
  api_exception: ["Refused by the service", "HTTP 200 with an error in the body, for example a token of the wrong kind"],
  bad_request: ["Bad request", "an argument or an address is wrong, or the server refused the request as invalid"],
  catalog_item_not_found: ["Catalog item not found", "no catalog item has this id"],
  client_variables_disabled: ["Request variables are off", "the agent does not take variables from the client; switch \"client variables\" on in the agent's settings, or send none"],
  conflict: ["Conflict", "HTTP 409: it clashes with what exists, such as a name in use"],
  error: ["Unexpected status", "an HTTP status that has no code of its own"],
  forbidden: ["Forbidden", "HTTP 403: the token does not allow this"],
  genie_id_mismatch: ["Configuration mismatch", "the token and the agent belong to different configurations"],
  intellect_not_found: ["Intellect not found", "the agent has no intellect"],
  invalid_filter: ["Invalid filter", "the list filter has a type the service does not know"],
  invalid_insight_settings: ["Invalid insight settings", "the insight settings are not acceptable"],
  method_not_allowed: ["Method not allowed", "HTTP 405: the address does not take this method"],
  missing_discriminator: ["Missing type field", "an object lacks the field that names its type"],
  not_found: ["Not found", "HTTP 404: it does not exist, or not for this token"],
  rate_limited: ["Too many requests", "a rate limit was reached, here or on the server"],
  server_error: ["Server error", "HTTP 500 or above, or a success status without the required body"],
  unauthorized: ["Not authorised", "HTTP 401: the token is missing, expired or not valid"],
  validation_error: ["Validation failed", "request variables or fields have a form that is not accepted"],
  voice_not_found_cartesia: ["Voice not found", "the voice provider Cartesia does not know this voice id"],
  voice_not_found_elevenlabs: ["Voice not found", "the voice provider ElevenLabs does not know this voice id"],
}

/** The status of the refusals that are retryable. */
export const refusedForNow = 503

/** The keys of an object that describes an outcome and nothing else. */
export const outcomeKeys: readonly string[] = ["error", "message", "detail", "code", "status", "statusCode", "success", "ok", "requestId", "request_id"]

/** The reply headers that are kept on an error. */
export const diagnosticHeaders: readonly string[] = ["content-type", "date", "retry-after", "x-kaltura-request-id", "x-request-id"]

/** How many characters of the service's text are kept. */
export const maxMessage = 500

/** How much of a refused reply is read and kept. */
export const maxRefusal = 65536
