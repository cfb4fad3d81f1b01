import type { Answer } from "./ask.js"
import { plainChat, type ChatOptions, type TurnOptions } from "./chatoptions.js"
import type { ChatEvents, ChatSnapshot, ChatState, ChatTurn, Segment } from "../generated/events.js"
import { localError } from "../core/errors.js"
import { chatProgram } from "../core/load.js"
import type { ChatMethods } from "../generated/methods.js"
import { optionsOf, type PlainOptions } from "../core/options.js"
import { ProgramObject } from "../core/programobject.js"
import { Session, withCallbacks, type Properties } from "./session.js"
import type { CallOptions } from "../core/signals.js"

/** The properties that the program has. */
export interface ChatSession extends Properties<ChatSnapshot> {}

/**
 * A text conversation with an agent: no permanent connection, no media, no permission for a microphone.
 *
 * The constructor loads nothing: the runtime is loaded by `connect()`, or earlier by
 * `preload()`. Calls made before it is loaded are queued and take effect in order.
 * Errors are `AgentError`s: switch on their `code` (docs/errors.md). Attach listeners
 * before `connect()`: events are not replayed.
 */
export class ChatSession extends Session<ChatEvents, ChatSnapshot, ChatMethods> {
  static {
    this.define("ChatSession", initial({}))
  }

  /** `connect` was called: later calls wait for the program to load. */
  #connectCalled = false

  /** Throws `bad_request`, `validation_error`, `unknown_capability`, `insecure_transport` or `wrong_token_scope` for bad options. */
  constructor(options: ChatOptions)
  /** @internal */
  constructor(from: ChatOptions | ProgramObject<ChatMethods>, plain: PlainOptions)
  constructor(from: ChatOptions | ProgramObject<ChatMethods>, plain = plainChat(from)) {
    super(initial(plain), from instanceof ProgramObject ? from : objectOf(plain))
  }

  // --- Connecting

  /** Loads the runtime ahead of `connect()`. Rejects with `load_failed`. */
  async preload(options?: CallOptions): Promise<void> {
    await chatProgram({ signal: optionsOf(options).signal })
  }

  /**
   * Opens the session and sends the kickoff; without a kickoff nothing is sent. Rejects
   * with `invalid_state` when the session is connected already or has ended, or with
   * `load_failed`.
   */
  async connect(options?: CallOptions): Promise<void> {
    this.#connectCalled = true
    await this.callActive("connect", options)
  }

  // --- Talking

  /**
   * Sends one turn and resolves with the complete answer. Turns run one after another;
   * at most 100 are queued.
   *
   * Rejects with `bad_request` (empty text), `validation_error` (options),
   * `invalid_state` (not connected), `rate_limited`, `aborted`, the codes of HTTP replies,
   * `network_error`, `server_error`, `client_variables_disabled`; and
   * `thread_access_denied` and `stream_error`, whose `body` has the answer up to the error.
   */
  async sendText(text: string, options?: TurnOptions): Promise<ChatTurn> {
    const { signal, ...rest } = optionsOf(options)
    return this.live.call("sendText", { signal }, text, rest)
  }

  /**
   * Sends one turn like `sendText`, and resolves with the answer in the form that sessions of
   * all kinds have. Rejects like `sendText`, and with `ended` when the session ended first.
   */
  async ask(text: string, options?: TurnOptions): Promise<Answer> {
    try {
      const { text: answer, threadId, messageId, segments, widgets } = await this.sendText(text, options)
      return { text: answer, threadId, messageId, segments, widgets, interrupted: false }
    } catch (reason) {
      if (this.state !== "closed" || options?.signal?.aborted) throw reason
      throw localError("ended", "the session ended before the answer was complete", { cause: reason })
    }
  }

  /**
   * Sends one turn when the loop begins, and yields every segment of the answer as it
   * arrives, including error segments; the turn's error is thrown at the end. Only
   * segments that arrived together from the network are read ahead of the loop. Leaving
   * the loop aborts the turn.
   *
   * Never await another turn inside the loop: later turns start only after the loop
   * has ended, so both would wait forever.
   */
  streamText(text: string, options?: TurnOptions): AsyncIterableIterator<Segment> {
    const { signal, ...rest } = optionsOf(options)
    return this.live.stream("streamText", signal, text, rest)
  }

  // --- Internals

  protected override get live(): ProgramObject<ChatMethods> {
    return this.#connectCalled && !this.object.present ? this.object : super.live
  }

  protected override inactive(state: ChatState): boolean {
    return state !== "connected"
  }

  protected override final(state: ChatState): boolean {
    return state === "closed"
  }

  protected override leaveEarly(reason: string): void {
    this.close({ state: "closed" }, reason)
  }

  protected override afterCrash(last: ChatSnapshot): ChatSnapshot {
    return { ...last, state: "closed", responsePending: false }
  }
}

function objectOf(options: PlainOptions): ProgramObject<ChatMethods> {
  return new ProgramObject<ChatMethods>({ find: chatProgram, options, open: (go, options, dispatch, object) => go.chatSession(withCallbacks(options, object), dispatch) })
}

/** The properties until the runtime is loaded. */
function initial(plain: PlainOptions): ChatSnapshot {
  const { kickoff = null, partnerId = "", threadId } = plain as Partial<ChatSnapshot>
  return { state: "idle", partnerId, kickoff, responsePending: false, ...({ threadId } as Pick<ChatSnapshot, "threadId">) }
}
