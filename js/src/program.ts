import { makeGlue } from "agentruntime:glue"
import { because } from "./abort.js"
import { AgentError, localError } from "./errors.js"
import { text } from "./compile.js"

/** What a Go program hands over (internal/page, cmd/wasm). */
export interface Exports extends VisitorExports {
  readonly version: string
  dispose(): void
  appInit(signal: AbortSignal | undefined, options: object): Promise<unknown>
  /** Make sessions; `dispatch` takes their events. Those of avatars and agents are in the full program only. */
  chatSession: OpenSession
  avatarSession: OpenSession
  agentSession: OpenSession
  /** A turn without a session: as it comes, and complete. */
  converse(request: object): Methods | AgentError
  converseOnce(signal: AbortSignal | undefined, request: object): Promise<unknown>
  holds(): Holdings
}

/** A call of a visitor. */
type VisitorCall = (signal: AbortSignal | undefined, access: object, about: object) => Promise<unknown>

/** A call of a visitor that gives one thing after another. */
type VisitorList = (access: object, about: object) => Methods | AgentError

/** The calls of a visitor (internal/page/visitor_js.go). */
export interface VisitorExports
  extends Record<
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
      | "assistantStatus",
      VisitorCall
    >,
    Record<"threadAll" | "messageAll", VisitorList> {}

/** Makes a session. */
export type OpenSession = (options: object, dispatch: (name: string, payload: unknown) => void) => Methods | AgentError

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
      const refuse = (reason: unknown) => reject(signal?.aborted ? because(reason, signal) : reason)
      answer?.then(resolve, refuse).finally(() => this.#open.delete(reject))
    })
  }

  /** Makes a call that returns at once. */
  now<T>(start: (exports: Exports) => T | AgentError): T {
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
    throw localError("load_failed", `the WebAssembly file does not fit this package: ${text(cause)}`, { cause })
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
 * Watches for the end of the program. From then on its timers are gone, and the
 * listeners that it left behind do nothing, where wasm_exec.js would throw into
 * the page's window.onerror on each event.
 */
function guard(go: Go): { code: Promise<number>; trap: (cause: unknown) => void } {
  let settle: (code: number) => void
  const code = new Promise<number>((resolve) => (settle = resolve))
  /** What the program refers to; wasm_exec.js forgets the list as it ends. */
  let held: readonly unknown[] = []
  /** What has cut the program short, until that is told. */
  let cut: { cause: unknown } | undefined
  go.exit = (code) => {
    go.exited = true
    for (const timer of go._scheduledTimeouts.values()) clearTimeout(timer)
    go._scheduledTimeouts.clear()
    settle(code)
  }
  code.then((code) => {
    if (code !== 0) held.forEach(hangUp)
    held = []
  })
  const fall = () => {
    if (!cut) return
    go.exit(crashed)
    console.error("agentruntime:", cut.cause)
    cut = undefined
  }
  const resume = go._resume
  go._resume = () => {
    fall()
    if (go.exited) return
    held = go._values
    try {
      resume.call(go)
    } catch (cause) {
      // Go can end inside a call that it makes itself, when that calls back; what
      // the glue then misses on the way out is of no matter to anybody.
      if (go.exited) return
      // The stack may be so full that nothing can be called here: then the program
      // is over as soon as this is, and the next one who calls it tells.
      let ours = true
      try {
        ours = isTrap(cause)
      } catch {}
      // Other exceptions come from the page, through a getter for example, and
      // the program goes on.
      if (!ours) throw cause
      go.exited = true
      cut = { cause }
      try {
        fall()
      } catch {}
    }
  }
  return {
    code,
    trap: (cause) => {
      cut = { cause }
      fall()
    },
  }
}

/** Tells what has cut the Go program itself short: a trap, or a stack that is full. */
function isTrap(cause: unknown): boolean {
  return cause instanceof WebAssembly.RuntimeError || /maximum call stack|too much recursion/i.test(text(cause))
}

/** Ends what a program cut short has left open: nobody else is left to close the visitor's microphone. */
function hangUp(value: unknown): void {
  try {
    if (value instanceof MediaStream) value.getTracks().forEach(hangUp)
    else if (value instanceof MediaStreamTrack) value.stop()
    else if ([RTCPeerConnection, WebSocket, BroadcastChannel, AudioContext].some((kind) => value instanceof kind)) (value as WebSocket).close()
  } catch {
    // The others are to be closed all the same.
  }
}

/** Runs fn with global variables that are put back before anybody else runs. */
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
