import assert from "node:assert/strict"
import { test } from "node:test"
import type { Widget } from "../src/generated/events.js"
import { safeLink, safeUrl } from "../src/ui/dom.js"
import { renderMarkdown } from "../src/ui/markdown.js"
import { playerEmbedUrl, thumbnailUrl } from "../src/ui/media.js"
import { drawWidget, EMBED_HOSTS, externalEmbedUrl, WIDGET_RUNTIMES, WidgetList, type WidgetAction, type WidgetOptions } from "../src/ui/widgets.js"
import { Events, makePage } from "./page.js"

const evil = ["javascript:alert(1)", "JAVA\tSCRIPT:alert(1)", " javascript:alert(1)", "data:text/html,x", "vbscript:x", "file:///etc", "blob:https://a.example/1", "https://user:pass@a.example/", "https://user@a.example/", "", " ", 7, null, undefined, {}, "https://"]

test("only http and https are addresses of links", () => {
  makePage()
  for (const address of evil) assert.equal(safeUrl(address), undefined, String(address))
  assert.equal(safeUrl("https://a.example/x?y#z"), "https://a.example/x?y#z")
  assert.equal(safeUrl("../there"), "https://page.example/there")
  assert.equal(safeUrl("//b.example"), "https://b.example/")
  assert.equal(safeUrl("/x", "about:blank"), undefined)
  for (const address of evil) assert.equal(safeLink(address, {}, "x").tagName, "SPAN")
  const link = safeLink("https://a.example/", { class: "c" }, "<b>") as HTMLAnchorElement
  assert.equal(link.outerHTML, '<a class="c" href="https://a.example/" target="_blank" rel="noopener noreferrer">&lt;b&gt;</a>')
})

const address = "https://a.example/"
const widgets: Record<(typeof WIDGET_RUNTIMES)[number], Widget> = {
  flashcards: { runtime: "flashcards", flashcards: { title: "<b>Cards", cards: [{ front: "<i>1?", back: "1" }, { front: "2?", back: "2", label: "Hard" }] } },
  followups: { runtime: "followups", followups: { questions: ["<b>Next?"] } },
  sources: { runtime: "sources", sources: { sources: [{ title: "<b>A", url: address, snippet: "<i>" }, { title: "B", url: "javascript:alert(1)" }] } },
  summary: { runtime: "summary", summary: { summary: "<b>", bullets: ["<i>"] } },
  "video-gallery": { runtime: "video-gallery", videoGallery: { videos: [{ title: "<b>", url: address, duration: 65 }, { thumbnailUrl: "javascript:1" }] } },
  "show-link": { runtime: "show-link", showLink: { url: "mailto:a@b.example", label: "<b>" } },
  "external-video": { runtime: "external-video", externalVideo: { url: "https://v.example/1", title: "<b>", poster: "https://v.example/1.png" } },
  "user-properties-form": { runtime: "user-properties-form", userPropertiesForm: { title: "<b>", fields: [
    { key: "name", type: "str", label: "<i>", required: true, knownValue: "<u>" },
    { key: "age", type: "int", required: false },
    { key: "ok", type: "bool", required: true },
    { key: "more", type: "dict", required: false, knownValue: { a: 1 }, description: "<s>" },
  ] } },
  "content-gallery": { runtime: "content-gallery", contentGallery: { items: [{ title: "<b>", imageUrl: "/p.png", alt: "<i>", url: address }] } },
  markdown: { runtime: "markdown", markdown: { title: "<b>", text: "<i> [a](javascript:alert(1)) [b](https://a.example/)" } },
  "graded-question": { runtime: "graded-question", gradedQuestion: { title: "<b>", question: "<i>?", explanation: "<u>", options: [
    { text: "<s>", correct: false, feedback: "**No.**" }, { text: "Bonn", correct: true },
  ] } },
}

function draw(widget: Widget, options?: WidgetOptions): HTMLElement {
  makePage()
  const element = drawWidget(widget, { markdown: renderMarkdown, ...options })
  document.body.append(element)
  return element
}

const button = (element: HTMLElement, text: string): HTMLButtonElement => [...element.querySelectorAll("button")].find(({ textContent }) => textContent === text)!

for (const [runtime, widget] of Object.entries(widgets)) {
  test(`${runtime} is drawn, its texts as texts and its links safe`, () => {
    const element = draw(widget)
    assert.ok(element.classList.contains("agent-widget"))
    assert.deepEqual([...element.querySelectorAll("b, i, s, u, script")], [])
    assert.match(element.textContent + [...element.querySelectorAll("input")].map(({ value }) => value).join(), /<[bi]>/)
    for (const link of element.querySelectorAll("a")) assert.match(link.href, /^https:\/\//)
    for (const link of [element, ...element.querySelectorAll("a")].filter(({ tagName }) => tagName === "A")) {
      assert.deepEqual([link.getAttribute("rel"), link.getAttribute("target")], ["noopener noreferrer", "_blank"])
    }
    for (const picture of element.querySelectorAll("img")) assert.equal(picture.getAttribute("referrerpolicy"), "no-referrer")
  })
}

test("a widget of another kind is its data, folded", () => {
  assert.equal(draw({ runtime: "chart", body: { kind: "<b>" } }).textContent, 'chart{\n  "kind": "<b>"\n}')
  assert.equal(draw({ runtime: "", raw: "<b>" }).textContent, "Something this page can't draw<b>")
})

test("Markdown in summaries, and in widgets of their own, is drawn as elements", async () => {
  const text = "# Head\n\n- **one** <b>\n- two"
  const said: Widget = { runtime: "summary", summary: { summary: text, bullets: ["**as it is**"] } }
  assert.equal(draw(said, { markdown: undefined }).querySelector(".agent-plain")!.textContent, text, "without a renderer")
  const summary = draw(said)
  assert.deepEqual([...summary.querySelectorAll(".agent-markdown li")].map(({ innerHTML }) => innerHTML.trim()), ["<strong>one</strong> &lt;b&gt;", "two"])
  assert.equal(summary.querySelector(":scope > ul > li")!.textContent, "**as it is**")
  const widget = draw(widgets.markdown)
  assert.equal(widget.querySelector("h3")!.textContent, "<b>")
  assert.deepEqual([...widget.querySelectorAll("a")].map(({ href }) => href), ["https://a.example/"])
  assert.equal(draw({ runtime: "markdown", markdown: { text: "a" } }).querySelector("h3"), null)
})

test("a widget that can't be read is an error with its text", () => {
  const cut = draw({ runtime: "sources", raw: '{"sources":[<b>', error: "the content is not valid JSON" })
  assert.deepEqual([cut.className, cut.getAttribute("role")], ["error agent-widget", "note"])
  assert.equal(cut.textContent, 'This part of the answer could not be read. (sources)Details{"sources":[<b>')
  // A page in JavaScript may draw what it has made itself.
  const lacks = draw({ runtime: "flashcards", flashcards: { title: "T" } } as unknown as Widget)
  assert.ok(lacks.classList.contains("error"))
  assert.match(lacks.textContent!, /"title": "T"/)
})

test("a question is graded when the visitor has chosen, in words, and can be tried again", async () => {
  const actions: WidgetAction[] = []
  const element = draw(widgets["graded-question"], { onAction: (action) => actions.push(action) })
  const [first, second] = element.querySelectorAll<HTMLInputElement>("input[type=radio]")
  const status = () => element.querySelector("[role=status]")!.textContent!.replace(/\s+/g, " ")
  const submit = () => element.querySelector("form")!.dispatchEvent(new (document.defaultView!.Event)("submit", { cancelable: true }))
  const marks = () => [...element.querySelectorAll<HTMLElement>(".option")].map((row) => [row.dataset["is"], row.querySelector(".mark")!.textContent])
  submit()
  assert.deepEqual([status(), actions], ["Please choose an answer.", []])
  assert.doesNotMatch(element.textContent!, /<u>|right|No\./, "nothing says which is right before")
  first!.checked = true
  submit()
  assert.match(status(), /^Not quite\. ?No\. ?<u>/)
  assert.deepEqual(marks(), [["wrong", "wrong"], ["right", "right"]])
  assert.ok(element.querySelector("fieldset")!.disabled)
  button(element, "Try again").click()
  assert.deepEqual([marks(), first!.checked, status()], [[[undefined, ""], [undefined, ""]], false, ""])
  second!.checked = true
  submit()
  assert.match(status(), /^Right\./)
  assert.ok(button(element, "Try again").hidden)
  assert.deepEqual(actions.map((action) => action.kind === "answer" && [action.answers, action.correct]), [[["<s>"], false], [["Bonn"], true]])
})

test("several right answers are boxes; without a right one the answer is for the agent", () => {
  const question = (correct: boolean) => ({ runtime: "graded-question", gradedQuestion: { question: "Q", options: ["a", "b", "c"].map((text) => ({ text, correct: correct && text !== "c" })) } })
  const submit = (element: HTMLElement) => element.querySelector("form")!.dispatchEvent(new (document.defaultView!.Event)("submit", { cancelable: true }))
  const actions: WidgetAction[] = []
  const several = draw(question(true), { onAction: (action) => actions.push(action) })
  const boxes = several.querySelectorAll<HTMLInputElement>("input[type=checkbox]")
  boxes[0]!.checked = true
  submit(several)
  assert.match(several.textContent!, /Not quite/)
  button(several, "Try again").click()
  boxes[0]!.checked = boxes[1]!.checked = true
  submit(several)
  assert.deepEqual(actions.map((action) => action.kind === "answer" && action.correct), [false, true])
  makePage()
  const asked: string[] = []
  const list = document.createElement("div")
  const session = Object.assign(new Events(), { speak: (text: string) => asked.push(text) })
  new WidgetList(session, list)
  for (const graded of [true, false]) {
    session.emit("widget", question(graded))
    list.querySelector<HTMLInputElement>("div > section:last-child input")!.checked = true
    submit(list.lastElementChild as HTMLElement)
  }
  assert.deepEqual(asked, ["a"])
})

test("the service's own videos have pictures, and play in the page when the visitor asks", () => {
  assert.equal(thumbnailUrl("1_abc", "99"), "https://cfvod.kaltura.com/p/99/sp/9900/thumbnail/entry_id/1_abc")
  assert.equal(thumbnailUrl("0_abc", 99, { width: 480.4 }), "https://cfvod.kaltura.com/p/99/sp/9900/thumbnail/entry_id/0_abc/width/480")
  assert.equal(playerEmbedUrl("1_abc", 99), "https://www.kaltura.com/index.php/extwidget/preview/partner_id/99/entry_id/1_abc/embed/iframe")
  assert.equal(playerEmbedUrl("1_abc", 99, { uiConfId: 7 }), "https://www.kaltura.com/index.php/extwidget/preview/partner_id/99/uiconf_id/7/entry_id/1_abc/embed/iframe")
  for (const entry of ["", "big-buck-bunny", "1_a/../x", "1_a b", undefined]) assert.deepEqual([thumbnailUrl(entry, 99), playerEmbedUrl(entry, 99)], [undefined, undefined], entry)
  for (const partner of ["", "x", "9/9", undefined]) assert.equal(playerEmbedUrl("1_abc", partner), undefined)

  const widget: Widget = { runtime: "video-gallery", videoGallery: { videos: [{ entryId: "1_abc", title: "Ours", duration: 65 }, { entryId: "1_def", title: "Theirs", url: address, thumbnailUrl: "/own.png" }] } }
  const actions: unknown[] = []
  const element = draw(widget, { partnerId: 99, uiConfId: 7, onAction: (action) => actions.push([action.kind, "url" in action && action.url]) })
  assert.deepEqual([...element.querySelectorAll("img")].map(({ src }) => src), [thumbnailUrl("1_abc", 99, { width: 480 }), "https://page.example/own.png"])
  assert.equal(element.querySelector("iframe"), null)
  element.querySelector<HTMLButtonElement>("[aria-label='Play: Ours']")!.click()
  const frame = element.querySelector("iframe")!
  assert.deepEqual([frame.src, frame.title, frame.getAttribute("sandbox")?.includes("allow-top-navigation")], [playerEmbedUrl("1_abc", 99, { uiConfId: 7 }), "Ours", false])
  assert.deepEqual(actions, [["play", frame.src]])
  const refused = draw(widget, { partnerId: 99, onAction: () => false })
  refused.querySelector<HTMLButtonElement>("button")!.click()
  assert.equal(refused.querySelector("iframe"), null)
  assert.equal(draw(widget).querySelector("button"), null, "without an account")
  assert.equal(draw(widget, { partnerId: 99, embedHosts: [] }).querySelector("button"), null, "without the host")

  makePage()
  const session = Object.assign(new Events(), { partnerId: "99" })
  const list = document.createElement("div")
  new WidgetList(session, list)
  session.emit("widget", widget)
  assert.equal(list.querySelectorAll("button").length, 2, "with the account of the session")
  const both = Object.assign(new Events(), { transport: session })
  new WidgetList(both, list)
  both.emit("widget", widget)
  assert.equal(list.querySelectorAll("button").length, 4, "with that of the transport of an agent session")
})

test("flashcards turn and go on", () => {
  const element = draw(widgets.flashcards)
  const card = () => element.querySelector(".card")!.textContent + " " + element.querySelector(".place")!.textContent
  assert.equal(card(), "Question<i>1? 1 of 2")
  button(element, "Show the answer").click()
  assert.equal(card(), "Answer1 1 of 2")
  button(element, "Show the question").click()
  assert.equal(card(), "Question<i>1? 1 of 2")
  button(element, "Next").click()
  assert.equal(card(), "Hard2? 2 of 2")
  button(element, "Next").click()
  assert.equal(card(), "Question<i>1? 1 of 2")
  button(element, "Previous").click()
  assert.equal(card(), "Hard2? 2 of 2")
  assert.equal(draw({ runtime: "flashcards", flashcards: { cards: [] } }).textContent, "FlashcardsThere are none.")
})

test("words come from the labels", () => {
  const element = draw(widgets.flashcards, { labels: { place: "{at}/{count}", showAnswer: "Antwort zeigen", next: undefined } })
  assert.ok(button(element, "Antwort zeigen"))
  assert.ok(button(element, "Next"))
  assert.equal(element.querySelector(".place")!.textContent, "1/2")
})

test("a form gives its values by their types, and shows what comes of it", async () => {
  const actions: WidgetAction[] = []
  const results: (() => unknown)[] = [() => "Thanks.", () => undefined, () => Promise.reject(new Error("no"))]
  const element = draw(widgets["user-properties-form"], { onAction: (action) => (actions.push(action), results.shift()!()) })
  const reported: unknown[] = []
  Object.assign(globalThis, { reportError: (exception: unknown) => reported.push(exception) })
  const form = element.querySelector("form")!
  form.querySelector<HTMLInputElement>("[name=age]")!.value = "36"
  form.querySelector<HTMLInputElement>("[name=ok]")!.checked = true
  for (const said of ["Thanks.", "Thank you.", "That could not be sent. Please try again."]) {
    form.dispatchEvent(new (document.defaultView!.Event)("submit", { cancelable: true }))
    await new Promise(setImmediate)
    assert.equal(form.querySelector("[role=status]")!.textContent, said)
    form.querySelector<HTMLInputElement>("[name=age]")!.value = ""
  }
  assert.equal(reported.length, 1)
  assert.deepEqual((actions[0] as WidgetAction & { kind: "submit" }).values, { name: "<u>", age: 36, ok: true, more: '{"a":1}' })
  assert.equal((actions[1] as WidgetAction & { kind: "submit" }).values["age"], null)
  assert.ok(form.querySelector<HTMLInputElement>("[name=name]")!.required)
  Reflect.deleteProperty(globalThis, "reportError")
})

test("followups and links tell what is chosen; a link is not followed when the page says so", () => {
  const actions: string[] = []
  const onAction = (action: WidgetAction) => (actions.push(`${action.kind} ${"text" in action ? action.text : "url" in action ? action.url : ""}`), false)
  button(draw(widgets.followups, { onAction }), "<b>Next?").click()
  const link = draw(widgets.sources, { onAction }).querySelector("a")!
  const click = new (document.defaultView!.MouseEvent)("click", { bubbles: true, cancelable: true })
  link.dispatchEvent(click)
  assert.deepEqual([actions, click.defaultPrevented], [["followup <b>Next?", "open https://a.example/"], true])
})

test("a video of a known host plays in the page when the visitor asks, and not before", () => {
  const urls: Record<string, string | undefined> = {
    "https://www.youtube.com/watch?v=abcdefghijk": "https://www.youtube-nocookie.com/embed/abcdefghijk",
    "https://youtu.be/abcdefghijk?t=3": "https://www.youtube-nocookie.com/embed/abcdefghijk",
    "https://m.youtube.com/shorts/abcdefghijk": "https://www.youtube-nocookie.com/embed/abcdefghijk",
    "https://vimeo.com/123456": "https://player.vimeo.com/video/123456",
    "https://player.vimeo.com/video/123456": "https://player.vimeo.com/video/123456",
    "https://youtube.com.evil.example/watch?v=abcdefghijk": undefined,
    "https://evil.example/?https://youtu.be/abcdefghijk": undefined,
    "https://www.youtube.com/watch?v=../../x": undefined,
    "https://vimeo.com/about": undefined,
    "javascript:alert(1)": undefined,
  }
  for (const [url, embed] of Object.entries(urls)) assert.equal(externalEmbedUrl(url), embed, url)
  assert.ok(EMBED_HOSTS.slice(0, 2).every((host) => Object.values(urls).some((url) => url?.startsWith(`https://${host}/`))))
  const widget: Widget = { runtime: "external-video", externalVideo: { url: "https://youtu.be/abcdefghijk", title: "Film" } }
  const element = draw(widget)
  assert.equal(element.querySelector("iframe"), null)
  element.querySelector<HTMLButtonElement>(".play")!.click()
  assert.equal(element.querySelector("iframe")!.src, "https://www.youtube-nocookie.com/embed/abcdefghijk")
  assert.equal(draw(widget, { embedHosts: [] }).tagName, "A")
})

test("a list draws the widgets of a session, clears them with a new turn and keeps the latest", () => {
  makePage()
  const session = new Events()
  const element = document.createElement("div")
  const list = new WidgetList(session, element, { maxRendered: 2 })
  for (const widget of [widgets.summary, widgets.sources, widgets["show-link"]]) session.emit("widget", widget)
  assert.deepEqual([...element.children].map(({ className }) => className), ["sources agent-widget", "tile link agent-widget"])
  session.emit("turnStart", { speechId: "a", turnId: "t", isNewTurn: false })
  assert.equal(element.children.length, 2)
  session.emit("turnStart", { speechId: "a", turnId: "t", isNewTurn: true })
  assert.equal(element.children.length, 0)
  list.destroy()
  session.emit("widget", widgets.summary)
  assert.equal(element.children.length, 0)
  assert.throws(() => new WidgetList(session, undefined as never), TypeError)
})

test("a new turn does not remove what a visitor is filling in", async () => {
  makePage()
  const session = new Events()
  const element = document.createElement("div")
  let sent = false
  new WidgetList(session, element, { onAction: () => { if (!sent) throw new Error("refused") } })
  session.emit("widget", widgets["user-properties-form"])
  session.emit("widget", widgets.summary)
  const form = element.querySelector("form")!
  const fire = (name: string) => form.dispatchEvent(new (document.defaultView!.Event)(name, { bubbles: true, cancelable: true }))
  const next = () => (session.emit("turnStart", { speechId: "a", turnId: "t", isNewTurn: true }), element.children.length)
  Object.assign(globalThis, { reportError: () => {} })
  fire("input")
  assert.equal(next(), 1)
  fire("submit")
  await new Promise(setImmediate)
  assert.equal(next(), 1, "it was not sent")
  sent = true
  fire("submit")
  await new Promise(setImmediate)
  assert.equal(next(), 0)
})

test("without an action of the page a question is a turn, and a form sets variables", async () => {
  makePage()
  const asked: unknown[] = []
  const session = Object.assign(new Events(), { speak: (text: string) => asked.push(text), updateRequestVars: (values: unknown) => asked.push(values) })
  const element = document.createElement("div")
  new WidgetList(session, element)
  session.emit("widget", widgets.followups)
  session.emit("widget", widgets["user-properties-form"])
  element.querySelector("button")!.click()
  element.querySelector("form")!.dispatchEvent(new (document.defaultView!.Event)("submit", { cancelable: true }))
  assert.deepEqual(asked, ["<b>Next?", { name: "<u>", age: null, ok: false, more: '{"a":1}' }])
})
