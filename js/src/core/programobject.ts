import { whenOpened } from "./activation.js"
import { AgentError, cancelled, checkSignal, localError } from "./errors.js"
import type { MethodNames, SessionMethods } from "../generated/methods.js"
import { optionsOf, type PlainOptions } from "./options.js"
import type { Exports, Methods, Program } from "./program.js"
import { onAbort, type CallOptions } from "./signals.js"
import { pull, sourceOf } from "./stream.js"

/** Receives the events of an object of the program. */
export interface Owner {
  receive(event: string, payload: unknown, at: number): void
  /** Called before the object ends; its properties can still be read. */
  ending(): void
  /** Called when the object has ended, with the error if the program crashed. No event follows. */
  ended(crash?: AgentError): void
}

/** How to create an object: find loads the program, open creates it there from options. */
export interface Factory {
  find: () => Promise<Program>
  options: PlainOptions
  open: (go: Exports, options: PlainOptions, dispatch: Dispatch, object: ProgramObject) => Methods | AgentError
}

/** Called for the events of an object, with their names, payloads and times in turn. */
export type Dispatch = (events: readonly unknown[]) => void

type PageFunction = (...args: never[]) => unknown

/** A function of the page that the program may call, with its number. */
export interface Callback {
  id: number
  call: (...args: unknown[]) => unknown
  release: () => void
}

/** A call that waits for the program. */
interface PendingCall {
  readonly method: string
  run(program: Program): void
  /** Absent for calls without a result. */
  reject?(reason: AgentError): void
}

/**
 * The TypeScript side of an object of the Go program. Calls made before the program
 * is loaded, or in a page that is rendered ahead, wait, and run in order once it is loaded and
 * the page is open. `Own` names the methods that objects of its kind have besides those of
 * every session.
 *
 * The program never releases the JavaScript functions that it got, so they refer to this
 * object by weak references only. When the page drops the owner, this object is
 * collected with it, and the object in the program is disposed.
 */
export class ProgramObject<Own extends MethodNames = MethodNames> {
  /** Cleared after use, because the options hold the token. */
  #factory: Factory | undefined
  #owner: Owner | undefined
  #queue: PendingCall[] = []
  #loading = false
  #program: Program | undefined
  #methods: Methods | undefined
  /** Why the object has ended. */
  #gone: AgentError | undefined
  readonly #callbacks = new Map<number, PageFunction>()
  #lastID = 0
  /** Passed to the finalizer when this object is collected. */
  readonly #handle: { methods?: Methods } = {}
  /** The objects made by `reserve`, and the object that reserved this one. */
  readonly #held = new Set<ProgramObject>()
  #holder: ProgramObject | undefined

  constructor(factory?: Factory) {
    this.#factory = factory
    if (factory) collector.register(this, this.#handle, this.#handle)
  }

  /** Sets the owner. It does not load the program: the first call that waits for it does. */
  attach(owner: Owner): void {
    this.#owner = owner
  }

  /** Makes the TypeScript side of an object that this one will make in the program. */
  reserve(): ProgramObject {
    const object = new ProgramObject()
    object.#holder = this
    this.#held.add(object)
    return object
  }

  /** Gives a reserved object the methods of its counterpart in the program, which this one has made; calling `release` ends it. */
  hold(object: ProgramObject, methods: Methods): { dispatch: Dispatch; release: () => void } {
    object.#program = this.#program
    object.#methods = methods
    queueMicrotask(() => object.#runPending()) // not now: the program may still be making the object
    const weak = new WeakRef(object)
    return { dispatch: ProgramObject.#dispatch(weak), release: ProgramObject.#releaser(weak) }
  }

  /** Whether the object exists. */
  get present(): boolean {
    return this.#methods !== undefined && !this.#gone
  }

  /** Whether the object has ended, or will not be made. */
  get ended(): boolean {
    return this.#gone !== undefined
  }

  /** Whether the object is still to be made. */
  get pending(): boolean {
    return this.#methods === undefined && !this.#gone
  }

  /**
   * Calls a method that returns at once. Does nothing after the object has ended, but
   * throws if its holder has ended it.
   */
  callSync(method: SessionMethods["sync"] | Own["sync"], ...args: unknown[]): unknown {
    if (this.#gone && this.#holder) throw this.#gone
    if (this.#gone) return undefined
    this.#runPending()
    if (this.#methods) return this.#invoke(method, args)
    this.#queue.push({ method, run: () => void this.#invoke(method, args) })
    return undefined
  }

  /** Calls a method that returns a promise. */
  async call<T>(method: SessionMethods["async"] | Own["async"], options: CallOptions | null | undefined, ...args: unknown[]): Promise<T> {
    const { signal } = optionsOf(options)
    return this.#whenPresent(method, signal, (program) =>
      program.call(() => this.#methods?.[method]?.(signal ?? undefined, ...args) as Promise<T>, signal),
    )
  }

  /**
   * Iterates over the sequence that a method returns. The method is called for the first
   * `next()`; disposing this object ends the iteration with code `aborted`.
   */
  stream<T>(method: Own["stream"], signal: AbortSignal | undefined, ...args: unknown[]): AsyncIterableIterator<T> {
    const open = async (program: Program) => sourceOf<T>(program, this.#invoke(method, args) as Methods, () => this.#gone)
    return pull(() => this.#whenPresent(method, undefined, open), signal)
  }

  /** Starts a call as soon as the object exists. */
  #whenPresent<T>(method: string, signal: AbortSignal | undefined, start: (program: Program) => Promise<T>): Promise<T> {
    if (this.#gone) return Promise.reject(this.#gone)
    this.#runPending()
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
        run: (program) => {
          forget()
          start(program).then(resolve, reject)
        },
        reject: (reason) => {
          forget()
          reject(reason)
        },
      }
      const forget = onAbort(signal, abort)
      this.#queue.push(call)
      this.#load()
    })
  }

  /** Rejects the calls of a method that still wait for the program. */
  withdraw(method: SessionMethods["async"] | Own["async"], reason: AgentError): void {
    const withdrawn = this.#queue.filter((call) => call.method === method)
    this.#queue = this.#queue.filter((call) => call.method !== method)
    for (const call of withdrawn) call.reject?.(reason)
  }

  /** Returns a function that calls fn until this object is collected or the callback is released. */
  callback(fn: PageFunction): Callback {
    const id = ++this.#lastID
    this.#callbacks.set(id, fn)
    return { id, call: ProgramObject.#call(new WeakRef(this), id), release: () => void this.#callbacks.delete(id) }
  }

  /** Ends an object that was not made yet; calls that wait reject with reason. */
  abandon(reason: AgentError): void {
    if (this.pending) this.#end(reason)
  }

  /** Ends the object and frees what it holds; resolves when that is done. */
  async dispose(): Promise<void> {
    if (this.#holder) throw localError("invalid_state", "dispose the agent session instead: it owns this transport")
    if (this.#gone) return
    const methods = this.#methods
    for (const one of [...this.#held, this]) one.#owner?.ending()
    this.#end(localError("aborted", "the session was disposed"))
    await this.#program?.call(() => methods?.["dispose"]?.() as Promise<void>).catch(() => {
      // The program has ended, and the object with it.
    })
    this.#callbacks.clear()
  }

  /** Calls a method whose result is needed at once. */
  #invoke(method: string, args: unknown[]): unknown {
    if (!this.#program || this.#program.end) return undefined
    return this.#program.callSync(() => this.#methods?.[method]?.(...args))
  }

  #load(): void {
    if (this.#holder) return this.#holder.#load()
    if (this.#loading || !this.#factory || this.#gone) return
    this.#loading = true
    this.#factory.find().then(
      (program) => whenOpened(() => this.#begin(program)),
      (reason: AgentError) => this.#failed(reason),
    )
  }

  #begin(program: Program): void {
    this.#loading = false
    const factory = this.#factory
    if (this.#gone || !factory) return
    this.#factory = undefined
    this.#program = program
    const weak = new WeakRef(this)
    try {
      program.used = true
      this.#methods = this.#handle.methods = program.callSync((go) => factory.open(go, factory.options, ProgramObject.#dispatch(weak), this))
    } catch (reason) {
      this.#end(reason as AgentError) // the program rejects the options
      return this.#owner?.ended()
    }
    ProgramObject.#watch(weak, program)
    for (const one of [...this.#held, this]) one.#runPending()
  }

  /**
   * Runs the waiting calls. Each later call does this first, also one that a listener makes meanwhile, so that
   * it does not overtake them. A call that ends the object leaves none to run.
   */
  #runPending(): void {
    if (!this.#program || !this.#methods) return
    for (let call = this.#queue.shift(); call; call = this.#queue.shift()) {
      try {
        call.run(this.#program)
      } catch (reason) {
        reportError(reason)
      }
    }
  }

  /** Loading failed: calls with a result reject, the others wait for the next try. */
  #failed(reason: AgentError): void {
    this.#loading = false
    for (const held of this.#held) held.#failed(reason)
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
    this.#drop(reason)
    for (const held of this.#held) {
      const made = held.#methods !== undefined // then the program reports its end
      held.#end(released())
      if (!made) held.#owner?.ended()
    }
  }

  /** Drops the waiting calls; those with a result reject with reason. */
  #drop(reason: AgentError): void {
    for (const call of this.#queue.splice(0)) call.reject?.(reason)
  }

  /** The holder has ended the object. */
  #release(): void {
    this.#drop(released()) // first, because reading the properties runs what waits
    if (this.present) this.#owner?.ending()
    this.#end(released())
    this.#callbacks.clear()
    if (this.#holder) this.#holder.#held.delete(this)
    this.#owner?.ended()
  }

  // The functions that the program gets are made in static methods: closures of one
  // function share a scope, so a closure made in a method could keep `this` alive.

  static #dispatch(weak: WeakRef<ProgramObject>): Dispatch {
    return weakly(weak, (object, events: readonly unknown[]) => {
      for (let i = 0; i < events.length; i += 3) {
        try {
          object.#owner?.receive(events[i] as string, events[i + 1], events[i + 2] as number)
        } catch (exception) {
          reportError(exception) // the remaining events are still delivered
        }
      }
    })
  }

  static #call(weak: WeakRef<ProgramObject>, id: number): (...args: unknown[]) => unknown {
    return weakly(weak, (object, ...args: unknown[]) => object.#callbacks.get(id)?.(...(args as never[])))
  }

  static #releaser(weak: WeakRef<ProgramObject>): () => void {
    return weakly(weak, (object) => object.#release())
  }

  static #watch(weak: WeakRef<ProgramObject>, program: Program): void {
    program.ended.then(weakly(weak, (object) => object.#programEnded(program)))
  }
}

/** Returns a function that calls fn with the object of weak, or does nothing once that is collected. */
function weakly<Args extends unknown[], R>(weak: WeakRef<ProgramObject>, fn: (object: ProgramObject, ...args: Args) => R): (...args: Args) => R | undefined {
  return (...args) => {
    const object = weak.deref()
    return object && fn(object, ...args)
  }
}

/** The error of an object that its holder has ended. */
function released(): AgentError {
  return localError("invalid_state", "the agent session has ended this transport")
}

const collector = new FinalizationRegistry<{ methods?: Methods }>(({ methods }) => void methods?.["dispose"]?.())
