import { icon, makeButton, type IconName } from "../ui/dom.js"

/** A button with an icon; its label is for screen readers and the tooltip. */
export class IconButton {
  readonly root: HTMLButtonElement
  #icon: IconName | undefined

  constructor(part: string, act: () => void) {
    this.root = makeButton({ part: `button ${part}`, class: "icon" }, act)
  }

  /** Draws the button; `pressed` is for buttons that stay pressed. */
  show(label: string, name: IconName, { pressed, hidden = false }: { pressed?: boolean; hidden?: boolean } = {}): void {
    const { root } = this
    root.hidden = hidden
    root.title = label
    root.setAttribute("aria-label", label)
    if (pressed !== undefined) root.setAttribute("aria-pressed", String(pressed))
    if (this.#icon !== name) root.replaceChildren(icon(name))
    this.#icon = name
  }
}
