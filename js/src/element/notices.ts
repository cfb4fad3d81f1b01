import { make, makeButton } from "../ui/dom.js"
import type { Actions, Part, State } from "./state.js"

/** How the conversation ended, and why the microphone can't be used. */
export class Notices implements Part {
  readonly root = make("div", { part: "notices", class: "notices", role: "status" })
  readonly #message = make("p", { part: "message", class: "notice" })
  readonly #problem = make("p")
  readonly #retry: HTMLButtonElement
  readonly #dismiss: HTMLButtonElement
  readonly #microphone: HTMLElement

  constructor({ retryMicrophone, dismissMicrophone }: Actions) {
    this.#retry = makeButton({ part: "button" }, retryMicrophone)
    this.#dismiss = makeButton({ part: "button" }, dismissMicrophone)
    this.#microphone = make("div", { part: "microphone-problem", class: "notice" }, this.#problem, this.#retry, this.#dismiss)
    this.root.append(this.#message, this.#microphone)
  }

  show({ labels, message, phase, microphoneProblem }: State): void {
    this.#message.hidden = message === ""
    if (this.#message.textContent !== message) this.#message.textContent = message // announced once
    this.#message.toggleAttribute("data-bad", phase === "error")
    this.#microphone.hidden = microphoneProblem === undefined
    this.#problem.textContent = microphoneProblem ?? ""
    this.#retry.textContent = labels.retry
    this.#dismiss.textContent = labels.dismiss
  }
}
