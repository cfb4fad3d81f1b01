import { AgentError, localError } from "./errors.js"
import type { Methods } from "./program.js"
import type { Lent, Owner, PageFunction, Remote } from "./remote.js"
import { pull, sourceOf } from "./stream.js"

/** Who an inner session belongs to. */
export interface InnerOwner extends Owner {
  /** Told while the properties can be read for the last time. */
  leaving(): void
}

/**
 * The facade's end of a session that another one holds (internal/page/inner_js.go):
 * it is there from the beginning, and until it is let go.
 */
export class Inner {
  readonly #outer: Remote
  readonly #methods: Methods
  readonly #lent: Lent[] = []
  #owner: InnerOwner | undefined
  #gone: AgentError | undefined

  constructor(outer: Remote, methods: Methods) {
    this.#outer = outer
    this.#methods = methods
  }

  /** Names who hears the events. */
  belongsTo(owner: InnerOwner): void {
    this.#owner = owner
  }

  /** What the Go side reaches of it, weakly, because Go never collects what it got from JavaScript. */
  grip(): { dispatch: (name: string, payload: unknown) => void; gone: () => void } {
    return gripOf(new WeakRef(this))
  }

  get present(): boolean {
    return this.#gone === undefined && this.#outer.present
  }

  /** It is there from the beginning. */
  readonly pending = false

  now(name: string, ...args: unknown[]): unknown {
    if (!this.present) throw this.#why
    const result = this.#methods[name]?.(...args)
    if (result instanceof AgentError) throw result
    return result
  }

  async later<T>(name: string, signal: AbortSignal | undefined, ...args: unknown[]): Promise<T> {
    if (!this.present) throw this.#why
    return this.#outer.program.call(() => this.#methods[name]?.(signal ?? undefined, ...args) as Promise<T>, signal)
  }

  stream<T>(name: string, signal: AbortSignal | undefined, ...args: unknown[]): AsyncIterableIterator<T> {
    const gone = () => (this.present ? undefined : this.#why)
    return pull(async () => sourceOf<T>(this.#outer.program, this.now(name, ...args) as Methods, gone), signal)
  }

  /** Nothing waits: the program is there. */
  withdraw(): void {}
  abandon(): void {}

  lend(fn: PageFunction): Lent {
    const lent = this.#outer.lend(fn)
    this.#lent.push(lent)
    return lent
  }

  dispose(): Promise<void> {
    return Promise.reject(localError("invalid_state", "the agent session holds this transport, and disposes it"))
  }

  /** Takes an event. */
  receive(name: string, payload: unknown): void {
    this.#owner?.receive(name, payload)
  }

  /** Has the properties read that will be their last. */
  remember(): void {
    if (this.present) this.#owner?.leaving()
  }

  /** Its methods must not be called any more. */
  letGo(): void {
    this.remember()
    this.#end(over())
    this.#owner?.over()
  }

  /** The program crashed. */
  lost(reason: AgentError): void {
    if (this.#gone) return
    this.#end(reason)
    this.#owner?.lost(reason)
  }

  get #why(): AgentError {
    return this.#gone ?? over()
  }

  #end(reason: AgentError): void {
    this.#gone ??= reason
    for (const { forget } of this.#lent.splice(0)) forget()
  }
}

function over(): AgentError {
  return localError("invalid_state", "the agent session has let this transport go")
}

function gripOf(inner: WeakRef<Inner>): { dispatch: (name: string, payload: unknown) => void; gone: () => void } {
  return {
    dispatch: (name, payload) => inner.deref()?.receive(name, payload),
    gone: () => inner.deref()?.letGo(),
  }
}
