import MarkdownIt from "markdown-it"
import { make, safeUrl } from "./dom.js"

// The parser is a library's; its HTML is not used. Elements are made of its tokens, so
// that a text of the service has no way to become markup.
const parser = new MarkdownIt({ html: false, linkify: true, breaks: true })
parser.validateLink = (address) => safeUrl(address) !== undefined

/**
 * How many marks are read: characters with which Markdown may be written, such as `*`, `|`
 * and line ends. The parser takes linear time, but each mark takes it about as long as
 * a hundred letters, and a text of the service can be of any length.
 */
const maxMarks = 2_000

/** Where the Markdown of a text ends, at the latest: the rest is shown as it is. It does not depend on what follows in the text. */
function endOfMarkdown(text: string, from = { at: 0, marks: 0 }): { at: number; marks: number } {
  let { at, marks } = from
  for (; at < text.length && marks < maxMarks; at++) if (isMark(text.charCodeAt(at))) marks++
  return { at, marks }
}

/** Whether a character is ASCII, but no letter, digit, space or comma. */
function isMark(code: number): boolean {
  if (code >= 0x80 || code === 0x20 || code === 0x2c) return false
  const letter = code | 0x20
  return !((letter >= 0x61 && letter <= 0x7a) || (code >= 0x30 && code <= 0x39))
}

// A row of a table gets a cell for each column, also when the text has none, so that a
// short text can make many thousand cells. This parser reads such a text without tables.
const withoutTables = new MarkdownIt({ html: false, linkify: true, breaks: true }).disable("table")
withoutTables.validateLink = parser.validateLink
const maxCells = 4_000

function parse(text: string): Token[] {
  const lines = text.split("\n")
  const columns = lines.reduce((most, line) => Math.max(most, line.split("|").length), 1)
  return (columns > 1 && columns * lines.length > maxCells ? withoutTables : parser).parse(text, {})
}

type Token = ReturnType<typeof parser.parse>[number]

/** The tags of tokens that become elements of the same tag. */
const plain = ["p", "br", "hr", "em", "strong", "s", "ul", "ol", "li", "blockquote", "table", "thead", "tbody", "tr", "th", "td", "h1", "h2", "h3", "h4", "h5", "h6"]

/**
 * Returns a Markdown text as elements: paragraphs, headings, emphasis, lists,
 * quotations, code, tables and links. HTML in the text stays text, links are http or
 * https and open in a new tab, and a picture becomes a link: loading it would send the
 * visitor's address to its host. Headings begin at the third level. A text is read as
 * Markdown up to its 2,000th mark, which few answers have; what follows is shown as it is.
 */
export function renderMarkdown(text: string): DocumentFragment {
  const fragment = document.createDocumentFragment()
  const { at } = endOfMarkdown(text)
  for (const { tokens } of blocksOf(text.slice(0, at))) fragment.append(elementOf(tokens))
  if (at < text.length) fragment.append(make("p", { class: "agent-plain" }, text.slice(at)))
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
  const tokens = parse(text)
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
  last = withoutOpenLink(withoutEmptyLine(last)).replace(/(^|\s)[*_]+$/, "$1") // emphasis without a text
  const words = last.replace(/`[^`\n]*`/g, "")
  if (words.includes("`")) return `${text.slice(0, at)}${last}\``
  if (words.split("**").length % 2 === 0) last = `${last.slice(0, endBefore("*", last))}**`
  return text.slice(0, at) + last
}

const isSpace = (character: string): boolean => character.trim() === ""

/** The end of a text without the characters at its end that are one of `marks` or white space. */
function endBefore(marks: string, text: string, end = text.length): number {
  while (end > 0 && (marks.includes(text[end - 1]!) || isSpace(text[end - 1]!))) end--
  return end
}

/** A text without the lines at its end that have no word yet, only marks such as those of a heading or an item. */
function withoutEmptyLine(text: string): string {
  let end = endBefore("", text)
  if (".)".includes(text[end - 1] ?? " ")) end--
  const number = end
  while (/\d/.test(text[end - 1] ?? "")) end--
  // Without a number, the full stop is the end of a word.
  const begin = endBefore(">#=|*+_~`:-", text, end === number ? text.length : end)
  if (begin === 0) return ""
  const line = text.indexOf("\n", begin)
  return line < 0 ? text : text.slice(0, line)
}

/** A text without a link or a picture at its end that is not complete. */
function withoutOpenLink(text: string): string {
  const lastClosed = text.lastIndexOf(")")
  let begin = text.indexOf("[", text.lastIndexOf("\n") + 1)
  while (begin >= 0) {
    const end = text.indexOf("]", begin)
    if (end < 0 || end === text.length - 1 || (text[end + 1] === "(" && lastClosed < end)) return text.slice(0, text[begin - 1] === "!" ? begin - 1 : begin)
    begin = text.indexOf("[", end)
  }
  return text
}

/** How long to wait after a drawing, in ms for each mark and each 32 characters: drawing takes a small part of the page's time. */
const restMs = 0.3

/** Shows a growing text as Markdown in an element, at most once in an animation frame, and a longer text less often. */
export class GrowingMarkdown {
  readonly #element: HTMLElement
  #text = ""
  #keys: string[] = [] // of the blocks that are shown
  #rest: Text | undefined // after the Markdown
  #read = { at: 0, marks: 0 }
  #frame: number | undefined
  #due = 0

  constructor(element: HTMLElement) {
    this.#element = element
  }

  /** The whole text. */
  get text(): string {
    return this.#text
  }

  /** Adds a piece. */
  add(piece: string): void {
    this.#grow(this.#text + piece)
  }

  /** Replaces the text, which may still grow. */
  set(text: string): void {
    if (!text.startsWith(this.#text)) {
      this.#read = { at: 0, marks: 0 }
      this.#dropRest()
    }
    this.#grow(text)
  }

  /** Shows the whole text now. */
  end(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame)
    this.#frame = undefined
    this.#show(true)
  }

  #grow(text: string): void {
    this.#text = text
    this.#read = endOfMarkdown(text, this.#read)
    this.#frame ??= requestAnimationFrame(this.#draw)
  }

  readonly #draw = (now: number): void => {
    this.#frame = now < this.#due ? requestAnimationFrame(this.#draw) : undefined
    if (this.#frame !== undefined) return
    this.#show(false)
    const { at, marks } = this.#read
    this.#due = this.#rest ? 0 : now + restMs * (marks + at / 32)
  }

  #show(ended: boolean): void {
    const { at } = this.#read
    const text = this.#text
    const more = at < text.length
    if (!this.#rest) this.#showBlocks(blocksOf(ended || more ? text.slice(0, at) : complete(text)))
    if (!more) return
    if (!this.#rest) this.#element.append(make("p", { class: "agent-plain" }, (this.#rest = document.createTextNode(""))))
    this.#rest.appendData(text.slice(at + this.#rest.length))
  }

  // Replaces only blocks that changed, to prevent flicker and to keep a selection.
  #showBlocks(next: readonly Block[]): void {
    const changed = next.findIndex(({ key }, at) => key !== this.#keys[at])
    const kept = changed < 0 ? next.length : changed
    while (this.#element.childNodes.length > kept) this.#element.lastChild!.remove()
    for (const { tokens } of next.slice(kept)) this.#element.append(elementOf(tokens))
    this.#keys = next.map(({ key }) => key)
  }

  #dropRest(): void {
    this.#rest?.parentElement?.remove()
    this.#rest = undefined
  }
}
