import { icon, make, makeButton } from "../ui/dom.js"
import { open, silent, type Actions, type Part, type State } from "./state.js"

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

/** The picture, with what is drawn over it: its last frame, the poster, the veil, captions, and the buttons to start, to turn the sound on, and to agree. */
export class Stage implements Part {
  readonly root: HTMLElement
  readonly video = make("video", { part: "video", playsinline: true, "aria-hidden": "true" })
  /** Where captions are drawn. They repeat what is heard, and the log has them for screen readers. */
  readonly caption = make("div", { part: "caption", class: "agent-captions", "aria-hidden": "true" })
  /**
   * The last frame of the picture. A browser paints a video black when its track ends, and
   * when the track is replaced by one that has no frame yet.
   */
  readonly #still = make("canvas", { part: "still", class: "still", "aria-hidden": "true", width: 0, height: 0, hidden: true })
  readonly #image = make("img", { alt: "" })
  readonly #blank = make("span", { class: "blank" }, icon("face"))
  readonly #poster = make("div", { part: "poster", class: "poster", "aria-hidden": "true" }, make("slot", { name: "poster" }, this.#image, this.#blank))
  readonly #status = make("span", { role: "status" })
  readonly #steps = make("span", { class: "steps", "aria-hidden": "true" }, make("i"), make("i"), make("i"))
  readonly #veil = make("div", { part: "veil", class: "veil" }, make("span", { class: "spinner", "aria-hidden": "true" }), this.#status, this.#steps)
  readonly #doing = make("span")
  readonly #small = make("span", { class: "bars" })
  readonly #activity = make("p", { part: "activity", class: "activity" }, this.#small, this.#doing)
  readonly #large = make("div", { class: "bars large", "aria-hidden": "true" })
  readonly #label = make("span")
  readonly #start: HTMLButtonElement
  readonly #unlock: HTMLButtonElement
  readonly #agree: HTMLButtonElement
  readonly #painted: () => void
  readonly #stopped: () => void
  #copying: ReturnType<typeof setTimeout> | undefined
  /** What was shown last. */
  #state: State | undefined
  /** When the last frame was painted. */
  #at = 0
  #looking: ReturnType<typeof setTimeout> | undefined
  /** How many frames had been received when it was looked whether the picture moves. */
  #received = 0
  /** The track whose frames were painted last. */
  #shown: MediaStreamTrack | undefined
  /** The track whose picture was lost; its last frames may still be painted. */
  #lost: MediaStreamTrack | undefined
  #failed: string | undefined
  #transparent = false
  /** Ends the drawing of the picture without its background. */
  #keying: AbortController | undefined

  /**
   * `painted` is called for each frame of the video, or when its size is known where the browser does not tell of frames;
   * `stopped` each time when the picture of a live conversation has stood still for lostMs.
   */
  constructor({ start, unlock, agree, approach }: Actions, painted: () => void, stopped: () => void) {
    this.#painted = () => {
      if (this.#transparent) this.#keying ??= this.#removeBackground()
      painted()
    }
    this.#stopped = stopped
    this.#start = makeButton({ part: "button start", class: "main over" }, start, icon("play"), this.#label)
    this.#unlock = makeButton({ part: "button unlock", class: "main over unlock" }, unlock)
    this.#agree = makeButton({ part: "button agree", class: "main over agree" }, agree)
    const over = [this.#large, this.#veil, this.#activity, this.caption, this.#start, this.#unlock, this.#agree]
    this.root = make("div", { part: "stage", class: "stage" }, this.video, this.#still, this.#poster, ...over)
    for (const event of ["pointerenter", "focusin", "touchstart"]) this.root.addEventListener(event, approach, { passive: true })
    this.#image.addEventListener("error", () => {
      this.#failed = this.#image.getAttribute("src") ?? undefined
      this.#showPoster(undefined)
    })
    this.#image.addEventListener("load", () => this.#image.classList.toggle("high", this.#image.naturalHeight > this.#image.naturalWidth * 0.8))
    if (this.countsFrames) this.video.requestVideoFrameCallback(this.#frame)
    else this.video.addEventListener("resize", () => this.video.videoWidth > 0 && this.#painted())
  }

  /** Where voice bars are drawn: beside the agent's state, and in place of a picture. */
  get bars(): readonly HTMLElement[] {
    return [this.#small, this.#large]
  }

  /** Whether the browser tells of each frame that it paints. */
  get countsFrames(): boolean {
    return "requestVideoFrameCallback" in this.video
  }

  /** Removes the copy of the picture, which belongs to one conversation. */
  forget(): void {
    clearTimeout(this.#copying)
    this.#copying = this.#shown = this.#lost = undefined
    this.#dropKey()
    Object.assign(this.#still, { width: 0, height: 0, hidden: true })
  }

  /** Shows the picture without its background, or with it. */
  setTransparent(transparent: boolean): void {
    this.#transparent = transparent
    if (!transparent) this.#dropKey()
  }

  #removeBackground(): AbortController {
    const keying = new AbortController()
    import("./background.js").then(({ removeBackground }) => removeBackground(this.video, keying.signal)).catch(() => this.root.classList.add("plain"))
    return keying
  }

  #dropKey(): void {
    this.#keying?.abort()
    this.#keying = undefined
  }

  /** The picture's track will be replaced: what is still painted of it is no picture that is back. */
  lose(): void {
    this.#lost = this.#shown
  }

  /** Whether the picture has stood still for longer than a short pause. */
  get stands(): boolean {
    return performance.now() - this.#at > pauseMs
  }

  /** Begins or ends to look whether the picture moves. */
  #watch(live: boolean): void {
    if (live === (this.#looking !== undefined)) return
    clearTimeout(this.#looking)
    this.#looking = live ? setTimeout(this.#look, lostMs) : undefined
  }

  readonly #look = (): void => {
    const received = this.video.getVideoPlaybackQuality().totalVideoFrames
    const unpainted = document.hidden || received !== this.#received // of a picture that moves where it isn't seen
    const left = this.#at + lostMs - performance.now()
    this.#received = received
    this.#looking = setTimeout(this.#look, left > 0 ? left : lostMs)
    if (left <= 0 && !unpainted) this.#stopped()
  }

  readonly #frame = (): void => {
    this.video.requestVideoFrameCallback(this.#frame)
    const track = this.#track()
    if (track?.readyState !== "live" || track === this.#lost) return // the black frame after the last one, or the rest of a lost picture
    if (this.video.videoWidth <= endWidth) return // the black frame of a track before this one
    this.#shown = track
    this.#lost = undefined
    this.#at = performance.now()
    if (this.#still.hidden) this.#copying ??= setTimeout(() => this.#copy(), copyMs)
    else this.#copy()
    if (this.#state?.phase !== "reconnecting") this.#still.hidden = true
    this.#painted()
  }

  #track(): MediaStreamTrack | undefined {
    const { srcObject } = this.video
    return srcObject instanceof MediaStream ? srcObject.getVideoTracks()[0] : undefined
  }

  #copy(): void {
    this.#copying = undefined
    const { videoWidth: width, videoHeight: height } = this.video
    const track = this.#track()
    if (track?.readyState !== "live" || track !== this.#shown || track === this.#lost || width === 0) return
    const still = this.#still
    if (still.width !== width || still.height !== height) Object.assign(still, { width, height })
    const copy = still.getContext("2d")
    if (!copy) return
    copy.globalCompositeOperation = "copy" // also where the picture is transparent
    copy.drawImage(this.root.querySelector<HTMLCanvasElement>("[part=picture]") ?? this.video, 0, 0)
  }

  show(state: State): void {
    const { labels, phase } = state
    const active = open(state)
    this.#state = state
    this.#watch(phase === "live" && state.picture && !state.missing && this.countsFrames)
    this.root.hidden = state.mode === "text"
    this.#showPoster(state.poster)
    this.#poster.hidden = state.picture && active
    if (!active) {
      this.#still.hidden = true
      this.#dropKey()
    } else if (state.missing || phase === "reconnecting") this.#still.hidden = this.#still.width === 0
    const steps = [labels.loading, labels.connecting, labels.awaitingPicture]
    const waits = phase === "connecting" ? steps[state.step]! : phase === "reconnecting" ? labels.reconnecting : phase === "live" && state.missing ? labels.pictureLost : ""
    this.#steps.hidden = phase !== "connecting"
    Array.from(this.#steps.children, (step, i) => step.toggleAttribute("data-done", i <= state.step))
    this.#activity.hidden = phase !== "live" || state.missing || state.blocked || state.gated
    const activity = state.activity === "muted" && state.microphone === "none" ? "ready" : state.activity
    this.#activity.dataset["is"] = activity
    this.#doing.textContent = labels.activities[activity]
    this.#large.hidden = phase !== "live" || state.picture || !this.#image.hidden // it would be over the poster's face
    this.#veil.hidden = waits === "" || state.gated
    if (this.#status.textContent !== waits) this.#status.textContent = waits
    this.#start.hidden = active || state.permanent
    this.#label.textContent = phase === "idle" ? labels.start : labels.again
    this.#unlock.hidden = !silent(state) || state.microphoneProblem !== undefined // then the notice has it
    this.#unlock.textContent = labels.unlock
    this.#agree.hidden = !state.gated
    this.#agree.textContent = labels.agree
    this.caption.hidden = !state.captions || !active
  }

  #showPoster(address: string | undefined): void {
    const shown = address !== undefined && address !== this.#failed
    if (shown && this.#image.getAttribute("src") !== address) this.#image.src = address
    this.#image.hidden = !shown
    this.#blank.hidden = shown
  }
}
