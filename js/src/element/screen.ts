import { composing, make } from "../ui/dom.js"
import { Composer } from "./composer.js"
import { Controls } from "./controls.js"
import { Log } from "./log.js"
import { Notices } from "./notices.js"
import { Stage } from "./stage.js"
import { open, type Actions, type Part, type State } from "./state.js"

/** What a shadow tree shows: the parts of an element, which draw its state. */
export class Screen {
  readonly stage: Stage
  readonly controls: Controls
  readonly log: Log
  readonly composer: Composer
  readonly frame: HTMLElement
  readonly #shadow: ShadowRoot
  readonly #disclosure = make("p", { part: "disclosure", class: "disclosure", dir: "auto" })
  #parts: readonly Part[]
  /** What was drawn last. */
  #state: State | undefined

  constructor(shadow: ShadowRoot, actions: Actions) {
    this.#shadow = shadow
    this.stage = new Stage(actions)
    this.controls = new Controls(actions)
    this.log = new Log(actions)
    this.composer = new Composer(actions)
    this.#parts = [this.stage, this.controls, new Notices(actions), this.log, this.composer]
    const roots = this.#parts.map(({ root }) => root)
    this.frame = make("div", { part: "frame", class: "frame" }, this.log.title, ...roots, this.log.region, make("slot", { name: "disclosure" }, this.#disclosure))
    shadow.append(this.frame)
    this.frame.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || composing(event) || !this.#state?.busy) return
      event.preventDefault() // it would also close a dialog around the element
      actions.stop()
    })
  }

  /** Adds parts that draw the state too. */
  add(...parts: readonly Part[]): void {
    this.#parts = [...this.#parts, ...parts]
  }

  /** Removes a part from the tree. */
  remove(part: Part): void {
    this.#parts = this.#parts.filter((each) => each !== part)
    part.root.remove()
  }

  /** Draws the state, and the notice that the visitor talks to a machine. When the control that has the focus is hidden, another one gets it. */
  draw(state: State, notice: string): void {
    const ended = !open(state) && this.#state?.phase !== state.phase
    this.#state = state
    const focused = this.#shadow.activeElement
    for (const part of this.#parts) part.show(state)
    this.#disclosure.textContent = notice
    this.frame.className = `frame in-${state.mode === "text" ? "text" : state.modes.length > 1 ? "both" : "face"}`
    // At the end of a conversation, the empty field passes the focus to the button that starts another.
    const { field } = this.composer
    const over = ended && state.mode === "face" && focused === field && field.value === ""
    if (focused?.checkVisibility && (over || !focused.checkVisibility())) this.passFocus()
  }

  /** Moves the focus to what a visitor does first. */
  passFocus(): void {
    // On a phone, focusing the text field would open the keyboard.
    const touched = matchMedia("(pointer: coarse)").matches
    const all = [...this.#shadow.querySelectorAll<HTMLElement>(touched ? ".over, button" : ".over, textarea")]
    all.find((element) => element.checkVisibility() && !element.matches(":disabled"))?.focus()
  }
}
