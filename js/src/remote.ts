import { AgentError, cancelled, checkSignal, localError } from "./errors.js"
import { optionsOf, type PlainOptions } from "./options.js"
import type { Exports, Methods, Program } from "./program.js"
import type { CallOptions } from "./session.js"
import { pull, sourceOf } from "./stream.js"

/** Takes what comes from an object of the program. */
export interface Owner {
  receive(event: string, payload: unknown): void
  /** Called while the object's properties can be read for the last time. */
  ending(): void
  /** Called when the object has ended, with the error if the program crashed. No event follows. */
  ended(crash?: AgentError): void
}

/** How an object is made: in the program that find gives, of options. */
export interface Recipe {
  find: () => Promise<Program>
  options: PlainOptions
  open: (go: Exports, options: PlainOptions, dispatch: Dispatch, remote: Remote) => Methods | AgentError
}

/** Takes the events of an object. */
export type Dispatch = (event: string, payload: unknown) => void

type PageFunction = (...args: never[]) => unknown

/** A function of the page that the program may call, under a number of its own. */
export interface Callback {
  id: number
  call: (...args: unknown[]) => unknown
  release: () => void
}

/** A call that waits for the program. */
interface PendingCall {
  readonly method: string
  run(): void
  /** Absent for calls without a result. */
  reject?(reason: AgentError): void
}

/**
 * The facade's end of an object of the Go program. Calls that are made before there
 * is a program wait, and take effect in their order once there is one.
 *
 * The program never collects what it got from JavaScript, so what it has of this
 * object are weak references. When the page has forgotten the owner, this object is
 * collected with it, and the Go side is disposed.
 */
export class Remote {
  /** Forgotten once it has been used: the options hold the token. */
  #recipe: Recipe | undefined
  #owner: Owner | undefined
  #queue: PendingCall[] = []
  #loading = false
  #program: Program | undefined
  #methods: Methods | undefined
  /** Why there is no object any more. */
  #gone: AgentError | undefined
  readonly #callbacks = new Map<number, PageFunction>()
  #lastID = 0
  /** What the collector gets when this object is collected. */
  readonly #handle: { methods?: Methods } = {}
  /** The objects that this one holds, or the one that holds this one (`hold`). */
  readonly #held = new Set<Remote>()
  #holder: Remote | undefined

  constructor(recipe?: Recipe) {
    this.#recipe = recipe
    if (recipe) collector.register(this, this.#handle, this.#handle)
  }

  /** Names the owner, and loads the program unless it is loaded or being loaded. */
  attach(owner: Owner): void {
    this.#owner = owner
    this.#load()
  }

  /**
   * The facade's end of an object that this one has made in the program, and ends by
   * calling gone.
   */
  hold(methods: Methods): { remote: Remote; dispatch: Dispatch; gone: () => void } {
    const remote = new Remote()
    remote.#program = this.#program
    remote.#methods = methods
    remote.#holder = this
    this.#held.add(remote)
    const weak = new WeakRef(remote)
    return { remote, dispatch: Remote.#dispatch(weak), gone: Remote.#letGo(weak) }
  }

  /** Whether the object is there. */
  get present(): boolean {
    return this.#methods !== undefined && !this.#gone
  }

  /** Whether there is no object yet, and may be one. */
  get pending(): boolean {
    return this.#methods === undefined && !this.#gone
  }

  /**
   * Calls a method that returns at once. Does nothing when the object is gone, but
   * throws for one that its holder has ended.
   */
  callSync(method: string, ...args: unknown[]): unknown {
    if (this.#gone && this.#holder) throw this.#gone
    if (this.#gone) return undefined
    if (this.#methods) return this.#invoke(method, args)
    this.#queue.push({ method, run: () => this.callSync(method, ...args) })
    return undefined
  }

  /** Calls a method that waits. */
  async call<T>(method: string, options: CallOptions | null | undefined, ...args: unknown[]): Promise<T> {
    const { signal } = optionsOf(options)
    return this.#whenPresent(method, signal, (program) =>
      program.call(() => this.#methods?.[method]?.(signal ?? undefined, ...args) as Promise<T>, signal),
    )
  }

  /**
   * Iterates over what a method makes. It is called when the first value is asked
   * for; disposing this object ends the iteration with code `aborted`.
   */
  stream<T>(method: string, signal: AbortSignal | undefined, ...args: unknown[]): AsyncIterableIterator<T> {
    const open = async (program: Program) => sourceOf<T>(program, this.#invoke(method, args) as Methods, () => this.#gone)
    return pull(() => this.#whenPresent(method, undefined, open), signal)
  }

  /** Starts a call now, or as soon as there is an object. */
  #whenPresent<T>(method: string, signal: AbortSignal | undefined, start: (program: Program) => Promise<T>): Promise<T> {
    if (this.#gone) return Promise.reject(this.#gone)
    if (this.#program && this.#methods) return start(this.#program)
    return new Promise<T>((resolve, reject) => {
      checkSignal(signal)
      if (signal?.aborted) return reject(cancelled(signal))
      const abort = () => {
        this.#queue = this.#queue.filter((other) => other !== call)
        if (signal) reject(cancelled(signal))
      }
      const call: PendingCall = {
        method,
        run: () => {
          signal?.removeEventListener("abort", abort)
          this.#whenPresent(method, signal, start).then(resolve, reject)
        },
        reject: (reason) => {
          signal?.removeEventListener("abort", abort)
          reject(reason)
        },
      }
      signal?.addEventListener("abort", abort, { once: true })
      this.#queue.push(call)
      this.#load()
    })
  }

  /** Rejects the calls of a method that still wait for the program. */
  withdraw(method: string, reason: AgentError): void {
    const withdrawn = this.#queue.filter((call) => call.method === method)
    this.#queue = this.#queue.filter((call) => call.method !== method)
    for (const call of withdrawn) call.reject?.(reason)
  }

  /** A function that calls fn, for as long as this object lives and the callback is not released. */
  callback(fn: PageFunction): Callback {
    const id = ++this.#lastID
    this.#callbacks.set(id, fn)
    return { id, call: Remote.#call(new WeakRef(this), id), release: () => void this.#callbacks.delete(id) }
  }

  /** There will be no object; calls that wait for it reject with reason. */
  abandon(reason: AgentError): void {
    if (this.pending) this.#end(reason)
  }

  /** Ends the object and frees what it holds; resolves when that is done. */
  async dispose(): Promise<void> {
    if (this.#holder) throw localError("invalid_state", "the agent session holds this transport, and disposes it")
    if (this.#gone) return
    const methods = this.#methods
    for (const one of [...this.#held, this]) one.#owner?.ending()
    this.#end(localError("aborted", "the session was disposed"))
    await this.#program?.call(() => methods?.["dispose"]?.() as Promise<void>).catch(() => {
      // The program ended first, and everything with it.
    })
    this.#callbacks.clear()
  }

  #invoke(method: string, args: unknown[]): unknown {
    const result = this.#methods?.[method]?.(...args)
    if (result instanceof AgentError) throw result
    return result
  }

  #load(): void {
    if (this.#loading || !this.#recipe || this.#gone) return
    this.#loading = true
    this.#recipe.find().then(
      (program) => this.#begin(program),
      (reason: AgentError) => this.#failed(reason),
    )
  }

  #begin(program: Program): void {
    this.#loading = false
    const recipe = this.#recipe
    if (this.#gone || !recipe) return
    this.#recipe = undefined
    this.#program = program
    const weak = new WeakRef(this)
    try {
      this.#methods = this.#handle.methods = program.callSync((go) => recipe.open(go, recipe.options, Remote.#dispatch(weak), this))
    } catch (reason) {
      this.#end(reason as AgentError) // the options are refused
      return this.#owner?.ended()
    }
    Remote.#watch(weak, program)
    for (const call of this.#queue.splice(0)) {
      try {
        call.run()
      } catch (reason) {
        reportError(reason)
      }
    }
  }

  /** Loading failed: calls with a result reject, the others wait for the next try. */
  #failed(reason: AgentError): void {
    this.#loading = false
    const waiting = this.#queue
    this.#queue = waiting.filter((call) => !call.reject)
    for (const call of waiting) call.reject?.(reason)
  }

  #programEnded(program: Program): void {
    if (this.#gone) return
    const reason = program.end ?? localError("internal_error", "the runtime ended")
    const all = [...this.#held, this]
    for (const one of all) one.#end(reason)
    for (const one of all) one.#owner?.ended(reason.code === "internal_error" ? reason : undefined)
  }

  #end(reason: AgentError): void {
    this.#gone ??= reason
    collector.unregister(this.#handle)
    for (const call of this.#queue.splice(0)) call.reject?.(reason)
    for (const held of this.#held) held.#gone ??= released()
  }

  /** The holder has ended the object. */
  #release(): void {
    if (this.present) this.#owner?.ending()
    this.#end(released())
    this.#callbacks.clear()
    if (this.#holder) this.#holder.#held.delete(this)
    this.#owner?.ended()
  }

  // What the program gets is made in functions of its own: a closure keeps alive
  // whatever the other closures of its function refer to, so made in a method it
  // could keep the object itself.

  static #dispatch(weak: WeakRef<Remote>): Dispatch {
    return weakly(weak, (remote, event: string, payload: unknown) => remote.#owner?.receive(event, payload))
  }

  static #call(weak: WeakRef<Remote>, id: number): (...args: unknown[]) => unknown {
    return weakly(weak, (remote, ...args: unknown[]) => remote.#callbacks.get(id)?.(...(args as never[])))
  }

  static #letGo(weak: WeakRef<Remote>): () => void {
    return weakly(weak, (remote) => remote.#release())
  }

  static #watch(weak: WeakRef<Remote>, program: Program): void {
    program.ended.then(weakly(weak, (remote) => remote.#programEnded(program)))
  }
}

/** A function that calls fn with the object that weak refers to, while it lives. */
function weakly<Args extends unknown[], R>(weak: WeakRef<Remote>, fn: (remote: Remote, ...args: Args) => R): (...args: Args) => R | undefined {
  return (...args) => {
    const remote = weak.deref()
    return remote && fn(remote, ...args)
  }
}

/** The error of an object that its holder has ended. */
function released(): AgentError {
  return localError("invalid_state", "the agent session has let this transport go")
}

const collector = new FinalizationRegistry<{ methods?: Methods }>(({ methods }) => void methods?.["dispose"]?.())
