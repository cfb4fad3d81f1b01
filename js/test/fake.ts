import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { AgentError } from "../src/core/errors.js"
import { Program, type Exports, type Methods, type ProgramName } from "../src/core/program.js"
import { adopt } from "../src/core/load.js"
import type { ProgramObject } from "../src/core/programobject.js"

const open: { dispose(): Promise<void> }[] = []

/** Keeps a session until `endKept`, which a file of tests calls after each. */
export function kept<Session extends { dispose(): Promise<void> }>(session: Session): Session {
  open.push(session)
  return session
}

/** Ends the sessions that are kept. */
export async function endKept(): Promise<void> {
  for (const session of open.splice(0)) await session.dispose()
}

type InitRequest = { widgetId?: string; token?: string; ovpUrl?: string }

/** A program that writes down what it is asked, in place of the Go one. */
export class FakeProgram {
  readonly calls: unknown[][] = []
  readonly properties: Record<string, unknown> = { state: "idle" }
  /** Results of methods; those that wait stay pending without one. */
  readonly results: Record<string, (...args: unknown[]) => unknown> = {}
  /** What the session's options were refused with. */
  refusal: AgentError | undefined
  options: Record<string, unknown> = {}
  /** The events that the page does not want. */
  omitted: string[] = []
  dispatch: (name: string, payload: unknown) => void = () => {}
  end: (code: number) => void = () => {}
  sessions = 0
  held = 1
  /** Until the service has heard of an end. */
  settled = Promise.resolve()
  /** What `appInit` was asked. */
  readonly inits: InitRequest[] = []
  initReply: object | undefined
  /** What `appInit` is refused with. */
  initError: AgentError | undefined

  /** Makes this the program that the package has loaded, once the returned function is called. */
  loading(name: ProgramName = "full"): { loaded: () => void; failed: (reason: AgentError) => void } {
    const ended = new Promise<number>((resolve) => (this.end = resolve))
    const { calls, results } = this
    const open: Exports["agentSession"] = (options, dispatch) => this.#open(options as Record<string, unknown>, dispatch)
    const sessions: Partial<Exports> = {
      version: "test",
      dispose: () => this.end(0),
      appInit: async (_, options) => {
        this.inits.push(options as InitRequest)
        if (this.initError) throw this.initError
        return this.initReply
      },
      holds: () => ({ sessions: this.sessions, callbacks: 0, goroutines: this.held }),
      chatSession: open,
      avatarSession: open,
      agentSession: open,
    }
    const others = (name: string) => (...args: unknown[]) => {
      calls.push([name, ...args])
      return results[name]?.(...args) ?? new Promise(() => {})
    }
    const exports = new Proxy(sessions as Exports, { get: (known, name: keyof Exports) => known[name] ?? others(name) })
    let loaded = () => {}
    let failed = (_: AgentError) => {}
    const program = new Promise<Program>((resolve, reject) => {
      loaded = () => resolve(new Program(exports, ended.then((code) => ({ code }))))
      failed = reject
    })
    adopt(program, name).catch(() => {})
    return { loaded, failed }
  }

  /** Makes this the loaded program now. */
  async load(name: ProgramName = "full"): Promise<this> {
    this.loading(name).loaded()
    await settle()
    return this
  }

  #open(options: Record<string, unknown>, dispatch: (events: readonly unknown[]) => void): Methods | AgentError {
    if (this.refusal) return this.refusal
    this.options = options
    this.dispatch = (...event) => dispatch(event)
    this.sessions++
    const { calls, properties, results } = this
    return new Proxy({} as Methods, {
      get: (_, name: string) => (...args: unknown[]) => {
        if (name === "properties") return properties
        if (name === "elements") return results["elements"]?.() ?? {}
        if (name === "settle") return this.settled
        if (name === "omitEvents") return void (this.omitted = args[0] as string[])
        calls.push([name, ...args])
        if (name === "dispose") this.sessions--
        const result = results[name]
        if (result) return result(...args)
        return name === "dispose" ? Promise.resolve() : waits.has(name) ? new Promise(() => {}) : undefined
      },
    })
  }

  /** Gives the page a session that the last one holds, as an agent session does. */
  give(mode: string): FakeTransport {
    return new FakeTransport(this.options["attach"] as Attach, mode)
  }

  /** The names of the methods called so far. */
  names(): unknown[] {
    return this.calls.map(([name]) => name)
  }

  /** Changes the state as a session does. */
  become(state: string): void {
    this.properties["state"] = state
    this.dispatch("stateChange", { state })
  }
}

/** A sequence of the program that gives these values and then its end, or waits for it. */
export class FakeSource {
  left = false
  readonly #values: unknown[]
  readonly #ends: boolean

  constructor(values: unknown[], ends = true) {
    this.#values = [...values]
    this.#ends = ends
  }

  next(): Promise<IteratorResult<readonly unknown[]>> {
    if (this.#values.length > 0) return Promise.resolve({ done: false, value: [this.#values.shift()] })
    return this.#ends ? Promise.resolve({ done: true, value: undefined }) : new Promise(() => {})
  }

  async return(): Promise<void> {
    this.left = true
  }
}

type Attach = (mode: string, methods: Methods) => { dispatch: (events: readonly unknown[]) => void; release: () => void }

/** A session that another one holds, in place of the Go one. */
export class FakeTransport {
  readonly calls: unknown[][] = []
  readonly properties: Record<string, unknown> = { state: "idle" }
  readonly results: Record<string, (...args: unknown[]) => unknown> = {}
  readonly dispatch: (name: string, payload: unknown) => void
  readonly release: () => void

  constructor(attach: Attach, mode: string) {
    const methods = new Proxy({} as Methods, {
      get: (_, name: string) => (...args: unknown[]) => {
        if (name === "properties") return { ...this.properties }
        if (name === "elements") return {}
        if (name === "settle") return Promise.resolve()
        if (name === "omitEvents") return undefined
        this.calls.push([name, ...args])
        return this.results[name]?.(...args) ?? (waits.has(name) ? Promise.resolve(name) : undefined)
      },
    })
    const { dispatch, release } = attach(mode, methods)
    this.dispatch = (...event) => dispatch(event)
    this.release = release
  }
}

const waits = new Set(["connect", "prepare", "resume", "speak", "startMic", "completeThread", "waitForCapacity", "sendText", "switchMode", "respondToTool"])

/** Has the program make a session, which the first call that waits does. */
export async function made(session: object): Promise<void> {
  ;(session as { object: ProgramObject }).object.call("settle", undefined).catch(() => {})
  await settle()
}

/** The code of the error that a function throws, "" if it throws none. */
export function refusal(call: () => unknown): string {
  try {
    call()
    return ""
  } catch (error) {
    if (!(error instanceof AgentError)) throw error
    return error.code
  }
}

/** Lets everything run that is ready to. */
export const settle = () => new Promise((resolve) => setTimeout(resolve, 0))

/** A program, and a session that it has made. */
export async function running<T extends object>(make: () => T): Promise<{ program: FakeProgram; session: T }> {
  const program = await new FakeProgram().load()
  const session = make()
  await made(session)
  return { program, session }
}

setFlagsFromString("--expose-gc")
const collect = runInNewContext("gc") as () => void

/** Collects what nobody refers to, until a condition holds or so many times. */
export async function collected(over: () => boolean, times = 50): Promise<void> {
  for (let i = 0; i < times && !over(); i++) {
    collect()
    await settle()
  }
}
