import { cancelled, checkSignal, type AgentError } from "./errors.js"
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

// A loop that is so many values behind has stopped; older ones are dropped, so that
// they can't fill the memory.
const maxBuffered = 10_000

type Taker<T> = { resolve: (result: IteratorResult<T>) => void; reject: (reason: unknown) => void }

/** An iteration: buffers what comes until the loop takes it. */
export class Stream<T> implements AsyncIterableIterator<T> {
  readonly #buffer: T[] = []
  readonly #takers: Taker<T>[] = []
  readonly #feed: Feed | void
  #done = false
  #reason: unknown

  /** Makes a stream of what open puts into the sink; open may also end it at once. */
  constructor(open: (sink: Sink<T>) => Feed | void) {
    this.#feed = open({
      put: (value) => this.#put(value),
      end: () => void this.#end(),
      fail: (reason) => {
        if (!this.#done) this.#reason = reason
        void this.#end()
      },
    })
    if (this.#done) void this.#feed?.stop()
  }

  next(): Promise<IteratorResult<T>> {
    return new Promise((resolve, reject) => {
      const taker = { resolve, reject }
      if (this.#buffer.length > 0) return resolve({ done: false, value: this.#buffer.shift()! })
      if (this.#done) return this.#finish(taker)
      this.#takers.push(taker)
      this.#feed?.want?.()
    })
  }

  /** Leaves the stream; resolves when its feed has ended. */
  async return(): Promise<IteratorResult<T>> {
    this.#buffer.length = 0
    this.#reason = undefined
    await this.#end()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #put(value: T): void {
    if (this.#done) return
    const taker = this.#takers.shift()
    if (taker) return taker.resolve({ done: false, value })
    this.#buffer.push(value)
    if (this.#buffer.length > maxBuffered) this.#buffer.shift()
  }

  async #end(): Promise<void> {
    if (this.#done) return
    this.#done = true
    for (const taker of this.#takers.splice(0)) this.#finish(taker)
    await this.#feed?.stop()
  }

  /** The reason is thrown once; after it the iteration is just over. */
  #finish(taker: Taker<T>): void {
    const reason = this.#reason
    this.#reason = undefined
    if (reason === undefined) taker.resolve({ done: true, value: undefined })
    else taker.reject(reason)
  }
}

/** A sequence of the Go program, whose goroutine waits until a value is asked for. */
export interface Source<T> {
  /** The next value; the goroutine goes on to the one after it, and no further. */
  next(): Promise<IteratorResult<T>>
  /** Ends the sequence and frees it; must be the last call, also after the last value. */
  return(): Promise<void>
}

/**
 * The sequence of an object of the program. Once gone returns an error, its methods
 * must not be called.
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
    return sourceOf(program, program.callSync(start))
  }, signal)
}

/**
 * Iterates over what open gives, which is opened when the first value is asked
 * for. Leaving the loop ends the sequence, and so does signal, with code
 * `aborted`. One that the page has forgotten is ended when it is collected.
 */
export function pull<T>(open: () => Promise<Source<T>>, signal?: AbortSignal): AsyncIterableIterator<T> {
  const reader = new Reader(open)
  const stream = new Stream<T>((sink) => {
    checkSignal(signal)
    if (signal?.aborted) return sink.fail(cancelled(signal))
    const forget = signal && failOnAbort(signal, new WeakRef(sink))
    return {
      want: () => reader.read(sink),
      stop: () => {
        forget?.()
        collector.unregister(reader)
        return reader.close()
      },
    }
  })
  collector.register(stream, reader, reader)
  return stream
}

/** What a stream asks for values. It must not refer to the stream, which is collected before it is closed. */
class Reader<T> {
  readonly #open: () => Promise<Source<T>>
  #source: Promise<Source<T>> | undefined

  constructor(open: () => Promise<Source<T>>) {
    this.#open = open
  }

  /** Puts one more value into the sink. */
  read({ put, end, fail }: Sink<T>): void {
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

/** Fails the sink when signal is aborted; the page's signal doesn't keep it from being collected. */
function failOnAbort<T>(signal: AbortSignal, sink: WeakRef<Sink<T>>): () => void {
  const abort = () => sink.deref()?.fail(cancelled(signal))
  signal.addEventListener("abort", abort, { once: true })
  return () => signal.removeEventListener("abort", abort)
}

const collector = new FinalizationRegistry<{ close(): unknown }>((reader) => void reader.close())
