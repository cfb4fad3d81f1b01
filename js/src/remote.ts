import { cancelled, checkSignal } from "./abort.js"
import { AgentError, localError } from "./errors.js"
import type { Exports, Methods, Program } from "./program.js"
import { pull, sourceOf } from "./stream.js"

/** Who a remote object belongs to. */
export interface Owner {
  /** Takes an event. */
  receive(name: string, payload: unknown): void
  /** Told when the program crashed, and the object with it. */
  lost(reason: AgentError): void
  /** Told when the object is gone, however that came: no event comes any more. */
  over(): void
}

/** Makes the object, once there is a program. */
export type Open = (go: Exports, dispatch: (name: string, payload: unknown) => void) => Methods | AgentError

/** A call that waits for the program. */
interface Early {
  readonly name: string
  run(): void
  /** Absent for calls whose caller does not wait for a result. */
  fail?(reason: AgentError): void
}

/**
 * The facade's end of an object of the Go program. Calls made before there is a
 * program wait, and take effect in their order once there is one.
 *
 * What the program holds of the page is found through weak references, because
 * a program never collects what it got from JavaScript: an owner that the page
 * has forgotten is collected, and the Go side of it disposed.
 */
export class Remote {
  readonly #find: () => Promise<Program>
  readonly #open: Open
  /** What the program reaches, weakly. */
  readonly #reach: Reach
  /** What the collector has of this object. */
  readonly #grip: Grip = {}
  #early: Early[] = []
  #loading = false
  #program: Program | undefined
  #methods: Methods | undefined
  #gone: AgentError | undefined
  #numbers = 0

  /** find gives the program that the object lives in. */
  constructor(owner: Owner, find: () => Promise<Program>, open: Open) {
    this.#find = find
    this.#open = open
    this.#reach = { owner, lent: new Map(), programEnded: (program) => this.#programEnded(program) }
    collector.register(this, this.#grip, this.#grip)
  }

  /** Whether there is an object behind this one. */
  get present(): boolean {
    return this.#methods !== undefined && this.#gone === undefined
  }

  /** Whether there is no object yet, and may be one. */
  get pending(): boolean {
    return this.#methods === undefined && this.#gone === undefined
  }

  /** The program that the object lives in, for what lives in the object. Throws why there is none. */
  get program(): Program {
    if (!this.#program || this.#gone) throw this.#gone ?? localError("invalid_state", "the session is not there yet")
    return this.#program
  }

  /** Calls a method that returns at once. Without an object there is nothing to do. */
  now(name: string, ...args: unknown[]): unknown {
    if (this.#gone) return undefined
    if (this.#methods) return this.#invoke(this.#methods, name, args)
    this.#early.push({ name, run: () => this.now(name, ...args) })
    return undefined
  }

  /** Calls a method that waits. */
  later<T>(name: string, signal: AbortSignal | undefined, ...args: unknown[]): Promise<T> {
    return this.#soon(name, signal, (program, methods) => program.call(() => methods[name]?.(signal ?? undefined, ...args) as Promise<T>, signal))
  }

  /**
   * Iterates over what a method makes. It is called when the first value is asked
   * for; disposing this object ends the iteration with code `aborted`.
   */
  stream<T>(name: string, signal: AbortSignal | undefined, ...args: unknown[]): AsyncIterableIterator<T> {
    const open = async (program: Program, methods: Methods) =>
      sourceOf<T>(program, this.#invoke(methods, name, args) as Methods, () => this.#gone)
    return pull(() => this.#soon(name, undefined, open), signal)
  }

  /** Makes a call now, or as soon as there is an object. */
  #soon<T>(name: string, signal: AbortSignal | undefined, start: (program: Program, methods: Methods) => Promise<T>): Promise<T> {
    const program = this.#program
    const methods = this.#methods
    if (this.#gone) return Promise.reject(this.#gone)
    if (program && methods) return start(program, methods)
    return new Promise<T>((resolve, reject) => {
      checkSignal(signal)
      if (signal?.aborted) return reject(cancelled(signal))
      const abort = () => {
        this.#early = this.#early.filter((other) => other !== early)
        if (signal) reject(cancelled(signal))
      }
      const early: Early = {
        name,
        run: () => {
          signal?.removeEventListener("abort", abort)
          this.#soon(name, signal, start).then(resolve, reject)
        },
        fail: (reason) => {
          signal?.removeEventListener("abort", abort)
          reject(reason)
        },
      }
      signal?.addEventListener("abort", abort, { once: true })
      this.#early.push(early)
      this.load()
    })
  }

  /** Calls of a method that still wait for the program fail with reason. */
  withdraw(name: string, reason: AgentError): void {
    const withdrawn = this.#early.filter((early) => early.name === name)
    this.#early = this.#early.filter((early) => early.name !== name)
    for (const early of withdrawn) early.fail?.(reason)
  }

  /**
   * A function that calls fn for as long as this object lives; forget lets go of
   * fn earlier.
   */
  lend(fn: PageFunction): Lent {
    const number = ++this.#numbers
    const { lent } = this.#reach
    lent.set(number, fn)
    return { call: lentCall(new WeakRef(this.#reach), number), number, forget: () => void lent.delete(number) }
  }

  /** Loads the program, unless it is loaded or being loaded. */
  load(): void {
    if (this.#loading || this.#methods || this.#gone) return
    this.#loading = true
    this.#find().then(
      (program) => this.#begin(program),
      (reason: AgentError) => this.#failed(reason),
    )
  }

  /** There will be no object; who waits for it learns reason. */
  abandon(reason: AgentError): void {
    if (this.pending) this.#end(reason)
  }

  /** Ends the object and frees what it holds; resolves when that is done. */
  async dispose(): Promise<void> {
    if (this.#gone) return
    const program = this.#program
    const methods = this.#methods
    const reason = localError("aborted", "the session was disposed")
    this.#end(reason)
    await program?.call(() => methods?.["dispose"]?.() as Promise<void>).catch(() => {
      // The program ended first, and everything with it.
    })
    this.#reach.lent.clear()
  }

  #invoke(methods: Methods, name: string, args: unknown[]): unknown {
    const result = methods[name]?.(...args)
    if (result instanceof AgentError) throw result
    return result
  }

  #begin(program: Program): void {
    this.#loading = false
    if (this.#gone) return
    const reach = new WeakRef(this.#reach)
    let methods: Methods
    try {
      methods = program.now((go) => this.#open(go, dispatcher(reach)))
    } catch (reason) {
      this.#end(reason as AgentError) // the options are of no use to anybody
      return this.#reach.owner.over()
    }
    this.#program = program
    this.#methods = methods
    this.#grip.methods = methods
    watch(program, reach)
    for (const early of this.#early.splice(0)) {
      try {
        early.run()
      } catch (reason) {
        reportError(reason)
      }
    }
  }

  /** Loading failed: who waits for a result is told, the rest waits for the next try. */
  #failed(reason: AgentError): void {
    this.#loading = false
    const waiting = this.#early
    this.#early = waiting.filter((early) => !early.fail)
    for (const early of waiting) early.fail?.(reason)
  }

  #programEnded(program: Program): void {
    if (this.#gone) return
    const reason = program.end ?? localError("internal_error", "the runtime ended")
    this.#end(reason)
    if (reason.code === "internal_error") this.#reach.owner.lost(reason)
    else this.#reach.owner.over()
  }

  #end(reason: AgentError): void {
    this.#gone = reason
    collector.unregister(this.#grip)
    for (const early of this.#early.splice(0)) early.fail?.(reason)
  }
}

/** A function of the page. */
export type PageFunction = (...args: never[]) => unknown

/** A function of the page in the hands of the program. */
export interface Lent {
  call: (...args: unknown[]) => unknown
  number: number
  forget: () => void
}

interface Reach {
  readonly owner: Owner
  readonly lent: Map<number, PageFunction>
  readonly programEnded: (program: Program) => void
}

// These are made out here because a closure keeps alive whatever the others of
// its function refer to: made in a method, they would hold the object itself.

function dispatcher(reach: WeakRef<Reach>): (name: string, payload: unknown) => void {
  return (name, payload) => reach.deref()?.owner.receive(name, payload)
}

function lentCall(reach: WeakRef<Reach>, number: number): (...args: unknown[]) => unknown {
  return (...args) => reach.deref()?.lent.get(number)?.(...(args as never[]))
}

function watch(program: Program, reach: WeakRef<Reach>): void {
  program.ended.then(() => reach.deref()?.programEnded(program))
}

interface Grip {
  methods?: Methods
}

const collector = new FinalizationRegistry<Grip>(({ methods }) => void methods?.["dispose"]?.())
