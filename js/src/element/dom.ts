import { icon, make, makeButton, type IconName } from "../ui/dom.js"

/** A button with an icon; its label is for screen readers and the tooltip. */
export class IconButton {
  readonly root: HTMLButtonElement
  readonly #words = make("span")
  #icon: IconName | undefined

  constructor(part: string, act: () => void) {
    this.root = makeButton({ part: `button ${part}`, class: `icon ${part}` }, act)
  }

  /** Draws the button; `pressed` is for buttons that stay pressed, and `words` for those that show their label. */
  show(label: string, name: IconName, { pressed, hidden = false, words = false }: { pressed?: boolean; hidden?: boolean; words?: boolean } = {}): void {
    const { root } = this
    root.hidden = hidden
    root.title = label
    if (words) this.#words.textContent = label
    else root.setAttribute("aria-label", label)
    root.classList.toggle("icon", !words)
    if (pressed !== undefined) root.setAttribute("aria-pressed", String(pressed))
    if (this.#icon !== name) root.replaceChildren(icon(name), this.#words)
    this.#icon = name
  }
}
