import type { AvatarEvents, AvatarMode, AvatarState, AgentAbilities, Configuration, Disclosure, Kickoff, OAuthRequired, Snapshot, ToolCall } from "./events.js"
import { AgentError, localError } from "./errors.js"
import { checkElement, checkVars, lendFunctions, logUnneeded, plainOptions, tokenOf, type AvatarOptions, type PlainOptions, type Token } from "./options.js"
import { fullProgram } from "./full.js"
import { Remote } from "./remote.js"
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
  type?: "str" | "int" | "float" | "bool" | "list" | "dict"
  required?: boolean
  enum?: unknown[]
}

/** A microphone or a speaker; the label is hidden until the microphone is permitted. */
export interface Device {
  deviceId: string
  label: string
  groupId: string
}

/** What of the page a session is bound to. */
interface Elements {
  avatarStream?: MediaStream | null
  videoEl?: HTMLMediaElement | null
  audioEl?: HTMLMediaElement | null
}

// In a state of rest nothing happens by itself: a session that the page has
// forgotten may go.
const rest: readonly AvatarState[] = ["idle", "disconnected", "error"]

// Only what is at rest may be collected, whatever the page holds.
const awake = new Set<AvatarSession>()

// Older browsers lack it, and a class can't have a member without a name.
const asyncDispose: typeof Symbol.asyncDispose = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")

/**
 * A live session with an agent that has a face and a voice.
 *
 * Making one starts loading the runtime; `connect()` waits for it, and what is
 * called before it is there takes effect in order. Errors are `AgentError`s:
 * switch on their `code` (docs/errors.md). Attach listeners before `connect()`:
 * events are not replayed.
 */
export class AvatarSession extends Waiting<AvatarEvents> {
  readonly #remote: Remote
  readonly #stickyId: string
  /** What properties say without the runtime, or after it. */
  #last: Snapshot
  #elements: Elements
  #level = false

  /** Throws `bad_request`, `validation_error`, `unknown_capability` or `insecure_transport` for bad options. */
  constructor(options: AvatarOptions) {
    super()
    let plain: PlainOptions | undefined = plainOptions(options)
    logUnneeded(options)
    this.#stickyId = plain.stickyId
    this.#last = initial(plain)
    this.#elements = { videoEl: options.videoEl ?? null, audioEl: options.audioEl ?? null }
    const owner = {
      receive: (name: string, payload: unknown) => this.#receive(name as keyof AvatarEvents, payload),
      lost: (reason: AgentError) => this.#lost(reason),
    }
    this.#remote = new Remote(owner, fullProgram, (go, dispatch) => {
      const request = lendFunctions(plain!, this.#remote)
      plain = undefined // the token is the Go side's from now on
      return go.avatarSession(request, dispatch)
    })
    this.#remote.load()
  }

  // --- The conversation's life

  /**
   * Connects; resolves when the agent is there. The error of a failed connect
   * carries `phase` and `timings`; `disconnect()` must come before another try,
   * and `setToken()`, because disconnecting forgets the token.
   */
  async connect({ signal }: CallOptions = {}): Promise<void> {
    await this.#stayAwake(this.#remote.later<void>("connect", signal))
  }

  /** Opens the connection and joins ahead of time, without microphone or media. */
  async prepare({ signal }: CallOptions = {}): Promise<void> {
    await this.#stayAwake(this.#remote.later<void>("prepare", signal))
  }

  /**
   * Ends the session, and tells the service that the conversation is over unless
   * `final` is false. Allowed at any time.
   */
  disconnect({ final = true, reason }: { final?: boolean; reason?: string } = {}): void {
    this.#remote.withdraw("connect", localError("connect_failed", "the session was disconnected"))
    this.#remote.withdraw("prepare", localError("connect_failed", "the session was disconnected"))
    this.#remote.now("disconnect", { final, reason })
  }

  /** `disconnect` for a person's stop button. */
  stop(): void {
    this.disconnect({ reason: "stop" })
  }

  /** Tells the service now that the conversation is over. */
  completeThread({ signal }: CallOptions = {}): Promise<Completion> {
    return this.#remote.later("completeThread", signal)
  }

  /** Waits until an agent is free; rejects with `capacity_timeout`. */
  waitForCapacity(options: { maxWaitMs?: number; pollIntervalMs?: number } & CallOptions = {}): Promise<{ available: true; details?: unknown }> {
    const { signal, ...times } = options
    return this.#remote.later("waitForCapacity", signal, times)
  }

  /** Disconnects and frees everything. The session can't be used afterwards. */
  async dispose(): Promise<void> {
    await this.#remote.dispose()
    awake.delete(this)
  }

  /** `await using session = new AvatarSession(…)`. */
  [asyncDispose](): Promise<void> {
    return this.dispose()
  }

  // --- Talking

  /**
   * Sends a typed turn; true when it was sent, false when the session ended
   * first. During a turn that can't be interrupted it waits.
   */
  async speak(text: string, { signal }: CallOptions = {}): Promise<boolean> {
    return this.#whenLive().later("speak", signal, text)
  }

  /** Silences the avatar now. */
  interrupt(): void {
    this.#whenLive().now("interrupt")
  }

  startTapToTalk(): void {
    this.#whenLive().now("startTapToTalk")
  }

  endTapToTalk(): void {
    this.#whenLive().now("endTapToTalk")
  }

  pause(): void {
    this.#whenLive().now("pause")
  }

  async resume({ signal }: CallOptions = {}): Promise<void> {
    await this.#whenLive().later("resume", signal)
  }

  /** Confirms the notice; releases a start that waits for it. */
  acknowledgeDisclosure(): void {
    this.#remote.now("acknowledgeDisclosure")
  }

  /** The notice of the `disclosure` event, null before connecting. */
  getDisclosure(): Disclosure | null {
    return this.#values.disclosure
  }

  /** Replaces the token for everything that needs one later. */
  setToken(token: Token): void {
    this.#remote.now("setToken", tokenOf(token))
  }

  getStickyId(): string {
    return this.#stickyId
  }

  /** A cheap sign of life; does nothing without a connection. */
  keepAlive(): void {
    if (this.#remote.present) this.#remote.now("keepAlive")
  }

  // --- Context and tools

  /** Sends one still of a shared screen, a JPEG or PNG. */
  sendScreenShot(image: ArrayBuffer | ArrayBufferView): void {
    this.#whenLive().now("sendScreenShot", image)
  }

  /** Tells the brain what the visitor has before them. */
  setDynamicPrompt(data: Record<string, unknown>): void {
    this.#whenLive().now("setDynamicPrompt", data)
  }

  /** Merges prompt variables; `""` or null clears one. */
  updateRequestVars(vars: Record<string, string | number | boolean | null>): void {
    checkVars(vars)
    this.#whenLive().now("updateRequestVars", vars)
  }

  /** Tells the brain of a click on something it made. */
  notifyHtmlElementClick(info: Record<string, unknown>): void {
    this.#whenLive().now("notifyHtmlElementClick", info)
  }

  submitStructuredDataForm(values: Record<string, unknown>): void {
    this.#whenLive().now("submitStructuredDataForm", values)
  }

  /**
   * Registers a handler for a client command and returns the function that
   * removes it. What it returns becomes `toolCallResult`; the brain is answered
   * with `respondToTool`.
   */
  onToolCall(name: string, handler: (call: ToolCall) => unknown, argsSchema?: Record<string, ArgRule>): () => void {
    if (typeof name !== "string" || name.trim() === "" || typeof handler !== "function") {
      throw localError("bad_request", "a tool handler needs a name and a function")
    }
    const lent = this.#remote.lend(handler)
    return this.#register("addToolHandler", lent, name, lent.call, argsSchema)
  }

  /** Registers a handler for requests of the visitor's consent. */
  onOAuthRequired(handler: (request: OAuthRequired) => unknown): () => void {
    if (typeof handler !== "function") throw localError("bad_request", "a consent handler needs a function")
    const lent = this.#remote.lend(handler)
    return this.#register("addConsentHandler", lent, lent.call)
  }

  /** Answers a call that the brain waits for. */
  async respondToTool(id: string, response: Record<string, unknown>, { signal }: CallOptions = {}): Promise<ToolAnswer> {
    return this.#whenLive().later("respondToTool", signal, id, response)
  }

  // --- Microphone

  mute(): void {
    this.#remote.now("mute")
  }

  unmute(): void {
    this.#remote.now("unmute")
  }

  /** Asks for the microphone and attaches it. */
  async startMic({ signal }: CallOptions = {}): Promise<void> {
    await this.#whenLive().later("startMic", signal)
  }

  async switchMic(deviceId: string, { signal }: CallOptions = {}): Promise<void> {
    await this.#whenLive().later("switchMic", signal, deviceId)
  }

  listDevices({ signal }: CallOptions = {}): Promise<{ mics: Device[]; speakers: Device[] }> {
    return this.#remote.later("listDevices", signal)
  }

  /** Caps the microphone's sender, in kbit/s; 0 removes the cap. */
  async setAsrBandwidth(kbps: number, { signal }: CallOptions = {}): Promise<void> {
    await this.#whenLive().later("setAsrBandwidth", signal, kbps)
  }

  // --- Picture and voice

  /** Shows the picture elsewhere; null nowhere. */
  setVideoEl(element: HTMLMediaElement | null): void {
    checkElement("videoEl", element)
    this.#elements.videoEl = element
    this.#remote.now("setVideoEl", element)
  }

  /** Plays the voice elsewhere; null merges it back into the picture's element. */
  setAudioEl(element: HTMLMediaElement | null): void {
    checkElement("audioEl", element)
    this.#elements.audioEl = element
    this.#remote.now("setAudioEl", element)
  }

  muteAudioOutput(): void {
    this.#remote.now("muteAudioOutput")
  }

  unmuteAudioOutput(): void {
    this.#remote.now("unmuteAudioOutput")
  }

  /** 0 to 1; what is beyond is brought inside. */
  setAudioOutputVolume(volume: number): void {
    if (typeof volume !== "number" || Number.isNaN(volume)) throw localError("bad_request", "the volume is no number")
    this.#remote.now("setAudioOutputVolume", Math.min(Math.max(volume, 0), 1))
  }

  /** Chooses the speaker, `""` for the default; false if that is refused or unsupported. */
  async setAudioOutput(deviceId: string, { signal }: CallOptions = {}): Promise<boolean> {
    if (typeof deviceId !== "string") throw localError("bad_request", "deviceId must be a string")
    return this.#remote.later("setAudioOutput", signal, deviceId)
  }

  /** Plays again after `playback_blocked`; call it in a click. */
  startPlayback({ signal }: CallOptions = {}): Promise<boolean> {
    return this.#remote.later("startPlayback", signal)
  }

  // --- Properties

  get state(): AvatarState {
    return this.#values.state
  }

  get mode(): AvatarMode {
    return this.#values.mode
  }

  /** The avatar talks. */
  get speaking(): boolean {
    return this.#values.speaking
  }

  /** The brain was asked and has shown nothing yet. */
  get responsePending(): boolean {
    return this.#values.responsePending
  }

  get paused(): boolean {
    return this.#values.paused
  }

  /** Milliseconds from the connect call, by phase. */
  get timings(): Readonly<Record<string, number>> {
    return this.#values.timings
  }

  get tapToTalkActive(): boolean {
    return this.#values.tapToTalkActive
  }

  get kickoff(): Kickoff | null {
    return this.#values.kickoff
  }

  /** What the service said the agent can do. */
  get capabilities(): AgentAbilities {
    return this.#values.capabilities
  }

  get clientConfig(): Configuration | null {
    return this.#values.clientConfig
  }

  get partnerId(): string {
    return this.#values.partnerId
  }

  /** Not muted. */
  get micEnabled(): boolean {
    return this.#values.micEnabled
  }

  /** A microphone is attached. */
  get micStarted(): boolean {
    return this.#values.micStarted
  }

  get threadId(): string | undefined {
    return this.#values.threadId
  }

  get audioOutputMuted(): boolean {
    return this.#values.audioOutputMuted
  }

  get audioOutputVolume(): number {
    return this.#values.audioOutputVolume
  }

  get videoEl(): HTMLMediaElement | null {
    return this.#bound.videoEl ?? null
  }

  get audioEl(): HTMLMediaElement | null {
    return this.#bound.audioEl ?? null
  }

  /** Picture and voice; the same object through every recovery. */
  get avatarStream(): MediaStream | null {
    return this.#bound.avatarStream ?? null
  }

  // --- Inside

  get #values(): Snapshot {
    if (this.#remote.present) this.#last = (this.#remote.now("properties") as Snapshot | undefined) ?? this.#last
    return this.#last
  }

  get #bound(): Elements {
    if (!this.#remote.present) return this.#elements
    return (this.#remote.now("elements") as Elements | undefined) ?? this.#elements
  }

  /** The Go side, for calls that need a connected session. */
  #whenLive(): Remote {
    if (!this.#remote.present) throw localError("invalid_state", `the session is ${this.#last.state}, not connected`)
    return this.#remote
  }

  #register(method: string, lent: { number: number; forget: () => void }, ...args: unknown[]): () => void {
    this.#remote.now(method, lent.number, ...args)
    return () => {
      lent.forget()
      this.#remote.now("removeHandler", lent.number)
    }
  }

  async #stayAwake(call: Promise<void>): Promise<void> {
    awake.add(this)
    try {
      await call
    } finally {
      if (rest.includes(this.state)) awake.delete(this)
    }
  }

  #receive<K extends keyof AvatarEvents>(name: K, payload: unknown): void {
    if (name === "stateChange") {
      const { state } = payload as AvatarEvents["stateChange"]
      this.#last = { ...this.#last, state }
      if (rest.includes(state)) awake.delete(this)
      else awake.add(this)
    }
    this.emit(name, payload as AvatarEvents[K])
  }

  /** The program crashed: nobody is left to end the session but this side. */
  #lost(reason: AgentError): void {
    const alive = !rest.includes(this.#last.state)
    this.#last = { ...this.#last, state: "error", speaking: false, responsePending: false, micStarted: false }
    this.#elements = { ...this.#elements, avatarStream: null }
    awake.delete(this)
    this.emit("error", reason)
    this.emit("stateChange", { state: "error" })
    if (alive) this.emit("ended", { reason: reason.code })
  }

  /** The level is measured only while somebody listens. */
  protected override listenersChanged(): void {
    const wanted = this.heard("localMicLevel") || this.heard("localSpeakingChanged")
    if (wanted === this.#level) return
    this.#level = wanted
    this.#remote.now("wantLevel", wanted)
  }
}

/** The properties before the runtime is there. */
function initial({ kickoff, partnerId, stickyId, threadId }: PlainOptions): Snapshot {
  return {
    state: "idle",
    mode: "video",
    speaking: false,
    responsePending: false,
    paused: false,
    timings: {},
    tapToTalkActive: false,
    kickoff: kickoff ?? null,
    capabilities: { screenShare: false, cameraAnalysis: false, webSearch: false, interruptions: true, tapToTalk: false },
    clientConfig: null,
    partnerId: partnerId ?? "",
    stickyId,
    micEnabled: true,
    micStarted: false,
    ...(threadId !== undefined && { threadId }),
    audioOutputMuted: false,
    audioOutputVolume: 1,
    disclosure: null,
    gated: false,
  }
}
