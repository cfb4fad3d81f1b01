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

/** Frames of a page, drawn one after the other at 60 a second. */
function makeFrames(): { next(): void } {
  let queue: ((now: number) => void)[] = []
  let now = 0
  Object.assign(globalThis, { requestAnimationFrame: (draw: (now: number) => void) => queue.push(draw), cancelAnimationFrame: () => (queue = []) })
  return {
    next: () => {
      now += 1000 / 60
      for (const draw of queue.splice(0)) draw(now)
    },
  }
}

test("however a growing text is cut, its end is the same, and blocks that are whole are not drawn again", () => {
  makePage()
  const text = "# One\n\nFirst **bold** and `code` and [a link](https://a.example/x).\n\n- one\n- two **three**\n\n" +
    "1. first\n2. second\n\n```js\nconst x = 1 // **no**\n```\n\n| a | b |\n|---|---:|\n| 1 | 2 |\n\n> quoted\n\n---\n\nThe end: 42"
  const want = html(text)
  for (const size of [1, 7, 1000]) {
    const frames = makeFrames()
    const element = document.createElement("div")
    const growing = new GrowingMarkdown(element)
    for (let at = 0; at < text.length; at += size) {
      const whole = [...element.children].slice(0, -1)
      growing.add(text.slice(at, at + size))
      frames.next()
      assert.deepEqual([...element.children].slice(0, whole.length), whole)
    }
    growing.end()
    assert.equal(element.innerHTML, want, `in pieces of ${size}`)
  }
})

const hostileTexts = [
  `<script>alert(1)</script><img src=x onerror=alert(1)><b onclick=alert(1)>b</b>`,
  "[a](javascript:alert(1)) [b](JAVA\tSCRIPT:alert(1)) [c](data:text/html,x) [d](vbscript:x) [e](&#106;avascript:alert(1)) <javascript:alert(1)>",
  `[f](https://a.example "t\\" onclick=alert(1)") [g](/here) [h](//b.example/x) https://c.example/?a=1&b="2" mailto:d@e.example`,
  `![pixel](https://spy.example/p.gif) ![x](javascript:alert(1)) !["onerror="](https://a.example)`,
  "```html\"onclick=alert(1)\n<script>alert(1)</script>\n```\n\n    <img onerror=alert(1)>",
  "| a <img> | b |\n|---|---|\n| [x](javascript:1) | `<i>` |",
  "[r]: javascript:alert(1)\n\n[r] and [r][r] &lt;script&gt; &#60;script&#62;",
  "<!-- <script> --> <![CDATA[<x>]]> <?php ?> <!DOCTYPE x>",
]

test("a text never becomes anything but a text, wherever it is cut", () => {
  makePage()
  const frames = makeFrames()
  const harmless = "A BLOCKQUOTE BR CODE DIV EM H3 H4 H5 H6 HR LI OL P PRE S STRONG TABLE TBODY TD TH THEAD TR UL".split(" ")
  const attributes = "aria-label class href rel role start style tabindex target title".split(" ")
  /** Elements, attributes and addresses that must not come of a text. */
  const strange = (element: Element) => [...element.querySelectorAll("*")].flatMap((each) => [
    ...(harmless.includes(each.tagName) ? [] : [each.tagName]),
    ...[...each.attributes].filter(({ name }) => !attributes.includes(name)).map(({ name }) => name),
    ...(each instanceof document.defaultView!.HTMLAnchorElement && !(/^https?:$/.test(each.protocol) && each.rel === "noopener noreferrer" && each.target === "_blank") ? [each.href] : []),
  ])
  for (const text of hostileTexts) {
    const element = document.createElement("div")
    const growing = new GrowingMarkdown(element)
    for (const piece of text.match(/.{1,7}/gs)!) {
      growing.add(piece)
      frames.next()
      assert.deepEqual(strange(element), [], text)
    }
    growing.end()
    assert.deepEqual(strange(element), [], text)
  }
})

test("a growing text never shows marks that are interpreted a moment later", () => {
  makePage()
  const frames = makeFrames()
  for (const [text, shown] of [
    ["Some **bold wo", "<p>Some <strong>bold wo</strong></p>"],
    ["Some **", "<p>Some</p>"],
    ["Use `co", "<p>Use <code>co</code></p>"],
    ["See [the pa", "<p>See</p>"],
    ["See [the page](https://a.exa", "<p>See</p>"],
    ["List:\n-", "<p>List:</p>"],
    ["List:\n\n1.", "<p>List:</p>"],
    ["a\n#", "<p>a</p>"],
    ["| a | b |", ""],
    ["| a | b |\n|--", ""],
    ["```\n**x", '<div class="agent-wide" tabindex="0" role="group" aria-label="Code"><pre><code>**x</code></pre></div>'],
    ["2 * 3 = 6", "<p>2 * 3 = 6</p>"],
    ["snake_case_", "<p>snake_case_</p>"],
    ["a ~~b", "<p>a ~~b</p>"],
  ] as const) {
    const element = document.createElement("div")
    new GrowingMarkdown(element).add(text)
    frames.next()
    assert.equal(element.innerHTML.replaceAll("\n", ""), shown, text)
  }
})

/** The processor time of an answer that arrives within a second, in ms. */
function costOf(text: string): number {
  const frames = makeFrames()
  const element = document.createElement("div")
  const growing = new GrowingMarkdown(element)
  const began = process.cpuUsage()
  for (let at = 0; at < text.length; at += Math.ceil(text.length / 60)) {
    growing.add(text.slice(at, at + Math.ceil(text.length / 60)))
    frames.next()
  }
  growing.end()
  const { user } = process.cpuUsage(began)
  assert.equal(growing.text, text)
  return user / 1000
}

// Marks of Markdown and what surrounds them, in their worst combinations for a parser.
const hostile = [
  " ", " \n", "\n", "\t", "a", "a\n", "a\n\n", "\u0000", "*", "*a ", "**a", "*_", "`", "`a", "```\n", "~~~\n", "[", "[a](", "](", "![", "[a][b]", "[a]: b\n", "<", "<!--", "&", "&a;", "\\", "- a\n", "- - ", "> ", "1. ", "|", "|a|\n|-|\n",
  "# a\n", "a\n=\n", "    a\n", "http://", "http://a.b ", "a@b.c ", "www.", `${"|a".repeat(20)}|\n${"|-".repeat(20)}|\n${"b\n".repeat(50)}`,
]

test("no text of 100 KB keeps a page busy, however it is written", () => {
  makePage()
  costOf("**a** [b](https://c.example) `d`\n\n- e\n".repeat(100)) // compiles the functions
  const slow = hostile.map((piece) => [piece, costOf(piece.repeat(Math.ceil(100_000 / piece.length)).slice(0, 100_000))] as const).filter(([, ms]) => ms > 1000)
  // In Chromium these take less than 50 ms; the elements of jsdom take much longer. With
  // quadratic growth they would take minutes.
  assert.deepEqual(slow, [])
})

test("an answer is Markdown up to its 2,000th mark, whether it grows or not", () => {
  const { window } = makePage()
  const text = `${"*a* ".repeat(999)}**b** c\nd`
  const grown = window.document.createElement("div")
  const frames = makeFrames()
  const growing = new GrowingMarkdown(grown)
  for (const piece of text.match(/.{1,100}|\n/gs)!) {
    growing.add(piece)
    frames.next()
  }
  growing.end()
  assert.equal(grown.innerHTML, html(text))
  assert.equal(grown.querySelectorAll("em").length, 999)
  assert.equal(grown.querySelector(".agent-plain")?.textContent, "b** c\nd")
  growing.set("Short.")
  growing.end()
  assert.equal(grown.innerHTML, "<p>Short.</p>")
  assert.doesNotMatch(html("The quick brown fox, and so on. ".repeat(1000)), /agent-plain/)
})

test("a longer answer is drawn less often", () => {
  makePage()
  const frames = makeFrames()
  const element = document.createElement("div")
  const growing = new GrowingMarkdown(element)
  const draws = (start: string) => {
    growing.set(start)
    let count = 0
    for (let i = 0, last = ""; i < 60; i++) {
      growing.add(" word")
      frames.next()
      if (element.innerHTML !== last) count++
      last = element.innerHTML
    }
    return count
  }
  assert.equal(draws("One."), 60)
  const few = draws("Many words. ".repeat(1000))
  assert.ok(few > 0 && few < 10, String(few))
})

test("the plain text of Markdown has no marks", () => {
  makePage()
  assert.equal(plainMarkdown("# One\n\n**b** [l](https://a.example)\n\n- x\n- y"), "One\nb l\nx\ny")
})

test("where the page's policy refuses the microphone, no settings are named", (t) => {
  makePage()
  const refused = { code: "mic_permission_denied" }
  assert.match(errorMessage(refused), /settings/)
  Object.assign(document, { featurePolicy: { allowsFeature: (name: string) => name !== "microphone" } })
  t.after(() => delete (document as { featurePolicy?: object }).featurePolicy)
  assert.equal(errorMessage(refused), "This page is not permitted to use the microphone. You can type instead.")
  assert.match(errorMessage({ code: "mic_not_found" }), /No microphone was found/)
})

test("a message is for a code that has one, and never a property of an object", () => {
  assert.match(errorMessage({ code: "mic_in_use" }), /microphone/)
  for (const error of [undefined, null, {}, { code: "toString" }, { code: "constructor" }, { code: 7 }]) assert.equal(errorMessage(error), "Something went wrong. Please try again.")
  assert.equal(endMessage("idle_timeout"), "The conversation ended because nothing was said.")
  assert.equal(endMessage("reconnect_timeout"), "The connection was lost and did not come back. Please start again.")
  assert.equal(endMessage("__proto__"), "The conversation is over. You can start a new one.")
})
