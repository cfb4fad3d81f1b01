import assert from "node:assert/strict"
import { test } from "node:test"
import { GrowingMarkdown, plainMarkdown, renderMarkdown } from "../src/ui/markdown.js"
import { endMessage, errorMessage } from "../src/ui/messages.js"
import { makePage } from "./page.js"

const html = (text: string): string => {
  const element = makePage().window.document.createElement("div")
  element.append(renderMarkdown(text))
  return element.innerHTML
}

test("Markdown becomes elements", () => {
  const link = (text: string) => `<a href="https://a.example/x" target="_blank" rel="noopener noreferrer">${text}</a>`
  assert.equal(html("# One\n\n**b** _i_ ~~s~~ `c`  \nnext"), "<h3>One</h3><p><strong>b</strong> <em>i</em> <s>s</s> <code>c</code><br>next</p>")
  assert.equal(html("- a\n- b\n  1. c"), "<ul><li>a</li>\n<li>b<ol><li>c</li>\n</ol>\n</li>\n</ul>")
  assert.equal(html("3. a"), '<ol start="3"><li>a</li>\n</ol>')
  assert.equal(html("> q\n\n---"), "<blockquote><p>q</p>\n</blockquote><hr>")
  assert.equal(html("[l](https://a.example/x) https://a.example/x ![p](https://a.example/x)"), `<p>${link("l")} ${link("https://a.example/x")} ${link("p")}</p>`)
  assert.equal(html("| a |\n|--:|\n| 1 |"), '<div class="agent-wide" tabindex="0" role="group" aria-label="Table"><table><thead><tr><th style="text-align: right;">a</th>\n</tr>\n</thead>\n<tbody><tr><td style="text-align: right;">1</td>\n</tr>\n</tbody>\n</table></div>')
  assert.equal(html("```js x\n<b>\n```"), '<div class="agent-wide" tabindex="0" role="group" aria-label="Code"><pre><code class="language-js">&lt;b&gt;\n</code></pre></div>')
})

test("HTML stays text and no link runs anything", () => {
  assert.equal(html("<img src=x onerror=alert(1)>"), "<p>&lt;img src=x onerror=alert(1)&gt;</p>")
  for (const text of ["[a](javascript:alert(1))", "<javascript:alert(1)>", "![x](data:text/html,x)", "[r]\n\n[r]: vbscript:x"]) assert.doesNotMatch(html(text), /<a|<img/, text)
})

test("a growing text keeps the blocks that are complete", () => {
  const { window } = makePage()
  const frames: (() => void)[] = []
  Object.assign(globalThis, { requestAnimationFrame: (draw: () => void) => frames.push(draw), cancelAnimationFrame: () => (frames.length = 0) })
  const element = window.document.createElement("div")
  const growing = new GrowingMarkdown(element)
  growing.add("One.\n\nTwo **bo")
  growing.add("ld")
  assert.equal(frames.length, 1, "it is drawn once in a frame")
  frames.pop()!()
  const first = element.firstChild
  assert.equal(element.innerHTML, "<p>One.</p><p>Two <strong>bold</strong></p>")
  growing.add("**.")
  growing.end()
  assert.equal(element.firstChild, first)
  assert.equal(element.innerHTML, "<p>One.</p><p>Two <strong>bold</strong>.</p>")
  growing.set("Cut.")
  growing.end()
  assert.deepEqual([element.innerHTML, growing.text], ["<p>Cut.</p>", "Cut."])
})

test("the plain text of Markdown has no marks", () => {
  makePage()
  assert.equal(plainMarkdown("# One\n\n**b** [l](https://a.example)\n\n- x\n- y"), "One\nb l\nx\ny")
})

test("a message is for a code that has one, and never a property of an object", () => {
  assert.match(errorMessage({ code: "mic_in_use" }), /microphone/)
  for (const error of [undefined, null, {}, { code: "toString" }, { code: "constructor" }, { code: 7 }]) assert.equal(errorMessage(error), "Something went wrong. Please try again.")
  assert.equal(endMessage("idle_timeout"), "The conversation ended because nothing was said.")
  assert.equal(endMessage("__proto__"), "The conversation is over. You can start a new one.")
})
