import { icon, make, makeButton } from "../ui/dom.js"
import { open, silent, type Actions, type Part, type State } from "./state.js"

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
  #failed: string | undefined

  constructor({ start, unlock, agree, approach }: Actions) {
    this.#start = makeButton({ part: "button start", class: "main over" }, start, icon("play"), this.#label)
    this.#unlock = makeButton({ part: "button unlock", class: "main over unlock" }, unlock)
    this.#agree = makeButton({ part: "button agree", class: "main over agree" }, agree)
    const over = [this.#large, this.#veil, this.#activity, this.caption, this.#start, this.#unlock, this.#agree]
    this.root = make("div", { part: "stage", class: "stage" }, this.video, this.#poster, ...over)
    for (const event of ["pointerenter", "focusin", "touchstart"]) this.root.addEventListener(event, approach, { passive: true })
    this.#image.addEventListener("error", () => {
      this.#failed = this.#image.getAttribute("src") ?? undefined
      this.#showPoster(undefined)
    })
    this.#image.addEventListener("load", () => this.#image.classList.toggle("high", this.#image.naturalHeight > this.#image.naturalWidth * 0.8))
  }

  /** Where voice bars are drawn: beside the agent's state, and in place of a picture. */
  get bars(): readonly HTMLElement[] {
    return [this.#small, this.#large]
  }

  show(state: State): void {
    const { labels, phase } = state
    const active = open(state)
    this.root.hidden = state.mode === "text"
    this.#showPoster(state.poster)
    this.#poster.hidden = state.picture && active
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
