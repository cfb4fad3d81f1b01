import type { ListenOptions } from "../core/emitter.js"
import type { AgentSessionEvents } from "../session/agentsession.js"
import type { AgentState, AvatarEvents, AvatarState, ChatState } from "../generated/events.js"

/**
 * What the parts of this module accept as a session: any object with `on`, such as an
 * `AvatarSession`, a `ChatSession`, an `AgentSession` and the fakes for tests.
 */
export interface SessionLike {
  on(event: never, listener: (payload: any) => void, options?: ListenOptions): unknown
}

/** The events of sessions of all kinds. */
export type AnyEvents = Omit<AvatarEvents, "stateChange"> & Pick<AgentSessionEvents, "transportChanged" | "modeChanged"> & { stateChange: { state: AvatarState | ChatState | AgentState } }

/** The listeners that a part has added to sessions, which are removed together. */
export class Scope {
  readonly #ends = new Set<() => void>()

  /** Adds a listener; one for an event that the session does not have is never called. */
  listen<Name extends keyof AnyEvents>(session: SessionLike, event: Name, listener: (payload: AnyEvents[Name]) => void): void {
    // One controller each: Node.js warns of a signal with more than ten listeners.
    const controller = new AbortController()
    const remove = session.on(event as never, listener, { signal: controller.signal, lasting: true })
    this.onEnd(() => {
      controller.abort()
      if (typeof remove === "function") remove() // an emitter of the page may know no signals
    })
  }

  /** Calls a function at the end. */
  onEnd(react: () => void): void {
    this.#ends.add(react)
  }

  /** Removes all listeners. */
  end(): void {
    for (const react of this.#ends) react()
    this.#ends.clear()
  }
}

/** The functions that a part calls, which a page adds and removes. */
export class Listeners<Args extends unknown[]> {
  readonly #functions = new Set<(...args: Args) => void>()

  /** Adds a function and returns the one that removes it. */
  add(listener: (...args: Args) => void): () => void {
    if (typeof listener !== "function") throw new TypeError("the listener must be a function")
    const own = (...args: Args) => listener(...args) // the same function may be added twice
    this.#functions.add(own)
    return () => void this.#functions.delete(own)
  }

  /** Calls all of them; an exception of one is reported and does not keep the others from being called. */
  call(...args: Args): void {
    for (const each of [...this.#functions]) {
      try {
        each(...args)
      } catch (exception) {
        reportError(exception)
      }
    }
  }

  clear(): void {
    this.#functions.clear()
  }
}
