import { checkElement, plainAvatar, type AvatarOptions } from "./avataroptions.js"
import { localError } from "./errors.js"
import type { AvatarEvents, AvatarMode, AvatarState, AgentAbilities, Configuration, Disclosure, Kickoff, Snapshot } from "./events.js"
import { fullProgram } from "./full.js"
import { logUnneeded, optionsOf, type PlainOptions } from "./options.js"
import { Remote } from "./remote.js"
import { Session, withCallbacks, type CallOptions, type DisconnectOptions } from "./session.js"

/** A microphone or a speaker; the label is hidden until the microphone is permitted. */
export interface Device {
  deviceId: string
  label: string
  groupId: string
}

/** The elements and the stream that a session is bound to. */
interface Elements {
  avatarStream?: MediaStream | null
  videoEl?: HTMLMediaElement | null
  audioEl?: HTMLMediaElement | null
}

/**
 * A live session with an agent that has a face and a voice.
 *
 * Making one starts loading the runtime; `connect()` waits for it, and what is
 * called before it is there takes effect in order. Errors are `AgentError`s:
 * switch on their `code` (docs/errors.md). Attach listeners before `connect()`:
 * events are not replayed.
 */
export class AvatarSession extends Session<AvatarEvents, Snapshot> {
  /** The elements that are bound before the runtime is there, and after it. */
  #elements: Elements = {}
  #levelWanted = false
  /** The session was left before the program was there, which will emit the change too. */
  #leftEarly = false

  /** Throws `bad_request`, `validation_error`, `unknown_capability` or `insecure_transport` for bad options. */
  constructor(options: AvatarOptions)
  /** @internal */
  constructor(remote: Remote)
  constructor(from: AvatarOptions | Remote) {
    const plain = from instanceof Remote ? {} : plainAvatar(from)
    super(initial(plain), from instanceof Remote ? from : remoteOf(plain))
    if (from instanceof Remote) return
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
    await this.callActive("connect", options)
  }

  /** Opens the connection and joins ahead of time, without microphone or media. */
  async prepare(options?: CallOptions): Promise<void> {
    await this.callActive("prepare", options)
  }

  /**
   * Ends the session, and tells the service that the conversation is over unless
   * `final` is false. Allowed at any time.
   */
  disconnect(options?: DisconnectOptions): void {
    const { final = true, reason } = optionsOf(options)
    const withdrawn = localError("connect_failed", "the session was disconnected")
    for (const method of ["connect", "prepare"]) this.remote.withdraw(method, withdrawn)
    this.remote.callSync("disconnect", { final, reason })
    if (this.remote.pending) this.leaveEarly()
  }

  /** `disconnect` for a person's stop button. */
  stop(): void {
    this.disconnect({ reason: "stop" })
  }

  /** Waits until an agent is free; rejects with `capacity_timeout`. */
  async waitForCapacity(options?: { maxWaitMs?: number; pollIntervalMs?: number } & CallOptions): Promise<{ available: true; details?: unknown }> {
    const { signal, ...times } = optionsOf(options)
    return this.remote.call("waitForCapacity", { signal }, times)
  }

  // --- Talking

  /**
   * Sends a typed turn; true when it was sent, false when the session ended
   * first. During a turn that can't be interrupted it waits.
   */
  async speak(text: string, options?: CallOptions): Promise<boolean> {
    return this.live.call("speak", options, text)
  }

  /** Silences the avatar now. */
  interrupt(): void {
    this.live.callSync("interrupt")
  }

  startTapToTalk(): void {
    this.live.callSync("startTapToTalk")
  }

  endTapToTalk(): void {
    this.live.callSync("endTapToTalk")
  }

  pause(): void {
    this.live.callSync("pause")
  }

  async resume(options?: CallOptions): Promise<void> {
    await this.live.call("resume", options)
  }

  /** Confirms the notice; releases a start that waits for it. */
  acknowledgeDisclosure(): void {
    this.remote.callSync("acknowledgeDisclosure")
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
    if (this.remote.present) this.remote.callSync("keepAlive")
  }

  // --- Context

  /** Sends one still of a shared screen, a JPEG or PNG. */
  sendScreenShot(image: ArrayBuffer | ArrayBufferView): void {
    this.live.callSync("sendScreenShot", image)
  }

  /** Reports a click on something that the brain made. */
  notifyHtmlElementClick(info: Record<string, unknown>): void {
    this.live.callSync("notifyHtmlElementClick", info)
  }

  submitStructuredDataForm(values: Record<string, unknown>): void {
    this.live.callSync("submitStructuredDataForm", values)
  }

  // --- Microphone

  mute(): void {
    this.remote.callSync("mute")
  }

  unmute(): void {
    this.remote.callSync("unmute")
  }

  /** Asks for the microphone and attaches it. */
  async startMic(options?: CallOptions): Promise<void> {
    await this.live.call("startMic", options)
  }

  async switchMic(deviceId: string, options?: CallOptions): Promise<void> {
    await this.live.call("switchMic", options, deviceId)
  }

  async listDevices(options?: CallOptions): Promise<{ mics: Device[]; speakers: Device[] }> {
    return this.remote.call("listDevices", options)
  }

  /** Caps the microphone's sender, in kbit/s; 0 removes the cap. */
  async setAsrBandwidth(kbps: number, options?: CallOptions): Promise<void> {
    await this.live.call("setAsrBandwidth", options, kbps)
  }

  // --- Picture and voice

  /** Shows the picture elsewhere; null nowhere. */
  setVideoEl(element: HTMLMediaElement | null): void {
    checkElement("videoEl", element)
    this.remote.callSync("setVideoEl", element)
    this.#elements.videoEl = element
  }

  /** Plays the voice elsewhere; null merges it back into the picture's element. */
  setAudioEl(element: HTMLMediaElement | null): void {
    checkElement("audioEl", element)
    this.remote.callSync("setAudioEl", element)
    this.#elements.audioEl = element
  }

  muteAudioOutput(): void {
    this.remote.callSync("muteAudioOutput")
  }

  unmuteAudioOutput(): void {
    this.remote.callSync("unmuteAudioOutput")
  }

  /** 0 to 1; what is beyond is brought inside. */
  setAudioOutputVolume(volume: number): void {
    if (typeof volume !== "number" || Number.isNaN(volume)) throw localError("bad_request", "the volume must be a number")
    this.remote.callSync("setAudioOutputVolume", Math.min(Math.max(volume, 0), 1))
  }

  /** Chooses the speaker, `""` for the default; false if that is refused or unsupported. */
  async setAudioOutput(deviceId: string, options?: CallOptions): Promise<boolean> {
    if (typeof deviceId !== "string") throw localError("bad_request", "deviceId must be a string")
    return this.remote.call("setAudioOutput", options, deviceId)
  }

  /** Plays again after `playback_blocked`; call it in a click. */
  async startPlayback(options?: CallOptions): Promise<boolean> {
    return this.remote.call("startPlayback", options)
  }

  // --- Properties

  get state(): AvatarState {
    return this.values.state
  }

  get mode(): AvatarMode {
    return this.values.mode
  }

  /** Whether the avatar talks. */
  get speaking(): boolean {
    return this.values.speaking
  }

  /** Whether the brain was asked and has shown nothing yet. */
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

  /** Whether the microphone is not muted. */
  get micEnabled(): boolean {
    return this.values.micEnabled
  }

  /** Whether a microphone is attached. */
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
    if (this.remote.present) this.#elements = (this.remote.callSync("elements") as Elements | undefined) ?? this.#elements
    return this.#elements
  }

  protected override inactive(state: AvatarState): boolean {
    return state === "idle" || state === "disconnected" || state === "error"
  }

  protected override final(): boolean {
    return false // until it is disposed
  }

  protected override leaveEarly(): void {
    if (this.values.state !== "idle") return
    this.#leftEarly = true
    for (const state of ["disconnecting", "disconnected"] as const) super.received("stateChange", { state })
  }

  protected override received<K extends keyof AvatarEvents>(event: K, payload: unknown): void {
    if (!this.#leftEarly || event !== "stateChange") return super.received(event, payload)
    // These changes were emitted already. The call itself takes effect, because it
    // makes the session forget the token.
    const { state } = payload as AvatarEvents["stateChange"]
    this.#leftEarly = state !== "disconnected"
  }

  protected override afterCrash(last: Snapshot): Snapshot {
    this.#elements = { ...this.#elements, avatarStream: null }
    return { ...last, state: "error", speaking: false, responsePending: false, micStarted: false }
  }

  /** The level is measured only while its events have listeners. */
  protected override listenersChanged(): void {
    const wanted = this.hasListeners("localMicLevel") || this.hasListeners("localSpeakingChanged")
    if (wanted === this.#levelWanted) return
    this.#levelWanted = wanted
    this.callIfThere("wantLevel", wanted)
  }
}

function remoteOf(options: PlainOptions): Remote {
  return new Remote({ find: fullProgram, options, open: (go, options, dispatch, remote) => go.avatarSession(withCallbacks(options, remote), dispatch) })
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
