import { icon, make, makeButton } from "../ui/dom.js"
import { open, type Actions, type Part, type State } from "./state.js"

/** The part in which the transcript and the widgets are drawn. */
export class Log implements Part {
  readonly root = make("div", { part: "log", class: "log", role: "log", "aria-live": "off", "aria-labelledby": "log-title" })
  /** The heading; those of widgets and answers are one level below. */
  readonly title = make("h2", { class: "agent-hidden", id: "log-title" })
  /** What screen readers announce: the log changes too often to be announced itself. */
  readonly region = make("div", { class: "agent-hidden" })

  /** What is shown before the first message; a conversation replaces it. */
  readonly #words = make("p", { dir: "auto" })
  readonly #questions = make("ul")
  readonly #greeting = make("div", { class: "greeting", part: "greeting" }, icon("chat"), this.#words, this.#questions)
  readonly #send: (text: string) => void
  #shown: readonly string[] = []

  constructor({ send }: Actions) {
    this.#send = send
    this.clear()
  }

  /** Shows the greeting again, in place of a conversation. */
  clear(): void {
    this.root.replaceChildren(this.#greeting)
    this.region.replaceChildren()
  }

  show(state: State): void {
    const { labels, modes, greeting, suggestions } = state
    this.title.textContent = labels.log
    this.#words.textContent = greeting ?? labels.greeting
    if (suggestions !== this.#shown) this.#questions.replaceChildren(...suggestions.map((text) => make("li", {}, makeButton({ part: "button suggestion", class: "chip", dir: "auto" }, () => this.#send(text), text))))
    this.#shown = suggestions
    // Only an element that can have the focus can be scrolled by keyboard.
    const scrolls = modes.includes("text")
    this.root.classList.toggle("scrolls", scrolls)
    // Without a log of its own it would cover the poster.
    this.root.hidden = !scrolls && (!open(state) || this.#greeting.isConnected)
    if (scrolls) this.root.tabIndex = 0
    else this.root.removeAttribute("tabindex")
  }
}
