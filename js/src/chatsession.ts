import { plainChat, type ChatOptions, type TurnOptions } from "./chatoptions.js"
import type { ChatEvents, ChatSnapshot, ChatState, ChatTurn, Kickoff, Segment } from "./events.js"
import { chatProgram } from "./load.js"
import { logUnneeded, optionsOf, type PlainOptions } from "./options.js"
import { Remote } from "./remote.js"
import { Session, withCallbacks, type CallOptions, type DisconnectOptions } from "./session.js"

/**
 * A conversation with an agent in text (session-api A.2): no connection, no
 * media, no prompt for a microphone.
 *
 * Making one starts loading the runtime; calls that are made before it is there
 * take effect in order. Errors are `AgentError`s: switch on their `code`
 * (docs/errors.md). Attach listeners before `connect()`: events are not replayed.
 */
export class ChatSession extends Session<ChatEvents, ChatSnapshot> {
  /** `connect` was called: calls behind it wait for the program too. */
  #begun = false

  /** Throws `bad_request`, `validation_error`, `unknown_capability`, `insecure_transport` or `wrong_token_scope` for bad options. */
  constructor(options: ChatOptions)
  /** @internal */
  constructor(remote: Remote)
  constructor(from: ChatOptions | Remote) {
    const plain = from instanceof Remote ? {} : plainChat(from)
    super(initial(plain), from instanceof Remote ? from : remoteOf(plain))
    logUnneeded(plain)
  }

  // --- The conversation's life

  /** Opens the session, once, and sends the kickoff. The service is not asked. Rejects with `invalid_state`, or `load_failed`. */
  async connect(options?: CallOptions): Promise<void> {
    this.#begun = true
    await this.callActive("connect", options)
  }

  /**
   * Ends the session for good, and tells the service that the conversation is
   * over unless `final` is false. Allowed at any time. The turn under way rejects
   * with `aborted`, those behind it with `invalid_state`.
   */
  disconnect(options?: DisconnectOptions): void {
    const { final = true, reason = "disconnect" } = optionsOf(options)
    if (this.remote.pending) this.leaveEarly(reason)
    else this.remote.callSync("disconnect", { final, reason })
  }

  // --- Talking

  /**
   * Sends one turn and resolves with the answer when it is complete. Turns run one
   * after another, and at most 100 wait.
   *
   * Rejects with `bad_request` (empty), `validation_error` (options),
   * `invalid_state` (not connected), `rate_limited`, `aborted`, the codes of HTTP,
   * `network_error`, `server_error`, `client_variables_disabled`; and
   * `thread_access_denied` and `stream_error`, whose `body` has what came before.
   */
  async sendText(text: string, options?: TurnOptions): Promise<ChatTurn> {
    const { signal, ...asks } = optionsOf(options)
    return this.live.call("sendText", { signal }, text, asks)
  }

  /**
   * Sends one turn when the loop begins, and yields every segment of the answer as
   * it comes, error segments too; the turn's error is thrown at the end. What the
   * loop has not taken is not read ahead. Leaving the loop aborts the turn.
   *
   * Never await another turn inside the loop: it waits for the loop, and the loop
   * for it. A loop that is held up holds every later turn.
   */
  streamText(text: string, options?: TurnOptions): AsyncIterableIterator<Segment> {
    const { signal, ...asks } = optionsOf(options)
    return this.live.stream("streamText", signal, text, asks)
  }

  // --- Properties

  get state(): ChatState {
    return this.values.state
  }

  /** The dialogue: the one given, or that of the first reply. */
  get threadId(): string | undefined {
    return this.values.threadId
  }

  get partnerId(): string {
    return this.values.partnerId
  }

  get kickoff(): Kickoff | null {
    return this.values.kickoff
  }

  /** The brain was asked and has shown nothing yet. */
  get responsePending(): boolean {
    return this.values.responsePending
  }

  // --- Inside

  protected override get live(): Remote {
    return this.#begun && !this.remote.present ? this.remote : super.live
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

function remoteOf(options: PlainOptions): Remote {
  return new Remote({ find: chatProgram, options, open: (go, options, dispatch, remote) => go.chatSession(withCallbacks(options, remote), dispatch) })
}

/** The properties before the runtime is there. */
function initial(plain: PlainOptions): ChatSnapshot {
  const { kickoff = null, partnerId = "", threadId } = plain as Partial<ChatSnapshot>
  return { state: "idle", partnerId, kickoff, responsePending: false, ...(threadId !== undefined && { threadId }) }
}
