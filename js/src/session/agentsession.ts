import { plainAgent, type AgentOptions, type PlainAgent } from "./agentoptions.js"
import type { Answer } from "./ask.js"
import { AvatarSession } from "./avatar.js"
import { ChatSession } from "./chatsession.js"
import type { AgentEvents, AgentMode, AgentSnapshot, AgentState, ChatTurn, SessionStats } from "../generated/events.js"
import { AgentError, localError } from "../core/errors.js"
import { fullProgram, load } from "./full.js"
import type { AgentMethods } from "../generated/methods.js"
import { optionsOf, type PlainOptions } from "../core/options.js"
import type { Methods, Program } from "../core/program.js"
import { ProgramObject } from "../core/programobject.js"
import { Session, withCallbacks, type Properties } from "./session.js"
import type { CallOptions } from "../core/signals.js"

/** The payload of `transportChanged`: the new transport, before it connects. */
export type TransportChange = { mode: "avatar"; transport: AvatarSession } | { mode: "chat"; transport: ChatSession }

/** Events of an `AgentSession`, by name, with their payloads. */
export interface AgentSessionEvents extends Omit<AgentEvents, "transportChanged"> {
  /**
   * Emitted before the new transport connects, so that listeners can be attached to
   * it, and again with the old one when a switch fails.
   */
  transportChanged: TransportChange
}

/** Options of `sendText` for a text that is sent in one mode only. */
export interface SendOptions<Mode extends AgentMode> extends CallOptions {
  mode: Mode
}

/** Makes the transports, in place of the classes of this package. */
export interface TransportMakers {
  avatar: (object: ProgramObject, plain: PlainOptions) => AvatarSession
  chat: (object: ProgramObject, plain: PlainOptions) => ChatSession
}

const ownTransports: TransportMakers = {
  avatar: (object, plain) => new AvatarSession(object, plain),
  chat: (object, plain) => new ChatSession(object, plain),
}

/** The latest transport of each mode. */
type Transports = Partial<Record<AgentMode, AvatarSession | ChatSession>>

/** The properties that the program has. */
export interface AgentSession extends Properties<AgentSnapshot> {}

/**
 * One conversation with an agent, in text or with its face and voice.
 * `switchMode` moves it from one to the other, with its
 * thread, variables, handlers and queued texts.
 *
 * The constructor loads nothing: the runtime is loaded by `connect()`, or earlier by
 * `preload()`. Calls made before it is loaded are queued and take effect in order.
 * Errors are `AgentError`s: switch on their `code` (docs/errors.md). Attach listeners
 * before `connect()`: events are not replayed.
 */
export class AgentSession extends Session<AgentSessionEvents, AgentSnapshot, AgentMethods> {
  static {
    this.define("AgentSession", initial({ mode: "avatar", avatar: {}, chat: {} }))
  }

  readonly #transports: Transports

  /**
   * Throws for invalid options of the session or of either transport:
   * `bad_request`, `validation_error`, `unknown_capability`, `insecure_transport`
   * or `wrong_token_scope`.
   */
  constructor(options: AgentOptions)
  /** @internal */
  constructor(options: AgentOptions | PlainAgent, find: () => Promise<Program>, makers?: TransportMakers)
  constructor(options: AgentOptions | PlainAgent, find = fullProgram, makers?: TransportMakers) {
    const plain = makers ? (options as PlainAgent) : plainAgent(options)
    const transports: Transports = {}
    super(initial(plain), objectOf(plain, transports, find, makers))
    this.#transports = transports
  }

  // --- Connecting

  /** Loads the runtime ahead of `connect()`, as `load()` does. Rejects with `load_failed`. */
  async preload(options?: CallOptions): Promise<void> {
    await load({ signal: optionsOf(options).signal })
  }

  /**
   * Opens the first transport. A failure ends the session: rejects with the transport's
   * error, or `invalid_state` when the session is disconnected first. While connecting,
   * a second call waits for the same connection; once connected, it rejects with `invalid_state`.
   */
  async connect(options?: CallOptions): Promise<void> {
    await this.callActive("connect", options)
  }

  /**
   * Moves the conversation to the other transport; does nothing for the current mode.
   * The old transport is closed once the new one is connected. If that fails, the old
   * one stays, and this rejects with the new transport's error.
   * Other codes: `bad_request`, `invalid_state` (not connected, already
   * switching, or ended during the switch) and `aborted`.
   *
   * A text turn that is not complete when the new transport is connected rejects with
   * `aborted`. The end of the conversation is not reported to the service.
   */
  async switchMode(mode: AgentMode, options?: CallOptions): Promise<void> {
    await this.live.call("switchMode", options, mode)
  }

  // --- Talking

  /**
   * Sends one turn. In text mode it resolves with the complete answer; in avatar mode
   * with true as soon as the text is sent, or with false when the session ended first.
   * During a switch up to 8 texts are queued, and sent on the transport that carries the
   * conversation afterwards.
   *
   * With the option `mode` the text is sent in that mode only, so that the result has one
   * type. In the other mode and during a switch it rejects with `invalid_state`, and the
   * text is not sent.
   *
   * Rejects like `sendText` and `speak` of the transports, with `invalid_state`
   * when the session is not connected or the queue is full, and `aborted`.
   */
  sendText(text: string, options: SendOptions<"chat">): Promise<ChatTurn>
  sendText(text: string, options: SendOptions<"avatar">): Promise<boolean>
  sendText(text: string, options?: CallOptions): Promise<ChatTurn | boolean>
  async sendText(text: string, options?: CallOptions | SendOptions<AgentMode>): Promise<ChatTurn | boolean> {
    const { mode, signal } = optionsOf(options) as Partial<SendOptions<AgentMode>>
    const { live } = this
    if (mode === undefined) return live.call("sendText", { signal }, text)
    if (this.state !== "connected" || this.mode !== mode) throw localError("invalid_state", `the session is ${this.state} in mode ${this.mode}, not in mode ${String(mode)}`)
    // Called on the transport itself, so that a switch does not send the text on the other one.
    return this.transport instanceof ChatSession ? this.transport.sendText(text, { signal }) : this.transport.speak(text, { signal })
  }

  /**
   * Sends one turn in the present mode, and resolves with the complete answer; during a switch
   * it is sent afterwards. Rejects like `ask` of the transport; with `aborted` when the
   * conversation moves to the other mode before the answer is complete, and with
   * `invalid_state` when the session is not connected.
   */
  async ask(text: string, options?: CallOptions): Promise<Answer> {
    while (this.state === "switching") await this.next("stateChange", options)
    if (this.state !== "connected") throw localError("invalid_state", `the session is ${this.state}, not connected`)
    const { transport } = this
    try {
      return await transport.ask(text, options)
    } catch (reason) {
      if (!(reason instanceof AgentError && reason.code === "ended") || this.final(this.state)) throw reason
      throw localError("aborted", "the conversation moved to the other mode before the answer was complete", { cause: reason })
    }
  }

  /** `getStats` of the present avatar, from that avatar's own beginning. Rejects with `invalid_state` in text mode. */
  async getStats(options?: CallOptions): Promise<SessionStats> {
    const { transport } = this
    if (transport instanceof AvatarSession) return transport.getStats(options)
    throw localError("invalid_state", "statistics of media need the mode avatar")
  }

  // --- Properties

  /**
   * The current transport, for methods that this class lacks: an `AvatarSession` or a
   * `ChatSession`. This session connects and disposes it; afterwards its methods throw
   * `invalid_state`, and its properties keep their last value.
   */
  get transport(): AvatarSession | ChatSession {
    return this.#transports[this.mode]!
  }

  // --- Internals

  protected override received<K extends keyof AgentSessionEvents>(event: K, payload: unknown, at?: number): void {
    if (event !== "transportChanged") return super.received(event, payload, at)
    const { mode } = payload as { mode: AgentMode }
    super.received(event, { mode, transport: this.#transports[mode] }, at)
  }

  protected override inactive(state: AgentState): boolean {
    return state === "idle" || this.final(state)
  }

  protected override final(state: AgentState): boolean {
    return state === "failed" || state === "closed"
  }

  protected override leaveEarly(reason: string): void {
    this.close({ state: "closed", reason: "user_requested" }, reason)
  }

  protected override afterCrash(last: AgentSnapshot): AgentSnapshot {
    return { ...last, state: "failed" }
  }
}

/** The properties until the runtime is loaded. */
function initial(plain: PlainAgent): AgentSnapshot {
  return { state: "idle", mode: plain.mode, timings: {}, ...({ threadId: plain[plain.mode]["threadId"] } as Pick<AgentSnapshot, "threadId">) }
}

/** Makes the object of a session. It stores each transport in `transports` before that connects, the first one at once. */
function objectOf(options: PlainAgent, transports: Transports, find: () => Promise<Program>, makers = ownTransports): ProgramObject<AgentMethods> {
  // Only the first transport needs plain options: the properties of a later one are read
  // from the program at once.
  const show = (mode: AgentMode, held: ProgramObject, plain: PlainOptions = {}) => {
    transports[mode] = makers[mode](held, plain)
  }
  const object = new ProgramObject<AgentMethods>({
    find,
    options,
    open: (go, options, dispatch, object) => {
      const { avatar, chat, ...rest } = options as PlainAgent
      const attach = (mode: AgentMode, methods: Methods) => {
        const held = first ?? object.reserve()
        if (!first) show(mode, held)
        first = undefined
        return object.hold(held, methods)
      }
      const plain = { ...rest, attach, avatar: withCallbacks(avatar, object), chat: withCallbacks(chat, object) }
      return go.agentSession(withCallbacks(plain, object), dispatch)
    },
  })
  let first: ProgramObject | undefined = object.reserve()
  show(options.mode, first, options[options.mode])
  return object
}
