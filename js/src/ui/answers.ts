import { icon, make, makeButton, nameButton, type IconName } from "../ui/dom.js"
import type { ToolLabels } from "./toollabels.js"

/** What the buttons of an answer need. */
export interface AnswerActions {
  labels(): ToolLabels
  /** Tells the visitor of a result: shows it to the eye too if it is a problem. */
  tell(text: string, problem: boolean): void
  /** Rejects with the sentence for the visitor. */
  rate(messageId: string, good: boolean): Promise<void>
}

/** The buttons below an answer: copy, and a rating once the id of its message is known. */
export class AnswerButtons {
  readonly root = make("div", { part: "answer-buttons", class: "answer-buttons" })
  readonly #actions: AnswerActions
  readonly #copy: HTMLButtonElement
  #rating: [good: HTMLButtonElement, bad: HTMLButtonElement] | undefined
  #rated: boolean | undefined

  constructor(text: () => string, actions: AnswerActions) {
    this.#actions = actions
    this.#copy = this.#button("copy-answer", "copy", () => void copyText(text(), actions))
    this.root.append(this.#copy)
    this.rename()
  }

  /** Shows the buttons of the rating. */
  rateable(messageId: string): void {
    if (this.#rating) return
    const rate = (good: boolean) => () => void this.#rate(messageId, good)
    this.#rating = [this.#button("rating good", "good", rate(true)), this.#button("rating bad", "bad", rate(false))]
    this.root.append(...this.#rating)
    this.rename()
    this.#mark()
  }

  /** Writes the labels, after a change too. */
  rename(): void {
    const labels = this.#actions.labels()
    nameButton(this.#copy, labels.copyAnswer)
    if (!this.#rating) return
    nameButton(this.#rating[0], labels.good)
    nameButton(this.#rating[1], labels.bad)
  }

  #button(part: string, drawing: IconName, act: () => void): HTMLButtonElement {
    return makeButton({ part: `button ${part}`, class: "small" }, act, icon(drawing))
  }

  #mark(): void {
    this.#rating?.forEach((button, i) => button.setAttribute("aria-pressed", String(this.#rated === (i === 0))))
  }

  async #rate(messageId: string, good: boolean): Promise<void> {
    const before = this.#rated
    if (before === good) return
    this.#rated = good
    this.#mark()
    try {
      await this.#actions.rate(messageId, good)
      this.#actions.tell(this.#actions.labels().thanks, false)
    } catch (reason) {
      this.#rated = before
      this.#mark()
      this.#actions.tell(String(reason), true)
    }
  }
}

/** Copies a text, and tells whether the browser did it. */
export async function copyText(text: string, { labels, tell }: Pick<AnswerActions, "labels" | "tell">): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
  } catch {
    return tell(labels().notCopied, true)
  }
  tell(labels().copied, false)
}
