import { localError } from "./errors.js"

/**
 * Settles like promise, or rejects with code `aborted` as soon as signal is
 * aborted; what stands behind promise goes on, because others may wait for it too.
 */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise
  return new Promise((resolve, reject) => {
    if (typeof signal.addEventListener !== "function") {
      throw localError("bad_request", `signal must be an AbortSignal, got ${typeof signal}`)
    }
    const abort = () => reject(localError("aborted", "the caller cancelled", { cause: signal.reason }))
    if (signal.aborted) abort()
    signal.addEventListener("abort", abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort))
  })
}
