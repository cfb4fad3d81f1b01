import MarkdownIt from "markdown-it"
import { make, safeUrl } from "./dom.js"

// The parser is a library's; its HTML is not used. Elements are made of its tokens, so
// that a text of the service has no way to become markup.
const parser = new MarkdownIt({ html: false, linkify: true, breaks: true })
parser.validateLink = (address) => safeUrl(address) !== undefined

type Token = ReturnType<typeof parser.parse>[number]

/** The tags of tokens that become elements of the same tag. */
const plain = ["p", "br", "hr", "em", "strong", "s", "ul", "ol", "li", "blockquote", "table", "thead", "tbody", "tr", "th", "td", "h1", "h2", "h3", "h4", "h5", "h6"]

/**
 * Returns a Markdown text as elements: paragraphs, headings, emphasis, lists,
 * quotations, code, tables and links. HTML in the text stays text, links are http or
 * https and open in a new tab, and a picture becomes a link: loading it would send the
 * visitor's address to its host. Headings begin at the third level.
 */
export function renderMarkdown(text: string): DocumentFragment {
  const fragment = document.createDocumentFragment()
  for (const { tokens } of blocksOf(text)) fragment.append(elementOf(tokens))
  return fragment
}

/** A text without its Markdown marks, for a screen reader. */
export function plainMarkdown(text: string): string {
  return Array.from(renderMarkdown(text).children, ({ textContent }) => textContent?.trim()).join("\n")
}

interface Block {
  readonly tokens: Token[]
  /** A key that is equal for blocks that look the same. */
  readonly key: string
}

/** The blocks of a text, one element each. */
function blocksOf(text: string): Block[] {
  const tokens = parser.parse(text, {})
  const blocks: Block[] = []
  let begin = 0
  let depth = 0
  tokens.forEach(({ nesting }, at) => {
    depth += nesting
    if (depth > 0) return
    const block = tokens.slice(begin, at + 1)
    // Without the line numbers, which change with the text before the block.
    blocks.push({ tokens: block, key: JSON.stringify(block, (name, value) => (name === "map" ? undefined : value)) })
    begin = at + 1
  })
  return blocks
}

/** Makes the element of one block. */
function elementOf(tokens: Token[]): Node {
  const root = make("div")
  draw(tokens, root)
  return root.firstChild ?? root
}

function draw(tokens: readonly Token[], root: HTMLElement): void {
  let parent: Element = root
  for (const token of tokens) {
    const { type, nesting, content } = token
    if (token.hidden) continue // the paragraph of an item in a tight list
    if (type === "inline") draw(token.children ?? [], parent as HTMLElement)
    else if (nesting < 0) {
      if (type === "table_close") parent = parent.parentElement! // out of the frame that scrolls
      parent = parent.parentElement!
      if (token.block && parent !== root) parent.append("\n") // so that textContent of a list has a line for each item
    } else if (type === "text" || type === "html_inline" || type === "html_block" || type === "text_special") parent.append(content)
    else if (type === "softbreak") parent.append("\n")
    else if (type === "hardbreak") parent.append(make("br"))
    else if (type === "code_inline") parent.append(make("code", {}, content))
    else if (type === "fence" || type === "code_block") {
      const language = token.info.trim().split(/\s+/u)[0]
      parent.append(frame("Code", make("pre", {}, make("code", { class: language ? `language-${language}` : undefined }, content))))
    } else if (type === "image") {
      parent.append(linkTo(attribute(token, "src"), token.content || "picture"))
    } else if (type === "link_open") {
      const link = linkTo(attribute(token, "href"))
      const title = attribute(token, "title")
      if (title) link.setAttribute("title", title)
      parent.append(link)
      parent = link
    } else if (plain.includes(token.tag)) {
      // The page itself uses the first two levels of headings.
      const tag = token.tag.replace(/^h(\d)$/u, (_, level) => `h${Math.min(Number(level) + 2, 6)}`)
      const element = make(tag as "p", { start: attribute(token, "start") })
      // By the property, because a content policy may forbid the attribute.
      element.style.textAlign = attribute(token, "style")?.match(/^text-align:(\w+)$/u)?.[1] ?? ""
      if (element.getAttribute("style") === "") element.removeAttribute("style")
      parent.append(type === "table_open" ? frame("Table", element) : element)
      if (nesting > 0) parent = element
    } else parent.append(content)
  }
}

/** An attribute of a token, as a text. */
const attribute = (token: Token, name: string): string | undefined => token.attrGet(name)?.toString()

function linkTo(address: string | undefined, ...content: string[]): HTMLElement {
  if (safeUrl(address) === undefined) return make("span", {}, ...content)
  // As it is written, not resolved.
  return make("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, ...content)
}

/** A frame in which a wide element scrolls, also by keyboard. */
const frame = (name: string, element: HTMLElement): HTMLElement =>
  make("div", { class: "agent-wide", tabindex: 0, role: "group", "aria-label": name }, element)

/** Returns an incomplete text without marks whose meaning depends on what follows. */
function complete(text: string): string {
  const inCode = (text.match(/^ {0,3}(```|~~~)/gm) ?? []).length % 2 === 1
  if (inCode) return text
  const at = text.lastIndexOf("\n\n") + 1
  let last = text.slice(at)
  if (/^\n?\|[^\n]*(\n[^\n]*)?$/.test(last)) return text.slice(0, at) // the head of a table that is not complete
  last = last
    .replace(/(^|\n)[\s>#=|*+_~`:-]*(\d+[.)]?)?\s*$/, "") // a line that has no word
    .replace(/!?\[[^\]\n]*(\]|\]\([^)\n]*)?$/, "") // a link that is not complete
    .replace(/(^|\s)[*_]+$/, "$1") // emphasis without a text
  const words = last.replace(/`[^`\n]*`/g, "")
  if (words.includes("`")) return `${text.slice(0, at)}${last}\``
  if (words.split("**").length % 2 === 0) last = `${last.replace(/[*\s]+$/, "")}**`
  return text.slice(0, at) + last
}

/** Shows a growing text as Markdown in an element, at most once in an animation frame. */
export class GrowingMarkdown {
  readonly #element: HTMLElement
  #text = ""
  #keys: string[] = [] // of the blocks that are shown
  #frame: number | undefined

  constructor(element: HTMLElement) {
    this.#element = element
  }

  /** The whole text. */
  get text(): string {
    return this.#text
  }

  /** Adds a piece. */
  add(piece: string): void {
    this.set(this.#text + piece)
  }

  /** Replaces the text, which may still grow. */
  set(text: string): void {
    this.#text = text
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = undefined
      this.#show(complete(this.#text))
    })
  }

  /** Shows the whole text now. */
  end(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame)
    this.#frame = undefined
    this.#show(this.#text)
  }

  // Replaces only blocks that changed, to prevent flicker and to keep a selection.
  #show(text: string): void {
    const next = blocksOf(text)
    const changed = next.findIndex(({ key }, at) => key !== this.#keys[at])
    const kept = changed < 0 ? next.length : changed
    while (this.#element.childNodes.length > kept) this.#element.lastChild!.remove()
    for (const { tokens } of next.slice(kept)) this.#element.append(elementOf(tokens))
    this.#keys = next.map(({ key }) => key)
  }
}
