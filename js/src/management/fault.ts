import { redact } from "../compat/safety.js"
import { AgentError, docs, type AgentErrorFields } from "../core/errors.js"
import type { ErrorCode } from "../generated/codes.js"

/** Makes an error of this entry; docs/errors.md describes the codes. */
export function fault(code: ErrorCode, detail: string, more: Omit<AgentErrorFields, "code" | "detail" | "type"> = {}): AgentError {
  const title = code.replaceAll("_", " ").replace(/^./, (first) => first.toUpperCase())
  return new AgentError({ title, ...more, code, detail, type: docs + code })
}

/** Bad input, found before any request. */
export const bad = (detail: string): AgentError => fault("bad_request", detail)

/** Whether a value is a text with something to read in it. */
export const isText = (value: unknown): value is string => typeof value === "string" && value.trim() !== ""

export const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value)

/** Returns a copy of what it is given, without secrets. */
export type Clean = <T>(value: T) => T

/** Removes the given secrets from texts, and everything else that looks like one. */
export const cleaner = (secrets: readonly string[]): Clean => {
  // A short text would also be part of harmless ones.
  const known = secrets.filter(({ length }) => length >= 8)
  const hide = (inner: unknown): unknown => {
    if (typeof inner === "string") return known.reduce((text, secret) => text.replaceAll(secret, "[redacted]"), inner)
    if (Array.isArray(inner)) return inner.map(hide)
    if (isObject(inner)) return Object.fromEntries(Object.entries(inner).map(([name, each]) => [name, hide(each)]))
    return inner
  }
  return <T>(value: T) => redact(hide(value)) as T
}

const maxMessage = 500

// The service's names of refusals that have codes of their own.
const named: readonly (readonly [string, ErrorCode])[] = [
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
]

const statusCodes: Readonly<Record<number, ErrorCode>> = {
  400: "bad_request", 401: "unauthorized", 403: "forbidden", 404: "not_found", 405: "method_not_allowed", 409: "conflict", 422: "validation_error", 429: "rate_limited",
}

/** What the error of a reply is made of. */
export interface Refused {
  status: number
  body: unknown
  headers?: Headers
  /** The path of the request. */
  instance: string
  requestId: string
}

/** The error of a reply with an error status. */
export function refusal(reply: Refused, clean: Clean): AgentError {
  const { status } = reply
  const text = textOf(reply.body)
  let code = namedCode(text) ?? statusCodes[status] ?? (status >= 500 ? "server_error" : "error")
  if (status === 403 && /client variables are not allowed/i.test(text)) code = "client_variables_disabled"
  return made(code, reply, clean, status === 429 || status === 503)
}

/** The error inside a reply with a success status; undefined when there is none. */
export function hiddenRefusal(reply: Refused, clean: Clean): AgentError | undefined {
  const { body } = reply
  if (!isObject(body) || !isRefusal(body)) return undefined
  return made(namedCode(textOf(body)) ?? "api_exception", reply, clean, false)
}

function made(code: ErrorCode, { body, headers, status, instance, requestId }: Refused, clean: Clean, retryable: boolean): AgentError {
  const kept = ["content-type", "date", "retry-after", "x-kaltura-request-id", "x-request-id"].flatMap((name) => {
    const value = headers?.get(name)
    return value ? [[name, value] as const] : []
  })
  const name = code === "api_exception" && isObject(body) && isText(body["code"]) ? { title: clean(body["code"]) } : {}
  return fault(code, clean(messageOf(body)) || `the service replied with the status ${status}`, {
    ...name, status, retryable, instance, requestId, body: clean(body), headers: Object.fromEntries(kept),
  })
}

const namedCode = (text: string): ErrorCode | undefined => named.find(([name]) => text.includes(name))?.[1]

const textOf = (body: unknown): string => (typeof body === "string" ? body : (JSON.stringify(body) ?? ""))

/** The text for people in the body of a refusal. */
function messageOf(body: unknown): string {
  if (typeof body === "string") return body.slice(0, maxMessage)
  if (!isObject(body)) return ""
  const { message, detail, error } = body
  const list = Array.isArray(detail) ? detail.map((each: unknown) => (isObject(each) ? each["msg"] : each)).filter(isText).join("; ") : undefined
  const inner = isObject(error) ? error["message"] : error
  return [message, detail, list, inner].find(isText)?.slice(0, maxMessage) ?? ""
}

const statusKeys: readonly string[] = ["error", "message", "detail", "code", "status", "statusCode", "success", "ok", "requestId", "request_id"]

/** Whether the body of a reply with a success status is an error. */
function isRefusal(body: Record<string, unknown>): boolean {
  const { objectType, code, message, error, status, statusCode, success, ok } = body
  if (objectType === "KalturaAPIException") return true
  if (typeof code === "string" && typeof message === "string" && "args" in body) return true
  if (typeof message === "string" && error === true) return true
  if (!Object.keys(body).every((key) => statusKeys.includes(key))) return false
  return (Boolean(error) && error !== true) || success === false || ok === false || [status, statusCode].some((number) => typeof number === "number" && number >= 400)
}
