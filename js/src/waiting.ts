import { cancelled } from "./abort.js"
import { Emitter, type ListenOptions } from "./emitter.js"
import { localError, type AgentError } from "./errors.js"

/** An emitter whose events end with `ended`, to wait for or to iterate over. */
export class Waiting<Events extends { error: unknown; ended: unknown }> extends Emitter<Events> {
  /**
   * Resolves with the payload of the next event of that name. Rejects with code
   * `ended` when the session ends first, `aborted` when signal is aborted.
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
      if (event !== "ended") this.once("ended", () => fail(localError("ended", `the session ended before ${String(event)}`)), until)
      signal?.addEventListener("abort", () => fail(cancelled(signal)), until)
    })
  }

  /**
   * The events of that name from now on, to iterate over with `for await`. Ends
   * when the session ends or the loop is left; throws with code `aborted` when
   * signal is aborted.
   */
  stream<K extends keyof Events>(event: K, { signal }: ListenOptions = {}): AsyncIterableIterator<Events[K]> {
    return new Stream((put, end, fail) => {
      if (signal?.aborted) return fail(cancelled(signal))
      const done = new AbortController()
      const until = { signal: done.signal }
      this.on(event, put, until)
      this.on("ended", end, until)
      signal?.addEventListener("abort", () => fail(cancelled(signal)), until)
      return () => done.abort()
    })
  }
}

// A loop that is this far behind has stopped; what is older is dropped, so that
// it can't fill the memory.
const most = 10_000

type Taker<T> = { resolve: (result: IteratorResult<T>) => void; reject: (reason: unknown) => void }

/** Keeps what comes until the loop takes it. */
class Stream<T> implements AsyncIterableIterator<T> {
  readonly #kept: T[] = []
  readonly #takers: Taker<T>[] = []
  readonly #stop: (() => void) | void
  #over = false
  #reason: unknown

  constructor(start: (put: (value: T) => void, end: () => void, fail: (reason: unknown) => void) => (() => void) | void) {
    const end = () => this.#end()
    const fail = (reason: unknown) => {
      this.#reason = reason
      this.#end()
    }
    this.#stop = start((value) => this.#put(value), end, fail)
    if (this.#over) this.#stop?.()
  }

  next(): Promise<IteratorResult<T>> {
    return new Promise((resolve, reject) => {
      const taker = { resolve, reject }
      if (this.#kept.length > 0) resolve({ done: false, value: this.#kept.shift()! })
      else if (this.#over) this.#finish(taker)
      else this.#takers.push(taker)
    })
  }

  async return(): Promise<IteratorResult<T>> {
    this.#kept.length = 0
    this.#end()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #put(value: T): void {
    const taker = this.#takers.shift()
    if (taker) return taker.resolve({ done: false, value })
    this.#kept.push(value)
    if (this.#kept.length > most) this.#kept.shift()
  }

  #end(): void {
    this.#over = true
    this.#stop?.()
    for (const taker of this.#takers.splice(0)) this.#finish(taker)
  }

  /** The reason is told once; after it the iteration is just over. */
  #finish(taker: Taker<T>): void {
    const reason = this.#reason
    this.#reason = undefined
    if (reason === undefined) taker.resolve({ done: true, value: undefined })
    else taker.reject(reason)
  }
}
