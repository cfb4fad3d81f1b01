import type { AppInitResult } from "../session/appinit.js"
import type { AvatarSession } from "../session/avatar.js"
import { activation } from "../core/activation.js"
import { AgentError, docs, localError, messageOf } from "../core/errors.js"
import { MIC_ERROR_CODES } from "../generated/events.js"
import type { Token } from "../core/options.js"
import { tokenTextOf, valueOf, type Source } from "../session/source.js"
import { composing, make, safeUrl } from "../ui/dom.js"
import { styles } from "../ui/styles.js"
import { attributes, checkAttributes, languageOf, reflect, upgrade, words, type AttributeProperties } from "./attributes.js"
import { Base, restyle, style, type AddListener } from "./base.js"
import { Composer } from "./composer.js"
import { Controls } from "./controls.js"
import { Log } from "./log.js"
import { endText, errorText, labelsOf, type Labels, type Text } from "./labels.js"
import type { Locale } from "./locales.js"
import { Notices } from "./notices.js"
import { faceOf, imported, listen, loadFor, requestInit, say, type AgentElementEvents, type AnySession, type SessionOptions } from "./session.js"
import { Preparation } from "./preparation.js"
import { Stage } from "./stage.js"
import { open, type Actions, type Mode, type Part, type Phase, type Said, type State } from "./state.js"
import css from "./style.css"

/** Captions, Markdown, widgets and the texts of errors, which are not needed before a conversation. */
const conversationModule = () => import("./conversation.js")
type Conversations = Awaited<ReturnType<typeof conversationModule>>
type Conversation = InstanceType<Conversations["Conversation"]>

/** An element without a conversation. */
const beforeStart = { phase: "idle", message: undefined, permanent: false } as const
/** What only a running conversation can have, as it is without one. */
const quiet = { microphoneProblem: undefined, busy: false, gated: false, missing: false, unheard: false } as const
const noPicture = errorText("media_no_video")
const noAnswer = (labels: Labels) => labels.empty

/** Properties without an attribute. */
const properties = ["token", "init", "options", "labels", "suggestions", "history"] as const

export interface AgentElement extends AttributeProperties {
  addEventListener: AddListener<this, AgentElementEvents>
}

/** What `<agent-avatar>` and `<agent-chat>` have in common (docs/elements.md). */
export abstract class AgentElement extends Base {
  static readonly observedAttributes: readonly string[] = [...Object.values(attributes), "lang"]

  /** The modes of an element that has no attribute `modes`. */
  protected abstract readonly defaultModes: readonly Mode[]

  #token: Source<Token> | undefined
  #init: Source<AppInitResult> | undefined
  #options: SessionOptions = {}
  #history: readonly Said[] = []
  #ownLabels: Partial<Labels> | undefined
  /** The language of the page, and its texts; undefined for English. */
  #language = ""
  #locale: Locale | undefined
  #session: AnySession | undefined
  #conversation: Conversation | undefined
  /** The texts of errors, once they are downloaded. */
  #failures: Conversations["failures"] | undefined
  /** The last error that was reported as an event. */
  #reported: unknown
  /** Aborts the requests of the current conversation, and removes its listeners. */
  #run = new AbortController()
  #starting: Promise<void> | undefined
  /** The sentence for an answer without text. */
  #noAnswer: Text = noAnswer
  /** Aborts the turn that was sent last. */
  #turn: AbortController | undefined
  readonly #preparation = new Preparation((signal) => this.#requestInit(signal))
  /** The session's token, once it is no longer the one of its reply of `appInit`. */
  #renewedToken: string | undefined
  readonly #faces = new WeakSet<AvatarSession>()
  /** The visitor has turned the microphone off, which holds for a face after a switch too. */
  #muted = false
  #state: State = {
    labels: labelsOf(undefined),
    phase: "idle",
    modes: [],
    mode: "face",
    switching: false,
    message: undefined,
    permanent: false,
    disclosure: (labels) => labels.disclosure,
    poster: undefined,
    greeting: undefined,
    suggestions: [],
    picture: false,
    ...quiet,
    captions: true,
    blocked: false,
    sound: true,
    microphone: "off",
    tapToTalk: false,
    tapping: false,
    step: 0,
    activity: "connecting",
  }

  // The parts are made when the element is first added to a document.
  #parts: readonly Part[] = []
  #frame: HTMLElement | undefined
  #stage: Stage | undefined
  #composer: Composer | undefined
  #log: Log | undefined
  #disclosure: HTMLElement | undefined
  /** Adds the parts that only a conversation has, once. */
  #addParts: ((add: Conversations["addParts"]) => void) | undefined
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
    this.#session?.disconnect()
    if (open(this.#state)) this.#over("disconnect") // without a session there is no event `ended`
  }

  /** Ends the conversation and shows the element as before the first message. With `threadId` the next conversation is still that one. */
  startNew(): void {
    this.end()
    this.#leave()
    this.#conversation?.leaveLog()
    this.#conversation = undefined
    this.#log?.clear()
    this.#update(beforeStart)
  }

  /** Downloads the runtime and gets the reply of `appInit`, whose poster is then shown, as the attribute `preload` does. */
  load(): Promise<void> {
    return Promise.all([loadFor(this.#modes), this.#preparation.load().then((init) => init && this.#showPoster(init))]).then(() => {})
  }

  /** Moves the focus to what a visitor does first: to the button that starts, or to the field. */
  override focus(): void {
    if (this.shadowRoot) this.#passFocus()
  }

  /** Sends a text as if it was typed; starts the conversation when there is none. Rejects with the error that is shown. */
  async send(text: string): Promise<void> {
    await this.start()
    const session = this.#session
    if (!session) return this.#composer!.restore(text) // the conversation was ended before it began
    const turn = (this.#turn = new AbortController())
    const spoken = faceOf(session) !== undefined
    this.#update({ message: undefined })
    try {
      const answer = await say(session, text, turn.signal)
      if (answer === false) this.#composer!.restore(text) // it waited for words that can't be interrupted, until the conversation ended
      else if (typeof answer === "object" && answer.empty) this.#update({ message: this.#noAnswer })
    } catch (reason) {
      if (turn.signal.aborted) {
        if (spoken) this.#composer!.restore(text) // it waited too, until the visitor pressed stop
        return
      }
      if (spoken) this.#report(reason) // of a turn in text there is an event already
      if (session === this.#session && this.#state.phase === "live") {
        this.#update({ message: errorText(codeOf(reason)) })
        console.warn(this.#line(messageOf(reason), codeOf(reason)))
      }
      throw reason
    }
  }

  /** The session of the latest conversation: an `AvatarSession`, `ChatSession` or `AgentSession`, depending on `modes`. */
  get session(): AnySession | undefined {
    return this.#session
  }

  get phase(): Phase {
    return this.#state.phase
  }

  /** How the agent answers now, or will when it is started. */
  get mode(): Mode {
    return this.#state.mode
  }

  /** The token for `appInit`, when the page has one of its own for the visitor. */
  get token(): Source<Token> | undefined {
    return this.#token
  }

  set token(token: Source<Token> | undefined) {
    const [before, known] = [this.#token, this.#agentKnown]
    this.#token = token
    this.#sourceChanged(before, token, known)
  }

  /** The reply of `appInit`, when the page's server has requested it. */
  get init(): Source<AppInitResult> | undefined {
    return this.#init
  }

  set init(init: Source<AppInitResult> | undefined) {
    const [before, known] = [this.#init, this.#agentKnown]
    this.#init = init
    this.#sourceChanged(before, init, known)
  }

  /** Further options of the session (docs/options.md), for the next start. They take precedence over attributes. */
  get options(): SessionOptions {
    return this.#options
  }

  set options(options: SessionOptions | undefined) {
    this.#options = options ?? {}
    this.#preparation.dropSession()
    if (!open(this.#state)) this.#readAttributes()
  }

  /** Texts that replace those of the page's language. */
  get labels(): Partial<Labels> {
    return this.#ownLabels ?? {}
  }

  set labels(labels: Partial<Labels> | undefined) {
    this.#ownLabels = labels
    this.#relabel()
  }

  /** Questions that are offered before the first message; one that is chosen is sent. */
  get suggestions(): readonly string[] {
    return this.#state.suggestions
  }

  set suggestions(suggestions: readonly string[] | undefined) {
    this.#update({ suggestions: suggestions ?? [] })
  }

  /** What was said in the thread before, oldest first: it is in the log from the next start on. */
  get history(): readonly Said[] {
    return this.#history
  }

  set history(history: readonly Said[] | undefined) {
    this.#history = history ?? []
  }

  /** What was said, oldest first, with the history; also without a log. */
  get transcript(): readonly Said[] {
    return this.#conversation?.said ?? []
  }

  // --- Callbacks of the document

  connectedCallback(): void {
    upgrade(this, [...Object.keys(attributes), ...properties])
    if (!this.shadowRoot) this.#build()
    // The browser pauses a video that is moved within the document.
    else if (this.#session) this.#stage!.video.play().catch(() => {})
    this.#watchPreload()
    void this.#translate()
  }

  disconnectedCallback(): void {
    // An element that was only moved is in the document again by then.
    queueMicrotask(() => {
      if (this.isConnected) return
      this.#unwatch()
      this.#preparation.dropSession()
      this.#leave()
      this.#update(beforeStart)
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
    if (this.shadowRoot) this.#readAttributes(name)
    if (name === "preload" && this.isConnected) this.#watchPreload()
  }

  // --- Internals

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
    this.#preparation.dropSession() // the session is told the notice that is shown
    this.#update({ labels: labelsOf(this.#failures?.labels, this.#locale, this.#ownLabels) })
    this.#conversation?.rename()
  }

  #build(): void {
    const shadow = this.attachShadow({ mode: "open" })
    style(shadow, [styles, css])
    const actions: Actions = {
      start: () => this.start().catch(() => {}),
      end: () => this.end(),
      send: (text) => void this.send(text).catch(() => this.#composer!.restore(text)),
      stop: () => this.#stop(),
      approach: () => {
        if (this.getAttribute("preload") === "hover") this.#loadEarly(true)
      },
      unlock: () => this.#attempt((face) => face.startPlayback()),
      agree: () => {
        faceOf(this.#session)?.acknowledgeDisclosure()
        this.#update({ gated: false })
      },
      toggleMicrophone: () =>
        this.#attempt(async (face) => {
          this.#muted = face.micStarted && face.micEnabled
          if (this.#muted) return face.mute()
          if (!face.micEnabled) face.unmute()
          if (!face.micStarted) await face.startMic()
        }),
      retryMicrophone: () => {
        this.#update({ microphoneProblem: undefined })
        this.#attempt((face) => face.startMic())
      },
      dismissMicrophone: () => this.#update({ microphoneProblem: undefined }),
      toggleSound: () =>
        this.#attempt((face) => {
          if (face.audioOutputMuted) face.unmuteAudioOutput()
          else face.muteAudioOutput()
        }),
      toggleCaptions: () => this.#update({ captions: !this.#state.captions }),
      switchMode: () => void this.#switchMode(),
    }
    const face = () => faceOf(this.#session)
    const painted = () => {
      const { picture, missing, phase, message } = this.#state
      if (!picture) this.#update({ picture: true, message: message === noPicture ? undefined : message })
      if (missing && phase !== "reconnecting") this.#update({ missing: false })
    }
    const stopped = () => {
      if (!face()?.paused) this.#update({ missing: true })
    }
    this.#stage = new Stage(actions, painted, stopped)
    this.#composer = new Composer(actions)
    this.#disclosure = make("p", { part: "disclosure", class: "disclosure", dir: "auto" })
    const notices = new Notices(actions)
    const controls = new Controls(actions)
    this.#addParts = (add) => {
      const { root: stage, video } = this.#stage!
      this.#parts = [...this.#parts, ...add({ frame: this.#frame!, stage, video, controls, composer: this.#composer!.root, face, failed: (reason) => this.#microphoneFailed(reason), conversation: () => this.#conversation, startNew: () => this.startNew(), continues: () => this.#allOptions().threadId !== undefined })]
      this.#update({}) // until they are drawn, their buttons have no names, and none is hidden
    }
    this.#log = new Log(actions)
    this.#parts = [this.#stage, controls, notices, this.#log, this.#composer]
    const roots = this.#parts.map(({ root }) => root)
    this.#frame = make("div", { part: "frame", class: "frame" }, this.#log.title, ...roots, this.#log.region, make("slot", { name: "disclosure" }, this.#disclosure))
    shadow.append(this.#frame)
    this.#frame.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || composing(event) || !this.#state.busy) return
      event.preventDefault() // it would also close a dialog around the element
      this.#stop()
    })
    this.#readAttributes()
  }

  get #modes(): readonly Mode[] {
    const named = words(this.getAttribute("modes"))?.filter((mode): mode is Mode => mode === "face" || mode === "text") ?? []
    return named.length > 0 ? named : this.defaultModes
  }

  /** Reads the attributes: at the beginning, or after a change of the given one. */
  #readAttributes(changed?: string): void {
    const change: Partial<State> = {}
    if (changed === undefined || changed === "captions") change.captions = this.captions !== "off"
    if (changed === undefined || changed === "background") this.#stage?.setTransparent(this.background === "transparent")
    if (changed === undefined || changed === "poster") change.poster = this.poster ?? undefined
    if (changed === undefined || changed === "greeting") change.greeting = this.greeting ?? undefined
    if (!open(this.#state)) {
      const modes = this.#modes
      const disclosure = this.#ownDisclosure
      Object.assign(change, { modes, mode: modes[0], sound: !this.hasAttribute("muted"), disclosure: (labels: Labels) => disclosure ?? labels.disclosure })
    }
    this.#update(change)
  }

  /** Changes what is shown. When the control that has the focus is hidden, another one gets it. `code` is that of the error, for the event. */
  #update(change: Partial<State>, code?: string): void {
    const before = this.#state
    const state = (this.#state = { ...before, ...change })
    const focused = this.shadowRoot?.activeElement
    for (const part of this.#parts) part.show(state)
    if (this.#disclosure) this.#disclosure.textContent = this.#notice
    if (this.#frame) {
      const layout = state.mode === "text" ? "text" : state.modes.length > 1 ? "both" : "face"
      this.#frame.className = `frame in-${layout}`
      this.setAttribute("phase", state.phase)
    }
    // At the end of a conversation, the empty field passes the focus to the button that starts another.
    const over = before.phase !== state.phase && !open(state) && state.mode === "face" && focused === this.#composer?.field && this.#composer?.field.value === ""
    if (focused?.checkVisibility && (over || !focused.checkVisibility())) this.#passFocus()
    if (before.phase !== state.phase) this.dispatchEvent(new CustomEvent("phaseChange", { detail: { phase: state.phase, ...(code !== undefined && { code }) } }))
  }

  /** The notice that the visitor talks to a machine; the page's label takes precedence. */
  get #notice(): string {
    const { labels, disclosure } = this.#state
    return this.#ownLabels?.disclosure === undefined ? disclosure(labels) : labels.disclosure
  }

  /** The notice of the attribute or of the session's options. */
  get #ownDisclosure(): string | undefined {
    return this.#options.disclosureText || this.disclosure || undefined
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
    await this.#conversations()
    await this.#preparation.prepare((init) => (this.#state.phase === "idle" && this.isConnected ? (this.#makeSession(["face"], init) as Promise<AvatarSession>) : undefined))
  }

  async #conversations(): Promise<Conversations> {
    const module = await imported(conversationModule)
    if (!this.#failures) {
      this.#failures = module.failures
      this.#relabel()
    }
    return module
  }

  async #makeSession(modes: readonly Mode[], init: AppInitResult): Promise<AnySession> {
    const { makeSession } = await this.#conversations()
    this.#renewedToken = undefined
    const renewed = (token: string) => void (this.#renewedToken = token)
    return makeSession({ modes, video: this.#stage!.video, microphone: this.#microphone, init, again: () => this.#requestInit(), renewed, options: this.#allOptions(), disclosure: this.#notice })
  }

  /** A template may set another function each time that it is drawn, also when it is drawn because of an error: that is no other agent. */
  #sourceChanged(before: unknown, now: unknown, known: boolean): void {
    if (now === before) return
    if (typeof now !== "function" || typeof before !== "function") return this.#accessChanged(!known)
    this.#preparation.drop() // it may be of another visitor
  }

  /** What a conversation needs has changed: an early reply is not used, and a start that failed may succeed now. `anew`: another agent may be meant, which is loaded as `preload` says. */
  #accessChanged(anew: boolean): void {
    this.#preparation.drop()
    if (this.#state.permanent) this.#update(beforeStart)
    if (!anew || !this.shadowRoot || open(this.#state)) return
    this.#update({ poster: this.poster ?? undefined }) // the service's was that of the last agent
    // Once for all that the page changes now.
    queueMicrotask(() => this.isConnected && this.#watchPreload())
  }

  /** The page has said which agent it is: before its module has run, an element may have none yet. */
  get #agentKnown(): boolean {
    return Boolean(this.#init ?? this.#token ?? this.widgetId)
  }

  #passFocus(): void {
    // On a phone, focusing the text field would open the keyboard.
    const touched = matchMedia("(pointer: coarse)").matches
    const all = [...this.shadowRoot!.querySelectorAll<HTMLElement>(touched ? ".over, button" : ".over, textarea")]
    all.find((element) => element.checkVisibility() && !element.matches(":disabled"))?.focus()
  }

  async #begin(): Promise<void> {
    if (!this.shadowRoot) this.#build()
    this.#leave()
    const run = (this.#run = new AbortController())
    const { signal } = run
    const modes = this.#modes
    this.#update({
      phase: "connecting",
      modes,
      mode: modes[0]!,
      message: undefined,
      permanent: false,
      picture: false,
      ...quiet,
      blocked: false,
      step: 0,
      activity: "connecting",
      switching: false,
      microphone: this.#microphone === "none" ? "none" : "off",
      sound: !this.hasAttribute("muted"),
    })
    this.#stage!.forget()
    this.#muted = false
    this.#noAnswer = noAnswer
    const known = this.#agentKnown
    try {
      checkAttributes(this)
      const [init, { Conversation, addParts }] = await Promise.all([this.#preparation.take(signal), this.#conversations()])
      if (signal.aborted) return
      this.#addParts?.(addParts)
      this.#addParts = undefined
      this.#showPoster(init)
      const session = (await this.#preparation.takeSession(init)) ?? (await this.#makeSession(modes, init))
      if (signal.aborted) return await session.dispose()
      this.#session = session
      this.#attach(session, signal)
      const log = this.#log!
      const focused = this.shadowRoot!.activeElement
      this.#conversation?.leaveLog()
      this.#conversation = new Conversation({
        session,
        labels: () => this.#state.labels,
        agentName: this.agentName,
        history: this.#history,
        access: () => ({ ...init, ...(this.#renewedToken && { token: this.#renewedToken }) }),
        options: this.#allOptions(),
        say: (text) => this.#update({ message: () => text }),
        entries: modes.includes("text"),
        unconfirmed: (text) => {
          this.#composer!.restore(text)
          this.#update({ message: (labels) => labels.unconfirmed })
        },
        log: log.root,
        region: log.region,
        caption: this.#stage!.caption,
        bars: this.#stage!.bars,
        doing: (activity, busy, hint) => this.#update({ activity, busy, hint }),
        hint: (hint) => this.#update({ hint }),
        said: () => this.dispatchEvent(new CustomEvent("transcriptChange", { detail: { transcript: this.transcript } })),
        send: (text) => {
          this.#composer!.field.focus()
          this.#composer!.submit(text)
        },
        signal,
      })
      if (focused?.checkVisibility && !focused.isConnected) this.#passFocus() // a suggestion that was chosen
      this.#update({ step: 1 })
      this.dispatchEvent(new CustomEvent("sessionCreated", { detail: { session } }))
      await activation(signal)
      if (signal.aborted) return
      await session.connect()
      if (!signal.aborted) this.#live()
    } catch (reason) {
      await this.#conversations().catch(() => {}) // without the texts of errors the sentence is a general one
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
    if (codeOf(this.#reported) !== code) this.#report(error)
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

  #report(error: unknown): void {
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
    this.#endRun()
    this.#session?.dispose().catch(() => {}) // it rejects when the program, and so the session, has ended
    this.#session = this.#reported = undefined
  }

  #endRun(): void {
    this.#run.abort()
    this.#turn?.abort()
  }

  #over(reason: string | undefined): void {
    this.#endRun()
    const last = this.#reported
    if (last instanceof AgentError && last.code === reason) return this.#fail(last, "The conversation has ended")
    if (Object.hasOwn(this.#failures?.labels.errors ?? {}, reason ?? "")) return this.#fail(new AgentError({ code: reason! }), "The conversation has ended")
    this.#update({ phase: "ended", message: endText(reason), ...quiet })
  }

  get #microphone(): "start" | "click" | "none" {
    const text = this.getAttribute("microphone")
    return text === "click" || text === "none" ? text : "start"
  }

  /** Those of the attributes, and of the page, which take precedence. */
  #allOptions(): SessionOptions {
    const options: Record<string, string> = {}
    for (const name of ["kickoff", "threadId", "contextId", "contextType", "region", "genieUrl"] as const) {
      const value = this[name]
      if (value !== null) options[name] = value
    }
    return { ...options, ...this.#options }
  }

  // --- appInit

  async #requestInit(signal?: AbortSignal): Promise<AppInitResult> {
    const given = await ofPage("init", () => valueOf(this.#init))
    if (given) return given
    const token = await ofPage("token", () => tokenTextOf(this.#token))
    if (!token && !this.widgetId) throw localError("bad_request", "the element has neither a widget nor a token: set widget-id to the public id of the agent's widget")
    const options: Record<string, unknown> = { signal }
    for (const name of ["widgetId", "region", "agenticUrl", "genieUrl", "ovpUrl"] as const) if (this[name] !== null) options[name] = this[name]
    if (token) options["token"] = token
    return requestInit(this.#modes, options as { widgetId: string }, this.#options)
  }

  #showPoster({ avatars }: AppInitResult): void {
    if (!this.getAttribute("poster") && this.#modes.includes("face")) this.#update({ poster: safeUrl(avatars?.[0]?.previewImageUrl) })
  }

  // --- The session's events

  #attach(session: AnySession, signal: AbortSignal): void {
    // Without the signal: some events follow the end of the session.
    session.onAny((name, detail) => {
      if (name !== "error") this.dispatchEvent(new CustomEvent(String(name), { detail }))
      else if (!signal.aborted || codeOf(detail) !== codeOf(this.#reported)) this.#report(detail)
    }, { lasting: true })
    listen(session, signal, {
      stateChange: () => {
        if (!("transport" in session)) return
        this.#update({ switching: (session.state as string) === "switching", mode: session.mode === "avatar" ? "face" : "text" })
        this.#showVoice()
      },
      transportChanged: ({ mode, transport }) => {
        if (mode === "avatar") this.#attachFace(transport, signal)
        this.#stage!.forget()
        this.#update({ mode: mode === "avatar" ? "face" : "text", picture: false, missing: false, unheard: false })
      },
      modeChanged: ({ threadContinuity }) => {
        if (!threadContinuity && this.transcript.length > 0) this.#update({ message: (labels) => labels.forgotten })
      },
      warning: ({ code, message, detail, requestVarKeys }) => {
        if (code === "playback_blocked") return this.#showVoice()
        if (code === "media_no_video") this.#update(this.#state.picture ? { missing: true } : { message: noPicture })
        if ((MIC_ERROR_CODES as readonly string[]).includes(code)) this.#update({ microphoneProblem: errorText(code) })
        if (code === "empty_turn_with_request_vars") {
          // The session warns once, and sends the variables with every later turn too.
          this.#noAnswer = errorText("client_variables_disabled")
          this.#update({ message: this.#noAnswer })
        }
        const more = requestVarKeys ? `variables: ${requestVarKeys.join(", ")}` : detail
        console.warn(this.#line(more ? `${message} (${more})` : message, code))
      },
      mediaRecovering: ({ channel }) => {
        if (channel !== "stv") return this.#update({ unheard: true })
        this.#stage!.lose()
        this.#update({ missing: this.#state.picture })
      },
      mediaRecovered: ({ channel }) => {
        if (channel !== "stv") this.#update({ unheard: false })
        else if (!this.#stage!.countsFrames) this.#update({ missing: false })
      },
      reconnected: () => this.#update({ unheard: false }),
      ended: ({ reason }) => this.#over(reason),
    })
    const face = faceOf(session)
    if (face) this.#attachFace(face, signal)
  }

  #attachFace(face: AvatarSession, signal: AbortSignal): void {
    if (this.#faces.has(face)) return
    this.#faces.add(face)
    if (!this.#state.sound) face.muteAudioOutput()
    if (this.#muted) face.mute()
    const voice = () => this.#showVoice()
    listen(face, signal, {
      stateChange: ({ state }) => {
        if (state === "reconnecting" || state === "resuming") this.#update({ phase: "reconnecting" })
        else if (state === "connected" && this.#state.phase === "reconnecting") {
          const { picture, missing } = this.#state
          const stage = this.#stage!
          this.#update({ phase: "live", missing: missing || (picture && stage.countsFrames && stage.stands) })
        }
        voice()
      },
      streamReady: () => this.#update({ step: 2 }),
      disclosure: () => this.#update({ gated: this.#options.requireDisclosureAck === true }),
      micStarted: () => {
        this.#update({ microphoneProblem: undefined })
        voice()
      },
      tapToTalkStarted: voice,
      tapToTalkEnded: voice,
    })
  }

  #live(): void {
    this.#update({ phase: "live", gated: false })
    this.#showVoice()
  }

  /** Shows the state of the session's microphone and sound. */
  #showVoice(): void {
    const face = faceOf(this.#session)
    if (!face) return
    const microphone = this.#microphone === "none" ? "none" : face.micStarted && face.micEnabled ? "on" : "off"
    const { playbackBlocked, audioOutputMuted, capabilities, tapToTalkActive } = face
    this.#conversation?.refresh()
    this.#update({ microphone, blocked: playbackBlocked !== null, sound: !audioOutputMuted, tapToTalk: capabilities.tapToTalk, tapping: tapToTalkActive })
  }

  /** Calls the avatar session, if there is one; an error is shown as one of the microphone. */
  async #attempt(act: (face: AvatarSession) => unknown): Promise<void> {
    const face = faceOf(this.#session)
    try {
      if (face) await act(face)
    } catch (reason) {
      if (face !== faceOf(this.#session)) return
      this.#microphoneFailed(reason)
    }
    this.#showVoice()
  }

  #microphoneFailed(reason: unknown): void {
    this.#report(reason)
    this.#update({ microphoneProblem: errorText(codeOf(reason)) })
    console.warn(this.#line(messageOf(reason), codeOf(reason)))
  }

  #stop(): void {
    this.#turn?.abort()
    this.#conversation?.stopWaiting()
    if (this.#state.phase === "live" && !this.#state.tapping) faceOf(this.#session)?.interrupt() // the window interrupts the agent itself
  }

  async #switchMode(): Promise<void> {
    const session = this.#session
    if (!session || !("switchMode" in session)) return
    try {
      await session.switchMode(this.#state.mode === "face" ? "chat" : "avatar")
    } catch (reason) {
      if (session === this.#session && !this.#run.signal.aborted) this.#update({ message: errorText(codeOf(reason)) })
    }
  }
}

if (globalThis.HTMLElement) reflect(AgentElement.prototype)

/** The result of a function of the page, or of a promise. Rejects with `handler_failed`. */
async function ofPage<T>(property: string, get: () => Promise<T>): Promise<T> {
  try {
    return await get()
  } catch (cause) {
    throw cause instanceof AgentError ? cause : localError("handler_failed", `the property ${property} of the element failed: ${messageOf(cause)}`, { cause })
  }
}

function codeOf(reason: unknown): string | undefined {
  return (reason as { code?: string } | undefined)?.code
}
