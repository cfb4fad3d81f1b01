import { Emitter } from "../core/emitter.js"
import { AgentError, cancelled, checkSignal, localError, messageOf, untilAborted } from "../core/errors.js"
import { checkFunction, partError } from "../core/part.js"
import { isObject } from "../core/object.js"
import { isPrivate } from "../core/privatehost.js"
import { relayServer, type RelayLogin } from "../core/relay.js"
import { onAbort } from "../core/signals.js"

export type ScriptedState = "idle" | "connecting" | "connected" | "disconnecting" | "disconnected" | "error"

/** The state of the peer. */
export interface ScriptedConnectivity {
  readonly state: RTCPeerConnectionState
}

export interface ScriptedWarning {
  /** `whep_delete_failed`: the service may keep the viewer's place for a while. `playback_blocked`: call `startPlayback()` in a click. */
  readonly code: "whep_delete_failed" | "playback_blocked"
  readonly message: string
}

/** The events of a {@link ScriptedVideoSession}, by name, with their payloads. */
export interface ScriptedVideoEvents {
  stateChange: { readonly state: ScriptedState }
  /** The same as `stateChange`, by the name of the reference client. */
  stateChanged: { readonly state: ScriptedState }
  connectivityChanged: ScriptedConnectivity
  track: { readonly track: MediaStreamTrack; readonly streams: readonly MediaStream[] }
  videoMetadata: { readonly videoWidth: number; readonly videoHeight: number }
  warning: ScriptedWarning
  /** A failure after the session was connected; that of `connect()` is its rejection. */
  error: AgentError
}

/** The relay through which the media come. */
export interface Relay extends RelayLogin {
  /** Its host, as in `turn:media.example`; or an address with a port, which is then the only one used. */
  readonly url: string
}

/** Options of {@link ScriptedVideoSession}: what the service's `init-client` returns, and the elements. */
export interface ScriptedVideoOptions {
  whepUrl: string
  turn: Relay
  videoEl?: HTMLMediaElement | null | undefined
  /** Plays the voice. Default: the picture's element does. */
  audioEl?: HTMLMediaElement | null | undefined
  /** Replace those of `turn`. Default: none. */
  iceServers?: readonly RTCIceServer[] | undefined
  /** Default `"relay"`, in Firefox `"all"`. */
  iceTransportPolicy?: RTCIceTransportPolicy | undefined
  /** Allows media at private addresses, for development. Default false. */
  allowPrivateHosts?: boolean | undefined
  /** Default: detected. */
  isFirefox?: boolean | undefined
  /** Default: that of the page. */
  fetch?: typeof globalThis.fetch | undefined
  /** Default: `RTCPeerConnection`. */
  rtcConstructor?: (new (configuration: RTCConfiguration) => RTCPeerConnection) | undefined
}

/** The longest wait for the first picture, and the limits of the requests, in milliseconds. */
const playableMs = 6000
const subscribeMs = 5000
const deleteMs = 3000

/**
 * Shows an avatar that says what a server sends it by `avatar-session/…/say-audio`. The
 * constructor throws `bad_request` for bad options and `whep_private_ip` for a private address.
 */
export class ScriptedVideoSession extends Emitter<ScriptedVideoEvents> {
  readonly #options: ScriptedVideoOptions
  #state: ScriptedState = "idle"
  #videoEl: HTMLMediaElement | null
  #audioEl: HTMLMediaElement | null
  #peer: RTCPeerConnection | undefined
  #stream: MediaStream | undefined
  /** Ends the attempt to connect. */
  #attempt: AbortController | undefined
  /** Where the viewer's place is given back. */
  #place: string | undefined
  /** Removes the listeners of the picture's element. */
  #unwatch = (): void => {}

  constructor(options: ScriptedVideoOptions) {
    super()
    const { whepUrl, turn, iceServers, videoEl = null, audioEl = null, fetch, rtcConstructor, allowPrivateHosts } = options ?? {}
    if (typeof whepUrl !== "string" || !URL.canParse(whepUrl) || !/^https?:$/.test(new URL(whepUrl).protocol)) throw bad("whepUrl must be the http or https address of the media")
    if (!isObject(turn) || typeof turn.url !== "string" || turn.url.trim() === "") throw bad("turn.url must be the address of the relay")
    if (iceServers !== undefined && !Array.isArray(iceServers)) throw bad("iceServers must be an array")
    for (const [name, value] of Object.entries({ fetch, rtcConstructor })) checkFunction(name, value)
    checkElement("videoEl", videoEl)
    checkElement("audioEl", audioEl)
    if (!allowPrivateHosts && isPrivate(new URL(whepUrl).hostname)) throw privateHost()
    this.#options = options
    this.#videoEl = videoEl
    this.#audioEl = audioEl
  }

  get state(): ScriptedState {
    return this.#state
  }

  get videoEl(): HTMLMediaElement | null {
    return this.#videoEl
  }

  get audioEl(): HTMLMediaElement | null {
    return this.#audioEl
  }

  /** The picture and the voice, null while there is none. */
  get stream(): MediaStream | null {
    return this.#stream ?? null
  }

  /**
   * Connects; resolves when the picture can be played, or after 6 s without one. Rejects with
   * `invalid_state` unless the session is idle or disconnected, and with `whep_failed` (with
   * `status`), `whep_timeout`, `whep_private_ip`, `connect_failed`, or `aborted` by signal.
   */
  async connect({ signal }: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    checkSignal(signal)
    if (this.#state !== "idle" && this.#state !== "disconnected") throw localError("invalid_state", `the session is ${this.#state}; disconnect it first`)
    if (signal?.aborted) throw cancelled(signal)
    const attempt = (this.#attempt = new AbortController())
    const forget = onAbort(signal, () => attempt.abort())
    this.#become("connecting")
    try {
      await this.#open(attempt.signal)
      if (attempt.signal.aborted) throw cancelled(attempt.signal)
      this.#become("connected")
    } catch (reason) {
      const own = this.#attempt === attempt // otherwise the session was disconnected, and connects again
      if (own) this.#close()
      if (signal?.aborted) {
        if (own) this.#become("disconnected")
        throw cancelled(signal)
      }
      if (attempt.signal.aborted) throw localError("connect_failed", "the session was disconnected", { retryable: true })
      this.#become("error")
      throw reason instanceof AgentError ? reason : localError("connect_failed", messageOf(reason), { cause: reason, retryable: true })
    } finally {
      forget()
      if (this.#attempt === attempt) this.#attempt = undefined
    }
  }

  /** Ends the session; it can connect again. The viewer's place is given back in the background. */
  disconnect(): void {
    if (this.#state === "idle" || this.#state === "disconnected") return
    this.#become("disconnecting")
    this.#attempt?.abort()
    this.#close()
    this.#become("disconnected")
  }

  /** Shows the picture in another element; null shows it nowhere. Throws `bad_request`. */
  setVideoEl(element: HTMLMediaElement | null): void {
    checkElement("videoEl", element)
    if (this.#videoEl && this.#videoEl !== element) this.#videoEl.srcObject = null
    this.#videoEl = element
    this.#bind()
  }

  /** Plays the voice in another element; null plays it in the picture's. Throws `bad_request`. */
  setAudioEl(element: HTMLMediaElement | null): void {
    checkElement("audioEl", element)
    if (this.#audioEl && this.#audioEl !== element) this.#audioEl.srcObject = null
    this.#audioEl = element
    this.#bind()
  }

  /** Plays what the browser has blocked (`warning` with `playback_blocked`); call it in a click. False if not all of it plays. */
  async startPlayback(): Promise<boolean> {
    const played = await Promise.all([this.#videoEl, this.#audioEl].map((element) => element?.play()?.then(() => true, () => false) ?? true))
    return played.every(Boolean)
  }

  // --- Internals

  #become(state: ScriptedState): void {
    if (state === this.#state) return
    this.#state = state
    this.emit("stateChange", { state })
    this.emit("stateChanged", { state })
  }

  async #open(signal: AbortSignal): Promise<void> {
    const peer = (this.#peer = this.#makePeer())
    // The picture and the voice come in two streams; a test in Node.js has only these.
    this.#stream = typeof MediaStream === "function" ? new MediaStream() : undefined
    const first = new Promise<void>((resolve) => {
      peer.ontrack = ({ track, streams }) => {
        if (typeof MediaStream === "function") this.#stream?.addTrack(track)
        else this.#stream ??= streams[0]
        this.#bind()
        this.emit("track", { track, streams })
        resolve()
      }
    })
    peer.onconnectionstatechange = () => this.#connectivity(peer)
    peer.addTransceiver("video", { direction: "recvonly" })
    peer.addTransceiver("audio", { direction: "recvonly" })
    // The promises of a peer that was closed may never settle, so each step ends with the attempt.
    await untilAborted(peer.createOffer().then((offer) => peer.setLocalDescription(offer)), signal)
    const answer = await untilAborted(this.#subscribe(peer.localDescription!.sdp, signal), signal)
    await untilAborted(peer.setRemoteDescription({ type: "answer", sdp: answer }), signal)
    const playable = this.#videoEl ? canPlay(this.#videoEl, signal) : first
    await within(playableMs, playable, signal)
  }

  #makePeer(): RTCPeerConnection {
    const { turn, iceServers, isFirefox = /firefox/i.test(globalThis.navigator?.userAgent ?? ""), iceTransportPolicy = isFirefox ? "all" : "relay" } = this.#options
    const Peer = this.#options.rtcConstructor ?? globalThis.RTCPeerConnection
    if (typeof Peer !== "function") throw localError("unsupported_browser", "this browser has no WebRTC")
    const servers = [...(iceServers ?? [serverOf(turn)])]
    const configuration: RTCConfiguration = { iceServers: servers, iceTransportPolicy, bundlePolicy: "max-bundle" }
    try {
      return new Peer(configuration)
    } catch (cause) {
      if (!/turn url query string/i.test(messageOf(cause))) throw cause
      // Older versions of WebKit accept no query in the address of a relay.
      const plain = servers.map((server) => ({ ...server, urls: [server.urls].flat().map((url) => url.split("?")[0]!) }))
      return new Peer({ ...configuration, iceServers: plain })
    }
  }

  /**
   * Returns the answer to the offer. The end of the attempt doesn't abort the request: the server
   * may have given a place already, and only its reply says where that is given back.
   */
  async #subscribe(offer: string, attempt: AbortSignal): Promise<string> {
    const { whepUrl, allowPrivateHosts, fetch = globalThis.fetch } = this.#options
    const late = AbortSignal.timeout(subscribeMs)
    try {
      const reply = await fetch(whepUrl, { method: "POST", headers: { "Content-Type": "application/sdp" }, body: offer, signal: late })
      if (!reply.ok) throw partError("whep_failed", "Media refused", `the media server answered ${reply.status}`, { status: reply.status, phase: "whep", retryable: reply.status === 409 || reply.status >= 500 })
      const place = placeOf(whepUrl, reply.headers.get("location"))
      if (place !== undefined && !allowPrivateHosts && URL.canParse(place) && isPrivate(new URL(place).hostname)) throw privateHost()
      if (!attempt.aborted) this.#place = place
      else if (place !== undefined) void this.#giveBack(place)
      return await reply.text()
    } catch (cause) {
      if (cause instanceof AgentError) throw cause
      if (late.aborted) throw partError("whep_timeout", "Media timed out", `the media server did not answer within ${subscribeMs} ms`, { phase: "whep", retryable: true })
      throw partError("whep_failed", "Media not reached", `the media server could not be reached: ${messageOf(cause)}`, { phase: "whep", retryable: true, cause })
    }
  }

  #connectivity(peer: RTCPeerConnection): void {
    if (peer !== this.#peer) return
    const { connectionState: state } = peer
    this.emit("connectivityChanged", { state })
    if (state !== "failed" || this.#state !== "connected") return
    this.#close()
    this.#become("error")
    this.emit("error", partError("connect_failed", "Media lost", "the connection of the media was lost; disconnect and connect again", { phase: "whep", retryable: true }))
  }

  /** Puts the tracks into the elements. */
  #bind(): void {
    const stream = this.#stream
    if (!stream || stream.getTracks().length === 0) return
    const [video, audio] = [this.#videoEl, this.#audioEl]
    const only = (tracks: MediaStreamTrack[]) => (typeof MediaStream === "function" ? new MediaStream(tracks) : stream)
    const show = (element: HTMLMediaElement | null, shown: MediaStream) => {
      if (!element) return
      const present = (element.srcObject as MediaStream | null)?.getTracks() ?? []
      const tracks = shown.getTracks()
      if (present.length !== tracks.length || !tracks.every((track) => present.includes(track))) element.srcObject = shown
      element.play()?.catch((cause: unknown) => {
        if ((cause as { name?: unknown }).name === "NotAllowedError") this.emit("warning", { code: "playback_blocked", message: "the browser plays only after a click" })
      })
    }
    show(video, audio ? only(stream.getVideoTracks()) : stream)
    if (audio) show(audio, only(stream.getAudioTracks()))
    this.#watch(video)
  }

  #watch(video: HTMLMediaElement | null): void {
    this.#unwatch()
    if (!video) return
    const tell = () => {
      const { videoWidth = 0, videoHeight = 0 } = video as Partial<HTMLVideoElement>
      if (videoWidth > 0) this.emit("videoMetadata", { videoWidth, videoHeight })
    }
    const events = ["loadedmetadata", "resize"]
    for (const event of events) video.addEventListener(event, tell)
    this.#unwatch = () => {
      for (const event of events) video.removeEventListener(event, tell)
    }
  }

  /** Closes the peer, empties the elements and gives the place back. */
  #close(): void {
    const [peer, stream] = [this.#peer, this.#stream]
    this.#peer = this.#stream = undefined
    this.#unwatch()
    if (peer) {
      peer.ontrack = peer.onconnectionstatechange = null
      peer.close()
    }
    for (const track of stream?.getTracks() ?? []) track.stop()
    if (stream) for (const element of [this.#videoEl, this.#audioEl]) if (element) element.srcObject = null
    const place = this.#place
    this.#place = undefined
    if (place !== undefined) void this.#giveBack(place)
  }

  async #giveBack(place: string): Promise<void> {
    const { whepUrl, fetch = globalThis.fetch } = this.#options
    try {
      if (new URL(whepUrl).protocol === "https:" && new URL(place).protocol !== "https:") throw new Error("the media server's https address names one without encryption")
      const { ok, status } = await fetch(place, { method: "DELETE", keepalive: true, signal: AbortSignal.timeout(deleteMs) })
      if (!ok) throw new Error(`the media server answered ${status}`)
    } catch (cause) {
      this.emit("warning", { code: "whep_delete_failed", message: `the viewer's place could not be given back: ${messageOf(cause)}` })
    }
  }
}

/** The relay as the browser takes it: its four addresses for a host alone. */
function serverOf({ url, ...login }: Relay): RTCIceServer {
  const address = url.trim()
  const host = address.replace(/^turns?:(\/\/)?/i, "").replace(/\/$/, "")
  const whole = /:\d+$|\?/.test(host) // a port or a query
  return relayServer(host, login, whole ? [/^turns?:/i.test(address) ? address : `turn:${host}`] : undefined)
}

/** The address at which the viewer's place is given back, undefined without one. */
function placeOf(whepUrl: string, location: string | null): string | undefined {
  if (!location) return undefined
  if (/^[a-z][\w+.-]*:\/\//i.test(location)) return location
  const viewer = location.indexOf("/viewer/")
  if (viewer >= 0) return whepUrl.split(/[?#]/)[0]!.replace(/(?<!\/)\/+$/, "") + location.slice(viewer)
  return URL.canParse(location, whepUrl) ? new URL(location, whepUrl).href : location
}

function canPlay(video: HTMLMediaElement, signal: AbortSignal): Promise<void> {
  if (video.readyState >= 3) return Promise.resolve()
  return new Promise((resolve) => {
    const done = () => {
      video.removeEventListener("canplay", done)
      forget()
      resolve()
    }
    const forget = onAbort(signal, done)
    video.addEventListener("canplay", done)
  })
}

/** Waits for a promise, but not longer than that, and not after signal is aborted. */
function within(ms: number, promise: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      forget()
      resolve()
    }
    const timer = setTimeout(done, ms)
    const forget = onAbort(signal, done)
    void promise.then(done)
  })
}

function checkElement(name: string, element: unknown): void {
  if (element != null && typeof (element as HTMLMediaElement).play !== "function") throw bad(`${name} must be a media element or null`)
}

const bad = (detail: string) => localError("bad_request", detail)
const privateHost = () => partError("whep_private_ip", "Private address", "the address of the media is private; set allowPrivateHosts for development")
