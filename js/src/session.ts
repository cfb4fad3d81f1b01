/// <reference lib="esnext.disposable" preserve="true" />

import { AgentError, localError } from "./errors.js"
import type { OAuthRequired, ToolCall } from "./events.js"
import { Inner } from "./inner.js"
import { type argTypes, checkSchema, lendFunctions, optionsOf, plainVars, tokenOf, type PlainOptions, type RequestVars, type Token } from "./options.js"
import type { Exports, Methods, Program } from "./program.js"
import { Remote, type Lent } from "./remote.js"
import { Waiting } from "./waiting.js"

/** Options of every method that waits. */
export interface CallOptions {
  /** Ends the call with code `aborted`. */
  signal?: AbortSignal | undefined
}

/** The outcome of `completeThread`. */
export interface Completion {
  ok: boolean
  /** `manual`, `already_sent`, `suppressed`; or `disabled`, `no_thread`, `no_token`, `http_error`, `network_error`. */
  reason?: string
  status?: number
  /** Other tabs that hold the thread. */
  peers?: number
}

/** The outcome of `respondToTool`. */
export interface ToolAnswer {
  ok: boolean
  /** `unknown_or_stale`, `session_rebuilt`, `http_error`, `timeout` or `network_error`. */
  reason?: string
  status?: number
}

/** The rule for one argument of a tool. */
export interface ArgRule {
  /** Default: any. */
  type?: (typeof argTypes)[number] | undefined
  /** Default false. */
  required?: boolean | undefined
  /** The values that are allowed. */
  enum?: readonly unknown[] | undefined
}

/** How a session is left. */
export interface DisconnectOptions {
  /** False leaves the conversation open at the service. Default true. */
  final?: boolean
  /** What `ended` reports. Default `"disconnect"`. */
  reason?: string
}

/** How a session of the program is made. */
export interface Opening {
  /** Gives the program. */
  find: () => Promise<Program>
  open: (go: Exports, dispatch: (name: string, payload: unknown) => void, remote: Remote) => Methods | AgentError
}

/** Makes a session of options, which are forgotten then: they hold the token. */
export function opening<Plain extends PlainOptions>(
  find: () => Promise<Program>,
  options: Plain,
  open: (go: Exports, plain: Plain, dispatch: (name: string, payload: unknown) => void, remote: Remote) => Methods | AgentError,
): Opening {
  let plain: Plain | undefined = options
  return {
    find,
    open: (go, dispatch, remote) => {
      const given = plain!
      plain = undefined
      return open(go, given, dispatch, remote)
    },
  }
}

/** Makes a session of that kind. */
export function openingOf(kind: "avatarSession" | "chatSession", find: () => Promise<Program>, options: PlainOptions): Opening {
  return opening(find, options, (go, plain, dispatch, remote) => go[kind](lendFunctions(plain, remote), dispatch))
}

// Only what is at rest may be collected, whatever the page holds.
const awake = new Set<unknown>()

// Older browsers lack it, and a class can't have a member without a name.
const asyncDispose: typeof Symbol.asyncDispose = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")

/** What sessions of every kind have. Values are the properties of one. */
export abstract class Session<
  Events extends { stateChange: unknown; error: unknown; ended: unknown },
  Values extends { state: string },
> extends Waiting<Events> {
  readonly #link: Remote | Inner
  /** What properties say without the runtime, or after it. */
  #last: Values
  #disposing: Promise<void> | undefined

  constructor(initial: Values, from: Opening | Inner) {
    super()
    this.#last = initial
    const owner = {
      receive: (name: string, payload: unknown) => this.received(name as keyof Events, payload),
      lost: (reason: AgentError) => this.#lost(reason),
      leaving: () => void (this.#last = this.values),
      over: () => this.#over(true),
    }
    if (from instanceof Inner) {
      this.#link = from
      from.belongsTo(owner)
    } else {
      const remote: Remote = new Remote(owner, from.find, (go, dispatch) => from.open(go, dispatch, remote))
      this.#link = remote
      remote.load()
    }
  }

  // --- Of every session

  /**
   * Registers a handler for a client command and returns the function that
   * removes it. What it returns becomes `toolCallResult`; the brain is answered
   * with `respondToTool`. Allowed at any time. Throws `bad_request`, also for a
   * schema that names another type than the six.
   */
  onToolCall(name: string, handler: (call: ToolCall) => unknown, argsSchema?: Record<string, ArgRule>): () => void {
    if (typeof name !== "string" || name.trim() === "" || typeof handler !== "function") {
      throw localError("bad_request", "a tool handler needs a name and a function")
    }
    checkSchema(argsSchema)
    const lent = this.#link.lend(handler)
    return this.#register("addToolHandler", lent, name, lent.call, argsSchema)
  }

  /**
   * Registers a handler for requests of the visitor's consent and returns the
   * function that removes it. Throws `bad_request`.
   */
  onOAuthRequired(handler: (request: OAuthRequired) => unknown): () => void {
    if (typeof handler !== "function") throw localError("bad_request", "a consent handler needs a function")
    const lent = this.#link.lend(handler)
    return this.#register("addConsentHandler", lent, lent.call)
  }

  /** Answers a call that the brain waits for. Rejects with `bad_request` or `invalid_state`; every other outcome is in the result. */
  async respondToTool(id: string | undefined, response: Record<string, unknown>, options?: CallOptions): Promise<ToolAnswer> {
    const { signal } = optionsOf(options)
    return this.live.later("respondToTool", signal, id, response)
  }

  /** Tells the brain what the visitor has before them. Throws `bad_request` or `invalid_state`. */
  setDynamicPrompt(data: Record<string, unknown>): void {
    this.live.now("setDynamicPrompt", data)
  }

  /** Merges prompt variables; `""` or null clears one, undefined leaves it. Throws `validation_error` or `invalid_state`. */
  updateRequestVars(vars: RequestVars): void {
    const plain = plainVars(vars)
    this.live.now("updateRequestVars", plain)
  }

  /** Replaces the token for everything that needs one later. Throws `bad_request`, and in text `invalid_state` after the end. */
  setToken(token: Token): void {
    this.#link.now("setToken", tokenOf(token))
  }

  /** Tells the service now that the conversation is over; it is told once. Rejects with `invalid_state` after the end. */
  async completeThread(options?: CallOptions): Promise<Completion> {
    const { signal } = optionsOf(options)
    return this.#link.later("completeThread", signal)
  }

  /** Disconnects and frees everything. The session can't be used afterwards. */
  async dispose(): Promise<void> {
    await (this.#disposing ??= this.#dispose())
  }

  /** `await using session = …`. */
  [asyncDispose](): Promise<void> {
    return this.dispose()
  }

  // --- For those who extend it

  /** The Go side. */
  protected get link(): Remote | Inner {
    return this.#link
  }

  /** The Go side, for calls that need a connected session. Throws `invalid_state` when there can't be one. */
  protected get live(): Remote | Inner {
    if (!this.#link.present) throw localError("invalid_state", `the session is ${this.#last.state}, not connected`)
    return this.#link
  }

  /** The properties. */
  protected get values(): Values {
    if (this.#link.present) this.#last = (this.#link.now("properties") as Values | undefined) ?? this.#last
    return this.#last
  }

  /** Whether nothing happens by itself in a state: a session that the page has forgotten may go. */
  protected abstract resting(state: Values["state"]): boolean

  /** Whether a state is the last: the session can't begin again. */
  protected abstract final(state: Values["state"]): boolean

  /** Tells what the program would tell of a session that is left before there is a program. */
  protected abstract leaveEarly(reason: string): void

  /** What the program's crash leaves behind. */
  protected abstract broken(last: Values, reason: AgentError): Values

  /** Takes an event. */
  protected received<K extends keyof Events>(name: K, payload: unknown): void {
    if (name === "stateChange") {
      const { state } = payload as { state: Values["state"] }
      this.#last = { ...this.#last, state }
      if (this.resting(state)) this.#rest()
      else awake.add(this)
    }
    if (name === "ended" && this.final(this.#last.state)) this.endsForGood()
    this.emit(name, payload as Events[K])
  }

  /** Ends a session that can't begin again, and of which there will be no other side. */
  protected close(change: Events["stateChange"], reason: string): void {
    this.#link.abandon(localError("invalid_state", "the session was disconnected"))
    this.received("stateChange", change)
    this.received("ended", { reason })
    this.#over(true)
  }

  /** Calls a method for which the session must live until it has settled. */
  protected async stayAwake(method: string, signal: AbortSignal | undefined): Promise<void> {
    awake.add(this)
    try {
      await this.#link.later(method, signal)
    } finally {
      if (this.resting(this.values.state)) this.#rest()
    }
  }

  /** May be forgotten, once the service heard of the end and the page of how that went. */
  async #rest(): Promise<void> {
    if (!this.#link.present) return void awake.delete(this)
    try {
      await this.#link.later("settle", undefined)
    } catch {
      return // it went meanwhile
    }
    const { state } = this.values
    if (this.resting(state)) this.#over(this.final(state)) // else it began again
  }

  /** Nothing happens any more by itself, or at all. */
  #over(forGood: boolean): void {
    awake.delete(this)
    this.silent(forGood)
  }

  async #dispose(): Promise<void> {
    if (this.#link.pending) this.leaveEarly("disconnect")
    this.#last = this.values
    await this.#link.dispose()
    this.#over(true)
  }

  /** Calls a method that has no effect on a session which is gone. */
  protected tell(method: string, ...args: unknown[]): void {
    if (this.#link.present || !(this.#link instanceof Inner)) this.#link.now(method, ...args)
  }

  #register(method: string, lent: Lent, ...args: unknown[]): () => void {
    this.#link.now(method, lent.number, ...args)
    return () => {
      lent.forget()
      this.tell("removeHandler", lent.number)
    }
  }

  /** The program crashed: nobody is left to end the session but this side. */
  #lost(reason: AgentError): void {
    const alive = !this.resting(this.#last.state)
    this.#last = this.broken(this.#last, reason)
    awake.delete(this)
    this.endsForGood()
    this.emit("error", reason as Events["error"])
    this.emit("stateChange", { state: this.#last.state } as Events["stateChange"])
    if (alive) this.emit("ended", { reason: reason.code } as Events["ended"])
    this.silent(true)
  }
}
