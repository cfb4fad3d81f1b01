// Converts the Markdown of the service to HTML: without HTML in the text, without
// pictures, and with http and https links only.
import MarkdownIt from "/js/dist/example/markdown-it.js"
import { webAddress } from "./dom.js"

const markdown = new MarkdownIt({ html: false, linkify: true, breaks: true })
markdown.validateLink = (address) => webAddress(address) !== undefined

const rules = markdown.renderer.rules
const { fence, code_block: block } = rules
const escape = markdown.utils.escapeHtml

rules.link_open = (tokens, i, options, env, self) => {
  tokens[i].attrSet("target", "_blank")
  tokens[i].attrSet("rel", "noopener noreferrer")
  return self.renderToken(tokens, i, options)
}
// Loading a picture would send the address of the visitor to its host, so it becomes a link.
rules.image = (tokens, i) => {
  const address = tokens[i].attrGet("src")
  const text = escape(tokens[i].content || "picture")
  return address ? `<a href="${escape(address)}" target="_blank" rel="noopener noreferrer">${text}</a>` : text
}
// Wide elements scroll on their own, also by keyboard.
const wide = (name) => `class="wide" tabindex="0" role="group" aria-label="${name}"`
rules.table_open = () => `<div ${wide("Table")}><table>`
rules.table_close = () => "</table></div>"
rules.fence = (...args) => `<div ${wide("Code")}>${fence(...args)}</div>`
rules.code_block = (...args) => `<div ${wide("Code")}>${block(...args)}</div>`
// The page itself uses the first two levels of headings.
rules.heading_open = rules.heading_close = (tokens, i, options, env, self) => {
  tokens[i].tag = `h${Math.min(Number(tokens[i].tag.slice(1)) + 2, 6)}`
  return self.renderToken(tokens, i, options)
}

/** Returns the HTML of each block of a text, one element each. */
function blocks(text) {
  const env = {}
  const tokens = markdown.parse(text, env)
  const html = []
  let begin = 0
  let depth = 0
  tokens.forEach(({ nesting }, i) => {
    depth += nesting
    if (depth > 0) return
    html.push(markdown.renderer.render(tokens.slice(begin, i + 1), markdown.options, env))
    begin = i + 1
  })
  return html
}

/** Returns an incomplete text without marks whose meaning depends on what follows. */
function complete(text) {
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

/** Shows a text while it is streamed. */
export class GrowingText {
  text = ""
  #element
  #blocks = [] // HTML of the blocks that are shown
  #frame

  constructor(element) {
    this.#element = element
  }

  add(piece) {
    this.text += piece
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = undefined
      this.#show(complete(this.text))
    })
  }

  /** Shows the whole text. */
  end() {
    cancelAnimationFrame(this.#frame)
    this.#frame = undefined
    this.#show(this.text)
  }

  // Replaces only blocks that changed, to prevent flicker and to keep a selection.
  #show(text) {
    const next = blocks(text)
    const changed = next.findIndex((html, i) => html !== this.#blocks[i])
    const kept = changed < 0 ? next.length : changed
    while (this.#element.children.length > kept) this.#element.lastElementChild.remove()
    const template = document.createElement("template")
    template.innerHTML = next.slice(kept).join("")
    this.#element.append(...template.content.children)
    this.#blocks = next
  }
}
