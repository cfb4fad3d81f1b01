import { make } from "../ui/dom.js"
import type { Host } from "./host.js"
import { errorText } from "./labels.js"
import type { Part, State } from "./state.js"

/** The sentence for a face without a picture. */
export const noPicture = errorText("media_no_video")

/** How often the picture is copied, in ms, so that the copy can stand in for a picture that is lost. */
const copyMs = 250

/** How long a picture may stand still without being lost, in ms. */
const pauseMs = 500

/**
 * How long the picture of a visible page may stand still before it counts as lost, in ms. A session repairs it by then
 * (docs/resilience.md), unless the device is so busy that it notices later.
 */
const lostMs = 5_000

/**
 * The width in pixels of the black frame that Chromium paints when a track ends. It may come when the next track, which has no
 * frame yet, is set already.
 */
const endWidth = 2

/** The picture of one conversation: whether there is one and it moves, its last frame, and the picture without its background. */
export class Picture implements Part {
  /**
   * The last frame of the picture. A browser paints a video black when its track ends, and
   * when the track is replaced by one that has no frame yet.
   */
  readonly root = make("canvas", { part: "still", class: "still", "aria-hidden": "true", width: 0, height: 0, hidden: true })
  readonly #host: Host
  readonly #video: HTMLVideoElement
  /** The agent's picture is meant to stand still. */
  readonly #paused: () => boolean
  #copying: ReturnType<typeof setTimeout> | undefined
  /** When the last frame was painted. */
  #at = 0
  #callback = 0
  #looking: ReturnType<typeof setTimeout> | undefined
  /** How many frames had been received when it was looked whether the picture moves. */
  #received = 0
  /** The track whose frames were painted last. */
  #shown: MediaStreamTrack | undefined
  /** The track whose picture was lost; its last frames may still be painted. */
  #lost: MediaStreamTrack | undefined
  /** Ends the drawing of the picture without its background. */
  #keying: AbortController | undefined

  /** `signal` is aborted at the end of the conversation. */
  constructor(host: Host, paused: () => boolean, signal: AbortSignal) {
    this.#host = host
    this.#paused = paused
    const video = (this.#video = host.screen.stage.video)
    video.after(this.root)
    host.screen.add(this)
    if (this.countsFrames) this.#callback = video.requestVideoFrameCallback(this.#frame)
    else video.addEventListener("resize", this.#resized)
    signal.addEventListener("abort", () => {
      host.screen.remove(this)
      this.#watch(false)
      this.forget()
      if (this.countsFrames) video.cancelVideoFrameCallback(this.#callback)
      else video.removeEventListener("resize", this.#resized)
    })
  }

  /** Whether the browser tells of each frame that it paints. */
  get countsFrames(): boolean {
    return "requestVideoFrameCallback" in this.#video
  }

  /** Whether the picture has stood still for longer than a short pause. */
  get stands(): boolean {
    return performance.now() - this.#at > pauseMs
  }

  /** The picture's track will be replaced: what is still painted of it is no picture that is back. */
  lose(): void {
    this.#lost = this.#shown
  }

  /** Another session has the picture from now on: the last frame of this one is not shown any more. */
  forget(): void {
    clearTimeout(this.#copying)
    this.#copying = this.#shown = this.#lost = undefined
    this.#dropKey()
    Object.assign(this.root, { width: 0, height: 0, hidden: true })
  }

  show({ phase, picture, missing }: State): void {
    this.#watch(phase === "live" && picture && !missing && this.countsFrames)
    if (missing || phase === "reconnecting") this.root.hidden = this.root.width === 0
    if (!this.#transparent) this.#dropKey()
  }

  get #transparent(): boolean {
    return this.#host.element.background === "transparent"
  }

  /** A frame was painted, or the size of the picture is known where the browser does not tell of frames. */
  #painted(): void {
    if (this.#transparent) this.#keying ??= this.#removeBackground()
    const { state, update } = this.#host
    const { picture, missing, phase, message } = state
    if (!picture) update({ picture: true, message: message === noPicture ? undefined : message })
    if (missing && phase !== "reconnecting") update({ missing: false })
  }

  #removeBackground(): AbortController {
    const keying = new AbortController()
    const { root } = this.#host.screen.stage
    import("./background.js").then(({ removeBackground }) => removeBackground(this.#video, keying.signal)).catch(() => root.classList.add("plain"))
    return keying
  }

  #dropKey(): void {
    this.#keying?.abort()
    this.#keying = undefined
  }

  /** Begins or ends to look whether the picture moves. */
  #watch(live: boolean): void {
    if (live === (this.#looking !== undefined)) return
    clearTimeout(this.#looking)
    this.#looking = live ? setTimeout(this.#look, lostMs) : undefined
  }

  readonly #look = (): void => {
    const received = this.#video.getVideoPlaybackQuality().totalVideoFrames
    const unpainted = document.hidden || received !== this.#received // of a picture that moves where it isn't seen
    const left = this.#at + lostMs - performance.now()
    this.#received = received
    this.#looking = setTimeout(this.#look, left > 0 ? left : lostMs)
    if (left <= 0 && !unpainted && !this.#paused()) this.#host.update({ missing: true })
  }

  readonly #frame = (): void => {
    const video = this.#video
    this.#callback = video.requestVideoFrameCallback(this.#frame)
    const track = this.#track()
    if (track?.readyState !== "live" || track === this.#lost) return // the black frame after the last one, or the rest of a lost picture
    if (video.videoWidth <= endWidth) return // the black frame of a track before this one
    this.#shown = track
    this.#lost = undefined
    this.#at = performance.now()
    if (this.root.hidden) this.#copying ??= setTimeout(() => this.#copy(), copyMs)
    else this.#copy()
    if (this.#host.state.phase !== "reconnecting") this.root.hidden = true
    this.#painted()
  }

  readonly #resized = (): void => {
    if (this.#video.videoWidth > 0) this.#painted()
  }

  #track(): MediaStreamTrack | undefined {
    const { srcObject } = this.#video
    return srcObject instanceof MediaStream ? srcObject.getVideoTracks()[0] : undefined
  }

  #copy(): void {
    this.#copying = undefined
    const { videoWidth: width, videoHeight: height } = this.#video
    const track = this.#track()
    if (track?.readyState !== "live" || track !== this.#shown || track === this.#lost || width === 0) return
    const still = this.root
    if (still.width !== width || still.height !== height) Object.assign(still, { width, height })
    const copy = still.getContext("2d")
    if (!copy) return
    copy.globalCompositeOperation = "copy" // also where the picture is transparent
    copy.drawImage(this.#host.screen.stage.root.querySelector<HTMLCanvasElement>("[part=picture]") ?? this.#video, 0, 0)
  }
}
