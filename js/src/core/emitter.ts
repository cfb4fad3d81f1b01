import { cancelled, checkSignal, localError } from "./errors.js"
import { optionsOf } from "./options.js"
import { onAbort } from "./signals.js"
import { Stream } from "./stream.js"

/** Options of methods that add a listener. */
export interface ListenOptions {
  /** Removes the listener when it is aborted. */
  signal?: AbortSignal | undefined
  /** @internal The listener is one of this package, not of the page: `removeAllListeners` keeps it. */
  lasting?: true
}

interface Entry {
  readonly listener: (...args: never[]) => void
  readonly once: boolean
  readonly lasting?: true | undefined
  /** Removes what waits for the signal: a signal of the page may outlive many sessions. */
  forget?: () => void
}

declare const events: unique symbol

/** What has events: for types alone, no object has this property. */
export interface Emits<Events> {
  readonly [events]: Events
}

/** The events of an emitter by name; of one of several kinds, those that each kind has. */
export type EventsOf<Source extends Emits<unknown>> = Source[typeof events]

/**
 * Events of a session. `Events` maps each event's name to its payload; events
 * without one have `undefined`.
 *
 * The second signature of a method is the same in all emitters: it makes the method callable
 * on a variable that is one of several kinds of session.
 *
 * An exception of a listener does not keep the other listeners from being called: it
 * is emitted as `error`, or reported as an uncaught exception when `error` has no
 * listener.
 */
export class Emitter<Events extends { error: unknown }> implements Emits<Events> {
  declare readonly [events]: Events
  /** By event; those of all events have the key undefined. */
  readonly #entries = new Map<keyof Events | undefined, Entry[]>()

  /**
   * Adds a listener and returns the function that removes it. The listener's second argument
   * is when the event happened: milliseconds on the clock of `performance.now()`.
   */
  on<K extends keyof Events>(event: K, listener: (payload: Events[K], at: number) => void, options?: ListenOptions): () => void
  on<Own extends Emits<unknown>, K extends keyof EventsOf<Own>>(this: Own, event: K, listener: (payload: EventsOf<Own>[K], at: number) => void, options?: ListenOptions): () => void
  on<K extends keyof Events>(event: K, listener: (payload: Events[K], at: number) => void, options?: ListenOptions): () => void {
    return this.#add(event, { listener, once: false, lasting: options?.lasting }, options?.signal)
  }

  /** Like `on`, for the next event only. */
  once<K extends keyof Events>(event: K, listener: (payload: Events[K], at: number) => void, options?: ListenOptions): () => void
  once<Own extends Emits<unknown>, K extends keyof EventsOf<Own>>(this: Own, event: K, listener: (payload: EventsOf<Own>[K], at: number) => void, options?: ListenOptions): () => void
  once<K extends keyof Events>(event: K, listener: (payload: Events[K], at: number) => void, options?: ListenOptions): () => void {
    return this.#add(event, { listener, once: true, lasting: options?.lasting }, options?.signal)
  }

  /**
   * Adds a listener for all events, e.g. for a log, and returns the function that removes
   * it. `localMicLevel` and `localSpeakingChanged` are measured only while one of them has
   * a listener of its own.
   */
  onAny(listener: (event: keyof Events, payload: unknown, at: number) => void, options?: ListenOptions): () => void {
    const { signal, lasting } = optionsOf(options)
    return this.#add(undefined, { listener, once: false, lasting }, signal)
  }

  /** Removes every registration of a listener that `on` or `once` added. */
  off<K extends keyof Events>(event: K, listener: (payload: Events[K], at: number) => void): void
  off<Own extends Emits<unknown>, K extends keyof EventsOf<Own>>(this: Own, event: K, listener: (payload: EventsOf<Own>[K], at: number) => void): void
  off<K extends keyof Events>(event: K, listener: (payload: Events[K], at: number) => void): void {
    this.#keep(event, (entry) => entry.listener !== listener)
  }

  /**
   * Removes the listeners of the page: those of one event, or all. What waits in `next`, `stream` and `ask` goes on, and so do the
   * elements, the parts and the hooks of this package.
   */
  removeAllListeners(event?: keyof Events): void {
    for (const name of event === undefined ? [...this.#entries.keys()] : [event]) this.#keep(name, ({ lasting }) => lasting === true)
  }

  /**
   * Calls the listeners of an event in the order in which they were added. `at` is when it
   * happened, on the clock of `performance.now()`.
   */
  emit<K extends keyof Events>(event: K, payload: Events[K], at = performance.now()): void {
    // Listeners added or removed by a listener take effect from the next event on,
    // because the lists are replaced, not changed.
    for (const entry of this.#entries.get(event) ?? []) {
      if (entry.once) this.#keep(event, (other) => other !== entry)
      this.#call(event, () => entry.listener(payload as never, at as never))
    }
    for (const { listener } of this.#entries.get(undefined) ?? []) this.#call(event, () => listener(event as never, payload as never, at as never))
  }

  /** Whether an event has listeners of its own. */
  protected hasListeners(event: keyof Events): boolean {
    return this.#entries.has(event)
  }

  /** Whether an event has listeners, of its own or of all events. */
  protected hasAnyListener(event: keyof Events): boolean {
    return this.#entries.has(undefined) || this.hasListeners(event)
  }

  /** Called when listeners were added or removed. */
  protected listenersChanged(): void {}

  #call(event: keyof Events, listener: () => void): void {
    try {
      listener()
    } catch (exception) {
      if (event !== "error" && this.#entries.has("error")) this.emit("error", exception as Events["error"])
      else reportError(exception)
    }
  }

  #add(event: keyof Events | undefined, entry: Entry, signal: AbortSignal | undefined): () => void {
    if (typeof entry.listener !== "function") throw new TypeError(`the listener of ${String(event ?? "all events")} must be a function`)
    if (signal?.aborted) return () => {}
    this.#entries.set(event, [...(this.#entries.get(event) ?? []), entry])
    const remove = () => this.#keep(event, (other) => other !== entry)
    entry.forget = onAbort(signal, remove)
    this.listenersChanged()
    return remove
  }

  #keep(event: keyof Events | undefined, keep: (entry: Entry) => boolean): void {
    const entries = (this.#entries.get(event) ?? []).filter((entry) => {
      const stays = keep(entry)
      if (!stays) entry.forget?.()
      return stays
    })
    if (entries.length > 0) this.#entries.set(event, entries)
    else this.#entries.delete(event)
    this.listenersChanged()
  }
}

/** An emitter whose events end with `ended`, and can be awaited or iterated over. */
export class SessionEmitter<Events extends { error: unknown; ended: unknown }> extends Emitter<Events> {
  /** The event of each stream, by the function that ends the stream. */
  readonly #streams = new Map<() => void, keyof Events>()
  /** `ended` was emitted, and the session can't connect again. */
  #ended = false
  /** No event follows, not even `sessionCompleted`, which comes after `ended`. */
  #silent = false

  /**
   * Resolves with the payload of the next event of that name. Rejects with code
   * `ended` when the session ends first, or has ended for good; `aborted` when
   * signal is aborted. `sessionCompleted` comes after `ended` and can still be awaited then.
   */
  next<K extends keyof Events>(event: K, options?: ListenOptions): Promise<Events[K]>
  next<Own extends Emits<unknown>, K extends keyof EventsOf<Own>>(this: Own, event: K, options?: ListenOptions): Promise<EventsOf<Own>[K]>
  async next<K extends keyof Events>(event: K, options?: ListenOptions): Promise<Events[K]> {
    const past = this.#past(event)
    const stream = this.stream(event, options)
    const { done, value } = await stream.next()
    if (!done) {
      void stream.return?.()
      return value
    }
    throw localError("ended", past ? `the session has ended: no ${String(event)} follows` : `the session ended before ${String(event)}`)
  }

  /**
   * The events of that name from now on, to iterate over with `for await`. Ends when
   * the session ends; at once when it has ended for good. Throws with code `aborted`
   * when signal is aborted.
   */
  stream<K extends keyof Events>(event: K, options?: ListenOptions): AsyncIterableIterator<Events[K]>
  stream<Own extends Emits<unknown>, K extends keyof EventsOf<Own>>(this: Own, event: K, options?: ListenOptions): AsyncIterableIterator<EventsOf<Own>[K]>
  stream<K extends keyof Events>(event: K, options?: ListenOptions): AsyncIterableIterator<Events[K]> {
    const { signal } = optionsOf(options)
    checkSignal(signal)
    return new Stream(({ put, end, fail }) => {
      if (signal?.aborted) return fail(cancelled(signal))
      if (this.#past(event)) return end()
      const done = new AbortController()
      const until = { signal: done.signal, lasting: true } as const
      this.on(event, put, until)
      // `sessionCompleted` follows `ended`, when the service has replied.
      if (event !== "ended" && event !== "sessionCompleted") this.once("ended", end, until)
      this.#streams.set(end, event)
      const forget = onAbort(signal, () => fail(cancelled(signal!)))
      return {
        stop: () => {
          forget()
          done.abort()
          this.#streams.delete(end)
        },
      }
    })
  }

  /** Called when the session ends and can't connect again. */
  protected endsForGood(): void {
    this.#ended = true
  }

  /** Ends the streams of `sessionCompleted`, or all streams if the session can't connect again. */
  protected silent(forGood: boolean): void {
    this.#silent ||= forGood
    for (const [end, event] of this.#streams) if (forGood || event === "sessionCompleted") end()
  }

  /** Whether the session can't connect again, and no event follows. */
  protected get over(): boolean {
    return this.#silent
  }

  /** Whether no event of that name can follow. */
  #past(event: keyof Events): boolean {
    return this.#silent || (this.#ended && event !== "sessionCompleted")
  }
}
