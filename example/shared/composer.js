import { $ } from "./dom.js"

/** The text field of the visitor and its buttons. */
export class Composer {
  /** Whether a text can be sent during an answer. */
  overlapping = false
  #busy = false
  #text = $("text")
  #send = $("send")
  #stop = $("stop")

  /** Actions are ask(text) and stop(). */
  constructor({ ask, stop }) {
    $("composer").addEventListener("submit", (event) => {
      event.preventDefault()
      const { text } = this
      if (text === "" || this.#text.disabled || (this.#busy && !this.overlapping)) return
      this.#text.value = ""
      ask(text)
    })
    // Enter sends, unless it confirms a word in an input method editor.
    this.#text.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return
      event.preventDefault()
      $("composer").requestSubmit()
    })
    this.#stop.addEventListener("click", stop)
    // Escape stops the agent, wherever the focus is.
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.#busy) stop()
    })
  }

  /** The text that is not sent yet. */
  get text() {
    return this.#text.value.trim()
  }

  set enabled(enabled) {
    this.#text.disabled = this.#send.disabled = !enabled
  }

  /** The agent is answering: it can be stopped. */
  set busy(busy) {
    const focused = document.activeElement
    this.#busy = busy
    this.#stop.hidden = !busy
    this.#send.hidden = busy && !this.overlapping
    const gone = [this.#stop, this.#send].some((button) => button.hidden && button === focused)
    if (gone) this.focus() // a hidden button loses the focus
  }

  focus() {
    this.#text.focus()
  }
}
