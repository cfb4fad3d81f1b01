import { makeGlue, type Go } from "agentruntime:glue"
import { AgentError, localError, messageOf, withCause } from "./errors.js"
import type { ProgramMethods } from "../generated/methods.js"
import { Rest, splitOf, type RestSource } from "./rest.js"
import { resume, rewind, startedIn } from "./started.js"

/** What a Go program exports (internal/page, cmd/wasm). */
export interface Exports extends Record<AsyncExport, Async>, Record<StreamExport, (...args: object[]) => Methods | AgentError> {
  readonly version: string
  dispose(): void
  holds(): Holdings
  chatSession: OpenSession
  /** Only in the full program, like agentSession. */
  avatarSession: OpenSession
  agentSession: OpenSession
}

/** Calls without a session that return a promise. */
export type AsyncExport = ProgramMethods["async"]

/** Calls without a session that return a sequence. */
export type StreamExport = ProgramMethods["stream"]

type Async = (signal: AbortSignal | undefined, ...args: object[]) => Promise<unknown>

/** Creates a session; dispatch is called for its events, with their names, payloads and times in turn. */
type OpenSession = (options: object, dispatch: (events: readonly unknown[]) => void) => Methods | AgentError

/**
 * The methods of an object of the Go program. Some return at once, with an
 * AgentError instead of throwing; the others take an AbortSignal first and return a
 * promise.
 */
export type Methods = Readonly<Record<string, (...args: unknown[]) => unknown>>

/** Counts of what the Go program holds now. */
export interface Holdings {
  /** Sessions that are not disposed. */
  sessions: number
  /** Functions that the page can call. */
  callbacks: number
  goroutines: number
}

/** Exit code of a program that ended with a trap; Go uses the same code after a panic. */
const crashed = 2

/** The global variable with the loader, which exists while the program starts. */
const loaderName = "agentruntime:loader"

/**
 * The package has two programs: `full` is agentruntime.wasm, `chat` is the smaller
 * chat.wasm without media and the control socket.
 */
export type ProgramName = "full" | "chat"

/** The file of a program. */
export interface ProgramFile {
  readonly program: ProgramName
  /** The file's name, for messages. */
  readonly name: string
  /** The default address. */
  readonly url: () => URL
  /** The default address of the second part of the program. */
  readonly rest: () => URL
  /** An export that the file must have. */
  readonly requiredExport: keyof Exports
  /** Global variables that the program needs. */
  readonly globals: readonly string[]
}

/** A running Go program and its pending calls. */
export class Program {
  /** Settles with the exit code when the program has ended; never rejects. */
  readonly ended: Promise<number>
  /** Whether a session was made. */
  used = false
  readonly #exports: Exports
  readonly #rest: Rest | undefined
  /** Reject functions of the pending calls. */
  readonly #open = new Set<(reason: AgentError) => void>()
  #end: AgentError | undefined

  /** Why the program has ended, undefined while it runs. */
  get end(): AgentError | undefined {
    return this.#end
  }

  constructor(exports: Exports, ended: Promise<Ending>, rest?: Rest) {
    this.#exports = exports
    this.#rest = rest
    this.ended = ended.then(({ code, cause }) => {
      this.#end =
        code === 0
          ? localError("aborted", "the runtime was disposed")
          : cause instanceof Error && cause.cause instanceof AgentError
            ? cause.cause // the second part could not be loaded
            : localError("internal_error", `the runtime ended unexpectedly (exit code ${code}); the console has the reason`)
      for (const reject of this.#open) reject(this.#end)
      this.#open.clear()
      return code
    })
  }

  /**
   * Makes a call whose promise also rejects when the program ends. If signal, the one
   * passed to the call, was aborted, its reason becomes the cause of the error.
   */
  call<T>(start: (exports: Exports) => Promise<T>, signal?: AbortSignal | null): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#end) return reject(this.#end)
      // Undefined when the program has ended during the call.
      const answer: Promise<T> | undefined = start(this.#exports)
      this.#open.add(reject)
      const refuse = (reason: unknown) => reject(signal?.aborted ? withCause(reason, signal) : reason)
      answer?.then(resolve, refuse).finally(() => this.#open.delete(reject))
    })
  }

  /** Makes a call that returns at once. */
  callSync<T>(start: (exports: Exports) => T | AgentError): T {
    if (this.#end) throw this.#end
    const result = this.#rest ? this.#rest.callSync(() => start(this.#exports)) : start(this.#exports)
    if (result instanceof AgentError) throw result
    return result
  }

  /** How often the program has called a function before its second part was there. */
  get misses(): number {
    return this.#rest?.misses ?? 0
  }

  /**
   * Loads the second part of the program, which a conversation does not need until it has
   * begun. Rejects with `load_failed`; the next call, or the program itself, tries again.
   */
  async loadRest(): Promise<void> {
    if (!this.#end) await this.#rest?.load()
  }

  /** Ends the program; pending calls reject with code `aborted`. */
  dispose(): void {
    if (!this.#end) this.#exports.dispose()
  }
}

/**
 * Starts the program of a compiled module, and checks that it is the expected one. `rest`
 * returns where the second part of the program is, by its file's name.
 * It leaves no global variables on the page.
 */
export async function start(module: WebAssembly.Module, file: Pick<ProgramFile, "name" | "requiredExport">, restOf: (name: string) => RestSource): Promise<Program> {
  const { Go, fs, process, path } = makeGlue()
  let exports: Exports | undefined
  const split = splitOf(module)
  const started = startedIn(module)
  const make = async () => {
    const go = new Go()
    const rest = split && new Rest(restOf(split.file ?? ""), split)
    const instance = await instantiate(module, { ...go.importObject, ...rest?.imports })
    const ending = guard(go)
    const loader = { AgentError, ready: (ready: Exports) => (exports = ready), expect: expectations(ending.end), atHide: requestsAtHide() }
    // The start of a program, and what makes the table of a started one again, read these
    // variables.
    return { go, rest, instance, ending, globals: { fs, process, path, [loaderName]: loader } }
  }
  let { go, rest, instance, ending, globals } = await make()
  if (started && withGlobals(globals, () => tryResume(go, instance, started))) {
    rest?.attach(go, instance)
  } else {
    if (started) {
      ;({ go, rest, instance, ending, globals } = await make())
      rewind(instance, started)
    }
    go.env = { AGENTRUNTIME_LOADER: loaderName }
    // run() executes package initialisers and main until main blocks. They are in both parts.
    rest?.attach(go, instance)
    await rest?.load()
    withGlobals(globals, () => go.run(instance)).catch(ending.trap)
  }

  if (!exports) throw localError("load_failed", "the WebAssembly file is not agentruntime: it exports nothing; check wasmUrl")
  if (exports.version !== AGENTRUNTIME_VERSION) {
    exports.dispose()
    throw localError(
      "load_failed",
      `the WebAssembly file is version ${exports.version}, the package ${AGENTRUNTIME_VERSION}: deploy both together`,
    )
  }
  if (!(file.requiredExport in exports)) {
    exports.dispose()
    throw localError("load_failed", `the WebAssembly file is not ${file.name}: it has no export ${file.requiredExport}`)
  }
  return new Program(exports, ending.end, rest)
}

async function instantiate(module: WebAssembly.Module, imports: WebAssembly.Imports): Promise<WebAssembly.Instance> {
  try {
    return await WebAssembly.instantiate(module, imports)
  } catch (cause) {
    throw localError("load_failed", `the WebAssembly file does not fit this package: ${messageOf(cause)}`, { cause })
  }
}

/** Whether a program that was started when it was built can continue in this page. */
function tryResume(go: Go, instance: WebAssembly.Instance, started: NonNullable<ReturnType<typeof startedIn>>): boolean {
  try {
    resume(go, instance, started)
    return true
  } catch (reason) {
    console.warn("agentruntime: the program starts from the beginning, which takes longer:", messageOf(reason))
    return false
  }
}

/** The end of a program. */
interface Ending {
  /** The exit code. */
  code: number
  /** The exception that has ended it. */
  cause?: unknown
}

/**
 * Detects the end of the program and stops its timers. Callbacks that the program
 * left registered do nothing afterwards; wasm_exec.js would throw on each call. trap
 * handles an exception that ends the program.
 */
function guard(go: Go): { end: Promise<Ending>; trap: (cause: unknown) => void } {
  let settle: (end: Ending) => void
  const end = new Promise<Ending>((resolve) => (settle = resolve))
  /** JavaScript values that the program refers to; wasm_exec.js clears its list at the end. */
  let held: readonly unknown[] = []
  /** The exception that has ended the program, until it is reported. */
  let trapped: { cause: unknown } | undefined
  go.exit = (code) => {
    go.exited = true
    for (const timer of go._scheduledTimeouts.values()) clearTimeout(timer)
    go._scheduledTimeouts.clear()
    settle({ code, cause: trapped?.cause })
  }
  end.then(({ code }) => {
    if (code !== 0) held.forEach(close)
    held = []
  })
  const report = () => {
    if (!trapped) return
    go.exit(crashed)
    console.error("agentruntime:", trapped.cause)
    trapped = undefined
  }
  const resume = go._resume
  go._resume = () => {
    report()
    if (go.exited) return
    held = go._values
    try {
      resume.call(go)
    } catch (cause) {
      // The program may have ended in a callback during a call that it made. An exception
      // while that call returns has no meaning.
      if (go.exited) return
      // After a stack overflow no function can be called here: then mark the program
      // as ended, so that the next call reports it.
      let trap = true
      try {
        trap = isTrap(cause)
      } catch {}
      // Other exceptions come from code of the page, such as a getter; the program
      // continues.
      if (!trap) throw cause
      go.exited = true
      trapped = { cause }
      try {
        report()
      } catch {}
    }
  }
  return {
    end,
    trap: (cause) => {
      trapped = { cause }
      report()
    },
  }
}

/** Whether an exception has ended the Go program: a trap or a stack overflow. */
function isTrap(cause: unknown): boolean {
  return cause instanceof WebAssembly.RuntimeError || /maximum call stack|too much recursion/i.test(messageOf(cause))
}

/** How what the program has asked for is closed when it does not take it. */
const closers = {
  microphone: close,
  /** What the page's noiseProcessor returns belongs to the page: only its own stop function ends it. */
  processor: (result: unknown) => (result as { stop?: () => unknown } | null | undefined)?.stop?.(),
}

/**
 * Makes the function that the program calls with each promise of something that must be closed. It returns another
 * one, which the program calls with whether it takes the result. What it does not take, also because it has ended, is
 * closed as soon as it is there. This is not part of the program, so that a question which the visitor never answers
 * keeps nothing of it alive, and one that is answered after its end leaves no microphone open.
 */
function expectations(ended: Promise<unknown>): (promise: unknown, kind: keyof typeof closers) => (taken: boolean) => void {
  const open = new Set<(taken: boolean) => void>()
  ended.then(() => open.forEach((settle) => settle(false)))
  return (promise, kind) => {
    const settle = (taken: boolean) => {
      if (open.delete(settle) && !taken) Promise.resolve(promise).then(closers[kind]).catch(() => {}) // the page's code may fail
    }
    open.add(settle)
    return settle
  }
}

/**
 * Makes the function with which the program prepares a request that is sent when the visitor leaves the page although the
 * program can't run: it may have crashed, or wait for its second part, which is not loaded any more while a page is closed.
 * The program's own listener of pagehide was added before, so it is called first, and withdraws the request when it has
 * sent its own. Of requests with equal keys, as of two sessions of one conversation, one is sent. Those that are `cached`
 * are also sent for a page that the browser keeps in its back-forward cache.
 */
function requestsAtHide(): (key: string, send: () => Promise<unknown>, cached: boolean) => () => void {
  const left = new Map<() => void, { key: string; send: () => Promise<unknown>; cached: boolean }>()
  const hide = ({ persisted }: PageTransitionEvent) => {
    const sent = new Set<string>()
    for (const [withdraw, { key, send, cached }] of left) {
      if (persisted && !cached) continue
      withdraw()
      if (sent.has(key)) continue
      sent.add(key)
      new Promise((resolve) => resolve(send())).catch(() => {}) // the page is going away, so nothing can be done about a failure
    }
  }
  return (key, send, cached) => {
    const withdraw = () => {
      if (left.delete(withdraw) && left.size === 0) removeEventListener("pagehide", hide)
    }
    if (left.size === 0) globalThis.addEventListener?.("pagehide", hide) // not in Node.js
    left.set(withdraw, { key, send, cached })
    return withdraw
  }
}

/** Closes what a crashed program has left open, such as a microphone or a connection. */
function close(value: unknown): void {
  try {
    if (value instanceof MediaStream) value.getTracks().forEach(close)
    else if (value instanceof MediaStreamTrack) value.stop()
    else if ([RTCPeerConnection, WebSocket, BroadcastChannel, AudioContext].some((kind) => value instanceof kind)) (value as WebSocket).close()
  } catch {
    // Close the others too.
  }
}

/** Runs fn with global variables and restores their previous values. */
function withGlobals<T>(values: Record<string, unknown>, fn: () => T): T {
  const before = new Map<string, PropertyDescriptor | undefined>()
  for (const [name, value] of Object.entries(values)) {
    const old = Object.getOwnPropertyDescriptor(globalThis, name)
    // Only the value of an existing variable: other attributes may be read-only.
    const set = Reflect.defineProperty(globalThis, name, old ? { value } : { value, configurable: true, writable: true })
    if (set) before.set(name, old)
  }
  try {
    return fn()
  } finally {
    for (const [name, old] of before) {
      if (old) Object.defineProperty(globalThis, name, old)
      else Reflect.deleteProperty(globalThis, name)
    }
  }
}
