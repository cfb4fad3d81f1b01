import { icon, make, makeButton, nameButton, withTexts, type IconName, type Texts } from "./dom.js"

/** The texts of the buttons of an answer, in English. */
export const ANSWER_LABELS = {
  copyAnswer: "Copy this answer",
  good: "Good answer",
  bad: "Bad answer",
  copied: "Copied.",
  notCopied: "The browser did not let this page copy.",
  thanks: "Thank you.",
}

/** The texts of the buttons of an answer. */
export type AnswerLabels = typeof ANSWER_LABELS

/** What {@link AnswerButtons} need of a page. */
export interface AnswerActions {
  /** The present texts in place of the English ones. */
  labels?(): Texts<AnswerLabels> | undefined
  /** Tells the visitor of a result: shows it to the eye too if it is a problem. */
  tell(text: string, problem: boolean): void
  /** Rejects with the sentence for the visitor. */
  rate(messageId: string, good: boolean): Promise<void>
}

/** How long the button shows that the answer was copied, in ms. */
const copiedMs = 2_000

/** The buttons below an answer: copy, and a rating once the id of its message is known. */
export class AnswerButtons {
  readonly root = make("div", { part: "answer-buttons", class: "agent-answer" })
  readonly #actions: AnswerActions
  readonly #copy: HTMLButtonElement
  #rating: [good: HTMLButtonElement, bad: HTMLButtonElement] | undefined
  /** The rating that is shown. */
  #rated: boolean | undefined
  /** The rating that the service has. */
  #saved: boolean | undefined
  #saving = false

  /** `text` returns the answer. */
  constructor(text: () => string, actions: AnswerActions) {
    this.#actions = actions
    this.#copy = this.#button("copy-answer", "copy", () => void this.#copyText(text()))
    this.root.append(this.#copy)
    this.rename()
  }

  /** Shows the buttons of the rating; `rated` is that of before. */
  rateable(messageId: string, rated?: boolean): void {
    if (this.#rating) return
    this.#rated = this.#saved = rated
    const rate = (good: boolean) => () => void this.#rate(messageId, good)
    this.#rating = [this.#button("rating good", "good", rate(true)), this.#button("rating bad", "bad", rate(false))]
    this.root.append(...this.#rating)
    this.rename()
    this.#mark()
  }

  /** Writes the labels, after a change too. */
  rename(): void {
    const labels = labelsOf(this.#actions)
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

  async #copyText(text: string): Promise<void> {
    if (!(await copyText(text, this.#actions))) return
    this.#copy.dataset["done"] = ""
    setTimeout(() => delete this.#copy.dataset["done"], copiedMs)
  }

  async #rate(messageId: string, good: boolean): Promise<void> {
    this.#rated = good
    this.#mark()
    if (this.#saving) return
    this.#saving = true
    // One request at a time: what is chosen meanwhile is saved next, so that the service has the last choice.
    try {
      while (this.#rated !== this.#saved) await this.#save(messageId, this.#rated)
    } finally {
      this.#saving = false
    }
  }

  async #save(messageId: string, good: boolean): Promise<void> {
    try {
      await this.#actions.rate(messageId, good)
      this.#saved = good
      this.#actions.tell(labelsOf(this.#actions).thanks, false)
    } catch (reason) {
      if (this.#rated === good) this.#rated = this.#saved
      this.#mark()
      this.#actions.tell(String(reason), true)
    }
  }
}

const labelsOf = ({ labels }: Pick<AnswerActions, "labels">): AnswerLabels => withTexts(ANSWER_LABELS, labels?.())

/** Copies a text; tells the visitor whether the browser did it, and returns it. */
export async function copyText(text: string, actions: Pick<AnswerActions, "labels" | "tell">): Promise<boolean> {
  const { copied, notCopied } = labelsOf(actions)
  try {
    await navigator.clipboard.writeText(text)
  } catch {
    actions.tell(notCopied, true)
    return false
  }
  actions.tell(copied, false)
  return true
}
