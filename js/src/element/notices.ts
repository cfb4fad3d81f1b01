import { make, makeButton } from "../ui/dom.js"
import { silent, type Actions, type Part, type State } from "./state.js"

/** How the conversation ended, and what is wrong with the microphone. */
export class Notices implements Part {
  readonly root = make("div", { part: "notices", class: "notices", role: "status" })
  readonly #message = make("p", { part: "message", class: "notice" })
  readonly #trouble = make("p", { part: "message", class: "notice" })
  readonly #problem = make("p")
  readonly #retry: HTMLButtonElement
  readonly #dismiss: HTMLButtonElement
  /** In place of the button over the picture, which the notice could cover in a small element. */
  readonly #unlock: HTMLButtonElement
  readonly #microphone: HTMLElement

  constructor({ retryMicrophone, dismissMicrophone, unlock }: Actions) {
    this.#retry = makeButton({ part: "button" }, retryMicrophone)
    this.#dismiss = makeButton({ part: "button" }, dismissMicrophone)
    this.#unlock = makeButton({ part: "button", class: "main" }, unlock)
    this.#microphone = make("div", { part: "microphone-problem", class: "notice" }, this.#problem, this.#retry, this.#dismiss, this.#unlock)
    this.root.append(this.#message, this.#trouble, this.#microphone)
  }

  show(state: State): void {
    const { labels, message, phase, unheard, hint, microphoneProblem } = state
    this.root.toggleAttribute("data-over", phase === "ended" || phase === "error")
    write(this.#message, message?.(labels))
    this.#message.toggleAttribute("data-bad", phase === "error")
    write(this.#trouble, phase === "live" ? (unheard ? labels.noVoice : hint?.(labels)) : "")
    this.#microphone.hidden = microphoneProblem === undefined
    write(this.#problem, microphoneProblem?.(labels))
    write(this.#retry, labels.retry)
    write(this.#dismiss, labels.dismiss)
    write(this.#unlock, silent(state) ? labels.unlock : "")
  }
}

/** Shows a sentence, or hides its element. A sentence that stays the same is not announced again. */
function write(element: HTMLElement, sentence = ""): void {
  element.hidden = sentence === ""
  if (element.textContent !== sentence) element.textContent = sentence
}
