import { make } from "../ui/dom.js"
import type { Part, State } from "./state.js"

/** The part in which the transcript and the widgets are drawn. */
export class Log implements Part {
  readonly root = make("div", { part: "log", class: "log", role: "log", "aria-live": "off", "aria-labelledby": "log-title" })
  /** The heading; those of widgets and answers are one level below. */
  readonly title = make("h2", { class: "agent-hidden", id: "log-title" })
  /** What screen readers announce: the log changes too often to be announced itself. */
  readonly region = make("div", { class: "agent-hidden" })

  show({ labels, modes, mode, phase }: State): void {
    this.title.textContent = labels.log
    // Only an element that can have the focus can be scrolled by keyboard.
    const scrolls = modes.includes("text")
    this.root.classList.toggle("scrolls", scrolls)
    this.root.hidden = phase === "idle" && mode === "face" // there is nothing in it
    if (scrolls) this.root.tabIndex = 0
    else this.root.removeAttribute("tabindex")
  }
}
