import { AgentError, localError } from "./errors.js"

/**
 * Settles like promise, or rejects with code `aborted` as soon as signal is
 * aborted; what stands behind promise goes on, because others may wait for it too.
 */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise
  return new Promise((resolve, reject) => {
    checkSignal(signal)
    const abort = () => reject(cancelled(signal))
    if (signal.aborted) abort()
    signal.addEventListener("abort", abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort))
  })
}

/** Throws `bad_request` for what is no signal. */
export function checkSignal(signal: AbortSignal | undefined): void {
  if (signal != null && typeof signal.addEventListener !== "function") {
    throw localError("bad_request", `signal must be an AbortSignal, got ${typeof signal}`)
  }
}

/** The error of a call that its caller cancelled. */
export function cancelled(signal: AbortSignal): AgentError {
  return because(localError("aborted", "the caller cancelled"), signal)
}

/** Makes the reason of a signal the cause of the error of a call that it ended: the very value, of any type. */
export function because<T>(error: T, signal: AbortSignal): T {
  if (error instanceof AgentError && error.code === "aborted") {
    Object.defineProperty(error, "cause", { value: signal.reason, configurable: true, writable: true })
  }
  return error
}
