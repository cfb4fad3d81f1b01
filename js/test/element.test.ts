import assert from "node:assert/strict"
import { beforeEach, test, type TestContext } from "node:test"
import { AgentError, localError } from "../src/core/errors.js"
import { english } from "../src/element/labels.js"
import { LAUNCHER_LABELS } from "../src/element/launcherlabels.js"
import { TOOL_LABELS } from "../src/element/toollabels.js"
import { WIDGET_LABELS } from "../src/ui/labels.js"
import { END_MESSAGES, ERROR_MESSAGES, PERMANENT_ERRORS } from "../src/ui/messages.js"
import type { AgentAvatarElement, AgentChatElement } from "../src/element.js"
import type { AppInitResult } from "../src/generated/settings.js"
import { dispose } from "../src/core/load.js"
import { FakeProgram, settle } from "./fake.js"
import { makeElementPage, replaceNavigator, until as awaitTrue } from "./page.js"

globalThis.reportError = (exception: unknown) => assert.fail(`reported: ${exception}`)

const window = makeElementPage()
const main = window.document.querySelector("main")!
const init = { ks: "t", partnerId: "1", genieUrl: "https://genie.example", avatars: [{ previewImageUrl: "https://cdn.example/face.jpg" }] } as AppInitResult

// Made and set before the elements are defined.
const early = window.document.createElement("agent-chat") as AgentChatElement
early.widgetId = "w-1"
early.labels = { send: "Envoyer" }
main.append(early)
const { AgentAvatarElement: Avatar } = await import("../src/element.js")

let program: FakeProgram

beforeEach(async () => {
  main.replaceChildren()
  await settle()
  await dispose()
  program = await new FakeProgram().load()
  program.properties["capabilities"] = {}
  program.results["connect"] = async () => program.become("connected")
  program.results["dispose"] = async () => {}
})

function place(attributes: Record<string, string> = {}, properties: object = { init }): AgentAvatarElement {
  const element = window.document.createElement("agent-avatar") as AgentAvatarElement
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
  Object.assign(element, properties)
  main.append(element)
  return element
}

/** An element whose conversation has begun. */
async function started(...given: Parameters<typeof place>): Promise<AgentAvatarElement> {
  const element = place(...given)
  await element.start()
  return element
}

const find = <Kind extends HTMLElement = HTMLElement>(element: HTMLElement, selector: string) => element.shadowRoot!.querySelector<Kind>(selector)!
const button = (element: HTMLElement, part: string) => find<HTMLButtonElement>(element, `button[part~="${part}"]`)

/** Lets a conversation begin, whose modules come by calls of import. */
const until = (condition: () => boolean) => awaitTrue(String(condition), condition, settle)

test("what was set before the definition counts", () => {
  assert.equal(early.getAttribute("widget-id"), "w-1")
  assert.equal(button(early, "send").getAttribute("aria-label"), "Envoyer")
  assert.equal(button(early, "stop").getAttribute("aria-label"), "Stop the answer")
})

test("texts are in the language of the page, or of the element's own lang, and those of the page win", async (t) => {
  main.lang = "de-AT"
  t.after(() => main.removeAttribute("lang"))
  const element = place()
  const start = () => button(element, "start").textContent
  await until(() => start() === "Gespräch beginnen")
  const around = window.document.createElement("section") // a part of the page with a shadow tree
  around.attachShadow({ mode: "open" }).append(element)
  around.lang = "es"
  main.append(around)
  await until(() => start() === "Empezar la conversación")
  main.append(element)
  element.lang = "fr"
  await until(() => start() === "Commencer la conversation")
  assert.match(find(element, "[part~=disclosure]").textContent!, /IA/)
  element.labels = { start: "On y va", errors: { timeout: "Trop long." } }
  assert.equal(start(), "On y va")
  for (const none of [null, { start: null, errors: null }]) {
    element.labels = none as never // as templates set what they don't have
    assert.equal(start(), "Commencer la conversation")
  }
  element.labels = { start: "On y va" }
  element.lang = "sv" // which has no texts
  await until(() => /AI/.test(find(element, "[part~=disclosure]").textContent!))
  assert.equal(start(), "On y va")
})

test("attributes are properties with their text", () => {
  const element = place({ "widget-id": "w", modes: "face text" })
  assert.deepEqual([element.widgetId, element.modes, element.preload, element.muted], ["w", "face text", null, false])
  element.contextId = "page-7"
  element.muted = true
  assert.deepEqual([element.getAttribute("context-id"), element.hasAttribute("muted")], ["page-7", true])
  element.widgetId = null
  element.muted = false
  element.modes = ["text", "face"]
  assert.deepEqual([element.hasAttribute("widget-id"), element.hasAttribute("muted"), element.getAttribute("modes"), element.modes], [false, false, "text face", "text face"])
  element.modes = null
  assert.equal(element.hasAttribute("modes"), false)
})

test("a conversation that the page ends when its session is made does not connect", async () => {
  for (const modes of ["face", "text", "face text"]) {
    const element = place({ modes })
    element.addEventListener("sessionCreated", () => element.end())
    await element.start()
    assert.deepEqual([modes, element.phase, program.names().includes("connect")], [modes, "ended", false])
  }
})

test("a start passes options on, those of the page over attributes", async () => {
  const element = place(
    { kickoff: "Hello", "thread-id": "a", "context-id": "c", disclosure: "A machine.", microphone: "click" },
    { init, options: { threadId: "b", idleTimeoutMs: 5 } },
  )
  const seen: string[] = []
  element.addEventListener("phaseChange", ({ detail }) => seen.push(detail.phase))
  element.addEventListener("sessionCreated", ({ detail }) => seen.push(`${detail.session === element.session} ${program.names().includes("connect")}`))
  await element.start()
  const { token, kickoff, threadId, contextId, disclosureText, idleTimeoutMs, micStartMode, capabilities, videoEl } = program.options
  assert.deepEqual(
    { token, kickoff: (kickoff as { text: string }).text, threadId, contextId, disclosureText, idleTimeoutMs, micStartMode, videoEl },
    { token: "t", kickoff: "Hello", threadId: "b", contextId: "c", disclosureText: "A machine.", idleTimeoutMs: 5, micStartMode: "deferred", videoEl: find(element, "video") },
  )
  assert.equal((capabilities as Record<string, string>)["show_link"], "on")
  assert.deepEqual(seen, ["connecting", "true false", "live"])
  assert.equal(element.getAttribute("phase"), "live")
})

test("an attribute with a number is an option with a number, and an empty one is none", async () => {
  for (const [text, want] of [["60000", 60_000], ["0", 0], ["", undefined]] as const) {
    await place({ "idle-timeout-ms": text }).start()
    assert.equal(program.options["idleTimeoutMs"], want, text)
  }
})

test("a request for the addresses has the page's token", async () => {
  program.initReply = init
  await started({ "widget-id": "w", "ovp-url": "https://ovp.example" }, { token: async () => ({ ks: "visitor" }) })
  assert.deepEqual(program.inits.map((request) => ({ ...request })), [{ widgetId: "w", ovpUrl: "https://ovp.example", token: "visitor", agenticUrl: undefined, genieUrl: undefined }])
})

test("a token that is refused is replaced from where the element has it", async () => {
  program.initReply = init
  let tokens = 0
  await started({ "widget-id": "w" }, { token: () => `visitor-${++tokens}` })
  assert.equal(await (program.options["onTokenNeeded"] as () => Promise<string>)(), init.ks)
  assert.deepEqual(program.inits.map(({ token }) => token), ["visitor-1", "visitor-2"])
})

/** Has the agent answer in text. */
function answer(text: string): void {
  program.dispatch("turnStart", { speechId: null, turnId: "t", isNewTurn: true })
  program.dispatch("brainSegment", { type: "text", content: text, messageId: "m-1", speechId: undefined })
  program.dispatch("transcript", { type: "final", text, speechId: null })
  program.dispatch("turnEnd", { speechId: null, turnId: "t" })
}

test("an answer is rated with the session's present token, and a failure is told", async () => {
  const tokens: unknown[] = []
  program.results["feedbackAdd"] = async (_, access) => void tokens.push((access as { token: unknown }).token)
  const element = await started({ modes: "text" }, { init, options: { onTokenNeeded: async () => "renewed" } })
  answer("Hello there!")
  const rate = async (name: string) => {
    find(element, `[part~=${name}]`).click()
    await awaitTrue("the rating", () => tokens.length > 0)
    return tokens.pop()
  }
  assert.equal(await rate("good"), init.ks)
  await (program.options["onTokenNeeded"] as () => Promise<string>)()
  assert.equal(await rate("bad"), "renewed")
  element.session!.setToken("of the page")
  assert.equal(await rate("good"), "of the page")
  const asked = (program.options["onTokenNeeded"] as () => Promise<string>)()
  element.session!.setToken("of the page, meanwhile")
  assert.equal(await asked, "renewed")
  assert.throws(() => element.session!.setToken(""), { code: "bad_request" })
  assert.equal(await rate("bad"), "of the page, meanwhile")
  program.results["feedbackAdd"] = () => Promise.reject(new AgentError({ code: "server_error" }))
  find(element, "[part~=good]").click()
  await until(() => find(element, "[part=message]").textContent === ERROR_MESSAGES.server_error)
})

test("an answer is copied, and the conversation copied and saved, as text; what the browser refuses is told", async (t) => {
  const copied: string[] = []
  const saved: Blob[] = []
  let refused = false
  replaceNavigator(t, { clipboard: { writeText: async (text: string) => void (refused ? assert.fail("not allowed") : copied.push(text)) } })
  t.mock.method(URL, "createObjectURL", (blob: Blob) => `blob:${saved.push(blob)}`)
  const files: string[] = []
  t.mock.method(window.HTMLAnchorElement.prototype, "click", function (this: HTMLAnchorElement) { files.push(`${this.href} ${this.download}`) })
  const element = await started({ modes: "text", "agent-name": "Robin" })
  assert.equal(find(element, "[part=tools]").hidden, true, "nothing was said")
  program.dispatch("transcript", { type: "user", text: "My name is Ada.", speechId: null })
  answer("Nice to meet you.")
  await until(() => button(element, "copy-answer") !== null)
  assert.equal(find(element, "[part=tools]").hidden, false)
  t.mock.timers.enable({ apis: ["setTimeout"] }) // an address is revoked after a minute
  for (const part of ["copy-answer", "copy", "download"]) button(element, part).click()
  t.mock.timers.reset()
  await settle()
  const whole = "You: My name is Ada.\n\nRobin: Nice to meet you."
  assert.deepEqual([copied, await saved[0]!.text(), files], [["Nice to meet you.", whole], whole, ["blob:1 Conversation.txt"]])
  refused = true
  button(element, "copy").click()
  await until(() => find(element, "[part=message]").textContent!.includes("did not let this page copy"))
})

test("an agent without a picture has large bars, but not over the face of a poster", async () => {
  const large = (element: HTMLElement) => find(element, ".large").hidden
  const face = place()
  await face.start()
  assert.equal(large(face), true)
  const voice = place({}, { init: { ...init, avatars: [] } })
  await voice.start()
  assert.equal(large(voice), false)
})

test("an early reply is used once, and not when it is old", async (t) => {
  t.mock.timers.enable({ apis: ["Date"] })
  program.initReply = init
  const element = place({ "widget-id": "w" }, {})
  await element.load()
  assert.equal(find(element, "img").getAttribute("src"), "https://cdn.example/face.jpg")
  await element.start()
  assert.equal(program.inits.length, 1)
  program.dispatch("ended", { reason: "disconnect" })
  await element.load()
  t.mock.timers.tick(5 * 60_000)
  await element.start()
  assert.equal(program.inits.length, 3)
})

test("events of the session are events of the element, which do not bubble", async () => {
  const element = await started()
  const seen: unknown[] = []
  for (const target of [element, main]) target.addEventListener("transcript", (event) => seen.push((event as CustomEvent).detail))
  program.dispatch("transcript", { type: "user", text: "Hi", speechId: null })
  assert.deepEqual(seen, [{ type: "user", text: "Hi", speechId: null }])
})

test("an element goes on when the page removes its listeners from the session", async () => {
  const element = await started()
  element.session!.on("transcript", () => assert.fail("it was removed"))
  element.session!.removeAllListeners()
  const seen: string[] = []
  const listener = ({ detail: { text } }: CustomEvent<{ text: string }>) => void seen.push(text)
  element.addEventListener("transcript", listener)
  program.dispatch("transcript", { type: "user", text: "Hi", speechId: null })
  assert.deepEqual([seen, element.transcript], [["Hi"], [{ who: "user", text: "Hi" }]])
  element.removeEventListener("transcript", listener) // which has the types of addEventListener
  program.dispatch("transcript", { type: "user", text: "Bye", speechId: null })
  assert.deepEqual(seen, ["Hi"])
  program.dispatch("ended", { reason: "disconnect" })
  assert.equal(element.phase, "ended")
})

test("what was said is reported when an entry is complete: for a spoken answer at the end of its sound", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] })
  const element = place()
  const seen: string[][] = []
  element.addEventListener("transcriptChange", ({ detail: { transcript } }) => seen.push(transcript.map(({ who, text }) => `${who}: ${text}`)))
  await element.start()
  program.dispatch("transcript", { type: "user", text: "Hi", speechId: null })
  program.dispatch("turnStart", { speechId: "s", turnId: "t", isNewTurn: true })
  program.dispatch("transcript", { type: "final", text: "Hello there!", speechId: "s" })
  program.dispatch("avatarStartTalking", { speechId: "s", turnId: "t" })
  program.dispatch("turnEnd", { speechId: "s", turnId: "t" })
  t.mock.timers.tick(1000)
  assert.deepEqual(seen, [["user: Hi"], ["user: Hi"]]) // the turn of the brain ends before its sound
  program.dispatch("avatarStopTalking", { text: "Hello there!", speechId: "s", turnId: "t" })
  assert.deepEqual(seen.at(-1), ["user: Hi", "agent: Hello there!"])
})

test("a visitor begins anew in an element that is only text, unless the page names the thread", async () => {
  for (const [attributes, offered] of [[{ modes: "text" }, true], [{ modes: "text", "thread-id": "t-1" }, false], [{ modes: "text face" }, false]] as const) {
    const element = place(attributes)
    assert.equal(button(element, "fresh"), null)
    await element.start()
    const first = element.session
    assert.equal(button(element, "fresh").hidden, true, "nothing was said")
    program.dispatch("transcript", { type: "user", text: "Hi", speechId: null })
    element.muted = true // something is drawn
    assert.equal(button(element, "fresh").hidden, !offered)
    element.labels = { launcher: { fresh: "Noch einmal" } }
    assert.equal(button(element, "fresh").ariaLabel, "Noch einmal")
    button(element, "fresh").click()
    assert.deepEqual([element.phase, element.session, element.transcript], ["idle", undefined, []])
    assert.ok(find(element, "[part~=log] [part~=greeting]"))
    assert.equal(element.shadowRoot!.textContent!.includes("Hi"), false, "also not for screen readers")
    assert.equal(find(element, "[part~=message]").hidden, true)
    await element.start()
    assert.notEqual(element.session, first)
    element.remove()
  }
  const unused = new Avatar()
  unused.startNew()
  assert.equal(unused.phase, "idle")
})

test("in a page that is rendered ahead a conversation begins when the visitor opens it", async (t) => {
  const { document } = window
  Object.defineProperty(document, "prerendering", { configurable: true, value: true })
  t.after(() => delete (document as { prerendering?: boolean }).prerendering)
  let connects = 0
  program.results["connect"] = async () => {
    connects++
    program.become("connected")
  }
  const element = place({ microphone: "none" })
  const first = element.start()
  await until(() => element.session !== undefined)
  element.end()
  await first
  const second = element.start()
  await until(() => element.session !== undefined)
  await settle()
  assert.deepEqual([connects, element.phase], [0, "connecting"])
  document.dispatchEvent(new window.Event("prerenderingchange"))
  await second
  assert.deepEqual([connects, element.phase], [1, "live"])
})

test("a first message is in the field again when the conversation ends before it could be sent", async () => {
  let reply = (_: AppInitResult) => {}
  const element = place({ modes: "text" }, { init: new Promise<AppInitResult>((resolve) => (reply = resolve)) })
  const field = find<HTMLTextAreaElement>(element, "textarea")
  field.value = "When is breakfast?"
  button(element, "send").click()
  assert.deepEqual([field.value, element.phase], ["", "connecting"])
  element.end()
  reply(init)
  await settle()
  await settle()
  assert.deepEqual([field.value, element.phase], ["When is breakfast?", "ended"])
})

test("a text that was not sent is in the field again, before what was typed since", async () => {
  const element = place({ modes: "face" })
  const field = find<HTMLTextAreaElement>(element, "textarea")
  const send = (text: string) => {
    field.value = text
    button(element, "send").click()
  }
  let fail = (_: unknown) => {}
  program.results["connect"] = () => new Promise((_, reject) => (fail = reject))
  send("When is breakfast?")
  await until(() => program.names().includes("connect"))
  field.value = "And lunch?"
  fail(new AgentError({ code: "capacity_unavailable" }))
  await until(() => element.phase === "error")
  await until(() => field.value === "When is breakfast?\nAnd lunch?")

  program.results["connect"] = async () => program.become("connected")
  program.results["speak"] = (signal) => new Promise((_, reject) => (signal as AbortSignal).addEventListener("abort", () => reject(new AgentError({ code: "aborted" }))))
  send(field.value)
  await until(() => program.names().includes("speak"))
  assert.equal(field.value, "")
  program.dispatch("userInputReceived", {})
  program.dispatch("avatarStartTalking", {})
  await until(() => !button(element, "stop").hidden)
  button(element, "stop").click() // the words that the text waits for
  await until(() => field.value === "When is breakfast?\nAnd lunch?")
})

test("without a log, a text that may be lost is in the field again with a sentence", async () => {
  const element = await started({ modes: "face" })
  program.dispatch("turnUnconfirmed", { text: "Begin\nHello", typed: "Hello", repeated: false, clientTurnId: "1" })
  assert.equal(find<HTMLTextAreaElement>(element, "textarea").value, "Hello")
  assert.equal(find(element, "[part=message]").textContent, "This may not have arrived.")
})

test("an answer of which nothing comes for long has a sentence until it comes", async () => {
  const element = await started({ modes: "face" })
  const said = () => [...element.shadowRoot!.querySelectorAll<HTMLElement>("[part=message]")].filter(({ hidden }) => !hidden).map(({ textContent }) => textContent)
  program.dispatch("responsePending", {})
  program.dispatch("brainStalled", { afterMs: 12_000, count: 1 })
  assert.deepEqual(said(), [])
  program.dispatch("brainStalled", { afterMs: 12_000, count: 2 })
  assert.deepEqual(said(), ["The agent takes longer than usual. Please wait, or ask again."])
  program.dispatch("responseSettled", {})
  assert.deepEqual(said(), [])
})

test("before a conversation ends there is a sentence, until the visitor does something or it ends", async () => {
  const element = await started({ modes: "face" })
  const hint = () => find(element, "[part=message]:nth-of-type(2)").textContent
  program.dispatch("idleWarning", { inMs: 60_000 })
  assert.equal(hint(), english.idle)
  program.dispatch("responsePending", {})
  assert.equal(hint(), "")
  program.dispatch("timeWarning", { remainingTime: 60 })
  assert.equal(hint(), english.ending)
  program.dispatch("responseSettled", {})
  assert.equal(hint(), english.ending)
  program.dispatch("ended", { reason: "ended_by_server" })
  assert.equal(hint(), "")
})

test("the buttons that only a conversation has are hidden or have a name from the beginning", async () => {
  const element = place({ modes: "text" })
  const nameless = new Set<string>()
  let added = 0
  const observer = new window.MutationObserver((records) => {
    added += records.length
    for (const each of element.shadowRoot!.querySelectorAll("button")) if (!each.closest("[hidden]") && !each.getAttribute("aria-label") && !each.textContent) nameless.add(each.getAttribute("part")!)
  })
  observer.observe(element.shadowRoot!, { childList: true, subtree: true })
  await element.start()
  observer.disconnect()
  assert.ok(added > 0)
  assert.deepEqual([...nameless], [])
})

test("a start after an end begins another conversation, also while what the first waited for is not there", async () => {
  let give = (_: AppInitResult) => {}
  const replies = [new Promise<AppInitResult>((resolve) => (give = resolve)), Promise.resolve(init)]
  const element = place({}, { init: () => replies.shift() })
  const first = element.start()
  element.end()
  await element.start()
  const { session } = element
  assert.equal(element.phase, "live")
  give(init)
  await first
  assert.deepEqual([element.phase, element.session === session, program.sessions], ["live", true, 1])

  replies.push(new Promise(() => {}), Promise.resolve(init))
  element.end()
  void element.start()
  element.remove()
  await settle()
  main.append(element)
  await element.start()
  assert.equal(element.phase, "live")
})

test("an element that is moved in several steps, as by a router, keeps its session", async () => {
  const element = await started()
  const { session } = element
  const page = window.document.createElement("section")
  element.remove()
  for (let steps = 0; steps < 10; steps++) await Promise.resolve()
  page.append(element)
  main.append(page)
  await settle()
  assert.deepEqual([element.phase, element.session === session], ["live", true])
})

test("an element that is removed closes its menus of devices", async () => {
  program.results["listDevices"] = async () => ({ mics: [], speakers: [] })
  const element = await started()
  button(element, "device-menu").click()
  assert.equal(find(element, "[part=devices]").hidden, false)
  element.remove()
  await settle()
  main.append(element)
  assert.equal(find(element, "[part=devices]").hidden, true)
})

test("Escape closes the menus of devices, also on their button, and nothing else", async () => {
  program.results["listDevices"] = async () => ({ mics: [], speakers: [] })
  const element = await started()
  const [menus, opener] = [find(element, "[part=devices]"), button(element, "device-menu")]
  let passedOn = 0 // what a launcher or a dialog around the element would see
  main.addEventListener("keydown", () => passedOn++)
  for (const target of [opener, find(element, "[part=devices] select")]) {
    opener.click()
    const event = new window.KeyboardEvent("keydown", { key: "Escape", bubbles: true, composed: true, cancelable: true })
    target.dispatchEvent(event)
    assert.deepEqual([menus.hidden, event.defaultPrevented, passedOn], [true, true, 0], target.outerHTML)
  }
  opener.dispatchEvent(new window.KeyboardEvent("keydown", { key: "Escape", bubbles: true, composed: true }))
  assert.equal(passedOn, 1)
})

test("a refused connect says what to do, and the next start makes another session", async () => {
  program.results["connect"] = async () => {
    throw localError("load_failed", "the file is missing")
  }
  const element = place()
  await assert.rejects(element.start(), { code: "load_failed" })
  assert.equal(element.phase, "error")
  assert.match(find(element, "[part=message]").textContent!, /Please reload/)
  program.results["connect"] = async () => program.become("connected")
  button(element, "start").click()
  await until(() => element.phase === "live")
  assert.equal(program.sessions, 1)
  assert.equal(find(element, "[part=message]").textContent, "")
})

test("an end by a failure is an error, and one by the agent an end", async () => {
  const element = place()
  for (const [reason, phase, text] of [
    ["reconnect_timeout", "error", /did not come back/],
    ["conversation_ended", "ended", /The agent ended/],
    ["io server disconnect", "ended", /is over/],
    ["constructor", "ended", /is over/],
  ] as const) {
    await element.start()
    program.dispatch("ended", { reason })
    assert.equal(element.phase, phase, reason)
    assert.match(find(element, "[part=message]").textContent!, text)
  }
})

test("a conversation that had begun can be started again after any failure", async (t) => {
  const element = place()
  told(t, element)
  await element.start()
  program.dispatch("error", new AgentError({ code: "bad_request", detail: "the service refused the request" })) // it was started anew, and knows the thread no more
  program.dispatch("ended", { reason: "bad_request" })
  assert.deepEqual([element.phase, find(element, "[part=message]").textContent, button(element, "start").hidden], ["error", english.failed, false])
  program.results["connect"] = async () => Promise.reject(new AgentError({ code: "bad_request" }))
  await assert.rejects(element.start(), { code: "bad_request" })
  assert.deepEqual([find(element, "[part=message]").textContent, button(element, "start").hidden], [ERROR_MESSAGES.bad_request, true])
  element.threadId = "t-2"
  assert.deepEqual([find(element, "[part=message]").textContent, button(element, "start").hidden], [ERROR_MESSAGES.bad_request, false], "another thread may succeed")
})

test("a label that no text has is a warning, and a code or reason of the service none", async (t) => {
  const lines: unknown[] = []
  t.mock.method(console, "warn", (line: unknown) => lines.push(line))
  const element = place()
  element.labels = { strat: "Go", errors: { a_new_code: "Not now." }, launcher: { fersh: "Anew" } } as AgentAvatarElement["labels"]
  await element.start()
  assert.deepEqual(lines, ["agentruntime: there is no label strat: did you mean start?", "agentruntime: there is no label fersh: did you mean fresh?"])
})

test("the microphone's refusal stays until it is acted on", async () => {
  const element = await started()
  const problem = find(element, "[part=microphone-problem]")
  program.dispatch("warning", { code: "mic_not_found", message: "no microphone" })
  assert.equal(problem.hidden, false)
  for (const event of ["responsePending", "turnStart", "turnEnd"]) program.dispatch(event, {})
  program.become("reconnecting")
  assert.equal(element.phase, "reconnecting")
  program.become("connected")
  assert.equal(problem.hidden, false)
  problem.querySelectorAll("button")[1]!.click()
  assert.equal(problem.hidden, true)
  program.dispatch("warning", { code: "mic_permission_denied", message: "no" })
  program.results["startMic"] = async () => {}
  problem.querySelector("button")!.click()
  await settle()
  assert.deepEqual([problem.hidden, program.names().includes("startMic")], [true, true])
})

test("a notice that stays the same is not written again, which would have it read aloud again", async () => {
  const element = await started()
  program.dispatch("warning", { code: "playback_blocked", message: "a click is needed" })
  program.dispatch("warning", { code: "mic_not_found", message: "no microphone" })
  const texts = () => [...find(element, "[part=microphone-problem]").children].map((child) => child.firstChild)
  const before = texts()
  assert.ok(before.length === 4 && before.every(Boolean))
  for (const event of ["responsePending", "turnStart", "turnEnd"]) program.dispatch(event, {})
  await settle()
  texts().forEach((text, i) => assert.ok(text === before[i], String(text?.textContent)))
})

test("where the page may not use the microphone, its sentence names no settings", async (t) => {
  const element = await started({ lang: "de" })
  const problem = find(element, "[part=microphone-problem] p")
  Object.assign(document, { featurePolicy: { allowsFeature: () => false } })
  t.after(() => delete (document as { featurePolicy?: object }).featurePolicy)
  program.dispatch("warning", { code: "mic_permission_denied", message: "no" })
  await until(() => problem.textContent === "Diese Seite darf das Mikrofon nicht verwenden. Sie können stattdessen schreiben.")
  element.lang = "en"
  await until(() => problem.textContent === ERROR_MESSAGES.mic_policy_denied)
  program.results["startMic"] = () => Promise.reject(new AgentError({ code: "mic_permission_denied" }))
  button(element, "microphone").click()
  await settle()
  assert.equal(problem.textContent, ERROR_MESSAGES.mic_policy_denied)
})

test("the notice of the microphone has the button for the sound, which it could cover", async () => {
  const element = await started()
  program.dispatch("warning", { code: "playback_blocked", message: "a click is needed" })
  const over = button(element, "unlock")
  const problem = find(element, "[part=microphone-problem]")
  const within = problem.querySelectorAll("button")[2]!
  assert.deepEqual([over.hidden, within.hidden], [false, false])
  program.dispatch("warning", { code: "mic_permission_denied", message: "no" })
  assert.deepEqual([over.hidden, problem.hidden, within.hidden, within.textContent], [true, false, false, english.unlock])
  program.results["startPlayback"] = async () => true
  within.click()
  await until(() => within.hidden === true)
  assert.deepEqual([program.names().includes("startPlayback"), problem.hidden, over.hidden], [true, false, true])
})

test("an agent in tap-to-talk mode has that button in place of the microphone's", async () => {
  const element = place()
  program.properties["capabilities"] = { tapToTalk: true }
  program.properties["micStarted"] = true
  program.results["startTapToTalk"] = () => void (program.properties["tapToTalkActive"] = true)
  await element.start()
  const tap = button(element, "tap")
  assert.deepEqual([tap.hidden, button(element, "microphone").hidden], [false, true])
  tap.click()
  await settle()
  assert.equal(program.properties["tapToTalkActive"], true)
  program.dispatch("tapToTalkStarted", {})
  program.dispatch("turnStart", { speechId: "s", turnId: "t", isNewTurn: true })
  button(element, "stop").click() // a session does not interrupt in a window, and would throw
  assert.equal(program.names().includes("interrupt"), false)
})

test("without a log a new turn removes the widgets, but not a form that the visitor is filling in", async () => {
  const element = await started()
  const log = find(element, "[part=log]")
  const turn = () => program.dispatch("turnStart", { speechId: "s", turnId: "t", isNewTurn: true })
  program.dispatch("widget", { runtime: "user-properties-form", userPropertiesForm: { fields: [{ key: "name", type: "str", label: "Your name" }] } })
  log.querySelector("input")!.dispatchEvent(new window.Event("input", { bubbles: true }))
  turn()
  assert.equal(log.children.length, 1)
  log.querySelector("form")!.dispatchEvent(new window.Event("submit", { cancelable: true }))
  await settle()
  turn()
  assert.equal(log.children.length, 0)
})

test("a start that was ended shows nothing of its agent, and has no session", async () => {
  const reply = { ...init, avatars: [{ previewImageUrl: "https://pictures.example/a.jpg" }] }
  let resolve: (init: object) => void
  const element = place({}, { init: new Promise<object>((given) => (resolve = given)) })
  const starting = element.start()
  await settle()
  element.end()
  resolve!(reply)
  await starting
  await settle()
  assert.equal(element.shadowRoot!.innerHTML.includes("a.jpg"), false)
  // Ended at any moment before it has a session: what it waits for then is different each time.
  for (let turns = 0, sessions = 0; sessions === 0; turns++) {
    const element = place()
    element.addEventListener("sessionCreated", () => sessions++)
    const starting = element.start()
    for (let i = 0; i < turns; i++) await undefined
    const before = sessions
    element.end()
    await starting
    await settle()
    assert.deepEqual([sessions, element.phase], [before, "ended"], `after ${turns} turns`)
  }
})

test("the visitor's choice of captions outlasts changes of other attributes", async () => {
  const element = await started({ poster: "/a.jpg" })
  const captions = button(element, "captions")
  captions.click()
  element.poster = "/b.jpg"
  assert.equal(captions.getAttribute("aria-pressed"), "false")
  assert.equal(find(element, "img").getAttribute("src"), "/b.jpg")
  element.captions = "on"
  assert.equal(captions.getAttribute("aria-pressed"), "true")
})

test("options that a template sets anew leave the agent's picture and the visitor's choice of captions", async () => {
  const element = place()
  await element.load()
  const picture = () => !find(element, "img").hidden && find(element, "img").getAttribute("src")
  element.options = { stickyId: "a" }
  assert.equal(picture(), "https://cdn.example/face.jpg")
  await element.start()
  button(element, "captions").click()
  element.end()
  element.options = { stickyId: "a" }
  await element.start()
  assert.deepEqual([picture(), button(element, "captions").ariaPressed], ["https://cdn.example/face.jpg", "false"])
})

test("a page's poster may have any address, one of the service only that of a picture on the web", async () => {
  const own = place({ poster: "data:image/png;base64,AA==" })
  assert.equal(find(own, "img").getAttribute("src"), "data:image/png;base64,AA==")
  const element = await started({}, { init: { ...init, avatars: [{ previewImageUrl: "javascript:alert(1)" }] } })
  assert.equal(find(element, "img").hasAttribute("src"), false)
})

test("a disclosure that has to be confirmed has a button", async () => {
  const element = place({}, { init, options: { requireDisclosureAck: true, disclosureText: "You are talking to a machine." } })
  program.results["connect"] = () => new Promise(() => {})
  element.start().catch(() => {})
  await until(() => program.names().includes("connect"))
  assert.equal(button(element, "agree").hidden, true)
  program.dispatch("disclosure", { disclosureText: "You are talking to a machine." })
  assert.deepEqual([button(element, "agree").hidden, find(element, "[part=disclosure]").textContent], [false, "You are talking to a machine."])
  button(element, "agree").click()
  assert.ok(program.names().includes("acknowledgeDisclosure"))
  assert.equal(button(element, "agree").hidden, true)
})

test("a class of a page extends an element", () => {
  class Mine extends Avatar {}
  window.customElements.define("my-agent", Mine as never)
  const mine = window.document.createElement("my-agent")
  main.append(mine)
  assert.ok(mine.shadowRoot)
})

/** Records what a page is told, and what its console shows. */
function told(t: TestContext, element: AgentAvatarElement) {
  const errors: (Error & { code?: string })[] = []
  const codes: unknown[] = []
  element.addEventListener("error", (event) => errors.push(event.detail))
  element.addEventListener("phaseChange", (event) => {
    const { phase, code } = event.detail
    if (phase === "error") codes.push(code)
  })
  const lines: string[] = []
  t.mock.method(console, "error", (...parts: unknown[]) => lines.push(parts.join(" ")))
  return { errors, codes, lines }
}

test("what a template takes back with an empty text counts as not set", async () => {
  const unset = Object.fromEntries(["modes", "preload", "microphone", "captions", "background", "token", "options", "labels", "suggestions", "history"].map((name) => [name, ""]))
  const element = await started({}, { init, ...unset })
  assert.deepEqual([element.phase, element.mode, button(element, "start").hidden], ["live", "face", true])
})

test("a reply of appInit may have fields that are no options", async () => {
  const element = await started({}, { init: { ...init, legacyScreenShareEnabled: true } })
  assert.equal(element.phase, "live")
  assert.equal("legacyScreenShareEnabled" in program.options, false)
})

// Each way in which a start can fail, and what the page's console says of it; the visitor reads the sentence of the code.
const failures: { name: string; attributes?: Record<string, string>; properties?: object; prepare?: () => void; code: string; line: RegExp }[] = [
  ...(
    [
      ["no widget", {}, {}, /set widget-id to the public id/],
      ["an empty widget", { "widget-id": "" }, {}, /set widget-id/],
      ["a typo in modes", { modes: "fcae", "widget-id": "w" }, {}, /modes must be face, text, or both, and is "fcae"/],
      ["empty modes", { modes: " " }, { init }, /modes must be/],
      ["a typo in microphone", { microphone: "clik" }, { init }, /microphone must be one of start, click, none/],
      ["a typo in preload", { preload: "always" }, { init }, /preload must be one of/],
      ["a number in words", { "idle-timeout-ms": "1 minute" }, { init }, /idle-timeout-ms must be a number, 0 or more, and is "1 minute"/],
      ["a number below zero", { "idle-timeout-ms": "-1" }, { init }, /idle-timeout-ms must be/],
      ["a typo in captions", { captions: "no" }, { init }, /captions must be/],
      ["a typo in options", { "widget-id": "w" }, { options: { disclosureTxt: "An AI" } }, /there is no option disclosureTxt: did you mean disclosureText\?/],
      ["a token of another form", { "widget-id": "w" }, { token: async () => ({ token: "visitor" }) }, /the token must be a string, or an object with ks/],
      ["a reply of appInit that was not read", {}, { init: async () => new Response("{}") }, /init must be the reply of appInit, an object with ks/],
      ["options that are still JSON", { "widget-id": "w" }, { options: "{}" }, /property options must be an object/],
      ["labels that are still JSON", { "widget-id": "w" }, { labels: "{}" }, /property labels must be an object/],
      ["suggestions that are a text", { "widget-id": "w" }, { suggestions: "Any news?" }, /property suggestions must be an array/],
      ["a history that is still JSON", { "widget-id": "w" }, { history: "[]" }, /property history must be an array/],
      ["a history of another form", { "widget-id": "w" }, { history: [{ role: "user", content: "Hello" }] }, /each entry of the property history must be \{ who: "user" or "agent", text \}/],
    ] as const
  ).map(([name, attributes, properties, line]) => ({ name, attributes, properties, code: "bad_request", line })),
  { name: "a token function that throws", properties: { token: () => assert.fail("no token today") }, code: "handler_failed", line: /the property token of the element failed: no token today/ },
  { name: "a function for init that rejects", properties: { init: () => Promise.reject(new Error("no init today")) }, code: "handler_failed", line: /property init .* no init today/ },
  ...(
    [
      ["agent_not_found", "no widget with that id", /no widget with that id\. Is "w" the public id of the agent's widget/],
      ["network_error", "is the page online?", /: is the page online\? https:/], // the widget is not in question
    ] as const
  ).map(([code, detail, line]) => ({
    name: `the request for the widget's token: ${code}`,
    attributes: { "widget-id": "w" },
    properties: {},
    prepare: () => void (program.initError = new AgentError({ code, detail, instance: "/api_v3/service/session/action/startWidgetSession" })),
    code,
    line,
  })),
  ...["forbidden", "rate_limited", "error"].map((code) => ({
    name: `appInit: ${code}`,
    attributes: { "widget-id": "w" },
    properties: {},
    prepare: () => void (program.initError = new AgentError({ code, detail: "it is so" })),
    code,
    line: /it is so/,
  })),
  { name: "options that are refused", prepare: () => void (program.refusal = localError("bad_request", "idleTimeoutMs must not be negative")), code: "bad_request", line: /idleTimeoutMs/ },
  ...["unsupported_browser", "capacity_unavailable", "a_new_code"].map((code) => ({
    name: `connect: ${code}`,
    prepare: () => void (program.results["connect"] = () => Promise.reject(new AgentError({ code, detail: "it is so" }))),
    code,
    line: /it is so/,
  })),
  {
    name: "a session that throws what is no AgentError",
    prepare: () => void (program.results["connect"] = () => Promise.reject(new TypeError("x is not a function"))),
    code: "internal_error",
    line: /x is not a function/,
  },
]

for (const { name, attributes = {}, properties = { init }, prepare = () => {}, code, line } of failures) {
  test(`a start that fails is not silent: ${name}`, async (t) => {
    prepare()
    const element = place({ modes: "face text", ...attributes }, properties)
    const { errors, codes, lines } = told(t, element)
    const field = find<HTMLTextAreaElement>(element, "[part=field]")
    field.value = "Hello"
    await assert.rejects(element.start(), { code })
    assert.equal(element.phase, "error")
    assert.deepEqual(errors.map(({ code }) => code), [code])
    assert.deepEqual(codes, [code])
    if (code === "bad_request") assert.deepEqual(program.inits, [], "it is checked before anything is requested")
    assert.equal(lines.length, 1)
    assert.match(lines[0]!, /^agentruntime: <agent-avatar>: The conversation could not begin: /)
    assert.match(lines[0]!, line)
    assert.ok(lines[0]!.endsWith(`errors.md#${code}`), lines[0])
    const sentence = find(element, "[part=message]").textContent!
    assert.equal(sentence, (ERROR_MESSAGES as Record<string, string>)[code] ?? english.failed)
    // What another attempt can't avoid offers none.
    const permanent = PERMANENT_ERRORS.has(code)
    assert.equal(button(element, "start").hidden, permanent)
    assert.equal(button(element, "send").disabled, permanent)
    assert.deepEqual([field.readOnly, field.placeholder === "", field.value], [permanent, permanent, "Hello"])
    element.widgetId = "another"
    assert.equal(button(element, "start").hidden, false)
    assert.deepEqual([field.readOnly, field.placeholder === "", field.value], [false, false, "Hello"])
  })
}

test("a visitor has a sentence of each error of a start, which asks for another attempt only where that may help", () => {
  const sentences = ERROR_MESSAGES as Record<string, string>
  const starts = {
    agent_not_found: /an agent that does not exist.*site's owner/,
    bad_request: /not set up correctly.*site's owner/,
    capacity_unavailable: /busy/,
    connect_failed: /could not be made/,
    internal_error: /reload/,
    load_failed: /could not be loaded/,
    network_error: /could not be reached/,
    peer_removed: /ended your part/,
    stv_session_gone: /picture failed/,
    thread_access_denied: /can't be continued/,
    tier_exceeded: /used up/,
    timeout: /could not be reached/,
    unsupported_browser: /up-to-date browser/,
    whep_failed: /could not be fetched/,
    whep_private_ip: /not set up correctly/,
  }
  for (const [code, words] of Object.entries(starts)) assert.match(sentences[code]!, words, code)
  for (const code of ["forbidden", "invalid_response", "not_found", "rate_limited", "server_error", "unauthorized"]) assert.match(sentences[code]!, /\.$/, code)
  for (const [code, sentence] of Object.entries(sentences)) assert.doesNotMatch(sentence, /console|undefined/, code)
  for (const code of PERMANENT_ERRORS) assert.doesNotMatch(sentences[code]!, /again|reload/, code)
})

test("a start that comes before the agent is set begins with it, or can be repeated", async (t) => {
  program.initReply = init
  const phases = new Set<string>()
  for (const modes of ["face", "text"]) {
    for (let moment = 0; moment < 30; moment++) {
      const element = place({ modes }, {})
      const { errors } = told(t, element)
      const started = element.start().catch(() => {})
      for (let i = 0; i < moment; i++) await null
      Object.assign(element, { widgetId: "w", ovpUrl: "https://ovp.example" }) // the page's module has run
      await started
      const begun = element.phase === "live"
      const about = `${modes}, after ${moment} microtasks`
      phases.add(element.phase)
      assert.equal(errors.length, begun ? 0 : 1, about)
      assert.equal(program.inits.length > 0, begun, about)
      assert.equal(button(element, "start").hidden, begun, about)
      await element.start()
      assert.equal(element.phase, "live", about)
      assert.equal(program.inits.at(-1)?.ovpUrl, "https://ovp.example", about)
      program.inits.length = 0
      t.mock.restoreAll()
      element.remove()
      await settle()
    }
  }
  assert.deepEqual([...phases], ["live", "idle"]) // the moments reach beyond the failure
})

test("an agent that is set after a start without one takes the message away", async (t) => {
  const element = place({}, {})
  told(t, element)
  await assert.rejects(element.start(), { code: "bad_request" })
  element.init = init
  assert.deepEqual([element.phase, find(element, "[part=message]").textContent, button(element, "start").textContent], ["idle", "", english.start])
  await element.start()
  assert.equal(element.phase, "live")
})

test("an error that the session has emitted is reported once", async (t) => {
  for (const order of ["before", "after"]) {
    const element = place()
    const { errors, lines } = told(t, element)
    const failure = new AgentError({ code: "capacity_unavailable" })
    program.results["connect"] = async () => {
      if (order === "before") program.dispatch("error", failure)
      throw failure
    }
    await assert.rejects(element.start(), { code: "capacity_unavailable" })
    if (order === "after") program.dispatch("error", failure)
    assert.deepEqual([order, errors.length, lines.length], [order, 1, 1])
    t.mock.restoreAll()
    element.remove()
    await settle()
  }
})

test("the end of a conversation by a failure has its code too", async (t) => {
  const element = place()
  const { errors, codes, lines } = told(t, element)
  await element.start()
  program.dispatch("error", new AgentError({ code: "socket_error" }))
  program.dispatch("error", new AgentError({ code: "media_recover_failed", detail: "the picture did not come back" }))
  program.dispatch("ended", { reason: "media_recover_failed" })
  assert.deepEqual([element.phase, errors.map(({ code }) => code), codes, lines.length], ["error", ["socket_error", "media_recover_failed"], ["media_recover_failed"], 1])
  assert.match(lines[0]!, /The conversation has ended: the picture did not come back/)
  assert.match(find(element, "[part=message]").textContent!, /another network/)
  assert.equal(button(element, "start").hidden, false)
})

test("offline, the sentence says so", async (t) => {
  replaceNavigator(t, { onLine: false })
  program.initError = new AgentError({ code: "network_error", detail: "failed to fetch" })
  const element = place({ "widget-id": "w" }, {})
  told(t, element)
  await assert.rejects(element.start(), { code: "network_error" })
  assert.match(find(element, "[part=message]").textContent!, /You are offline/)
})

// The labels of a page that are all marked; any Latin text that is not marked is not one of them.
const mark = (key: string) => `⟦${key}⟧`
const marked = (texts: object): object => Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, typeof text === "string" ? mark(key) : marked(text)]))
const translated = () => ({ ...marked({ ...english, errors: ERROR_MESSAGES, launcher: LAUNCHER_LABELS, tools: TOOL_LABELS, widgets: WIDGET_LABELS }), place: undefined }) as never

/** The visible texts and names of an element that are not from its labels. */
function untranslated(element: HTMLElement): string[] {
  const found: string[] = []
  const check = (where: string, text: string | null) => {
    const left = (text ?? "").replace(/⟦[^⟧]*⟧/gu, "").trim()
    if (/\p{Script=Latin}/u.test(left)) found.push(`${where}: ${left}`)
  }
  for (const each of element.shadowRoot!.querySelectorAll("*")) {
    const hidden = each.closest("[hidden]") !== null
    for (const name of ["aria-label", "title", "placeholder", "alt", "label"]) if (!hidden) check(`${each.localName} ${name}`, each.getAttribute(name))
    for (const node of each.childNodes) if (!hidden && node.nodeType === 3) check(each.localName, node.textContent)
  }
  return found
}

test("labels win in every state", async (t) => {
  const widgets: object[] = [
    { runtime: "flashcards", flashcards: { cards: [{ front: "α", back: "β" }] } },
    { runtime: "flashcards", flashcards: { cards: [] } },
    { runtime: "followups", followups: { questions: ["α;"] } },
    { runtime: "sources", sources: { sources: [{ title: "α", url: "https://α.example" }, { url: "javascript:0" }] } },
    { runtime: "sources", sources: { sources: [{ title: "α" }] } },
    { runtime: "summary", summary: { summary: "α", bullets: [] } },
    { runtime: "video-gallery", videoGallery: { videos: [{ url: "javascript:0" }] } },
    { runtime: "show-link", showLink: { url: "javascript:0" } },
    { runtime: "external-video", externalVideo: { url: "javascript:0", provider: "α" } },
    { runtime: "external-video", externalVideo: { url: "https://youtu.be/abcdefghijk", provider: "α" } },
    { runtime: "content-gallery", contentGallery: { items: [{}] } },
    { runtime: "user-properties-form", userPropertiesForm: { fields: [{ key: "1", label: "α", type: "text" }] } },
    { runtime: "", body: 1 },
  ]
  for (const modes of ["face", "face text", "text"]) {
    const element = place({ modes, disclosure: "A machine.", microphone: "click" }, { init, labels: translated() })
    told(t, element)
    const look = (state: string) => assert.deepEqual(untranslated(element), [], `${modes}, ${state}`)
    look("idle")
    program.properties["capabilities"] = {}
    let connect = () => {}
    program.results["connect"] = () => new Promise<void>((resolve) => (connect = resolve))
    program.calls.length = 0
    const started = element.start()
    await until(() => program.names().includes("connect"))
    look("connecting")
    program.dispatch("disclosure", { disclosureText: "You are talking to an AI avatar." })
    look("disclosed")
    program.become("connected")
    connect()
    await started
    look("live")
    assert.equal(find(element, "[part=disclosure]").textContent, mark("disclosure"))
    program.dispatch("transcript", { type: "user", text: "α", speechId: null })
    for (const widget of widgets) program.dispatch("widget", widget)
    program.dispatch("oauthRequired", { authUrl: "https://α.example", toolDisplayName: "α" })
    program.dispatch("responsePending", {})
    for (const code of ["mic_not_found", "mic_permission_denied", "media_no_video", "playback_blocked"]) {
      program.dispatch("warning", { code, message: "not for visitors" })
      look(code)
    }
    program.properties["playbackBlocked"] = "video"
    program.properties["micStarted"] = true
    program.properties["micEnabled"] = true
    program.properties["capabilities"] = { tapToTalk: modes === "face" }
    program.dispatch("warning", { code: "playback_blocked", message: "not for visitors" })
    look("blocked")
    if (modes === "face") {
      find<HTMLVideoElement>(element, "video").dispatchEvent(new window.Event("resize"))
      program.dispatch("mediaRecovering", { channel: "stv", state: "stalled" })
      program.dispatch("mediaRecovering", { channel: "asr", state: "failed" })
      look("repairing")
      program.become("reconnecting")
      look("reconnecting")
      program.become("connected")
    }
    element.labels = { ...(translated() as object), you: "⟦anew⟧" }
    look("relabelled")
    if (modes !== "face") assert.equal(find(element, ".agent-turn .who").textContent, "⟦anew⟧")
    for (const code of [...Object.keys(ERROR_MESSAGES), "a_new_code"]) {
      program.results["speak"] = program.results["sendText"] = () => Promise.reject(new AgentError({ code, detail: "not for visitors" }))
      await element.send("α").catch(() => {})
      look(`turn: ${code}`)
    }
    for (const reason of [...Object.keys(END_MESSAGES), ...Object.keys(ERROR_MESSAGES), "io server disconnect"]) {
      program.results["connect"] = async () => program.become("connected")
      await element.start()
      program.dispatch("ended", { reason })
      look(`ended: ${reason}`)
    }
    element.remove()
    await settle()
    delete program.properties["playbackBlocked"]
  }
})

test("an answer that stays empty because of variables is told with its cause", async (t) => {
  const lines: unknown[] = []
  t.mock.method(console, "warn", (line: unknown) => lines.push(line))
  const element = await started({ modes: "text" })
  program.results["sendText"] = async () => {
    if (lines.length === 0) program.dispatch("warning", { code: "empty_turn_with_request_vars", message: "switch it on", requestVarKeys: ["name"] })
    return { empty: true }
  }
  const message = () => find(element, "[part=message]").textContent
  for (const turn of [1, 2]) {
    await element.send("Hello?")
    assert.equal(message(), ERROR_MESSAGES.client_variables_disabled, `turn ${turn}`) // the session warns only once
  }
  assert.deepEqual(lines, ["agentruntime: <agent-avatar>: switch it on (variables: name). https://github.com/agentruntime/agentruntime/blob/main/docs/errors.md#empty_turn_with_request_vars"])
  element.end()
  await element.start()
  await element.send("Hello?")
  assert.equal(message(), english.empty)
})

test("a warning is a line in the console", async (t) => {
  const lines: unknown[] = []
  t.mock.method(console, "warn", (line: unknown) => lines.push(line))
  await place().start()
  program.dispatch("warning", { code: "kickoff_failed", message: "Kickoff not sent", detail: "rate_limited" })
  program.dispatch("warning", { code: "mic_not_found", message: "No microphone" })
  const page = "https://github.com/agentruntime/agentruntime/blob/main/docs/errors.md"
  assert.deepEqual(lines, [
    `agentruntime: <agent-avatar>: Kickoff not sent (rate_limited). ${page}#kickoff_failed`,
    `agentruntime: <agent-avatar>: No microphone. ${page}#mic_not_found`,
  ])
})

test("Escape interrupts the agent, unless it ends a composition", async () => {
  const element = await started()
  program.dispatch("turnStart", { speechId: "s", turnId: "t", isNewTurn: true })
  const press = (properties: object) => find(element, "textarea").dispatchEvent(new window.KeyboardEvent("keydown", { key: "Escape", bubbles: true, ...properties }))
  press({ isComposing: true })
  assert.equal(program.names().includes("interrupt"), false)
  press({})
  assert.equal(program.names().includes("interrupt"), true)
})

test("a switch that loses the thread is told, unless nothing was said", async () => {
  const element = await started({ modes: "face text" })
  const message = () => find(element, "[part=message]").textContent
  program.dispatch("modeChanged", { mode: "chat", threadContinuity: false })
  assert.equal(message(), "")
  program.dispatch("transcript", { type: "user", text: "Hello", speechId: null })
  program.dispatch("modeChanged", { mode: "avatar", threadContinuity: true })
  assert.equal(message(), "")
  program.dispatch("modeChanged", { mode: "chat", threadContinuity: false })
  assert.equal(message(), english.forgotten)
})

test("the notice is the label, then the option, then the attribute, and the session is told the same", async () => {
  for (const [labels, options, attributes, want] of [
    [{ disclosure: "a" }, { disclosureText: "b" }, { disclosure: "c" }, "a"],
    [{}, { disclosureText: "b" }, { disclosure: "c" }, "b"],
    [{}, {}, { disclosure: "c" }, "c"],
    [{}, {}, {}, "You are talking to an AI."],
  ] as const) {
    const element = await started(attributes, { init, labels, options })
    program.dispatch("disclosure", { disclosureText: "You are talking to an AI avatar." })
    assert.deepEqual([find(element, "[part=disclosure]").textContent, program.options["disclosureText"]], [want, want])
    element.remove()
    await settle()
  }
})

test("what is changed during a conversation counts from the next one on, or once the element is as before the first", async () => {
  const element = await started({ modes: "face", disclosure: "a" })
  const shown = () => [element.mode, find(element, "[part=disclosure]").textContent, button(element, "sound").ariaPressed]
  const change = (modes: "text" | "face", options: object, disclosure: string, muted: boolean) => Object.assign(element, { modes, options, disclosure, muted })
  change("text", {}, "b", true)
  assert.deepEqual(shown(), ["face", "a", "true"], "during the conversation")
  element.end()
  await element.start()
  assert.deepEqual(shown(), ["text", "b", "false"], "in the next one")
  change("face", { disclosureText: "c" }, "d", false)
  element.startNew()
  assert.deepEqual([element.phase, ...shown()], ["idle", "face", "c", "true"])
  await element.start()
  assert.equal(program.options["disclosureText"], "c")
  change("text", {}, "e", true)
  element.remove()
  await settle()
  assert.deepEqual([element.phase, ...shown()], ["idle", "text", "e", "false"], "after it was removed")
})

test("a lost picture is veiled until it is back, and a lost microphone is told of", async () => {
  const element = await started()
  const veil = find(element, "[part=veil]")
  const video = find<HTMLVideoElement>(element, "video")
  Object.defineProperty(video, "videoWidth", { value: 640 })
  program.dispatch("mediaRecovering", { channel: "stv", state: "stalled" })
  assert.equal(veil.hidden, true) // there was no picture yet
  video.dispatchEvent(new window.Event("resize"))
  program.dispatch("mediaRecovering", { channel: "stv", state: "stalled" })
  assert.deepEqual([veil.hidden, veil.textContent], [false, "The picture was lost. Bringing it back…"])
  program.become("reconnecting")
  assert.equal(veil.textContent, "The connection was lost. Reconnecting…")
  program.become("connected")
  assert.deepEqual([veil.hidden, veil.textContent], [false, "The picture was lost. Bringing it back…"])
  program.dispatch("mediaRecovered", { channel: "stv", method: "re-subscribe" })
  assert.equal(veil.hidden, true)
  const unheard = find(element, "[part=message] + [part=message]")
  program.dispatch("mediaRecovering", { channel: "asr", state: "failed" })
  assert.deepEqual([unheard.hidden, veil.hidden], [false, true])
  program.dispatch("mediaRecovered", { channel: "asr", method: "ice-restart" })
  assert.equal(unheard.hidden, true)
})

test("a microphone and a text that fail are told to the page, and the conversation goes on", async (t) => {
  const element = place()
  const { errors } = told(t, element)
  const lines: string[] = []
  t.mock.method(console, "warn", (line: string) => lines.push(line))
  await element.start()
  program.results["startMic"] = () => Promise.reject(new AgentError({ code: "mic_permission_denied", detail: "the page's policy refuses it" }))
  button(element, "microphone").click()
  await until(() => errors.length === 1)
  assert.equal(find(element, "[part=microphone-problem]").hidden, false)
  program.results["speak"] = () => Promise.reject(new AgentError({ code: "rate_limited" }))
  await assert.rejects(element.send("Hello"), { code: "rate_limited" })
  assert.deepEqual(errors.map(({ code }) => code), ["mic_permission_denied", "rate_limited"])
  assert.match(lines.join("\n"), /^agentruntime: <agent-avatar>: the page's policy refuses it\. .*#mic_permission_denied\n.*#rate_limited$/)
  assert.match(find(element, "[part=message]").textContent!, /wait a moment/)
  assert.equal(element.phase, "live")
})

test("a text that is empty or none begins no conversation", async () => {
  const element = place()
  for (const text of ["", " \n", undefined, 5]) await assert.rejects(element.send(text as string), { code: "bad_request" })
  assert.deepEqual([element.phase, program.sessions], ["idle", 0])
})

test("a session that is prepared has what the element has, and none is prepared for an element that has left", async () => {
  program.initReply = init
  const approach = (element: HTMLElement) => find(element, "[part=stage]").dispatchEvent(new window.Event("pointerenter"))
  let reply = (_: AppInitResult) => {}
  const left = place({ preload: "hover" }, { init: new Promise<AppInitResult>((resolve) => (reply = resolve)) })
  approach(left)
  left.remove()
  await settle()
  reply(init)
  for (let i = 0; i < 10; i++) await settle()
  assert.deepEqual([program.sessions, program.names().includes("prepare")], [0, false])

  let changed = false
  const options = { get contextType() {
    if (program.inits.length === 1 && !changed) queueMicrotask(() => (element.contextId = "now")) // the session is being made
    changed ||= program.inits.length === 1
    return "page"
  } }
  const element = place({ "widget-id": "w", preload: "hover", "context-id": "before" }, { options })
  approach(element)
  await until(() => changed)
  for (let i = 0; i < 10; i++) await settle()
  await element.start()
  assert.deepEqual([program.options["contextId"], program.inits.length], ["now", 1])

  const calls = (name: string) => program.names().filter((each) => each === name).length
  const prepared = calls("prepare")
  const drawn = place({ "widget-id": "w", preload: "hover" }, { options: { contextType: "page" } })
  approach(drawn)
  await until(() => calls("prepare") > prepared)
  const disposed = calls("dispose")
  Object.assign(drawn, { options: { contextType: "page" }, labels: { start: "Go" } }) // a template is drawn again
  await drawn.start()
  assert.equal(calls("dispose"), disposed, "the session that was prepared is used")
})

test("an agent that is given later is loaded, and the face of the one before is gone", async () => {
  program.initReply = init
  const element = place({ preload: "auto" }, {})
  await settle()
  element.setAttribute("region", "frp2")
  element.widgetId = "a"
  const face = () => find(element, "img").getAttribute("src")
  const hidden = () => find<HTMLImageElement>(element, "img").hidden
  await until(() => !hidden())
  assert.deepEqual([face(), program.inits.map(({ widgetId }) => widgetId)], ["https://cdn.example/face.jpg", ["a"]])

  element.widgetId = "b"
  assert.equal(hidden(), true)
  await until(() => !hidden())
  element.widgetId = "b" // no change
  await settle()
  assert.deepEqual(program.inits.map(({ widgetId }) => widgetId), ["a", "b"])

  let reply = (_: AppInitResult) => {}
  const late = place({ modes: "face" }, { init: new Promise<AppInitResult>((resolve) => (reply = resolve)) })
  const loading = late.load()
  await settle()
  late.init = { ...init, avatars: [] }
  reply(init)
  await loading
  assert.equal(find<HTMLImageElement>(late, "img").hidden, true)
})

/** Has the program switch the session to a mode; returns the transport. */
function switched(mode: string, properties: object = {}) {
  const transport = program.give(mode)
  Object.assign(transport.properties, { state: "connected", capabilities: {}, ...properties })
  program.properties["mode"] = mode
  program.dispatch("transportChanged", { mode })
  return transport
}

test("what the visitor has turned off stays off after a switch to text and back", async () => {
  const element = await started({ modes: "face text" })
  const first = switched("avatar", { micStarted: true, micEnabled: true })
  button(element, "microphone").click()
  first.properties["audioOutputMuted"] = true
  button(element, "sound").click()
  await settle()
  switched("chat")
  const second = switched("avatar")
  const voice = () => [first, second].map(({ calls }) => calls.map(([name]) => name).filter((name) => /mute|startMic/.test(String(name))))
  assert.deepEqual(voice(), [["mute", "unmuteAudioOutput"], ["muteAudioOutput", "mute"]])
  button(element, "microphone").click() // it has not been started
  assert.deepEqual(voice()[1], ["muteAudioOutput", "mute", "unmute", "startMic"])
})

test("a text that a face could not send is in the field again, or told to the page", async (t) => {
  const element = place({ modes: "face text" })
  const { errors } = told(t, element)
  await element.start()
  switched("avatar")
  program.results["sendText"] = () => Promise.reject(new AgentError({ code: "rate_limited" }))
  await assert.rejects(element.send("Hello"), { code: "rate_limited" })
  assert.deepEqual(errors.map(({ code }) => code), ["rate_limited"])
  program.results["sendText"] = async () => false // the session ended first
  await element.send("Hello")
  assert.equal(find<HTMLTextAreaElement>(element, "textarea").value, "Hello")
})
