import type { AppInitResult } from "../appinit.js"
import type { ErrorCode } from "../codes.js"
import type { AgentError } from "../errors.js"
import type { AgentAbilities, AgentEvents, AvatarEvents, ChatEvents } from "../events.js"
import type { Device } from "../avatar.js"
import { adopt } from "../load.js"
import type { PlainOptions } from "../options.js"
import { Program, type AsyncExport, type Exports, type Methods, type StreamExport } from "../program.js"
import type { Dispatch } from "../remote.js"
import { ScriptedAvatar } from "./avatar.js"
import { ScriptedChat } from "./chat.js"
import { ScriptedConversation } from "./conversation.js"
import { checkRules, stepsFor, type ReceivedTurn, type Rule, type Step } from "./script.js"
import { fault, wait, type Scripted } from "./scripted.js"

/** Options of a `FakeAgent`. */
export interface FakeAgentOptions {
  /** What the agent answers. Default: the text of the turn. */
  rules?: readonly Rule[]
  /** What an avatar says first. Default: nothing. */
  opening?: string
  /** Default `"Agent"`. */
  name?: string
  disclosureText?: string
  abilities?: Partial<AgentAbilities>
  /** The outcome of the browser's prompt for the microphone. Default `"granted"`. */
  microphone?: "granted" | "denied" | "missing"
  /** Whether the browser plays sound without a click. Default `"allowed"`. */
  autoplay?: "allowed" | "blocked"
  /** What `listDevices` of a `FakeAvatarSession` resolves with. */
  devices?: { mics: Device[]; speakers: Device[] }
  /** How long a connect takes, in ms of the page's timers. Default 0. */
  connectMs?: number
  /** The pause before each piece of an answer, in ms. Default 0. */
  thinkMs?: number
  /** How long each piece of speech takes, in ms. Default 0. */
  voiceMs?: number
  /** Fields of the result of `appInit`, such as `avatars`; the others have defaults. */
  appInit?: Partial<AppInitResult>
  /** Results of the calls outside of a conversation, by the name of the program's export, such as `threadList`. */
  calls?: Partial<Record<AsyncExport, (about: never) => unknown>>
}

/** How a connect fails. */
export interface ConnectFailure {
  detail?: string
  status?: number
  /** How many connects fail. Default 1. */
  times?: number
}

type Events = AvatarEvents & ChatEvents & AgentEvents

let lastID = 0
let installed: FakeAgent | undefined

/**
 * A scripted agent with its service, in place of the Go program, for tests of a page. It uses
 * no network and no media, and its delays use the page's own timers.
 *
 * `install()` makes it the agent of every session of the page: of `AvatarSession` and the
 * others, of elements and of hooks. Each fake session has its agent in `agent`.
 *
 * `say`, `loseConnection` and the other methods that make something happen act on the newest
 * session that has not ended.
 */
export class FakeAgent {
  /** What the agent answers; may be changed at any time. */
  rules: Rule[]
  opening: string
  name: string
  disclosureText: string
  abilities: AgentAbilities
  microphone: "granted" | "denied" | "missing"
  autoplay: "allowed" | "blocked"
  devices: { mics: Device[]; speakers: Device[] }
  connectMs: number
  thinkMs: number
  voiceMs: number

  // What the page has sent.

  /** Every turn that the agent has begun to answer, oldest first. */
  readonly turns: ReceivedTurn[] = []
  /** Every answer to a tool call. */
  readonly toolAnswers: { id: string; name: string; response: Record<string, unknown> }[] = []
  /** Every end of a conversation that was reported. */
  readonly completions: { threadId: string; reason: string }[] = []
  /** What `sendScreenShot` was given. */
  readonly screenShots: unknown[] = []
  /** What `sendCameraShot` was given. */
  readonly cameraShots: unknown[] = []
  /** What `notifyHtmlElementClick` was given. */
  readonly clicks: unknown[] = []
  /** What `submitStructuredDataForm` was given. */
  readonly forms: unknown[] = []
  /** What `appInit` was given. */
  readonly inits: object[] = []

  readonly #init: Partial<AppInitResult>
  readonly #calls: NonNullable<FakeAgentOptions["calls"]>
  /** The sessions that are not disposed, oldest first. */
  readonly #sessions: (Scripted | ScriptedConversation)[] = []
  #program: Program | undefined
  #failure: { error: AgentError; times: number } | undefined
  #turnFailure: AgentError | undefined

  /** Throws a TypeError for rules that can't be played. */
  constructor(options: FakeAgentOptions = {}) {
    const { rules = [], abilities, devices = { mics: [], speakers: [] } } = options
    checkRules(rules)
    this.rules = [...rules]
    this.opening = options.opening ?? ""
    this.name = options.name ?? "Agent"
    this.disclosureText = options.disclosureText ?? "You are talking to an AI avatar."
    this.abilities = { screenShare: false, cameraAnalysis: false, webSearch: false, interruptions: true, tapToTalk: false, ...abilities }
    this.microphone = options.microphone ?? "granted"
    this.autoplay = options.autoplay ?? "allowed"
    this.devices = devices
    this.connectMs = options.connectMs ?? 0
    this.thinkMs = options.thinkMs ?? 0
    this.voiceMs = options.voiceMs ?? 0
    this.#init = options.appInit ?? {}
    this.#calls = options.calls ?? {}
    completeMedia()
  }

  /** The agent that is installed, if there is one. */
  static get installed(): FakeAgent | undefined {
    return installed
  }

  /**
   * Makes this the agent of every session that the page makes from now on, also of
   * `appInit` and of single turns. Nothing is downloaded. Returns this.
   */
  install(): this {
    if (installed !== this) {
      installed = this
      void adopt(Promise.resolve(this.program), "full")
    }
    return this
  }

  /** Ends the sessions that were made with it, and uninstalls it. */
  async uninstall(): Promise<void> {
    if (installed === this) installed = undefined
    const program = this.#program
    this.#program = undefined
    program?.dispose()
    await program?.ended
  }

  /** `await using agent = new FakeAgent().install()`. */
  async [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")](): Promise<void> {
    await this.uninstall()
  }

  // --- What happens to the newest session

  /** Makes the agent say something unasked, in a session with an avatar. */
  say(text: string): void {
    void this.#avatar("say").say(text)
  }

  /** The visitor says something into the microphone, which also interrupts the agent. */
  hear(text: string): void {
    this.#avatar("hear").hear(text)
  }

  /** The visitor interrupts the agent. */
  interrupt(): void {
    this.#avatar("interrupt").interrupt()
  }

  /** Breaks the connection: the session is `reconnecting` until `recover` or `giveUp`. */
  loseConnection(): void {
    this.#avatar("loseConnection").lose()
  }

  /** Restores the connection. With `cold` the service has lost the session, which begins again in the same thread. */
  recover({ cold = false }: { cold?: boolean } = {}): void {
    this.#avatar("recover").recover(cold)
  }

  /** The session can't be recovered: it ends with an error. */
  giveUp(code: ErrorCode = "reconnect_failed", detail = "the connection could not be made again"): void {
    this.#avatar("giveUp").break(fault(code, detail, { retryable: true }))
  }

  /** The service ends the conversation. */
  end(): void {
    this.#transport("end").endByService()
  }

  /** Emits an event of the newest session, with any payload: for what the other methods lack. */
  emit<K extends keyof Events>(event: K, payload: Events[K]): void {
    this.#transport("emit").emit(event, payload)
  }

  // --- What happens next

  /** Makes the next connect with an avatar fail with this code, or the next `times` connects. */
  failConnect(code: ErrorCode, { detail = `the connect failed: ${code}`, status, times = 1 }: ConnectFailure = {}): void {
    this.#failure = { error: fault(code, detail, { phase: "connect", retryable: code === "capacity_unavailable", ...(status !== undefined && { status }) }), times }
  }

  /** Makes the next turn in text fail with this code. */
  failTurn(code: ErrorCode, detail = `the turn failed: ${code}`): void {
    this.#turnFailure = fault(code, detail)
  }

  /** The browser refuses the microphone from now on. */
  refuseMicrophone(): void {
    this.microphone = "denied"
  }

  /** The browser plays no sound until `startPlayback`. */
  blockAutoplay(): void {
    this.autoplay = "blocked"
  }

  // --- What the page has sent

  /** The variables of the newest session, as its next turn will have them. */
  get variables(): Record<string, unknown> {
    return { ...this.#transport("variables").vars }
  }

  /** What `setDynamicPrompt` was given last, null if nothing. */
  get pageContext(): unknown {
    return this.#transport("pageContext").pageContext
  }

  // --- For the sessions

  /** @internal */
  get program(): Program {
    return (this.#program ??= this.#makeProgram())
  }

  /** @internal */
  stepsOf(turn: ReceivedTurn): readonly Step[] {
    return stepsFor(turn, this.rules) ?? [{ say: turn.text }]
  }

  /** @internal Resolves when a connect is through; rejects when it is to fail. */
  async connecting(mode: "avatar" | "chat"): Promise<void> {
    if (mode === "avatar" || this.connectMs > 0) await wait(this.connectMs)
    const failure = this.#failure
    if (mode === "chat" || !failure || failure.times-- <= 0) return
    throw failure.error
  }

  /** @internal */
  takeTurnFailure(): AgentError | undefined {
    const failure = this.#turnFailure
    this.#turnFailure = undefined
    return failure
  }

  /** @internal */
  newID = (): string => `fake-${++lastID}`
  /** @internal */
  newThread = (): string => `thread-${++lastID}`
  /** @internal */
  newMessage = (): string => `message-${++lastID}`

  #transport(what: string): Scripted {
    const session = this.#sessions.at(-1)
    if (!session) throw new Error(`${what}: there is no session yet; a session of a page begins with connect()`)
    return session instanceof ScriptedConversation ? session.transport : session
  }

  #avatar(what: string): ScriptedAvatar {
    const transport = this.#transport(what)
    if (!(transport instanceof ScriptedAvatar)) throw new Error(`${what}: the newest session has no avatar`)
    return transport
  }

  #makeProgram(): Program {
    let exit = (_: number) => {}
    const ended = new Promise<number>((resolve) => (exit = resolve))
    const keep = <S extends Scripted | ScriptedConversation>(session: S): Methods => {
      this.#sessions.push(session)
      const { methods } = session
      const dispose = async (...args: unknown[]) => {
        await methods["dispose"]?.(...args)
        this.#sessions.splice(this.#sessions.indexOf(session), 1)
      }
      return { ...methods, dispose }
    }
    const transport = (session: Scripted, dispatch: Dispatch) => {
      session.listen(dispatch)
      return keep(session)
    }
    const exports: Partial<Exports> = {
      version: AGENTRUNTIME_VERSION,
      dispose: () => {
        for (const session of [...this.#sessions]) session.disconnect({ final: false })
        this.#sessions.length = 0
        exit(0)
      },
      holds: () => ({ sessions: this.#sessions.length, callbacks: 0, goroutines: 0 }),
      avatarSession: (options, dispatch) => transport(new ScriptedAvatar(this, options as PlainOptions), dispatch),
      chatSession: (options, dispatch) => transport(new ScriptedChat(this, options as PlainOptions), dispatch),
      agentSession: (options, dispatch) => keep(new ScriptedConversation(this, options as PlainOptions, dispatch)),
      appInit: async (_, options) => this.#appInit(options as Record<string, unknown>),
      converseOnce: async (signal, request) => {
        const { userMessage, ...options } = request as { userMessage: string }
        return this.#once(options).then((chat) => chat.send(userMessage, {}, signal))
      },
      converse: (request) => this.#converse(request as { userMessage: string }),
    }
    const others = new Proxy(exports, {
      get: (known, name: AsyncExport & StreamExport) => (name in known ? known[name] : this.#call(name)),
      has: () => true,
    })
    return new Program(others as Exports, ended.then((code) => ({ code })))
  }

  #appInit(options: Record<string, unknown>): AppInitResult {
    this.inits.push(options)
    const { token = "fake-token", genieUrl = "https://fake.invalid" } = options
    return {
      partnerId: "1",
      ks: String(token),
      kind: "widget",
      conversationManagerUrl: "https://fake.invalid",
      srsBaseUrl: "https://fake.invalid",
      turnServerUrl: "fake.invalid",
      avatars: [],
      genieUrl: String(genieUrl),
      ...this.#init,
    }
  }

  async #once(options: Record<string, unknown>): Promise<ScriptedChat> {
    const chat = new ScriptedChat(this, options)
    await chat.connect()
    return chat
  }

  #converse({ userMessage, ...options }: { userMessage: string }): Methods {
    const source = this.#once(options).then((chat) => chat.methods["streamText"]!(userMessage, {}) as Methods)
    return { next: async () => (await source)["next"]!(), return: async () => (await source)["return"]!() }
  }

  #call(name: AsyncExport & StreamExport): (...args: unknown[]) => unknown {
    return async (_, __, about) => {
      const answer = this.#calls[name]
      if (!answer) throw fault("not_found", `the fake has no answer for ${name}: give it one as the option calls.${name}`)
      return (answer as (about: unknown) => unknown)(about)
    }
  }
}

/** Adds srcObject to media elements, which the package recognises by it: those of jsdom have none. */
function completeMedia(): void {
  if (typeof HTMLMediaElement === "undefined" || "srcObject" in HTMLMediaElement.prototype) return
  const sources = new WeakMap<object, unknown>()
  Object.defineProperty(HTMLMediaElement.prototype, "srcObject", {
    configurable: true,
    get(this: object) {
      return sources.get(this) ?? null
    },
    set(this: object, value: unknown) {
      sources.set(this, value)
    },
  })
}
