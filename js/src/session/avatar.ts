import { askAvatar, type Answer } from "./ask.js"
import { checkElement, plainAvatar, type AvatarOptions } from "./avataroptions.js"
import { listDevices, mediaDevices, type Device } from "./devices.js"
import { AgentError, localError } from "../core/errors.js"
import {
  MIC_ERROR_CODES,
  type AvatarEvents,
  type AvatarState,
  type Disclosure,
  type SessionStats,
  type Snapshot,
  type Warning,
} from "../generated/events.js"
import { fullProgram, load } from "./full.js"
import type { AvatarMethods } from "../generated/methods.js"
import { optionsOf, type PlainOptions } from "../core/options.js"
import { ProgramObject } from "../core/programobject.js"
import { Session, withCallbacks, type DisconnectOptions, type Properties } from "./session.js"
import type { CallOptions } from "../core/signals.js"

export type { Device } from "./devices.js"

/** The elements and the stream that a session is bound to. */
interface Elements {
  avatarStream?: MediaStream | null
  microphoneStream?: MediaStream | null
  videoEl?: HTMLMediaElement | null
  audioEl?: HTMLMediaElement | null
}

/** The properties that the program has. */
export interface AvatarSession extends Properties<Snapshot, "disclosure" | "gated"> {}

/**
 * A live session with an agent that has a face and a voice.
 *
 * The constructor loads nothing: the runtime is loaded by `connect()`, or earlier by
 * `preload()`. Calls made before it is loaded are queued and take effect in order.
 * Errors are `AgentError`s: switch on their `code` (docs/errors.md). Attach listeners
 * before `connect()`: events are not replayed.
 */
export class AvatarSession extends Session<AvatarEvents, Snapshot, AvatarMethods> {
  static {
    const { disclosure: _, gated: __, ...own } = initial({})
    this.define("AvatarSession", own)
  }

  /** The elements that were bound last, used while no runtime is running. */
  #elements: Elements = {}
  /** The page may change a text before it is sent. */
  readonly #changesTexts: boolean
  #micError: AgentError | null = null
  #playbackBlocked: "video" | "audio" | null = null
  /** The picture's element while it is muted because sound needs a click, not because the page muted it. */
  #silenced: HTMLMediaElement | undefined
  /** Stops watching for changes of the devices. */
  #unwatch: (() => void) | undefined
  /** Set when `disconnect` was called before the program was loaded; the program will emit the same state changes again. */
  #leftEarly = false

  /** Throws `bad_request`, `validation_error`, `unknown_capability`, `insecure_transport` or `wrong_token_scope` for bad options. */
  constructor(options: AvatarOptions)
  /** @internal */
  constructor(from: AvatarOptions | ProgramObject<AvatarMethods>, plain: PlainOptions)
  constructor(from: AvatarOptions | ProgramObject<AvatarMethods>, plain = plainAvatar(from)) {
    super(initial(plain), from instanceof ProgramObject ? from : objectOf(plain))
    const { videoEl = null, audioEl = null } = plain as Elements
    this.#elements = { videoEl, audioEl }
    this.#changesTexts = typeof plain["onBeforeSend"] === "function"
  }

  // --- Connecting

  /** Loads the runtime ahead of `connect()`, as `load()` does. Rejects with `load_failed`. */
  async preload(options?: CallOptions): Promise<void> {
    await load({ signal: optionsOf(options).signal })
  }

  /**
   * Connects; resolves when the agent is ready. While connecting, a second call waits
   * for the same connection; once connected, also while a lost connection is being
   * restored, it rejects with `invalid_state`. The error of a failed connect carries
   * `phase` and `timings`. Call `disconnect()` and `setToken()` before another try: disconnecting
   * discards the token.
   */
  async connect(options?: CallOptions): Promise<void> {
    await this.callActive("connect", options)
  }

  /**
   * Opens the connection, joins, and allocates the relay ahead of time, without microphone
   * or media, so that a `connect()` within the next minute (`prepareIdle`) is faster.
   */
  async prepare(options?: CallOptions): Promise<void> {
    await this.callActive("prepare", options)
  }

  /**
   * Ends the session, and reports the end of the conversation to the service unless
   * `final` is false. Allowed at any time.
   */
  override disconnect(options?: DisconnectOptions): void {
    const { final = true, reason } = optionsOf(options)
    const withdrawn = localError("connect_failed", "the session was disconnected")
    for (const method of ["connect", "prepare"] as const) this.object.withdraw(method, withdrawn)
    this.object.callSync("disconnect", { final, reason })
    if (this.object.pending) this.leaveEarly()
  }

  /** `disconnect` with the reason `stop`, for a stop button. */
  stop(): void {
    this.disconnect({ reason: "stop" })
  }

  /**
   * Waits until an agent is free, on a connection of its own: asks every `pollIntervalMs` (5,000), for `maxWaitMs` (300,000).
   * Rejects with `capacity_timeout`, with `invalid_state` without a token, and with why the service could not be asked.
   */
  async waitForCapacity(options?: { maxWaitMs?: number | undefined; pollIntervalMs?: number | undefined } & CallOptions): Promise<{ available: true; details?: unknown }> {
    const { signal, ...times } = optionsOf(options)
    return this.object.call("waitForCapacity", { signal }, times)
  }

  // --- Talking

  /**
   * Sends a typed turn. Resolves with true when it was sent, with false when the session
   * ended first. Waits for the end of a turn of the agent that can't be interrupted, and for
   * that of a pause; all texts that wait are sent as one turn.
   *
   * Rejects with `invalid_state` (not connected, or a tap-to-talk window is open), `bad_request`
   * (empty text), `disclosure_required`, `rate_limited` (also when 100 texts wait),
   * `guardrail_blocked`, and `aborted` by signal while it waits.
   */
  async speak(text: string, options?: CallOptions): Promise<boolean> {
    return this.live.call("speak", options, text)
  }

  /**
   * Sends a typed turn, and resolves with the complete answer when its turn has ended; the
   * agent may still be speaking the end of it. Texts that the service answers together, because
   * one was added before the agent spoke, get the same answer.
   *
   * Rejects like `speak`, and with `ended` (the session ended first), `network_error` (the
   * turn was lost with the connection; ask again), `stream_error` (the answer is an error;
   * `body.partial` has what came before it) and `aborted` by signal, which does not stop the agent.
   */
  async ask(text: string, options?: CallOptions): Promise<Answer> {
    return askAvatar(this, text, optionsOf(options), this.#changesTexts)
  }

  /** Silences the agent; the brain goes on with its answer. Throws `invalid_state`, also while a tap-to-talk window is open. */
  interrupt(): void {
    this.live.callSync("interrupt")
  }

  /**
   * Opens a window in which the visitor speaks. Throws `invalid_state` (also when one is open), `mic_not_started`,
   * `capability_disabled` (the agent is not in tap-to-talk mode) or `disclosure_required`.
   */
  startTapToTalk(): void {
    this.live.callSync("startTapToTalk")
  }

  /** Closes the window, which ends the visitor's turn. Throws `invalid_state` if none is open. */
  endTapToTalk(): void {
    this.live.callSync("endTapToTalk")
  }

  /**
   * Silences the agent until `resume()`, and closes a tap-to-talk window. The service releases the media when the pause lasts
   * too long (`timeExpired` with the type `pause_expiry`). A second call does nothing. Throws `invalid_state`.
   */
  pause(): void {
    this.live.callSync("pause")
  }

  /**
   * Ends a pause. When the service has released the media, they are made again; if that fails, the session ends with the
   * error with which this rejects (`resume_failed` for one without a code of its own). Rejects with `invalid_state`.
   */
  async resume(options?: CallOptions): Promise<void> {
    await this.live.call("resume", options)
  }

  /** Confirms the disclosure; a connect that waits for it continues. */
  acknowledgeDisclosure(): void {
    this.object.callSync("acknowledgeDisclosure")
  }

  /** The notice of the `disclosure` event, null before connecting. */
  getDisclosure(): Disclosure | null {
    return this.values.disclosure
  }

  /** The id that leads to one server of the service: give it as the option `stickyId` after a reload. */
  getStickyId(): string {
    return this.values.stickyId
  }

  /** Sends a keep-alive event; does nothing without a connection. */
  keepAlive(): void {
    if (this.object.present) this.object.callSync("keepAlive")
  }

  /**
   * What the session's media has received and sent since the session began, with the names and units of the W3C's WebRTC
   * statistics; a recovery does not reset it. What the browser does not measure is 0. Rejects with `invalid_state` before
   * the first `connect()` or `prepare()` has loaded the runtime, and after `dispose()`.
   */
  async getStats(options?: CallOptions): Promise<SessionStats> {
    return this.live.call("getStats", options)
  }

  // --- Context

  /** Sends one image of a shared screen, as JPEG or PNG. Throws `invalid_state`, or `capability_disabled` without `capabilities.screenShare`. */
  sendScreenShot(image: ArrayBuffer | ArrayBufferView): void {
    this.live.callSync("sendScreenShot", image)
  }

  /** Sends one image of the visitor's camera, as JPEG or PNG. Throws `invalid_state`, or `capability_disabled` without `capabilities.cameraAnalysis`. */
  sendCameraShot(image: ArrayBuffer | ArrayBufferView): void {
    this.live.callSync("sendCameraShot", image)
  }

  /** Reports a click on HTML that the agent generated. */
  notifyHtmlElementClick(info: Record<string, unknown>): void {
    this.live.callSync("notifyHtmlElementClick", info)
  }

  /** Sends the values of a form; there is no reply. Throws `invalid_state`. */
  submitStructuredDataForm(values: Record<string, unknown>): void {
    this.live.callSync("submitStructuredDataForm", values)
  }

  // --- Microphone

  /** Switches the microphone off, and tells the service. Allowed at any time, also before the microphone is started. */
  mute(): void {
    this.object.callSync("mute")
  }

  /** Switches the microphone on again. */
  unmute(): void {
    this.object.callSync("unmute")
  }

  /**
   * Opens the microphone and attaches it. If the session ends, or every call that waits is aborted, before the visitor has
   * answered the browser's question, the device is closed as soon as the browser opens it. Rejects with `invalid_state`,
   * `mic_permission_denied`, `mic_not_found`, `mic_in_use`, `devices_permission_denied`, `noise_processor_failed` or
   * `mic_attach_failed`; the session goes on.
   */
  async startMic(options?: CallOptions): Promise<void> {
    try {
      await this.live.call("startMic", options)
      this.#micError = null
    } catch (reason) {
      if (this.#noteMic(reason as AgentError)) this.emit("controlsChanged", {})
      throw reason
    }
  }

  /** Switches to another microphone; if that fails, the present one stays in use. Rejects with `mic_not_started`, and like `startMic`. */
  async switchMic(deviceId: string, options?: CallOptions): Promise<void> {
    await this.live.call("switchMic", options, deviceId)
  }

  /** Lists the devices that the browser reports; needs no runtime. Call it again after `devicesChanged`. */
  async listDevices(options?: CallOptions): Promise<{ mics: Device[]; speakers: Device[] }> {
    return listDevices(options)
  }

  /** Limits the bitrate of the microphone's sender, in kbit/s; 0 removes the limit. */
  async setAsrBandwidth(kbps: number, options?: CallOptions): Promise<void> {
    await this.live.call("setAsrBandwidth", options, kbps)
  }

  // --- Picture and voice

  /** Shows the picture in another element; null detaches it. */
  setVideoEl(element: HTMLMediaElement | null): void {
    checkElement("videoEl", element)
    this.#unsilence()
    this.object.callSync("setVideoEl", element)
    this.#elements.videoEl = element
  }

  /** Plays the voice in another element; null plays it in the picture's element. */
  setAudioEl(element: HTMLMediaElement | null): void {
    checkElement("audioEl", element)
    this.object.callSync("setAudioEl", element)
    this.#elements.audioEl = element
  }

  /** Mutes the agent's voice in this page; the service keeps sending it. */
  muteAudioOutput(): void {
    this.object.callSync("muteAudioOutput")
  }

  /** Ends `muteAudioOutput`. */
  unmuteAudioOutput(): void {
    this.object.callSync("unmuteAudioOutput")
    if (this.#silenced) void this.#silence() // the browser still needs a click for sound
  }

  /** Sets the volume, clamped to 0 to 1. Throws `bad_request` for anything but a number. */
  setAudioOutputVolume(volume: number): void {
    if (typeof volume !== "number" || Number.isNaN(volume)) throw localError("bad_request", "the volume must be a number")
    this.object.callSync("setAudioOutputVolume", Math.min(Math.max(volume, 0), 1))
  }

  /** Chooses the speaker, `""` for the default; false if that is refused or unsupported. */
  async setAudioOutput(deviceId: string, options?: CallOptions): Promise<boolean> {
    if (typeof deviceId !== "string") throw localError("bad_request", "deviceId must be a string")
    return this.object.call("setAudioOutput", options, deviceId)
  }

  /** Plays what the browser has blocked (`playbackBlocked`); call it in a click handler. False if not all of it plays. */
  async startPlayback(options?: CallOptions): Promise<boolean> {
    this.#unsilence()
    const plays = await this.object.call<boolean>("startPlayback", options)
    if (plays && this.#playbackBlocked) {
      this.#playbackBlocked = null
      this.emit("controlsChanged", {})
    } else if (!plays && this.#playbackBlocked === "audio") await this.#silence() // plays at least the picture, without sound
    return plays
  }

  // --- Properties

  /**
   * Why there is no microphone, e.g. the permission was refused or the device was removed.
   * The codes are in `MIC_ERROR_CODES`. Null again once a microphone is attached, and at
   * the next connect.
   */
  get micError(): AgentError | null {
    return this.#micError
  }

  /**
   * What the browser does not play without a click: the sound alone (`"audio"`), while the
   * picture plays, or everything (`"video"`). Null again after `startPlayback()`.
   */
  get playbackBlocked(): "video" | "audio" | null {
    return this.#playbackBlocked
  }

  /** The element that shows the picture. */
  get videoEl(): HTMLMediaElement | null {
    return this.#bound.videoEl ?? null
  }

  /** The element that plays the voice; null while the picture's element does. */
  get audioEl(): HTMLMediaElement | null {
    return this.#bound.audioEl ?? null
  }

  /** The stream with picture and voice; it stays the same object through every recovery. */
  get avatarStream(): MediaStream | null {
    return this.#bound.avatarStream ?? null
  }

  /** The stream of the microphone as it is sent, after the noise processor; null without a microphone. Another device has another stream. */
  get microphoneStream(): MediaStream | null {
    return this.#bound.microphoneStream ?? null
  }

  // --- Internals

  get #bound(): Elements {
    if (this.object.present) this.#elements = (this.object.callSync("elements") as Elements | undefined) ?? this.#elements
    return this.#elements
  }

  protected override inactive(state: AvatarState): boolean {
    return state === "idle" || state === "disconnected" || state === "error"
  }

  protected override final(): boolean {
    return false // it can connect again until it is disposed
  }

  protected override leaveEarly(): void {
    if (this.values.state !== "idle") return
    this.#leftEarly = true
    for (const state of ["disconnecting", "disconnected"] as const) super.received("stateChange", { state })
  }

  protected override received<K extends keyof AvatarEvents>(event: K, payload: unknown, at?: number): void {
    if (event === "warning") return void this.#noteWarning(payload as Warning, at)
    if (event === "micStarted") this.#micError = null
    if (event === "stateChange") this.#noteState(payload as AvatarEvents["stateChange"])
    if (!this.#leftEarly || event !== "stateChange") return super.received(event, payload, at)
    // leaveEarly has emitted these changes. The queued call itself still runs, because
    // it discards the token.
    const { state } = payload as AvatarEvents["stateChange"]
    this.#leftEarly = state !== "disconnected"
  }

  protected override afterCrash(last: Snapshot): Snapshot {
    this.#elements = { ...this.#elements, avatarStream: null, microphoneStream: null }
    this.#blockNothing()
    return { ...last, state: "error", speaking: false, responsePending: false, micStarted: false }
  }

  async #noteWarning(warning: Warning, at: number | undefined): Promise<void> {
    const { code, message, detail = message } = warning
    if (code === "playback_blocked") {
      this.#playbackBlocked = warning.kind ?? "video"
      const silenced = warning.kind === "video" && (await this.#silence())
      if (!this.#playbackBlocked) return // meanwhile the session has ended, or the visitor has clicked
      if (silenced) {
        warning = { ...warning, kind: "audio" }
        this.#playbackBlocked = "audio"
      }
    }
    this.#noteMic(new AgentError({ code, title: message, detail }))
    super.received("warning", warning, at)
  }

  /** Plays the picture without its sound, which browsers permit without a click; false if they don't. */
  async #silence(): Promise<boolean> {
    const { videoEl } = this
    if (!videoEl || videoEl.muted) return false
    this.#silenced = videoEl
    videoEl.muted = true
    try {
      await videoEl.play()
    } catch {
      this.#unsilence()
    }
    return this.#silenced !== undefined
  }

  #unsilence(): void {
    if (this.#silenced) this.#silenced.muted = this.audioOutputMuted
    this.#silenced = undefined
  }

  /** Whether the error is one of the microphone. */
  #noteMic(error: AgentError): boolean {
    const about = (MIC_ERROR_CODES as readonly string[]).includes(error.code)
    if (about) this.#micError = error
    return about
  }

  #noteState({ state }: AvatarEvents["stateChange"]): void {
    if (state === "preparing") this.#micError = null
    if (this.inactive(state)) this.#blockNothing()
  }

  /** Nothing is played, so that nothing waits for a click. */
  #blockNothing(): void {
    this.#playbackBlocked = null
    this.#unsilence()
  }

  /** Emits `devicesChanged` while it has listeners, and does not keep the session from being collected. */
  #watchDevices(wanted: boolean): void {
    if (wanted === (this.#unwatch !== undefined)) return
    this.#unwatch?.()
    this.#unwatch = wanted ? watchDevices(new WeakRef(this)) : undefined
  }

  protected override silent(forGood: boolean): void {
    super.silent(forGood)
    if (!forGood) return
    this.#watchDevices(false)
    this.#blockNothing() // when the program ends, there is no change of the state
  }

  /** The level is measured only while its events have listeners. */
  protected override listenersChanged(): void {
    super.listenersChanged()
    this.#watchDevices(this.hasListeners("devicesChanged") && !this.over)
    const turns = this.hasListeners("turnTimings")
    this.pass("measureSpeech", turns, false)
    this.pass("measureLevel", turns || this.hasListeners("localMicLevel") || this.hasListeners("localSpeakingChanged"), false)
  }
}

function watchDevices(weak: WeakRef<AvatarSession>): () => void {
  const devices = mediaDevices()
  const changed = () => {
    const session = weak.deref()
    if (session) session.emit("devicesChanged", {})
    else unwatch()
  }
  const unwatch = () => devices?.removeEventListener("devicechange", changed)
  devices?.addEventListener("devicechange", changed)
  return unwatch
}

function objectOf(options: PlainOptions): ProgramObject<AvatarMethods> {
  return new ProgramObject<AvatarMethods>({ find: fullProgram, options, open: (go, options, dispatch, object) => go.avatarSession(withCallbacks(options, object), dispatch) })
}

/** The properties until the runtime is loaded. */
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
    ...({ threadId } as Pick<Snapshot, "threadId">),
    audioOutputMuted: false,
    audioOutputVolume: 1,
    disclosure: null,
    gated: false,
  }
}
