import { cancelled, checkSignal } from "./abort.js"
import type { AgentError } from "./errors.js"
import type { Exports, Methods, Program } from "./program.js"

/** Where a stream's values go. */
export interface Sink<T> {
  put(value: T): void
  end(): void
  /** Ends the iteration; the loop throws reason once, after what it has not taken yet. */
  fail(reason: unknown): void
}

/** Where a stream's values come from. */
export interface Feed {
  /** The loop waits for a value. */
  want?(): void
  /** The iteration is over. */
  stop(): Promise<void> | void
}

// A loop that is this far behind has stopped; what is older is dropped, so that
// it can't fill the memory.
const most = 10_000

type Taker<T> = { resolve: (result: IteratorResult<T>) => void; reject: (reason: unknown) => void }

/** An iteration: keeps what comes until the loop takes it. */
export class Stream<T> implements AsyncIterableIterator<T> {
  readonly #kept: T[] = []
  readonly #takers: Taker<T>[] = []
  readonly #feed: Feed | void
  #over = false
  #reason: unknown

  /** Makes a stream of what open puts into the sink; open may also end it at once. */
  constructor(open: (sink: Sink<T>) => Feed | void) {
    this.#feed = open({
      put: (value) => this.#put(value),
      end: () => void this.#end(),
      fail: (reason) => {
        if (!this.#over) this.#reason = reason
        void this.#end()
      },
    })
    if (this.#over) void this.#feed?.stop()
  }

  next(): Promise<IteratorResult<T>> {
    return new Promise((resolve, reject) => {
      const taker = { resolve, reject }
      if (this.#kept.length > 0) return resolve({ done: false, value: this.#kept.shift()! })
      if (this.#over) return this.#finish(taker)
      this.#takers.push(taker)
      this.#feed?.want?.()
    })
  }

  /** Leaves the stream; resolves when what stands behind it has ended. */
  async return(): Promise<IteratorResult<T>> {
    this.#kept.length = 0
    this.#reason = undefined
    await this.#end()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #put(value: T): void {
    if (this.#over) return
    const taker = this.#takers.shift()
    if (taker) return taker.resolve({ done: false, value })
    this.#kept.push(value)
    if (this.#kept.length > most) this.#kept.shift()
  }

  async #end(): Promise<void> {
    if (this.#over) return
    this.#over = true
    for (const taker of this.#takers.splice(0)) this.#finish(taker)
    await this.#feed?.stop()
  }

  /** The reason is told once; after it the iteration is just over. */
  #finish(taker: Taker<T>): void {
    const reason = this.#reason
    this.#reason = undefined
    if (reason === undefined) taker.resolve({ done: true, value: undefined })
    else taker.reject(reason)
  }
}

/** A sequence of the Go program, behind which its goroutine waits to be asked. */
export interface Source<T> {
  /** The next value; the goroutine goes on to the one after it, and no further. */
  next(): Promise<IteratorResult<T>>
  /** Ends the sequence and frees it; must be the last call, also after the last value. */
  return(): Promise<void>
}

/**
 * The sequence behind an object of the program. Once gone tells why, the object is
 * gone, and its methods must not be called.
 */
export function sourceOf<T>(program: Program, methods: Methods, gone: () => AgentError | undefined = () => program.end): Source<T> {
  const call = <R>(name: string) => program.call(() => methods[name]?.() as Promise<R>)
  return {
    async next() {
      const reason = gone()
      if (reason) throw reason
      return call("next")
    },
    async return() {
      if (!gone()) await call("return")
    },
  }
}

/** Iterates over what an export of the program that find gives makes. */
export function pullExport<T>(
  find: () => Promise<Program>,
  start: (go: Exports) => Methods | AgentError,
  signal?: AbortSignal,
): AsyncIterableIterator<T> {
  return pull(async () => {
    const program = await find()
    return sourceOf(program, program.now(start))
  }, signal)
}

/**
 * Iterates over what open gives, which is opened when the first value is asked
 * for. Leaving the loop ends the sequence, and so does signal, with code
 * `aborted`. One that the page has forgotten is ended when it is collected.
 */
export function pull<T>(open: () => Promise<Source<T>>, signal?: AbortSignal): AsyncIterableIterator<T> {
  const tap = new Tap(open)
  const stream = new Stream<T>((sink) => {
    checkSignal(signal)
    if (signal?.aborted) return sink.fail(cancelled(signal))
    const unhook = signal && hook(signal, new WeakRef(sink))
    return {
      want: () => tap.pass(sink),
      stop: () => {
        unhook?.()
        collector.unregister(tap)
        return tap.close()
      },
    }
  })
  collector.register(stream, tap, tap)
  return stream
}

/** What a stream asks for values; it must not know the stream, which it outlives. */
class Tap<T> {
  readonly #open: () => Promise<Source<T>>
  #source: Promise<Source<T>> | undefined

  constructor(open: () => Promise<Source<T>>) {
    this.#open = open
  }

  /** Hands one more value on. */
  pass({ put, end, fail }: Sink<T>): void {
    this.#source ??= this.#open()
    this.#source.then((source) => source.next()).then((result) => (result.done ? end() : put(result.value)), fail)
  }

  async close(): Promise<void> {
    try {
      await (await this.#source)?.return()
    } catch {
      // It was never opened, or the program ended first and everything with it.
    }
  }
}

/** Fails the sink when signal is aborted; the page's signal doesn't keep it. */
function hook<T>(signal: AbortSignal, sink: WeakRef<Sink<T>>): () => void {
  const abort = () => sink.deref()?.fail(cancelled(signal))
  signal.addEventListener("abort", abort, { once: true })
  return () => signal.removeEventListener("abort", abort)
}

const collector = new FinalizationRegistry<{ close(): unknown }>((tap) => void tap.close())
