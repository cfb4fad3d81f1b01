/** Values of attributes: undefined and false leave one out, true makes it empty. */
export type Attributes = Record<string, string | number | boolean | undefined>

/** Makes an element. Texts become text nodes, never markup; undefined children are left out. */
export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: (Node | string | undefined)[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : String(value))
  }
  for (const child of children) if (child !== undefined) element.append(child)
  return element
}

/** Makes a button that does not submit a form. */
export function makeButton(attributes: Attributes, pressed: (event: MouseEvent) => void, ...children: (Node | string | undefined)[]): HTMLButtonElement {
  const button = make("button", { type: "button", ...attributes }, ...children)
  button.addEventListener("click", pressed)
  return button
}

/** Texts of a page in place of others, alone or in their groups; those that are absent or undefined stay as they are. */
export type Texts<All> = { readonly [Name in keyof All]?: (NonNullable<All[Name]> extends string ? string : Texts<NonNullable<All[Name]>>) | undefined }

/** Returns the texts with those of the page in their place. */
export function withTexts<All extends object>(all: All, own: Texts<All> | null | undefined): All {
  // Without a prototype, because codes and reasons of the service are looked up in them.
  const texts = Object.create(null)
  const page = (own ?? {}) as Record<string, unknown>
  for (const name of Object.keys({ ...all, ...page })) {
    const [text, other] = [(all as typeof page)[name], page[name]]
    texts[name] = typeof (text ?? other) === "object" ? withTexts(text ?? {}, other as object) : (other ?? text)
  }
  return texts
}

/** Names a button for screen readers and in its tooltip. */
export function nameButton(button: HTMLElement, label: string): void {
  button.title = label
  button.setAttribute("aria-label", label)
}

/** Whether a key belongs to an input method editor. Safari reports the Enter that confirms a word after the end of the composition, with this code. */
export const composing = ({ isComposing, keyCode }: KeyboardEvent): boolean => isComposing || keyCode === 229

/**
 * Returns the address, resolved against the page, if it may be a link, otherwise undefined.
 * Only http and https are allowed: the service may send any value, and `javascript:` and
 * `data:` addresses would run in the page. An address with a user or a password is not
 * allowed either: it can look like that of another host, and it would be sent there.
 */
export function safeUrl(value: unknown, base: string | undefined = globalThis.location?.href): string | undefined {
  if (typeof value !== "string" || value.trim() === "") return undefined
  try {
    // A page that was made from a string, as in tests, has the address about:blank, against which nothing can be resolved.
    const url = new URL(value, base?.startsWith("about:") ? undefined : base)
    const web = url.protocol === "https:" || url.protocol === "http:"
    return web && url.username === "" && url.password === "" ? url.href : undefined
  } catch {
    return undefined
  }
}

/** Returns a link that opens in a new tab without a reference to this page, or a span when the address is not allowed. */
export function safeLink(value: unknown, attributes: Attributes, ...children: (Node | string | undefined)[]): HTMLElement {
  const href = safeUrl(value)
  if (href === undefined) return make("span", attributes, ...children)
  return make("a", { ...attributes, href, target: "_blank", rel: "noopener noreferrer" }, ...children)
}

/** The host of an address that may be a link. */
export function hostOf(value: unknown): string | undefined {
  const href = safeUrl(value)
  return href === undefined ? undefined : new URL(href).host
}

/** SVG paths in a view box of 24 by 24. */
const paths = {
  again: "M19 12a7 7 0 1 1-2-5l2 2M19 4v5h-5",
  away: "M9 5H5v14h14v-4M13 5h6v6M19 5l-9 9",
  bad: "M20 13h-3V4h3zM17 13l-4 7c-2 0-2-1-2-2l1-4H6c-1 0-2-1-2-2l2-7c0-1 1-1 2-1h9",
  camera: "M3 7h12v10H3zM15 11l6-3v8l-6-3",
  captions: "M3 6h18v12H3zM7 14h4M13 14h4M7 10h2M11 10h6",
  chat: "M4 5h16v11h-8l-4 4v-4H4zM8 9h8M8 12h5",
  close: "M6 6l12 12M18 6 6 18",
  copy: "M9 9h10v11H9zM5 15V4h10",
  down: "M12 5v14M6 13l6 6 6-6",
  end: "M3 14c5-5 13-5 18 0l-2 3-4-2v-3c-2-.7-4-.7-6 0v3l-4 2z",
  face: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM9 10v.5M15 10v.5M9 14.5c1.5 1.7 4.5 1.7 6 0",
  fullScreen: "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5",
  good: "M4 11h3v9H4zM7 11l4-7c2 0 2 1 2 2l-1 4h6c1 0 2 1 2 2l-2 7c0 1-1 1-2 1H7",
  microphone: "M12 3a3 3 0 0 1 3 3v5a3 3 0 0 1-6 0V6a3 3 0 0 1 3-3zM6 11a6 6 0 0 0 12 0M12 17v4M9 21h6",
  microphoneOff: "M9 6a3 3 0 0 1 6 0v5M9 9v2a3 3 0 0 0 4 3M6 11a6 6 0 0 0 9 5M18 11v1M12 17v4M9 21h6M4 4l16 16",
  pictureInPicture: "M3 5h18v14H3zM12 12h6v4h-6z",
  play: "M8 5v14l11-7z",
  screen: "M3 5h18v12H3zM9 21h6M12 17v4",
  send: "M4 12 20 4l-4 16-4-6zM20 4l-8 10",
  settings: "M4 7h9M17 7h3M15 5v4M4 17h3M11 17h9M9 15v4",
  sound: "M4 10v4h4l5 4V6L8 10zM16 9a4 4 0 0 1 0 6M18 6a8 8 0 0 1 0 12",
  soundOff: "M4 10v4h4l5 4V6L8 10zM16 9l5 6M21 9l-5 6",
  stop: "M7 7h10v10H7z",
} as const

/** The name of an icon. */
export type IconName = keyof typeof paths

/** Returns an icon, which assistive technology ignores. */
export function icon(name: IconName): SVGSVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg")
  const attributes = { viewBox: "0 0 24 24", class: "agent-icon", "aria-hidden": "true", focusable: "false" }
  for (const [key, value] of Object.entries(attributes)) svg.setAttribute(key, value)
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path")
  path.setAttribute("d", paths[name])
  svg.append(path)
  return svg
}

/** A button with an icon; its label is for screen readers and the tooltip. */
export class IconButton {
  readonly root: HTMLButtonElement
  readonly #words = make("span")
  #icon: IconName | undefined

  constructor(part: string, act: () => void) {
    this.root = makeButton({ part: `button ${part}`, class: `icon ${part}` }, act)
  }

  /** Draws the button; `pressed` is for a button that stays pressed, whose label is the same in both states, and `words` for one that shows its label. */
  show(label: string, name: IconName, { pressed, hidden = false, words = false }: { pressed?: boolean; hidden?: boolean; words?: boolean } = {}): void {
    const { root } = this
    root.hidden = hidden
    root.title = label
    this.#words.textContent = words ? label : ""
    if (words) root.removeAttribute("aria-label")
    else root.setAttribute("aria-label", label)
    root.classList.toggle("icon", !words)
    if (pressed === undefined) root.removeAttribute("aria-pressed")
    else root.setAttribute("aria-pressed", String(pressed))
    if (this.#icon !== name) root.replaceChildren(icon(name), this.#words)
    this.#icon = name
  }
}
