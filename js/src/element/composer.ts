import { ComposerForm } from "../ui/composerform.js"
import { open, type Actions, type Part, type State } from "./state.js"

/** The field for typed messages and its buttons. */
export class Composer extends ComposerForm implements Part {
  /** Sends a text. */
  readonly submit: (text: string) => void

  constructor({ send, stop, approach }: Actions) {
    super(send, stop)
    this.submit = send
    this.root.classList.add("composer")
    this.root.addEventListener("focusin", approach)
  }

  show(state: State): void {
    const { labels, phase, mode, busy } = state
    const ready = (phase === "live" || (!open(state) && !state.permanent)) && !state.switching // a first message begins a conversation
    // A typed text interrupts the voice; in text mode nothing can be sent before the end of the answer.
    this.draw({ labels, ready, busy, interrupts: mode !== "text" })
    // No text should be typed that can't be sent; one that is there stays for a start after the page was changed.
    this.field.readOnly = state.permanent
    if (state.permanent) this.field.placeholder = ""
  }
}
