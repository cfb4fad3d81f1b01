import { cancelled, checkSignal, type AgentError } from "./errors.js"
import type { Exports, Methods, Program } from "./program.js"
import { onAbort } from "./signals.js"

/** Receives the values of a stream. */
export interface Sink<T> {
  put(value: T): void
  /** Adds values that the loop has asked for, of which none may be dropped. */
  putAll(values: readonly T[]): void
  end(): void
  /** Ends the iteration; the loop throws reason once, after the buffered values. */
  fail(reason: unknown): void
  /** The same, but the buffered values are dropped. */
  cut(reason: unknown): void
}

/** The source of a stream's values. */
export interface Feed {
  /** Called when the loop waits for a value. */
  pull?(): void
  /** Called when the iteration is over. */
  stop(): Promise<void> | void
}

// Bounds the memory of a loop that has stalled: the oldest values are dropped.
const maxBuffered = 10_000

type Taker<T> = { resolve: (result: IteratorResult<T>) => void; reject: (reason: unknown) => void }

/** An iteration that buffers values until the loop takes them. */
export class Stream<T> implements AsyncIterableIterator<T> {
  readonly #buffer: T[] = []
  readonly #takers: Taker<T>[] = []
  readonly #feed: Feed | void
  #done = false
  #reason: unknown

  /** Makes a stream of the values that open puts into the sink. */
  constructor(open: (sink: Sink<T>) => Feed | void) {
    const fail = (reason: unknown) => {
      if (!this.#done) this.#reason = reason
      void this.#end()
    }
    this.#feed = open({
      put: (value) => this.#put(value),
      putAll: (values) => this.#putAll(values),
      end: () => void this.#end(),
      fail,
      cut: (reason) => {
        this.#buffer.length = 0
        fail(reason)
      },
    })
    if (this.#done) void this.#feed?.stop()
  }

  next(): Promise<IteratorResult<T>> {
    if (this.#buffer.length > 0) return Promise.resolve({ done: false, value: this.#buffer.shift()! })
    return new Promise((resolve, reject) => {
      const taker = { resolve, reject }
      if (this.#done) return this.#finish(taker)
      this.#takers.push(taker)
      this.#feed?.pull?.()
    })
  }

  /** Ends the iteration; resolves when its feed has stopped. */
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
    this.#putAll([value])
    if (this.#buffer.length > maxBuffered) this.#buffer.shift()
  }

  #putAll(values: readonly T[]): void {
    if (this.#done) return
    for (const value of values) {
      const taker = this.#takers.shift()
      if (taker) taker.resolve({ done: false, value })
      else this.#buffer.push(value)
    }
  }

  async #end(): Promise<void> {
    if (this.#done) return
    this.#done = true
    for (const taker of this.#takers.splice(0)) this.#finish(taker)
    await this.#feed?.stop()
  }

  /** Rejects with the reason once; afterwards the iteration is done. */
  #finish(taker: Taker<T>): void {
    const reason = this.#reason
    this.#reason = undefined
    if (reason === undefined) taker.resolve({ done: true, value: undefined })
    else taker.reject(reason)
  }
}

/** A sequence of the Go program, whose goroutine waits for each call of next. */
export interface Source<T> {
  /**
   * Returns the next values, at least one: those that arrived together from the network.
   * The goroutine reads ahead for one more call at most.
   */
  next(): Promise<IteratorResult<readonly T[]>>
  /** Ends and frees the sequence; must be the last call, also after the last value. */
  return(): Promise<void>
}

/**
 * Returns the sequence with these methods, which must not be called once gone returns
 * an error.
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

/** Iterates over the sequence that an export returns, in the program that find loads. */
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
 * Iterates over the sequence that open returns; open is called for the first `next()`.
 * Leaving the loop ends the sequence, and so does signal, with code `aborted`. A
 * stream that is collected ends its sequence too.
 */
export function pull<T>(open: () => Promise<Source<T>>, signal?: AbortSignal): AsyncIterableIterator<T> {
  const reader = new Reader(open)
  const stream = new Stream<T>((sink) => {
    checkSignal(signal)
    if (signal?.aborted) return sink.fail(cancelled(signal))
    const removeListener = signal && failOnAbort(signal, new WeakRef(sink))
    return {
      pull: () => reader.read(sink),
      stop: () => {
        removeListener?.()
        collector.unregister(reader)
        return reader.close()
      },
    }
  })
  collector.register(stream, reader, reader)
  return stream
}

/** Reads values for a stream. It must not refer to the stream, so that the stream can be collected first. */
class Reader<T> {
  readonly #open: () => Promise<Source<T>>
  #source: Promise<Source<T>> | undefined

  constructor(open: () => Promise<Source<T>>) {
    this.#open = open
  }

  /** Puts the next values into the sink. */
  read({ putAll, end, fail }: Sink<T>): void {
    this.#source ??= this.#open()
    this.#source.then((source) => source.next()).then((result) => (result.done ? end() : putAll(result.value)), fail)
  }

  async close(): Promise<void> {
    try {
      await (await this.#source)?.return()
    } catch {
      // It was never opened, or the program has ended.
    }
  }
}

/** Fails the sink at once when signal is aborted; holds it weakly so that the signal does not keep it alive. */
function failOnAbort<T>(signal: AbortSignal, sink: WeakRef<Sink<T>>): () => void {
  return onAbort(signal, () => sink.deref()?.cut(cancelled(signal)))
}

const collector = new FinalizationRegistry<{ close(): unknown }>((reader) => void reader.close())
