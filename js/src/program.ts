import { makeGlue } from "agentruntime:glue"
import { AgentError, localError, messageOf, withCause } from "./errors.js"

/** What a Go program exports (internal/page, cmd/wasm). */
export interface Exports extends Record<AsyncExport, Async>, Record<StreamExport, (...args: object[]) => Methods | AgentError> {
  readonly version: string
  dispose(): void
  holds(): Holdings
  chatSession: OpenSession
  /** Of the full program alone, like the next. */
  avatarSession: OpenSession
  agentSession: OpenSession
}

/** Calls without a session that have one result. */
export type AsyncExport =
  | "appInit"
  | "converseOnce"
  | "threadList"
  | "threadGet"
  | "threadRename"
  | "threadDelete"
  | "threadTranscript"
  | "threadSetAnalysis"
  | "threadClearAnalysis"
  | "messageList"
  | "messageGet"
  | "messageShare"
  | "feedbackAdd"
  | "followupsSuggested"
  | "assistantStatus"

/** Calls without a session that give a sequence. */
export type StreamExport = "converse" | "threadAll" | "messageAll"

type Async = (signal: AbortSignal | undefined, ...args: object[]) => Promise<unknown>

/** Makes a session; dispatch takes its events. */
type OpenSession = (options: object, dispatch: (name: string, payload: unknown) => void) => Methods | AgentError

/**
 * The methods of an object of the Go program. Some return at once, with an
 * AgentError where they would throw; the others take an AbortSignal in front and
 * return a promise.
 */
export type Methods = Readonly<Record<string, (...args: unknown[]) => unknown>>

/** What the Go program holds at a moment. */
export interface Holdings {
  /** Sessions that are not disposed. */
  sessions: number
  /** Functions that the page can call. */
  callbacks: number
  goroutines: number
}

/** Exit code of a program that was cut short; Go uses it for panics. */
const crashed = 2

/** Where a starting program finds its loader; there for one synchronous call. */
const loaderName = "agentruntime:loader"

/** A running Go program and the calls that it has not answered yet. */
export class Program {
  /** Settles with the exit code when the program has ended; never rejects. */
  readonly ended: Promise<number>
  readonly #exports: Exports
  /** Rejects the calls that are open. */
  readonly #open = new Set<(reason: AgentError) => void>()
  #end: AgentError | undefined

  /** Why there is no program any more. */
  get end(): AgentError | undefined {
    return this.#end
  }

  constructor(exports: Exports, ended: Promise<number>) {
    this.#exports = exports
    this.ended = ended.then((code) => {
      this.#end =
        code === 0
          ? localError("aborted", "the runtime was disposed")
          : localError("internal_error", `the runtime ended unexpectedly (exit code ${code}); the console has the reason`)
      for (const reject of this.#open) reject(this.#end)
      this.#open.clear()
      return code
    })
  }

  /**
   * Makes a call whose promise also rejects when the program ends first. signal is
   * the one that the call got: when it ended the call, its reason is the cause.
   */
  call<T>(start: (exports: Exports) => Promise<T>, signal?: AbortSignal | null): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#end) return reject(this.#end)
      // Undefined when the call itself was the end of the program.
      const answer: Promise<T> | undefined = start(this.#exports)
      this.#open.add(reject)
      const refuse = (reason: unknown) => reject(signal?.aborted ? withCause(reason, signal) : reason)
      answer?.then(resolve, refuse).finally(() => this.#open.delete(reject))
    })
  }

  /** Makes a call that returns at once. */
  callSync<T>(start: (exports: Exports) => T | AgentError): T {
    if (this.#end) throw this.#end
    const result = start(this.#exports)
    if (result instanceof AgentError) throw result
    return result
  }

  /** Ends the program; what is open rejects with code `aborted`. */
  dispose(): void {
    if (!this.#end) this.#exports.dispose()
  }
}

/**
 * Starts a program of a compiled module, which has to be the one that file means.
 * Nothing of it stays on the page.
 */
export async function start(module: WebAssembly.Module, file: { readonly name: string; readonly mark: keyof Exports }): Promise<Program> {
  const { Go, fs, process, path } = makeGlue()
  const go = new Go()
  let instance: WebAssembly.Instance
  try {
    instance = await WebAssembly.instantiate(module, go.importObject)
  } catch (cause) {
    throw localError("load_failed", `the WebAssembly file does not fit this package: ${messageOf(cause)}`, { cause })
  }

  let exports: Exports | undefined
  const loader = { AgentError, ready: (ready: Exports) => (exports = ready) }
  const ending = guard(go)
  go.env = { AGENTRUNTIME_LOADER: loaderName }
  // Package initialisers and main run inside run(), up to where main waits, and
  // read these there.
  withGlobals({ fs, process, path, [loaderName]: loader }, () => go.run(instance)).catch(ending.trap)

  if (!exports) throw localError("load_failed", "the WebAssembly file is not agentruntime: it exports nothing")
  if (exports.version !== AGENTRUNTIME_VERSION) {
    exports.dispose()
    throw localError(
      "load_failed",
      `the WebAssembly file is version ${exports.version}, the package ${AGENTRUNTIME_VERSION}: deploy both together`,
    )
  }
  if (!(file.mark in exports)) {
    exports.dispose()
    throw localError("load_failed", `the WebAssembly file is not ${file.name}: it has no ${file.mark}`)
  }
  return new Program(exports, ending.code)
}

type Go = InstanceType<ReturnType<typeof makeGlue>["Go"]>

/**
 * Watches for the end of the program, and stops its timers then. From then on the
 * listeners that it left behind do nothing, where wasm_exec.js would throw into the
 * page's window.onerror on each event. trap takes an exception that ends the
 * program.
 */
function guard(go: Go): { code: Promise<number>; trap: (cause: unknown) => void } {
  let settle: (code: number) => void
  const code = new Promise<number>((resolve) => (settle = resolve))
  /** What the program refers to; wasm_exec.js forgets the list as it ends. */
  let held: readonly unknown[] = []
  /** The exception that has ended the program, until it is reported. */
  let trapped: { cause: unknown } | undefined
  go.exit = (code) => {
    go.exited = true
    for (const timer of go._scheduledTimeouts.values()) clearTimeout(timer)
    go._scheduledTimeouts.clear()
    settle(code)
  }
  code.then((code) => {
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
      // Go can end inside a call that it makes itself, when that calls back: then
      // exceptions on the way out have no meaning.
      if (go.exited) return
      // The stack may be so full that no function can be called here. Then the
      // program is marked as ended, and the next call reports it.
      let trap = true
      try {
        trap = isTrap(cause)
      } catch {}
      // Other exceptions come from the page, through a getter for example, and
      // the program goes on.
      if (!trap) throw cause
      go.exited = true
      trapped = { cause }
      try {
        report()
      } catch {}
    }
  }
  return {
    code,
    trap: (cause) => {
      trapped = { cause }
      report()
    },
  }
}

/** Whether an exception has ended the Go program itself: a trap, or a stack that is full. */
function isTrap(cause: unknown): boolean {
  return cause instanceof WebAssembly.RuntimeError || /maximum call stack|too much recursion/i.test(messageOf(cause))
}

/** Closes what a crashed program has left open, such as the visitor's microphone. */
function close(value: unknown): void {
  try {
    if (value instanceof MediaStream) value.getTracks().forEach(close)
    else if (value instanceof MediaStreamTrack) value.stop()
    else if ([RTCPeerConnection, WebSocket, BroadcastChannel, AudioContext].some((kind) => value instanceof kind)) (value as WebSocket).close()
  } catch {
    // The others are to be closed all the same.
  }
}

/** Runs fn with global variables that are put back before other code of the page runs. */
function withGlobals<T>(values: Record<string, unknown>, fn: () => T): T {
  const before = new Map<string, PropertyDescriptor | undefined>()
  for (const [name, value] of Object.entries(values)) {
    const old = Object.getOwnPropertyDescriptor(globalThis, name)
    // The value alone of a variable that a script declared: its other attributes
    // cannot be changed.
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
