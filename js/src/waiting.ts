import { cancelled, checkSignal } from "./abort.js"
import { Emitter, type ListenOptions } from "./emitter.js"
import { localError, type AgentError } from "./errors.js"
import { optionsOf } from "./options.js"
import { Stream } from "./stream.js"

/** An emitter whose events end with `ended`, to wait for or to iterate over. */
export class Waiting<Events extends { error: unknown; ended: unknown }> extends Emitter<Events> {
  /** Those who wait, and for what. */
  readonly #waiting = new Map<() => void, keyof Events>()
  /** The end was told, and it is for good. */
  #ended = false
  /** Nothing comes any more, not even what comes after the end. */
  #silent = false

  /**
   * Resolves with the payload of the next event of that name. Rejects with code
   * `ended` when the session ends first, or has ended for good; `aborted` when
   * signal is aborted. `sessionCompleted` comes after `ended`, and is waited for.
   */
  next<K extends keyof Events>(event: K, options?: ListenOptions): Promise<Events[K]> {
    return new Promise((resolve, reject) => {
      const { signal } = optionsOf(options)
      checkSignal(signal)
      if (signal?.aborted) return reject(cancelled(signal))
      if (this.#past(event)) return reject(localError("ended", `there is no ${String(event)} any more: the session has ended`))
      const done = new AbortController()
      const until = { signal: done.signal }
      this.once(
        event,
        (payload) => {
          done.abort()
          resolve(payload)
        },
        until,
      )
      const fail = (reason: AgentError) => {
        done.abort()
        reject(reason)
      }
      this.#until(event, () => fail(localError("ended", `the session ended before ${String(event)}`)), done.signal)
      signal?.addEventListener("abort", () => fail(cancelled(signal)), until)
    })
  }

  /**
   * The events of that name from now on, to iterate over with `for await`. Ends
   * when the session ends, at once when that was for good, or the loop is left;
   * throws with code `aborted` when signal is aborted.
   */
  stream<K extends keyof Events>(event: K, options?: ListenOptions): AsyncIterableIterator<Events[K]> {
    const { signal } = optionsOf(options)
    checkSignal(signal)
    return new Stream(({ put, end, fail }) => {
      if (signal?.aborted) return fail(cancelled(signal))
      if (this.#past(event)) return end()
      const done = new AbortController()
      const until = { signal: done.signal }
      this.on(event, put, until)
      this.#until(event, end, done.signal)
      signal?.addEventListener("abort", () => fail(cancelled(signal)), until)
      return { stop: () => done.abort() }
    })
  }

  /** The session ends, and can't begin again. */
  protected endsForGood(): void {
    this.#ended = true
  }

  /** Ends the waiting for what comes after the end: nothing more will, until the session begins again if it can. */
  protected silent(forGood: boolean): void {
    this.#silent ||= forGood
    for (const [end, event] of this.#waiting) if (forGood || event === "sessionCompleted") end()
  }

  /** Whether no event of that name can come any more. */
  #past(event: keyof Events): boolean {
    return this.#silent || (this.#ended && event !== "sessionCompleted")
  }

  /** Calls end when no event of that name can come any more. */
  #until(event: keyof Events, end: () => void, signal: AbortSignal): void {
    // The service hears of the end when the session has ended.
    if (event !== "ended" && event !== "sessionCompleted") this.once("ended", end, { signal })
    this.#waiting.set(end, event)
    signal.addEventListener("abort", () => this.#waiting.delete(end))
  }
}
