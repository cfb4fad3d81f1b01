import { make } from "../ui/dom.js"
import type { Part, State } from "./state.js"

/** Where what was said and shown is drawn. */
export class Log implements Part {
  readonly root = make("div", { part: "log", class: "log", role: "log", "aria-live": "off", "aria-labelledby": "log-title" })
  /** Widgets and answers have headings of the next level. */
  readonly title = make("h2", { class: "agent-hidden", id: "log-title" })
  /** What screen readers are told, which a log that is drawn as it grows would repeat. */
  readonly region = make("div", { class: "agent-hidden" })

  show({ labels, modes, mode, phase }: State): void {
    this.title.textContent = labels.log
    // A log scrolls, which takes the focus to do by keyboard.
    const scrolls = modes.includes("text")
    this.root.classList.toggle("scrolls", scrolls)
    this.root.hidden = phase === "idle" && mode === "face" // there is nothing in it
    if (scrolls) this.root.tabIndex = 0
    else this.root.removeAttribute("tabindex")
  }
}
