import { icon, make, makeButton } from "../ui/dom.js"
import { open, type Actions, type Part, type State } from "./state.js"

/** The picture, with what is drawn over it: the poster, the veil, captions, and the buttons to start, to turn the sound on, and to agree. */
export class Stage implements Part {
  readonly root: HTMLElement
  readonly video = make("video", { part: "video", playsinline: true, "aria-hidden": "true" })
  /** Where captions are drawn. They repeat what is heard, and the log has them for screen readers. */
  readonly caption = make("div", { part: "caption", class: "agent-captions", "aria-hidden": "true" })
  readonly #image = make("img", { alt: "" })
  readonly #blank = make("span", { class: "blank" }, icon("face"))
  readonly #poster = make("div", { part: "poster", class: "poster", "aria-hidden": "true" }, make("slot", { name: "poster" }, this.#image, this.#blank))
  readonly #status = make("span", { role: "status" })
  readonly #veil = make("div", { part: "veil", class: "veil" }, make("span", { class: "spinner", "aria-hidden": "true" }), this.#status)
  readonly #label = make("span")
  readonly #start: HTMLButtonElement
  readonly #unlock: HTMLButtonElement
  readonly #agree: HTMLButtonElement
  #failed: string | undefined

  /** `grown` is called with whether the video has a picture. */
  constructor({ start, unlock, agree, approach }: Actions, grown: (picture: boolean) => void) {
    this.#start = makeButton({ part: "button start", class: "main over" }, start, icon("play"), this.#label)
    this.#unlock = makeButton({ part: "button unlock", class: "main over" }, unlock)
    this.#agree = makeButton({ part: "button agree", class: "main over" }, agree)
    const over = [this.caption, this.#veil, this.#start, this.#unlock, this.#agree]
    this.root = make("div", { part: "stage", class: "stage" }, this.video, this.#poster, ...over)
    for (const event of ["pointerenter", "focusin", "touchstart"]) this.root.addEventListener(event, approach, { passive: true })
    this.#image.addEventListener("error", () => {
      this.#failed = this.#image.getAttribute("src") ?? undefined
      this.#showPoster(undefined)
    })
    // The size is 0 again when a picture has ended.
    for (const event of ["resize", "emptied"]) this.video.addEventListener(event, () => grown(this.video.videoWidth > 0))
  }

  show(state: State): void {
    const { labels, phase } = state
    const active = open(state)
    this.root.hidden = state.mode === "text"
    this.#showPoster(state.poster)
    this.#poster.hidden = state.picture && active
    const waits = phase === "connecting" || phase === "reconnecting"
    this.#veil.hidden = !waits || state.gated
    this.#status.textContent = waits ? labels[phase] : ""
    this.#start.hidden = active
    this.#label.textContent = phase === "idle" ? labels.start : labels.again
    this.#unlock.hidden = !state.blocked || phase !== "live"
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
