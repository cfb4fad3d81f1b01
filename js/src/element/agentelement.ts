import type { AppInitResult } from "../session/appinit.js"
import type { AvatarSession } from "../session/avatar.js"
import { AgentError, codeOf, docs, localError, messageOf } from "../core/errors.js"
import { tokenTextOf, valueOf } from "../session/source.js"
import { safeUrl } from "../ui/dom.js"
import { attributes, languageOf, upgrade, withProperties, words, type ElementProperties } from "./attributes.js"
import { checkAttributes } from "./checkattributes.js"
import { Base, restyle, style, styles, type ListenerMethod } from "./base.js"
import type { Host } from "./host.js"
import { endText, errorText, labelsOf, type Labels } from "./labels.js"
import type { Locale } from "./locales.js"
import type { Made } from "./make.js"
import { checkProperties, imported, loadFor, requestInit, type AgentElementEvents, type AnySession } from "./session.js"
import { Preparation } from "./preparation.js"
import { Screen } from "./screen.js"
import { open, type Actions, type Mode, type Phase, type Said, type State } from "./state.js"
import css from "./style.css"

/** What only a conversation needs, and the texts of errors. */
const conversationModule = () => import("./conversation.js")
type ConversationModule = Awaited<ReturnType<typeof conversationModule>>
type Conversation = InstanceType<ConversationModule["Conversation"]>

/** An element without a conversation. */
const beforeStart = { phase: "idle", message: undefined, permanent: false } as const
/** What only a running conversation can have, as it is without one. */
const quiet = { microphoneProblem: undefined, busy: false, gated: false, missing: false, unheard: false } as const
/** What each conversation begins with. */
const beginning = { message: undefined, permanent: false, switching: false, picture: false, blocked: false, step: 0, activity: "connecting", ...quiet } as const

export interface AgentElement {
  addEventListener: ListenerMethod<this, AgentElementEvents>
  removeEventListener: ListenerMethod<this, AgentElementEvents>
}

/** What `<agent-avatar>` and `<agent-chat>` have in common (docs/elements.md). */
export abstract class AgentElement extends withProperties(Base) {
  static readonly observedAttributes: readonly string[] = [...Object.values(attributes), "lang"]

  /** The modes of an element that has no attribute `modes`. */
  protected abstract readonly defaultModes: readonly Mode[]

  /** The language of the page, and its texts; undefined for English. */
  #language = ""
  #locale: Locale | undefined
  /** The latest conversation. */
  #conversation: Conversation | undefined
  /** The texts of errors, once they are downloaded. */
  #failures: ConversationModule["failures"] | undefined
  /** The last error that was reported as an event. */
  #reported: unknown
  /** Aborts what the current conversation waits for, and removes its listeners. */
  #run = new AbortController()
  #starting: Promise<void> | undefined
  readonly #preparation = new Preparation((signal) => this.#requestInit(signal))
  #state: State = {
    labels: labelsOf(),
    phase: "idle",
    modes: [],
    mode: "face",
    ...beginning,
    disclosure: (labels) => labels.disclosure,
    poster: undefined,
    greeting: undefined,
    suggestions: [],
    captions: true,
    sound: true,
    microphone: "off",
    tapToTalk: false,
    tapping: false,
  }

  /** It is made when the element is first added to a document. */
  #screen: Screen | undefined
  /** The parts that only a conversation has were added. */
  #complete = false
  /** Ends the wait of `preload="visible"`. */
  #unwatch = (): void => {}

  // --- Public

  /** Starts the conversation; resolves when the agent is connected, or when the conversation was ended first. Rejects with the error that is shown. */
  start(): Promise<void> {
    // A start that was ended may still wait for something of the page or of the network.
    if (open(this.#state)) return this.#starting ?? Promise.resolve()
    const starting = this.#begin().finally(() => {
      if (this.#starting === starting) this.#starting = undefined
    })
    return (this.#starting = starting)
  }

  /** Ends the conversation. */
  end(): void {
    if (!open(this.#state)) return
    this.session?.disconnect()
    if (open(this.#state)) this.#over("disconnect") // without a session there is no event `ended`
  }

  /** Ends the conversation and shows the element as before the first message. With `threadId` the next conversation is still that one. */
  startNew(): void {
    this.end()
    this.#leave()
    this.#conversation?.view.leaveLog()
    this.#conversation = undefined
    this.#screen?.log.clear()
    this.#update({ ...beforeStart, ...this.#given })
  }

  /** Downloads the runtime and gets the reply of `appInit`, whose poster is then shown, as the attribute `preload` does. */
  load(): Promise<void> {
    return Promise.all([loadFor(this.#modes), this.#preparation.load().then((init) => init && this.#showPoster(init))]).then(() => {})
  }

  /** Moves the focus to what a visitor does first: to the button that starts, or to the field. */
  override focus(): void {
    this.#screen?.passFocus()
  }

  /** Sends a text as if it was typed; starts the conversation when there is none. Rejects with the error that is shown. */
  async send(text: string): Promise<void> {
    if (typeof text !== "string" || !text.trim()) throw localError("bad_request", "the text must be a string that is not empty") // no conversation begins with it
    await this.start()
    // Without a session the conversation was ended before it began.
    if (!this.session) return this.#screen!.composer.restore(text)
    return this.#conversation!.send(text)
  }

  /** The session of the latest conversation: an `AvatarSession`, `ChatSession` or `AgentSession`, depending on `modes`. */
  get session(): AnySession | undefined {
    return this.#conversation?.session
  }

  get phase(): Phase {
    return this.#state.phase
  }

  /** How the agent answers now, or will when it is started. */
  get mode(): Mode {
    return this.#state.mode
  }

  /** What was said, oldest first, with the history; also without a log. */
  get transcript(): readonly Said[] {
    return this.#conversation?.view.said ?? []
  }

  // --- Callbacks of the document

  connectedCallback(): void {
    upgrade(this)
    if (!this.#screen) this.#build()
    // The browser pauses a video that is moved within the document.
    else if (this.session) this.#screen.stage.video.play().catch(() => {})
    this.#watchPreload()
    void this.#translate()
  }

  disconnectedCallback(): void {
    // An element that was only moved is in the document again by then; routers such as Turbo wait between the steps of a move.
    setTimeout(() => {
      if (this.isConnected) return
      this.#unwatch()
      this.#preparation.dropSession()
      this.#leave()
      this.#update({ ...beforeStart, ...this.#given })
    })
  }

  adoptedCallback(): void {
    restyle(this.shadowRoot)
  }

  attributeChangedCallback(name: string, before: string | null, value: string | null): void {
    if (name === "lang") return void this.#translate()
    if (before === value) return
    if (["widget-id", "region", "agentic-url", "genie-url", "ovp-url", "modes"].includes(name)) this.#accessChanged(true)
    else if (name !== "preload") this.#preparation.dropSession()
    if (name === "thread-id" && this.#state.permanent) this.#update({ permanent: false }) // a launcher that forgets a thread; the sentence stays
    if (this.#screen) this.#readAttributes(name)
    if (name === "preload" && this.isConnected) this.#watchPreload()
  }

  // --- Internals

  /** @internal */
  override onProperty(name: keyof ElementProperties, before: unknown, set: unknown): void {
    const now = this[name]
    if (name === "labels") this.#relabel()
    else if (name === "suggestions") this.#update({ suggestions: Array.isArray(now) ? now : [] })
    else if (name === "options") {
      // A template may set an equal object each time that it is drawn; the same object may have been changed.
      if (before === set || !same(before as object, now as object)) this.#preparation.dropSession()
      if (!open(this.#state)) this.#update(this.#given)
    } else if (name !== "history" && before !== now) {
      // Also another function, when it is drawn because of an error: that is no other agent.
      if (typeof now === "function" && typeof before === "function") this.#preparation.drop() // it may be of another visitor
      else this.#accessChanged(!(before ?? this[name === "init" ? "token" : "init"] ?? this.widgetId))
    }
  }

  /** Shows the texts of the language. */
  async #translate(): Promise<void> {
    if (!this.isConnected) return
    const language = languageOf(this)
    if (language === this.#language) return
    this.#language = language
    let locale: Locale | undefined
    try {
      if (language && !/^en(-|$)/i.test(language)) locale = await (await import("./locales.js")).loadLocale(language)
    } catch (reason) {
      console.warn(`agentruntime: the texts in the language ${JSON.stringify(language)} could not be loaded, so they are English:`, reason)
    }
    if (language !== this.#language || locale === this.#locale) return
    this.#locale = locale
    this.#relabel()
  }

  #relabel(): void {
    const before = this.#notice
    this.#update({ labels: labelsOf(this.#failures?.labels, this.#locale, this.labels) })
    if (before !== this.#notice) this.#preparation.dropSession() // the session is told the notice that is shown
    this.#conversation?.view.rename()
  }

  #build(): Screen {
    const shadow = this.attachShadow({ mode: "open" })
    style(shadow, [...styles, css])
    const actions: Actions = {
      start: () => this.start().catch(() => {}),
      end: () => this.end(),
      send: (text) => void this.send(text).catch(() => this.#screen!.composer.restore(text)),
      approach: () => {
        if (this.getAttribute("preload") === "hover") this.#loadEarly(true)
      },
      dismissMicrophone: () => this.#update({ microphoneProblem: undefined }),
      toggleCaptions: () => this.#update({ captions: !this.#state.captions }),
      stop: () => this.#conversation?.stop(),
      unlock: () => this.#conversation?.unlock(),
      agree: () => this.#conversation?.agree(),
      toggleMicrophone: () => this.#conversation?.toggleMicrophone(),
      retryMicrophone: () => this.#conversation?.retryMicrophone(),
      toggleSound: () => this.#conversation?.toggleSound(),
      switchMode: () => void this.#conversation?.switchMode(),
    }
    this.#screen = new Screen(shadow, actions)
    this.#readAttributes()
    return this.#screen
  }

  get #modes(): readonly Mode[] {
    const named = words(this.getAttribute("modes"))?.filter((mode): mode is Mode => mode === "face" || mode === "text") ?? []
    return named.length > 0 ? named : this.defaultModes
  }

  /** Reads the attributes: at the beginning, or after a change of the given one. */
  #readAttributes(changed?: string): void {
    const change: Partial<State> = {}
    if (changed === undefined || changed === "captions") change.captions = this.captions !== "off"
    if (changed === undefined || changed === "poster") change.poster = this.poster ?? undefined
    if (changed === undefined || changed === "greeting") change.greeting = this.greeting ?? undefined
    this.#update({ ...change, ...(!open(this.#state) && this.#given) })
  }

  /** What the attributes and options say of a conversation, which takes it at its beginning. */
  get #given() {
    const modes = this.#modes
    const disclosure = this.options.disclosureText || this.disclosure
    return { modes, mode: modes[0]!, sound: !this.hasAttribute("muted"), disclosure: (labels: Labels) => disclosure || labels.disclosure }
  }

  /** Changes what is shown. `code` is that of an error, for the event. */
  #update(change: Partial<State>, code?: string): void {
    const before = this.#state
    const state = (this.#state = { ...before, ...change })
    if (this.#screen) {
      this.setAttribute("phase", state.phase)
      this.#screen.draw(state, this.#notice)
    }
    if (before.phase !== state.phase) this.dispatchEvent(new CustomEvent("phaseChange", { detail: { phase: state.phase, ...(code !== undefined && { code }) } }))
  }

  /** The notice that the visitor talks to a machine; the page's label takes precedence. */
  get #notice(): string {
    const { labels, disclosure } = this.#state
    return this.labels.disclosure === undefined ? disclosure(labels) : labels.disclosure
  }

  /** Loads now or later, as the attribute `preload` says. */
  #watchPreload(): void {
    this.#unwatch()
    const when = this.getAttribute("preload")
    if (when === "auto") this.#loadEarly()
    if (when === "visible") this.#watchNear().catch(() => {}) // then it loads with the start
  }

  async #watchNear(): Promise<void> {
    let stopped = false
    this.#unwatch = () => (stopped = true)
    const { whenNear } = await imported(() => import("./near.js"))
    if (!stopped) this.#unwatch = whenNear(this, () => this.#loadEarly())
  }

  /** Loads, and also prepares the session if the visitor is about to start it. */
  #loadEarly(prepare = false): void {
    if (this.#state.phase !== "idle") return
    const loading = this.load()
    const ready = prepare ? loading.then(() => this.#prepare()) : loading
    ready.catch(() => {}) // start() reports the failure
  }

  /** Opens the connection of a face ahead of its start; a conversation that begins in text has nothing to prepare. */
  async #prepare(): Promise<void> {
    if (this.#modes.join() !== "face") return
    await this.#conversationModule()
    await this.#preparation.prepare((init) => (this.#state.phase === "idle" && this.isConnected ? (this.#makeSession(["face"], init) as Promise<Made<AvatarSession>>) : undefined))
  }

  async #conversationModule(): Promise<ConversationModule> {
    const module = await imported(conversationModule)
    if (!this.#failures) {
      this.#failures = module.failures
      this.#relabel()
    }
    return module
  }

  async #makeSession(modes: readonly Mode[], init: AppInitResult): Promise<Made> {
    const { makeSession } = await this.#conversationModule()
    return makeSession({ element: this, modes, video: this.#screen!.stage.video, init, again: () => this.#requestInit(), disclosure: this.#notice })
  }

  /** What a conversation needs has changed: an early reply is not used, and a start that failed may succeed now. `anew`: another agent may be meant, which is loaded as `preload` says. */
  #accessChanged(anew: boolean): void {
    this.#preparation.drop()
    if (this.#state.permanent) this.#update(beforeStart)
    if (!anew || !this.#screen || open(this.#state)) return
    this.#update({ poster: this.poster ?? undefined }) // the service's was that of the last agent
    // Once for all that the page changes now.
    queueMicrotask(() => this.isConnected && this.#watchPreload())
  }

  /** The page has said which agent it is: before its module has run, an element may have none yet. */
  get #agentKnown(): boolean {
    return Boolean(this.init ?? this.token ?? this.widgetId)
  }

  async #begin(): Promise<void> {
    const screen = this.#screen ?? this.#build()
    this.#leave()
    const run = (this.#run = new AbortController())
    const { signal } = run
    const given = this.#given
    this.#update({ phase: "connecting", ...beginning, ...given, microphone: this.microphone === "none" ? "none" : "off" })
    const known = this.#agentKnown
    try {
      checkAttributes(this)
      checkProperties(this)
      const [init, { Conversation, addParts }] = await Promise.all([this.#preparation.take(signal), this.#conversationModule()])
      if (signal.aborted) return
      const host = this.#host(screen)
      if (!this.#complete) {
        this.#complete = true
        addParts(host, () => this.#conversation)
      }
      this.#showPoster(init)
      const made = (await this.#preparation.takeSession(init)) ?? (await this.#makeSession(given.modes, init))
      if (signal.aborted) return await made.session.dispose()
      this.#conversation?.view.leaveLog()
      this.#conversation = new Conversation(host, made, signal)
      await this.#conversation.connect()
    } catch (reason) {
      await this.#conversationModule().catch(() => {}) // without the texts of errors the sentence is a general one
      if (signal.aborted) return
      run.abort()
      if (!known && this.#agentKnown) return this.#begin() // it was set since, and the visitor waits for it
      const error = reason instanceof AgentError ? reason : localError("internal_error", messageOf(reason), { cause: reason })
      this.#fail(error, "The conversation could not begin")
      throw error
    }
  }

  /** Shows an error after which there is no conversation, and reports it to the page. */
  #fail(error: AgentError, what: string): void {
    const { code } = error
    // The session has emitted some errors itself, and may do so later.
    this.#report(error, { once: true })
    console.error(this.#line(`${what}: ${error.message}`, code, this.#advice(error)))
    const worked = this.#state.phase !== "connecting"
    const permanent = this.#failures?.permanent.has(code) === true
    this.#update(
      // A page whose conversation has worked is set up correctly: such an error is of that conversation, as when the service has lost it.
      { phase: "error", message: errorText(permanent && worked ? undefined : code), permanent: permanent && !worked, ...quiet },
      code,
    )
  }

  /** A line of the console about an error or a warning. */
  #line(text: string, code: string | undefined, advice = ""): string {
    return `agentruntime: <${this.localName}>: ${text.replace(/(?<![.?!])$/, ".")}${advice} ${docs}${code ?? ""}`
  }

  /** Reports an error to the page; with `once` not if the last one that was reported has the same code. */
  #report(error: unknown, { once = false } = {}): void {
    if (once && codeOf(error) === codeOf(this.#reported)) return
    this.#reported = error
    this.dispatchEvent(new CustomEvent("error", { detail: error }))
  }

  /** What the page's author has to do about an error of the attributes. */
  #advice({ code, instance }: AgentError): string {
    if (code === "network_error" || !instance?.endsWith("/startWidgetSession")) return ""
    return ` Is ${JSON.stringify(this.widgetId)} the public id of the agent's widget, and are region and ovp-url those of its account?`
  }

  /** Ends the conversation and frees its session. */
  #leave(): void {
    this.#run.abort()
    this.#conversation?.leave()
    this.#reported = undefined
  }

  #over(reason: string | undefined): void {
    this.#run.abort()
    const last = this.#reported
    if (last instanceof AgentError && last.code === reason) return this.#fail(last, "The conversation has ended")
    if (Object.hasOwn(this.#failures?.labels.errors ?? {}, reason ?? "")) return this.#fail(new AgentError({ code: reason! }), "The conversation has ended")
    this.#update({ phase: "ended", message: endText(reason), ...quiet })
  }

  #host(screen: Screen): Host {
    const state = () => this.#state
    return {
      element: this,
      screen,
      get state() {
        return state()
      },
      update: (change) => this.#update(change),
      report: (error, how) => this.#report(error, how),
      warn: (text, code) => console.warn(this.#line(text, code)),
      over: (reason) => this.#over(reason),
    }
  }

  // --- appInit

  async #requestInit(signal?: AbortSignal): Promise<AppInitResult> {
    const given = await ofPage("init", () => valueOf(this.init))
    if (given) return given
    const token = await ofPage("token", () => tokenTextOf(this.token))
    if (!token && !this.widgetId) throw localError("bad_request", "the element has neither a widget nor a token: set widget-id to the public id of the agent's widget")
    const options: Record<string, unknown> = { signal }
    for (const name of ["widgetId", "region", "agenticUrl", "genieUrl", "ovpUrl"] as const) if (this[name] !== null) options[name] = this[name]
    if (token) options["token"] = token
    return requestInit(this.#modes, options as { widgetId: string }, this.options)
  }

  #showPoster({ avatars }: AppInitResult): void {
    if (!this.getAttribute("poster") && this.#modes.includes("face")) this.#update({ poster: safeUrl(avatars?.[0]?.previewImageUrl) })
  }
}

/** The result of a function of the page, or of a promise. Rejects with `handler_failed`. */
async function ofPage<T>(property: string, get: () => Promise<T>): Promise<T> {
  try {
    return await get()
  } catch (cause) {
    throw cause instanceof AgentError ? cause : localError("handler_failed", `the property ${property} of the element failed: ${messageOf(cause)}`, { cause })
  }
}

/** Whether two objects have the same values. */
function same(one: object, other: object): boolean {
  const entries = Object.entries(other)
  return Object.keys(one).length === entries.length && entries.every(([name, value]) => one[name as never] === value)
}
