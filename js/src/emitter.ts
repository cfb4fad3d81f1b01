/** Options of `on` and `once`. */
export interface ListenOptions {
  /** Removes the listener when it is aborted. */
  signal?: AbortSignal | undefined
}

interface Entry {
  readonly listener: (payload: never) => void
  readonly once: boolean
}

/**
 * Events of a session. `Events` maps each event's name to its payload; events
 * without one have `undefined`.
 *
 * The Go side makes one call of `emit` per event. A listener that throws does not
 * keep the others from being called: the exception is emitted as `error`, and
 * reported to the page like any uncaught one when nobody listens to that.
 */
export class Emitter<Events extends { error: unknown }> {
  readonly #entries = new Map<keyof Events, Entry[]>()

  /** Adds a listener and returns the function that removes it. */
  on<K extends keyof Events>(event: K, listener: (payload: Events[K]) => void, options?: ListenOptions): () => void {
    return this.#add(event, { listener, once: false }, options?.signal)
  }

  /** Like `on`, for the next event only. */
  once<K extends keyof Events>(event: K, listener: (payload: Events[K]) => void, options?: ListenOptions): () => void {
    return this.#add(event, { listener, once: true }, options?.signal)
  }

  /** Removes a listener that `on` or `once` added, as often as it was added. */
  off<K extends keyof Events>(event: K, listener: (payload: Events[K]) => void): void {
    this.#keep(event, (entry) => entry.listener !== listener)
  }

  /** Removes the listeners of one event, or all. */
  removeAllListeners(event?: keyof Events): void {
    if (event === undefined) this.#entries.clear()
    else this.#entries.delete(event)
    this.listenersChanged()
  }

  /** Calls the listeners of an event in the order in which they were added. */
  emit<K extends keyof Events>(event: K, payload: Events[K]): void {
    // Listeners that are added or removed meanwhile count from the next event on:
    // the lists are replaced, never changed.
    for (const entry of this.#entries.get(event) ?? []) {
      if (entry.once) this.#keep(event, (other) => other !== entry)
      try {
        entry.listener(payload as never)
      } catch (exception) {
        this.#failed(event, exception)
      }
    }
  }

  /** Whether anybody listens to an event. */
  protected heard(event: keyof Events): boolean {
    return this.#entries.has(event)
  }

  /** Called when listeners came or went. */
  protected listenersChanged(): void {}

  #failed(event: keyof Events, exception: unknown): void {
    if (event !== "error" && this.#entries.has("error")) this.emit("error", exception as Events["error"])
    else reportError(exception)
  }

  #add(event: keyof Events, entry: Entry, signal: AbortSignal | undefined): () => void {
    if (typeof entry.listener !== "function") throw new TypeError(`the listener of ${String(event)} is not a function`)
    if (signal?.aborted) return () => {}
    this.#entries.set(event, [...(this.#entries.get(event) ?? []), entry])
    const remove = () => {
      signal?.removeEventListener("abort", remove)
      this.#keep(event, (other) => other !== entry)
    }
    signal?.addEventListener("abort", remove, { once: true })
    this.listenersChanged()
    return remove
  }

  #keep(event: keyof Events, keep: (entry: Entry) => boolean): void {
    const entries = this.#entries.get(event)?.filter(keep) ?? []
    if (entries.length > 0) this.#entries.set(event, entries)
    else this.#entries.delete(event)
    this.listenersChanged()
  }
}
