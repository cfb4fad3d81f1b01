/// <reference lib="esnext.disposable" preserve="true" />

import { SessionEmitter } from "../core/emitter.js"
import { localError, type AgentError } from "../core/errors.js"
import type { OAuthRequired, ToolCall } from "../generated/events.js"
import { loadRest } from "../core/load.js"
import type { MethodNames, SessionMethods } from "../generated/methods.js"
import { type argTypes, checkConversationKind, checkSchema, optionsOf, plainVars, tokenOf, type PlainOptions, type RequestVars, type Token } from "../core/options.js"
import type { Recording, RecordOptions } from "../record.js"
import type { Callback, ProgramObject } from "../core/programobject.js"
import type { CallOptions } from "../core/signals.js"

/** The outcome of `completeThread`. */
export interface Completion {
  ok: boolean
  reason?: "manual" | "already_sent" | "suppressed" | "disabled" | "no_thread" | "no_token" | "http_error" | "network_error"
  status?: number
  /** How many other tabs have the thread open. */
  peers?: number
}

/** The outcome of `respondToTool`. */
export interface ToolAnswer {
  ok: boolean
  reason?: "unknown_or_stale" | "session_rebuilt" | "http_error" | "timeout" | "network_error"
  status?: number
}

/** The rule for one argument of a tool. */
export interface ArgRule {
  /** Default: any. */
  type?: (typeof argTypes)[number] | undefined
  /** Default false. */
  required?: boolean | undefined
  /** The allowed values. */
  enum?: readonly unknown[] | undefined
}

/** The rules for the arguments of a tool, by name. */
export type ArgsSchema = Readonly<Record<string, ArgRule>>

/** The type of the arguments that fit a schema; a handler is called with no others. */
export type ToolArgs<Schema extends ArgsSchema> = string extends keyof Schema
  ? Record<string, unknown>
  : { -readonly [Name in keyof Schema as Schema[Name] extends { required: true } ? Name : never]: ArgOf<Schema[Name]> } & {
      -readonly [Name in keyof Schema as Schema[Name] extends { required: true } ? never : Name]?: ArgOf<Schema[Name]>
    }

type ArgOf<Rule> = Rule extends { enum: readonly (infer Value)[] } ? Value : Rule extends { type: infer Type extends keyof ArgValues } ? ArgValues[Type] : unknown

interface ArgValues extends Record<(typeof argTypes)[number], unknown> {
  str: string
  int: number
  float: number
  bool: boolean
  list: unknown[]
  dict: Record<string, unknown>
}

/** Options of `disconnect`. */
export interface DisconnectOptions {
  /** False leaves the conversation open at the service. Default true. */
  final?: boolean | undefined
  /** What `ended` reports. Default `"disconnect"`. */
  reason?: string | undefined
}

/** What a page reads of the properties that a session has in the program. */
export type Properties<Values extends { threadId?: string }, Hidden extends keyof Values = never> = Readonly<Omit<Values, "threadId" | Hidden>> & {
  /** The id of the thread: the given one, or the one in the first reply. */
  readonly threadId: string | undefined
}

/** Returns options with each function replaced by a callback of object. */
export function withCallbacks(options: PlainOptions, object: ProgramObject): PlainOptions {
  const callbackOf = (value: unknown) => (typeof value === "function" ? object.callback(value as () => unknown).call : value)
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [name, callbackOf(value)]))
}

/**
 * The events after which a conversation has begun or can't: from now on the download of
 * the program's second part delays nothing that the visitor waits for.
 */
const begun: ReadonlySet<PropertyKey> = new Set(["mediaReady", "turnEnd", "error", "ended"])

/** Frequent events that only the page uses: the program does not send those that have no listener. */
const frequent = ["brainSegment", "transcript", "speechChunk"]

// Keeps sessions that are connected or have calls under way from being collected,
// also when the page holds no reference.
const active = new Set<unknown>()

// Older browsers lack it, and a computed member needs a value.
const asyncDispose: typeof Symbol.asyncDispose = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")

/** The base class of all sessions. `Values` are the properties of a session, `Own` names the methods that the program has for its kind only. */
export abstract class Session<
  Events extends { stateChange: unknown; error: unknown; ended: unknown },
  Values extends { state: string },
  Own extends MethodNames = MethodNames,
> extends SessionEmitter<Events> {
  readonly #object: ProgramObject<Own>
  /** The properties before the runtime is loaded, and after it has ended. */
  #last: Values
  #disposing: Promise<void> | undefined
  /** The value that was last passed to each method by `pass`, as JSON. */
  readonly #passed = new Map<string, string>()

  constructor(initial: Values, object: ProgramObject<Own>) {
    super()
    this.#last = initial
    this.#object = object
    object.attach({
      receive: (event, payload, at) => this.received(event as keyof Events, payload, at),
      ending: () => void (this.#last = this.values),
      ended: (crash) => (crash ? this.#crashed(crash) : this.#stopped(true)),
    })
    this.#omitEvents()
  }

  // --- Public methods

  /**
   * Registers a handler for calls of a client tool and returns the function that removes
   * it. What the handler returns is emitted as `toolCallResult`; to send a result to the
   * agent, call `respondToTool`. The schema defines the types of the handler's arguments.
   * Allowed at any time. Throws `bad_request`, also for a schema with an unknown type.
   */
  onToolCall<const Schema extends ArgsSchema = ArgsSchema>(
    name: string,
    handler: (call: Omit<ToolCall, "args"> & { args: ToolArgs<Schema> }) => unknown,
    argsSchema?: Schema,
  ): () => void {
    if (typeof name !== "string" || name.trim() === "" || typeof handler !== "function") {
      throw localError("bad_request", "a tool handler needs a name and a function")
    }
    checkSchema(argsSchema)
    return this.#register("addToolHandler", this.handlerOf(handler), (callback) => [name, callback, argsSchema])
  }

  /**
   * Registers a handler for requests of the visitor's consent and returns the
   * function that removes it. Throws `bad_request`.
   */
  onOAuthRequired(handler: (request: OAuthRequired) => unknown): () => void {
    if (typeof handler !== "function") throw localError("bad_request", "a consent handler needs a function")
    return this.#register("addConsentHandler", handler, (callback) => [callback])
  }

  /** Answers a tool call. Rejects with `bad_request` or `invalid_state`; every other outcome is in the result. */
  async respondToTool(id: string | undefined, response: Record<string, unknown>, options?: CallOptions): Promise<ToolAnswer> {
    return this.live.call("respondToTool", options, id, response)
  }

  /** Sends data about what the visitor sees, for the agent's prompt; undefined or null clears it. Throws `bad_request` or `invalid_state`. */
  setDynamicPrompt(data: Record<string, unknown> | null | undefined): void {
    this.#callOrThrow(this.live, "setDynamicPrompt", data)
  }

  /** Merges prompt variables; `""` or null clears one, undefined leaves it. Throws `validation_error` or `invalid_state`. */
  updateRequestVars(vars: RequestVars): void {
    const plain = plainVars(vars)
    this.#callOrThrow(this.live, "updateRequestVars", plain)
  }

  /** Replaces the token for all later requests. Throws `bad_request`, `wrong_token_scope`, and `invalid_state` when the session has ended for good. */
  setToken(token: Token): void {
    checkConversationKind({ token })
    this.#callOrThrow(this.#object, "setToken", tokenOf(token))
  }

  /** Reports the end of the conversation to the service now, at most once. Rejects with `invalid_state` after the end. */
  async completeThread(options?: CallOptions): Promise<Completion> {
    return this.#object.call("completeThread", options)
  }

  /**
   * Records the conversation from now on, until `stop()` of the result or the end of the session: a zip file
   * (docs/recording.md). Tell the visitor before: the result's `disclosure` says what is recorded. Allowed at any time.
   * Rejects with `bad_request` (options), `unsupported_browser` (a session with a voice, and no MediaRecorder) and
   * `load_failed` (the module could not be loaded).
   */
  async record(options?: RecordOptions): Promise<Recording> {
    const { begin } = await import("../record.js").catch((cause: unknown) => {
      throw localError("load_failed", "the module for recordings could not be loaded", { cause, retryable: true })
    })
    return begin(this, (value) => (this.#object.present ? this.#object.callSync("redact", value) : undefined), options)
  }

  /**
   * Ends the session for good, and reports the end of the conversation to the service
   * unless `final` is false. Allowed at any time. The current turn rejects with
   * `aborted`, other calls that wait with `invalid_state`.
   */
  disconnect(options?: DisconnectOptions): void {
    const { final = true, reason = "disconnect" } = optionsOf(options)
    if (this.#object.pending) this.leaveEarly(reason)
    else this.#object.callSync("disconnect", { final, reason })
  }

  /** Disconnects and frees everything. The session can't be used afterwards. */
  async dispose(): Promise<void> {
    await (this.#disposing ??= this.#dispose())
  }

  /** `await using session = …`. */
  [asyncDispose](): Promise<void> {
    return this.dispose()
  }

  // --- For derived classes

  /** What the program calls for a handler of a tool: agentruntime/compat has handlers of another form. */
  protected handlerOf(handler: (...args: never[]) => unknown): (...args: never[]) => unknown {
    return handler
  }

  /** The payload of an event as the page gets it: agentruntime/compat has payloads of another form. */
  protected payloadOf(_event: PropertyKey, payload: unknown): unknown {
    return payload
  }

  /** Gives a class the name that consoles show, which minifiers replace, and the properties that sessions of its kind have in the program. */
  protected static define(kind: string, values: object): void {
    Object.defineProperty(this, "name", { value: kind, configurable: true })
    for (const name of Object.keys(values)) {
      Object.defineProperty(this.prototype, name, {
        configurable: true,
        get(this: Session<never, Record<string, unknown> & { state: string }>) {
          return this.values[name]
        },
      })
    }
  }

  /** The session of the Go program. */
  protected get object(): ProgramObject<Own> {
    return this.#object
  }

  /** The same, for calls that need a connected session. Throws `invalid_state` when it is not connected. */
  protected get live(): ProgramObject<Own> {
    if (!this.#object.present) throw localError("invalid_state", `the session is ${this.#last.state}, not connected`)
    return this.#object
  }

  /** The properties. */
  protected get values(): Values {
    if (this.#object.present) this.#last = (this.#object.callSync("properties") as Values | undefined) ?? this.#last
    return this.#last
  }

  /** Whether nothing happens in a state until the page calls a method: an unreferenced session may then be garbage-collected. */
  protected abstract inactive(state: Values["state"]): boolean

  /** Whether a state is the last: the session can't begin again. */
  protected abstract final(state: Values["state"]): boolean

  /** Emits the events of a disconnect that comes before the program is loaded. */
  protected abstract leaveEarly(reason: string): void

  /** The properties after a crash of the program. */
  protected abstract afterCrash(last: Values): Values

  /** Receives an event of the program. */
  protected received<K extends keyof Events>(event: K, payload: unknown, at?: number): void {
    if (begun.has(event)) loadRest()
    if (event === "stateChange") {
      const { state } = payload as { state: Values["state"] }
      this.#last = { ...this.#last, state }
      if (this.inactive(state)) this.#settle()
      else active.add(this)
    }
    if (event === "ended" && this.final(this.#last.state)) this.endsForGood()
    this.emit(event, this.payloadOf(event, payload) as Events[K], at)
  }

  protected override listenersChanged(): void {
    this.#omitEvents()
  }

  #omitEvents(): void {
    this.pass("omitEvents", frequent.filter((event) => !this.hasAnyListener(event as keyof Events)), [])
  }

  /** Passes a value to the program if it has changed; `first` is the one that the program begins with. */
  protected pass(method: SessionMethods["sync"] | Own["sync"], value: unknown, first: unknown): void {
    const text = JSON.stringify(value)
    if (text === (this.#passed.get(method) ?? JSON.stringify(first))) return
    this.#passed.set(method, text)
    this.#callUnlessGone(method, value)
  }

  /** Ends a session for good before it was made in the program. */
  protected close(change: Events["stateChange"], reason: string): void {
    this.#object.abandon(localError("invalid_state", "the session was disconnected"))
    this.received("stateChange", change)
    this.received("ended", { reason })
    this.#stopped(true)
  }

  /** Calls a method, and keeps the session from being collected until it has settled. */
  protected async callActive(method: SessionMethods["async"] | Own["async"], options: CallOptions | undefined): Promise<void> {
    active.add(this)
    try {
      await this.#object.call(method, options)
    } finally {
      if (this.inactive(this.values.state)) this.#settle()
    }
  }

  /** Calls a method, or does nothing after the session has ended. */
  #callUnlessGone(method: SessionMethods["sync"] | Own["sync"], ...args: unknown[]): void {
    if (!this.#object.ended) this.#object.callSync(method, ...args)
  }

  /** Calls a method that can't take effect after the end: it then throws `invalid_state`. */
  #callOrThrow(object: ProgramObject<Own>, method: SessionMethods["sync"], value: unknown): void {
    if (object.ended) throw localError("invalid_state", `the session is ${this.#last.state}`)
    object.callSync(method, value)
  }

  /** Allows the session to be collected once the end was reported to the service and the page got the result. */
  async #settle(): Promise<void> {
    if (!this.#object.present) return void active.delete(this)
    try {
      await this.#object.call("settle", undefined)
    } catch {
      return // the program ended
    }
    const { state } = this.values
    if (this.inactive(state)) this.#stopped(this.final(state)) // otherwise the page has reconnected
  }

  /** Called when no event follows; `forGood` means that the session can't connect again. */
  #stopped(forGood: boolean): void {
    active.delete(this)
    this.silent(forGood)
  }

  async #dispose(): Promise<void> {
    if (this.#object.pending) this.leaveEarly("disconnect")
    await this.#object.dispose()
    this.#stopped(true)
  }

  #register(method: SessionMethods["sync"], handler: (...args: never[]) => unknown, args: (callback: Callback["call"]) => unknown[]): () => void {
    const { id, call, release } = this.#object.callback(handler)
    this.#object.callSync(method, id, ...args(call))
    return () => {
      release()
      this.#callUnlessGone("removeHandler", id)
    }
  }

  /** Emits the last events in place of the program, which has crashed. */
  #crashed(reason: AgentError): void {
    const alive = !this.inactive(this.#last.state)
    this.#last = this.afterCrash(this.#last)
    active.delete(this)
    this.endsForGood()
    this.emit("error", reason as Events["error"])
    this.emit("stateChange", { state: this.#last.state } as Events["stateChange"])
    if (alive) this.emit("ended", { reason: reason.code } as Events["ended"])
    this.silent(true)
  }
}
