import { checkElement, plainAvatar, type AvatarOptions } from "./avataroptions.js"
import { localError } from "./errors.js"
import type { AvatarEvents, AvatarMode, AvatarState, AgentAbilities, Configuration, Disclosure, Kickoff, Snapshot } from "./events.js"
import { fullProgram } from "./full.js"
import { Inner } from "./inner.js"
import { logUnneeded, optionsOf, type PlainOptions } from "./options.js"
import { openingOf, Session, type CallOptions, type DisconnectOptions } from "./session.js"

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

// In these nothing happens by itself.
const rest: readonly AvatarState[] = ["idle", "disconnected", "error"]

/**
 * A live session with an agent that has a face and a voice.
 *
 * Making one starts loading the runtime; `connect()` waits for it, and what is
 * called before it is there takes effect in order. Errors are `AgentError`s:
 * switch on their `code` (docs/errors.md). Attach listeners before `connect()`:
 * events are not replayed.
 */
export class AvatarSession extends Session<AvatarEvents, Snapshot> {
  /** What of the page is bound without the runtime, or after it. */
  #elements: Elements = {}
  #level = false
  /** It was left before the program was there, which will tell of it. */
  #leftEarly = false

  /** Throws `bad_request`, `validation_error`, `unknown_capability` or `insecure_transport` for bad options. */
  constructor(options: AvatarOptions)
  /** @internal */
  constructor(inner: Inner)
  constructor(from: AvatarOptions | Inner) {
    const plain = from instanceof Inner ? {} : plainAvatar(from)
    super(initial(plain), from instanceof Inner ? from : openingOf("avatarSession", fullProgram, plain))
    if (from instanceof Inner) return
    logUnneeded(plain)
    this.#elements = { videoEl: from.videoEl ?? null, audioEl: from.audioEl ?? null }
  }

  // --- The conversation's life

  /**
   * Connects; resolves when the agent is there. The error of a failed connect
   * carries `phase` and `timings`; `disconnect()` must come before another try,
   * and `setToken()`, because disconnecting forgets the token.
   */
  async connect(options?: CallOptions): Promise<void> {
    const { signal } = optionsOf(options)
    await this.stayAwake("connect", signal)
  }

  /** Opens the connection and joins ahead of time, without microphone or media. */
  async prepare(options?: CallOptions): Promise<void> {
    const { signal } = optionsOf(options)
    await this.stayAwake("prepare", signal)
  }

  /**
   * Ends the session, and tells the service that the conversation is over unless
   * `final` is false. Allowed at any time.
   */
  disconnect(options?: DisconnectOptions): void {
    const { final = true, reason } = optionsOf(options)
    const withdrawn = localError("connect_failed", "the session was disconnected")
    for (const method of ["connect", "prepare"]) this.link.withdraw(method, withdrawn)
    this.link.now("disconnect", { final, reason })
    if (this.link.pending) this.leaveEarly()
  }

  /** `disconnect` for a person's stop button. */
  stop(): void {
    this.disconnect({ reason: "stop" })
  }

  /** Waits until an agent is free; rejects with `capacity_timeout`. */
  async waitForCapacity(options?: { maxWaitMs?: number; pollIntervalMs?: number } & CallOptions): Promise<{ available: true; details?: unknown }> {
    const { signal, ...times } = optionsOf(options)
    return this.link.later("waitForCapacity", signal, times)
  }

  // --- Talking

  /**
   * Sends a typed turn; true when it was sent, false when the session ended
   * first. During a turn that can't be interrupted it waits.
   */
  async speak(text: string, options?: CallOptions): Promise<boolean> {
    const { signal } = optionsOf(options)
    return this.live.later("speak", signal, text)
  }

  /** Silences the avatar now. */
  interrupt(): void {
    this.live.now("interrupt")
  }

  startTapToTalk(): void {
    this.live.now("startTapToTalk")
  }

  endTapToTalk(): void {
    this.live.now("endTapToTalk")
  }

  pause(): void {
    this.live.now("pause")
  }

  async resume(options?: CallOptions): Promise<void> {
    const { signal } = optionsOf(options)
    await this.live.later("resume", signal)
  }

  /** Confirms the notice; releases a start that waits for it. */
  acknowledgeDisclosure(): void {
    this.link.now("acknowledgeDisclosure")
  }

  /** The notice of the `disclosure` event, null before connecting. */
  getDisclosure(): Disclosure | null {
    return this.values.disclosure
  }

  getStickyId(): string {
    return this.values.stickyId
  }

  /** A cheap sign of life; does nothing without a connection. */
  keepAlive(): void {
    if (this.link.present) this.link.now("keepAlive")
  }

  // --- Context

  /** Sends one still of a shared screen, a JPEG or PNG. */
  sendScreenShot(image: ArrayBuffer | ArrayBufferView): void {
    this.live.now("sendScreenShot", image)
  }

  /** Tells the brain of a click on something it made. */
  notifyHtmlElementClick(info: Record<string, unknown>): void {
    this.live.now("notifyHtmlElementClick", info)
  }

  submitStructuredDataForm(values: Record<string, unknown>): void {
    this.live.now("submitStructuredDataForm", values)
  }

  // --- Microphone

  mute(): void {
    this.link.now("mute")
  }

  unmute(): void {
    this.link.now("unmute")
  }

  /** Asks for the microphone and attaches it. */
  async startMic(options?: CallOptions): Promise<void> {
    const { signal } = optionsOf(options)
    await this.live.later("startMic", signal)
  }

  async switchMic(deviceId: string, options?: CallOptions): Promise<void> {
    const { signal } = optionsOf(options)
    await this.live.later("switchMic", signal, deviceId)
  }

  async listDevices(options?: CallOptions): Promise<{ mics: Device[]; speakers: Device[] }> {
    const { signal } = optionsOf(options)
    return this.link.later("listDevices", signal)
  }

  /** Caps the microphone's sender, in kbit/s; 0 removes the cap. */
  async setAsrBandwidth(kbps: number, options?: CallOptions): Promise<void> {
    const { signal } = optionsOf(options)
    await this.live.later("setAsrBandwidth", signal, kbps)
  }

  // --- Picture and voice

  /** Shows the picture elsewhere; null nowhere. */
  setVideoEl(element: HTMLMediaElement | null): void {
    checkElement("videoEl", element)
    this.link.now("setVideoEl", element)
    this.#elements.videoEl = element
  }

  /** Plays the voice elsewhere; null merges it back into the picture's element. */
  setAudioEl(element: HTMLMediaElement | null): void {
    checkElement("audioEl", element)
    this.link.now("setAudioEl", element)
    this.#elements.audioEl = element
  }

  muteAudioOutput(): void {
    this.link.now("muteAudioOutput")
  }

  unmuteAudioOutput(): void {
    this.link.now("unmuteAudioOutput")
  }

  /** 0 to 1; what is beyond is brought inside. */
  setAudioOutputVolume(volume: number): void {
    if (typeof volume !== "number" || Number.isNaN(volume)) throw localError("bad_request", "the volume is no number")
    this.link.now("setAudioOutputVolume", Math.min(Math.max(volume, 0), 1))
  }

  /** Chooses the speaker, `""` for the default; false if that is refused or unsupported. */
  async setAudioOutput(deviceId: string, options?: CallOptions): Promise<boolean> {
    const { signal } = optionsOf(options)
    if (typeof deviceId !== "string") throw localError("bad_request", "deviceId must be a string")
    return this.link.later("setAudioOutput", signal, deviceId)
  }

  /** Plays again after `playback_blocked`; call it in a click. */
  async startPlayback(options?: CallOptions): Promise<boolean> {
    const { signal } = optionsOf(options)
    return this.link.later("startPlayback", signal)
  }

  // --- Properties

  get state(): AvatarState {
    return this.values.state
  }

  get mode(): AvatarMode {
    return this.values.mode
  }

  /** The avatar talks. */
  get speaking(): boolean {
    return this.values.speaking
  }

  /** The brain was asked and has shown nothing yet. */
  get responsePending(): boolean {
    return this.values.responsePending
  }

  get paused(): boolean {
    return this.values.paused
  }

  /** Milliseconds from the connect call, by phase. */
  get timings(): Readonly<Record<string, number>> {
    return this.values.timings
  }

  get tapToTalkActive(): boolean {
    return this.values.tapToTalkActive
  }

  get kickoff(): Kickoff | null {
    return this.values.kickoff
  }

  /** What the service said the agent can do. */
  get capabilities(): AgentAbilities {
    return this.values.capabilities
  }

  get clientConfig(): Configuration | null {
    return this.values.clientConfig
  }

  get partnerId(): string {
    return this.values.partnerId
  }

  /** Not muted. */
  get micEnabled(): boolean {
    return this.values.micEnabled
  }

  /** A microphone is attached. */
  get micStarted(): boolean {
    return this.values.micStarted
  }

  get threadId(): string | undefined {
    return this.values.threadId
  }

  get audioOutputMuted(): boolean {
    return this.values.audioOutputMuted
  }

  get audioOutputVolume(): number {
    return this.values.audioOutputVolume
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

  get #bound(): Elements {
    if (this.link.present) this.#elements = (this.link.now("elements") as Elements | undefined) ?? this.#elements
    return this.#elements
  }

  protected override resting(state: AvatarState): boolean {
    return rest.includes(state)
  }

  protected override final(): boolean {
    return false // until it is disposed
  }

  protected override leaveEarly(): void {
    if (this.values.state !== "idle") return
    this.#leftEarly = true
    for (const state of ["disconnecting", "disconnected"] as const) super.received("stateChange", { state })
  }

  protected override received<K extends keyof AvatarEvents>(name: K, payload: unknown): void {
    if (!this.#leftEarly || name !== "stateChange") return super.received(name, payload)
    // Told already. The call takes effect all the same, because it forgets the token.
    const { state } = payload as AvatarEvents["stateChange"]
    this.#leftEarly = state !== "disconnected"
  }

  protected override broken(last: Snapshot): Snapshot {
    this.#elements = { ...this.#elements, avatarStream: null }
    return { ...last, state: "error", speaking: false, responsePending: false, micStarted: false }
  }

  /** The level is measured only while somebody listens. */
  protected override listenersChanged(): void {
    const wanted = this.heard("localMicLevel") || this.heard("localSpeakingChanged")
    if (wanted === this.#level) return
    this.#level = wanted
    this.tell("wantLevel", wanted)
  }
}

/** The properties before the runtime is there. */
function initial(plain: PlainOptions): Snapshot {
  const { kickoff = null, partnerId = "", stickyId = "", threadId } = plain as Partial<Snapshot>
  return {
    state: "idle",
    mode: "video",
    speaking: false,
    responsePending: false,
    paused: false,
    timings: {},
    tapToTalkActive: false,
    kickoff,
    capabilities: { screenShare: false, cameraAnalysis: false, webSearch: false, interruptions: true, tapToTalk: false },
    clientConfig: null,
    partnerId,
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
