import { make } from "../ui/dom.js"
import { IconButton } from "./dom.js"
import { open, type Actions, type Part, type State } from "./state.js"

/** The field for typed messages and its buttons. */
export class Composer implements Part {
  readonly root = make("form", { part: "composer", class: "composer", autocomplete: "off" })
  readonly field = make("textarea", { part: "field", rows: 1, maxlength: 4000, dir: "auto", enterkeyhint: "send" })
  readonly #send = new IconButton("send", () => {})
  readonly #stop: IconButton

  /** Sends a text. */
  readonly submit: (text: string) => void

  constructor({ send, stop, approach }: Actions) {
    this.submit = send
    this.#stop = new IconButton("stop", stop)
    this.#send.root.type = "submit"
    this.#send.root.classList.add("main")
    this.root.append(this.field, this.#stop.root, this.#send.root)
    this.root.addEventListener("focusin", approach)
    this.root.addEventListener("submit", (event) => {
      event.preventDefault()
      const text = this.field.value.trim()
      if (text === "" || this.#send.root.disabled || this.#send.root.hidden) return
      this.field.value = ""
      send(text)
    })
    // Enter sends, unless it confirms a word in an input method editor.
    this.field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return
      event.preventDefault()
      this.root.requestSubmit()
    })
  }

  /** Puts a text that could not be sent back into the empty field. */
  restore(text: string): void {
    if (this.field.value === "") this.field.value = text
  }

  show(state: State): void {
    const { labels, phase, mode, busy } = state
    this.field.setAttribute("aria-label", labels.message)
    this.field.placeholder = labels.placeholder
    const ready = phase === "live" || (!open(state) && !state.permanent) // a first message begins a conversation
    this.#send.root.disabled = !ready || state.switching
    this.#stop.show(labels.stop, "stop", { hidden: !busy })
    // A typed text interrupts the voice; in text mode nothing can be sent before the end of the answer.
    this.#send.show(labels.send, "send", { hidden: busy && mode === "text" })
  }
}
