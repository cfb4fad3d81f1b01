import type { AppInitResult } from "../session/appinit.js"
import type { ErrorCode } from "../generated/codes.js"
import type { AgentEvents, AvatarEvents, ChatEvents } from "../generated/events.js"
import { adopt } from "../core/load.js"
import type { PlainOptions } from "../core/options.js"
import { Program, type AsyncExport, type Exports, type Methods, type StreamExport } from "../core/program.js"
import type { Dispatch } from "../core/programobject.js"
import { ScriptedAgent, type FakeAgentOptions } from "./agent.js"
import { ScriptedAvatar } from "./avatar.js"
import { ScriptedChat } from "./chat.js"
import { ScriptedConversation } from "./conversation.js"
import { fault } from "./fault.js"
import type { Scripted } from "./scripted.js"

export type { ConnectFailure, FakeAgentOptions } from "./agent.js"

type Events = AvatarEvents & ChatEvents & AgentEvents

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
export class FakeAgent extends ScriptedAgent {
  readonly #init: Partial<AppInitResult>
  readonly #calls: NonNullable<FakeAgentOptions["calls"]>
  /** The sessions that are not disposed, oldest first. */
  readonly #sessions = new Set<Scripted | ScriptedConversation>()
  #program: Program | undefined

  /** Throws a TypeError for rules that can't be played. */
  constructor(options: FakeAgentOptions = {}) {
    super(options)
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

  #transport(what: string): Scripted {
    const session = [...this.#sessions].at(-1)
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
      this.#sessions.add(session)
      const { methods } = session
      const dispose = async (...args: unknown[]) => {
        await methods["dispose"]?.(...args)
        this.#sessions.delete(session)
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
        for (const session of this.#sessions) session.disconnect({ final: false })
        this.#sessions.clear()
        exit(0)
      },
      holds: () => ({ sessions: this.#sessions.size, callbacks: 0, goroutines: 0 }),
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
