import { redact } from "../compat/safety.js"
import { AgentError, docs, type AgentErrorFields } from "../core/errors.js"
import type { ErrorCode } from "../generated/codes.js"
import { isObject } from "../core/object.js"
import { diagnosticHeaders, maxMessage, maxRefusal, outcomeKeys, refusalNames, refusalTexts, refusedForNow, statusCodes } from "../generated/refusals.js"

/** Makes an error of this entry; docs/errors.md describes the codes. */
export function fault(code: ErrorCode, detail: string, more: Omit<AgentErrorFields, "code" | "detail" | "type"> = {}): AgentError {
  const title = code.replaceAll("_", " ").replace(/^./, (first) => first.toUpperCase())
  return new AgentError({ title, ...more, code, detail, type: docs + code })
}

/** Bad input, found before any request. */
export const bad = (detail: string): AgentError => fault("bad_request", detail)

/** Whether a value is a text with something to read in it. */
export const isText = (value: unknown): value is string => typeof value === "string" && value.trim() !== ""

export { isObject }

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

/** What the error of a reply is made of. */
export interface Refused {
  status: number
  /** The body as it was sent; without it, `body` is a part of a reply. */
  text?: string
  /** As a value if it is JSON. */
  body: unknown
  headers?: Headers
  /** The path of the request. */
  instance: string
  requestId: string
}

/** The error of a reply with an error status; runtime/fault does the same in Go. */
export function refusal(reply: Refused, clean: Clean): AgentError {
  const { status } = reply
  const whole = textOf(reply)
  const text = whole.slice(0, maxRefusal)
  const body = text === whole ? reply.body : text
  return made(namedCode(text) ?? statusCodes[status] ?? (status >= 500 ? "server_error" : "error"), { ...reply, body }, clean, status === refusedForNow)
}

/** The error inside a reply with a success status; undefined when there is none. */
export function hiddenRefusal(reply: Refused, clean: Clean): AgentError | undefined {
  const { body } = reply
  if (!isObject(body) || !isRefusal(body)) return undefined
  const text = textOf(reply)
  if (text.length > maxRefusal) return undefined // no exception object is longer
  return made(namedCode(text) ?? "api_exception", reply, clean, false)
}

function made(code: ErrorCode, { body, headers, status, instance, requestId }: Refused, clean: Clean, retryable: boolean): AgentError {
  // Cleaned before it is cut, because half a secret would not be recognised.
  const excerpt = (text: string) => [...clean(text)].slice(0, maxMessage).join("")
  const kept = diagnosticHeaders.flatMap((name) => {
    const value = headers?.get(name)
    return value ? [[name, value] as const] : []
  })
  const [title, meaning] = refusalTexts[code]!
  return fault(code, excerpt(messageOf(body).trim()) || meaning, {
    title: code === "api_exception" && isObject(body) && isText(body["code"]) ? excerpt(body["code"]) : title,
    status, retryable, instance, requestId, body: clean(typeof body === "string" ? excerpt(body) : body), headers: Object.fromEntries(kept),
  })
}

const textOf = ({ text, body }: Refused): string => text ?? JSON.stringify(body)

const namedCode = (text: string): ErrorCode | undefined => refusalNames.find(([name]) => text.includes(name))?.[1]

/** The text for people in the body of a refusal. */
function messageOf(body: unknown): string {
  if (typeof body === "string") return body
  if (!isObject(body)) return ""
  const { message, detail, error } = body
  const list = Array.isArray(detail) ? detail.map((each: unknown) => (isObject(each) ? each["msg"] : each)).filter(isText).join("; ") : undefined
  const inner = isObject(error) ? error["message"] : error
  return [message, detail, list, inner].find(isText) ?? ""
}

/** Whether the body of a reply with a success status is an error. */
function isRefusal(body: Record<string, unknown>): boolean {
  const { objectType, code, message, error, status, statusCode, success, ok } = body
  if (objectType === "KalturaAPIException") return true
  if (typeof code === "string" && typeof message === "string" && "args" in body) return true
  if (typeof message === "string" && error === true) return true
  if (!Object.keys(body).every((key) => outcomeKeys.includes(key))) return false
  return (Boolean(error) && error !== true) || success === false || ok === false || [status, statusCode].some((number) => typeof number === "number" && number >= 400)
}
