// Texts of the service are Markdown. This is the only place where they become
// HTML: without any of their own, without pictures, and with links to the web alone.
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
// A picture would reveal the reader to its host: it becomes a link.
rules.image = (tokens, i) => {
  const address = tokens[i].attrGet("src")
  const text = escape(tokens[i].content || "picture")
  return address ? `<a href="${escape(address)}" target="_blank" rel="noopener noreferrer">${text}</a>` : text
}
// What is too wide scrolls by itself, by keyboard too.
const wide = (name) => `class="wide" tabindex="0" role="group" aria-label="${name}"`
rules.table_open = () => `<div ${wide("Table")}><table>`
rules.table_close = () => "</table></div>"
rules.fence = (...args) => `<div ${wide("Code")}>${fence(...args)}</div>`
rules.code_block = (...args) => `<div ${wide("Code")}>${block(...args)}</div>`
// The page has the first two levels of headings.
rules.heading_open = rules.heading_close = (tokens, i, options, env, self) => {
  tokens[i].tag = `h${Math.min(Number(tokens[i].tag.slice(1)) + 2, 6)}`
  return self.renderToken(tokens, i, options)
}

/** The HTML of each block of a text: one element each. */
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

/** What of a growing text can be shown: without marks that will mean something else when more of it is there. */
function settled(text) {
  const inCode = (text.match(/^ {0,3}(```|~~~)/gm) ?? []).length % 2 === 1
  if (inCode) return text
  const at = text.lastIndexOf("\n\n") + 1
  let last = text.slice(at)
  if (/^\n?\|[^\n]*(\n[^\n]*)?$/.test(last)) return text.slice(0, at) // half a table's head
  last = last
    .replace(/(^|\n)[\s>#=|*+_~`:-]*(\d+[.)]?)?\s*$/, "") // a line without a word yet
    .replace(/!?\[[^\]\n]*(\]|\]\([^)\n]*)?$/, "") // half a link
    .replace(/(^|\s)[*_]+$/, "$1") // emphasis of nothing yet
  const words = last.replace(/`[^`\n]*`/g, "")
  if (words.includes("`")) return `${text.slice(0, at)}${last}\``
  if (words.split("**").length % 2 === 0) last = `${last.replace(/[*\s]+$/, "")}**`
  return text.slice(0, at) + last
}

/** A text that is shown while it grows. */
export class GrowingText {
  text = ""
  #element
  #blocks = [] // as shown
  #frame

  constructor(element) {
    this.#element = element
  }

  add(piece) {
    this.text += piece
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = undefined
      this.#show(settled(this.text))
    })
  }

  /** Shows all of it. */
  end() {
    cancelAnimationFrame(this.#frame)
    this.#frame = undefined
    this.#show(this.text)
  }

  // Blocks that stay as they were are not touched: no flicker, and what somebody
  // has selected in them stays selected.
  #show(text) {
    const fresh = blocks(text)
    const changed = fresh.findIndex((html, i) => html !== this.#blocks[i])
    const kept = changed < 0 ? fresh.length : changed
    while (this.#element.children.length > kept) this.#element.lastElementChild.remove()
    const template = document.createElement("template")
    template.innerHTML = fresh.slice(kept).join("")
    this.#element.append(...template.content.children)
    this.#blocks = fresh
  }
}
