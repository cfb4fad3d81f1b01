import { cancelled } from "./abort.js"
import { Emitter, type ListenOptions } from "./emitter.js"
import { localError, type AgentError } from "./errors.js"
import { Stream } from "./stream.js"

/** An emitter whose events end with `ended`, to wait for or to iterate over. */
export class Waiting<Events extends { error: unknown; ended: unknown }> extends Emitter<Events> {
  /** Those who wait for what comes after the end. */
  readonly #late = new Set<() => void>()

  /**
   * Resolves with the payload of the next event of that name. Rejects with code
   * `ended` when the session ends first, `aborted` when signal is aborted.
   * `sessionCompleted` comes after `ended`, and is waited for.
   */
  next<K extends keyof Events>(event: K, { signal }: ListenOptions = {}): Promise<Events[K]> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(cancelled(signal))
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
   * when the session ends or the loop is left; throws with code `aborted` when
   * signal is aborted.
   */
  stream<K extends keyof Events>(event: K, { signal }: ListenOptions = {}): AsyncIterableIterator<Events[K]> {
    return new Stream(({ put, end, fail }) => {
      if (signal?.aborted) return fail(cancelled(signal))
      const done = new AbortController()
      const until = { signal: done.signal }
      this.on(event, put, until)
      this.#until(event, end, done.signal)
      signal?.addEventListener("abort", () => fail(cancelled(signal)), until)
      return { stop: () => done.abort() }
    })
  }

  /** Ends the waiting for what comes after the end: nothing more will, until the session begins again. */
  protected silent(): void {
    for (const end of this.#late) end()
  }

  /** Calls end when no event of that name can come any more. */
  #until(event: keyof Events, end: () => void, signal: AbortSignal): void {
    if (event === "ended") return
    if (event !== "sessionCompleted") return void this.once("ended", end, { signal })
    this.#late.add(end) // the service hears of the end when the session has ended
    signal.addEventListener("abort", () => this.#late.delete(end))
  }
}
