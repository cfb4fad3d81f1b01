import { copyText, type AnswerActions } from "../ui/answers.js"
import { icon, make, makeButton, nameButton } from "../ui/dom.js"
import type { Part, State } from "./state.js"
import { LAUNCHER_LABELS } from "./launcherlabels.js"
import { toolLabels } from "./toollabels.js"

/** Buttons that copy and download what was said, beside the notice. */
export class TranscriptTools implements Part {
  readonly root = make("div", { part: "tools", class: "tools", hidden: true })
  readonly #copy: HTMLButtonElement
  readonly #download: HTMLButtonElement
  readonly #text: () => string
  #state: State | undefined

  /** `text` returns what was said, one turn in each paragraph; empty before anything was. */
  constructor(text: () => string, tell: AnswerActions["tell"]) {
    this.#text = text
    const labels = () => toolLabels(this.#state!.labels.tools)
    this.#copy = makeButton({ part: "button copy", class: "small" }, () => void copyText(text(), { labels, tell }), icon("copy"))
    this.#download = makeButton({ part: "button download", class: "small" }, () => save(`${labels().file}.txt`, text()), icon("down"))
    this.root.append(this.#copy, this.#download)
  }

  show(state: State): void {
    this.#state = state
    const labels = toolLabels(state.labels.tools)
    this.root.hidden = !state.modes.includes("text") || this.#text() === ""
    nameButton(this.#copy, labels.copy)
    nameButton(this.#download, labels.download)
  }
}

/** Begins anew in an element that is only text: one with a face has a button that ends, and then one that starts. */
export class NewConversation implements Part {
  readonly root: HTMLButtonElement
  readonly #possible: () => boolean

  /** `possible` returns whether something was said, and the next conversation would be another one. */
  constructor(start: () => void, possible: () => boolean) {
    this.#possible = possible
    this.root = makeButton({ part: "button fresh", class: "small fresh", hidden: true }, start, icon("again"))
  }

  show({ modes, labels }: State): void {
    this.root.hidden = modes.includes("face") || !this.#possible()
    nameButton(this.root, labels.launcher.fresh ?? LAUNCHER_LABELS.fresh)
  }
}

/** Lets the browser save a text as a file. */
function save(file: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }))
  make("a", { href: address, download: file }).click()
  setTimeout(() => URL.revokeObjectURL(address), 60_000) // a browser may ask the visitor where to save it
}
