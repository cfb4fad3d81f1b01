import { composing, IconButton, make } from "./dom.js"
import type { PartLabels } from "./partlabels.js"

/** What {@link ComposerForm} shows. */
export interface ComposerState {
  labels: Pick<PartLabels, "message" | "placeholder" | "stop" | "send">
  /** Whether a text can be sent now. */
  ready: boolean
  /** Whether there is an answer that can be stopped. */
  busy: boolean
  /** Whether a text that is sent during an answer interrupts it; otherwise it waits for the end of the answer. */
  interrupts: boolean
}

/** A field for typed messages with its buttons, independent of a session. */
export class ComposerForm {
  readonly root = make("form", { part: "composer", class: "agent-composer", autocomplete: "off" })
  readonly field = make("textarea", { part: "field", rows: 1, maxlength: 4000, dir: "auto", enterkeyhint: "send" })
  readonly #send = new IconButton("send", () => {})
  readonly #stop: IconButton

  constructor(send: (text: string) => void, stop: () => void) {
    this.#stop = new IconButton("stop", stop)
    this.#send.root.type = "submit"
    this.#send.root.classList.add("main")
    this.root.append(this.field, this.#stop.root, this.#send.root)
    this.root.addEventListener("submit", (event) => {
      event.preventDefault()
      const text = this.field.value.trim()
      if (text === "" || this.#send.root.disabled || this.#send.root.hidden) return
      this.field.value = ""
      send(text)
    })
    // Enter sends, unless it confirms a word in an input method editor.
    this.field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || composing(event)) return
      event.preventDefault()
      this.root.requestSubmit()
    })
  }

  /** Puts a text that could not be sent back into the field, before what was typed since. */
  restore(text: string): void {
    this.field.value = [text, this.field.value].filter(Boolean).join("\n")
  }

  draw({ labels, ready, busy, interrupts }: ComposerState): void {
    const focused = [this.#stop.root, this.#send.root].find((button) => button.matches(":focus"))
    this.field.setAttribute("aria-label", labels.message)
    this.field.placeholder = labels.placeholder
    this.#send.root.disabled = !ready
    this.#stop.show(labels.stop, "stop", { hidden: !busy })
    this.#send.show(labels.send, "send", { hidden: busy && !interrupts })
    if (focused?.hidden || focused?.disabled) this.field.focus() // the button loses the focus
  }
}
