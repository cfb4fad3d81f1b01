import type { ErrorCode, ErrorPhase, Timings } from "../generated/codes.js"
import { onAbort } from "./signals.js"

/** The fields of an AgentError; the JSON form of the Go program's errors. */
export interface AgentErrorFields {
  type?: string
  /** A server may send a code that is not in the list. */
  code: ErrorCode | (string & {})
  title?: string
  detail?: string
  status?: number
  phase?: ErrorPhase
  retryable?: boolean
  instance?: string
  requestId?: string
  headers?: Record<string, string>
  body?: unknown
  timings?: Timings
  cause?: unknown
}

/**
 * The error of every call of this package. Switch on `code`; `message` is for
 * people. Tokens and other secrets are already removed.
 */
export class AgentError extends Error {
  /** Stable machine name, such as `"capacity_unavailable"`; see docs/errors.md. */
  readonly code: ErrorCode
  /** Problem URI: the documentation of the code, or `"about:blank"`. */
  readonly type: string
  /** A few words for people. */
  readonly title: string
  /** The longer text, which is also the message. */
  readonly detail: string
  /** True when the same call may succeed later. */
  readonly retryable: boolean
  /** HTTP status or the service's own number, if there is one. */
  declare readonly status?: number
  /** Which part of connecting failed. */
  declare readonly phase?: ErrorPhase
  /** Path of the request that failed. */
  declare readonly instance?: string
  /** The service's id of the request, for a support case. */
  declare readonly requestId?: string
  /** The few reply headers that help a diagnosis. */
  declare readonly headers?: Record<string, string>
  /** The redacted reply, or extra data. */
  declare readonly body?: unknown
  /** Milliseconds per connect step, on failed connects. */
  declare readonly timings?: Timings

  constructor(fields: AgentErrorFields) {
    const message = fields.detail || fields.title || fields.code
    super(message, fields.cause === undefined ? undefined : { cause: asError(fields.cause) })
    this.code = fields.code as ErrorCode
    this.type = fields.type ?? "about:blank"
    this.title = fields.title ?? fields.code
    this.detail = message
    this.retryable = fields.retryable ?? false
    const add = (key: keyof AgentErrorFields, enumerable: boolean) => {
      if (fields[key] !== undefined) Object.defineProperty(this, key, { value: fields[key], enumerable })
    }
    for (const key of ["status", "phase", "instance", "requestId"] as const) add(key, true)
    // Not enumerable, because error collectors copy enumerable fields, and a reply may
    // contain data that a log should not keep.
    for (const key of ["headers", "body", "timings"] as const) add(key, false)
  }

  /** The safe form, for logs and for sending elsewhere. */
  toJSON(): Record<string, unknown> {
    return {
      ...(this as object), // enumerable fields: code to requestId
      name: this.name,
      message: this.message,
      headers: this.headers,
      body: this.body,
      timings: this.timings,
      cause: this.cause instanceof Error ? this.cause.message : typeof this.cause === "string" ? this.cause : undefined,
    }
  }
}

// On the prototype, as with built-in errors.
Object.defineProperty(AgentError.prototype, "name", { value: "AgentError", configurable: true, writable: true })
// Minifiers replace the name of the class.
Object.defineProperty(AgentError, "name", { value: "AgentError", configurable: true })

/** The Go program passes the cause as text. */
function asError(cause: unknown): unknown {
  return typeof cause === "string" ? new Error(cause) : cause
}

// The document with the meaning of each code, generated from runtime/fault.
export const docs = "https://github.com/agentruntime/agentruntime/blob/main/docs/errors.md#"

// Titles of the codes that are used without the Go program.
const titles = {
  aborted: "Aborted",
  bad_request: "Bad request",
  connect_failed: "Connecting failed",
  devices_permission_denied: "Devices not available",
  ended: "Session ended",
  handler_failed: "Handler failed",
  insecure_transport: "Insecure transport",
  internal_error: "Internal error",
  invalid_state: "Not allowed now",
  load_failed: "Runtime not loaded",
  network_error: "Network error",
  stream_error: "Error in the answer",
  unknown_capability: "Unknown capability",
  unsupported_browser: "Browser not supported",
  validation_error: "Validation failed",
  wrong_token_scope: "Wrong kind of token",
} as const

/** Makes an error outside of the Go program. */
export function localError(
  code: keyof typeof titles,
  detail: string,
  more: Pick<AgentErrorFields, "status" | "retryable" | "cause" | "body"> = {},
): AgentError {
  return new AgentError({ code, type: docs + code, title: titles[code], detail, ...more })
}

/**
 * Settles like promise, or rejects with code `aborted` as soon as signal is
 * aborted; the work behind promise continues, because other callers may wait for it.
 */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise
  return new Promise((resolve, reject) => {
    checkSignal(signal)
    const abort = () => reject(cancelled(signal))
    if (signal.aborted) abort()
    promise.then(resolve, reject).finally(onAbort(signal, abort))
  })
}

/** Throws `bad_request` unless signal is an AbortSignal, null or undefined. */
export function checkSignal(signal: AbortSignal | undefined): void {
  if (signal != null && typeof signal.addEventListener !== "function") {
    throw localError("bad_request", `signal must be an AbortSignal, got ${typeof signal}`)
  }
}

/** The error of a call whose signal was aborted. */
export function cancelled(signal: AbortSignal): AgentError {
  return withCause(localError("aborted", "the caller cancelled"), signal)
}

/** Sets the reason of signal, unchanged and of any type, as the cause of an `aborted` error. */
export function withCause<T>(error: T, signal: AbortSignal): T {
  if (error instanceof AgentError && error.code === "aborted") {
    Object.defineProperty(error, "cause", { value: signal.reason, configurable: true, writable: true })
  }
  return error
}

/** The message of a thrown value. */
export function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}

/** The code of an error, if it has one. */
export function codeOf(reason: unknown): string | undefined {
  return (reason as { code?: string } | undefined)?.code
}
