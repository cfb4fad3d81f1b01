import assert from "node:assert/strict"
import { setMaxListeners } from "node:events"
import { beforeEach, test } from "node:test"
import { JSDOM } from "jsdom"
import { localError } from "../src/errors.js"
import type { AgentAvatarElement, AgentChatElement } from "../src/element.js"
import type { AppInitResult } from "../src/settings.js"
import { dispose } from "../src/load.js"
import { FakeProgram, settle } from "./fake.js"

globalThis.reportError = (exception: unknown) => assert.fail(`reported: ${exception}`)

setMaxListeners(0) // Node warns of signals with many

const { window } = new JSDOM("<!doctype html><main></main>", { url: "https://page.example/", pretendToBeVisual: true })
for (const name of ["document", "location", "HTMLElement", "customElements", "CustomEvent", "Option", "requestAnimationFrame", "cancelAnimationFrame"] as const) {
  Object.assign(globalThis, { [name]: window[name] })
}
// What jsdom lacks.
Object.defineProperty(window.HTMLMediaElement.prototype, "srcObject", { value: null, writable: true })
for (const method of ["play", "pause"]) Object.assign(window.HTMLMediaElement.prototype, { [method]: async () => {} })

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

const find = <Kind extends HTMLElement = HTMLElement>(element: HTMLElement, selector: string) => element.shadowRoot!.querySelector<Kind>(selector)!
const button = (element: HTMLElement, part: string) => find<HTMLButtonElement>(element, `button[part~="${part}"]`)

/** Lets a conversation begin, whose modules come by calls of import. */
async function until(condition: () => boolean): Promise<void> {
  for (let i = 0; !condition(); i++) {
    assert.ok(i < 1000, `${condition} does not hold`)
    await settle()
  }
}

test("what was set before the definition counts", () => {
  assert.equal(early.getAttribute("widget-id"), "w-1")
  assert.equal(button(early, "send").getAttribute("aria-label"), "Envoyer")
  assert.equal(button(early, "stop").getAttribute("aria-label"), "Stop the answer")
})

test("attributes are properties with their text", () => {
  const element = place({ "widget-id": "w", modes: "face text" })
  assert.deepEqual([element.widgetId, element.modes, element.preload, element.muted], ["w", "face text", null, false])
  element.contextId = "page-7"
  element.muted = true
  assert.deepEqual([element.getAttribute("context-id"), element.hasAttribute("muted")], ["page-7", true])
  element.widgetId = null
  element.muted = false
  assert.deepEqual([element.hasAttribute("widget-id"), element.hasAttribute("muted")], [false, false])
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

test("a request for the addresses has the page's token", async () => {
  program.initReply = init
  const element = place({ "widget-id": "w", "ovp-url": "https://ovp.example" }, { token: async () => ({ ks: "visitor" }) })
  await element.start()
  assert.deepEqual(program.initRequests.map((request) => ({ ...request })), [{ widgetId: "w", ovpUrl: "https://ovp.example", token: "visitor", agenticUrl: undefined, genieUrl: undefined }])
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
  const element = place()
  await element.start()
  const seen: unknown[] = []
  for (const target of [element, main]) target.addEventListener("transcript", (event) => seen.push((event as CustomEvent).detail))
  program.dispatch("transcript", { type: "user", text: "Hi", speechId: null })
  assert.deepEqual(seen, [{ type: "user", text: "Hi", speechId: null }])
})

test("an element that is moved keeps its session, one that is removed ends it", async () => {
  const element = place()
  await element.start()
  const session = element.session
  main.prepend(element)
  await settle()
  assert.equal(element.session, session)
  assert.equal(program.sessions, 1)
  element.remove()
  await settle()
  assert.deepEqual([element.session, program.sessions, element.phase], [undefined, 0, "idle"])
})

test("an end before there is a session makes none", async () => {
  let reply = (_: AppInitResult) => {}
  const element = place({}, { init: new Promise<AppInitResult>((resolve) => (reply = resolve)) })
  const starting = element.start()
  assert.equal(element.phase, "connecting")
  element.end()
  assert.equal(element.phase, "ended")
  reply(init)
  await starting
  await settle()
  assert.equal(program.sessions, 0)
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

test("the microphone's refusal stays until it is acted on", async () => {
  const element = place()
  await element.start()
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

test("a held tap-to-talk button talks while it is held, a short press until the next", async (t) => {
  t.mock.timers.enable({ apis: ["Date"] })
  const element = place()
  program.properties["capabilities"] = { tapToTalk: true }
  program.properties["micStarted"] = true
  program.results["startTapToTalk"] = () => void (program.properties["tapToTalkActive"] = true)
  program.results["endTapToTalk"] = () => void (program.properties["tapToTalkActive"] = false)
  await element.start()
  const tap = button(element, "tap")
  tap.setPointerCapture = () => {}
  const active = () => program.properties["tapToTalkActive"]
  const down = () => tap.dispatchEvent(Object.assign(new window.MouseEvent("pointerdown", { button: 0 }), { pointerId: 1 }))
  assert.deepEqual([tap.hidden, button(element, "microphone").hidden], [false, true])
  for (const [held, after] of [[100, true], [100, false], [900, false]] as const) {
    const before = active()
    const now = performance.now
    down()
    await settle()
    performance.now = () => now.call(performance) + held * (before ? 0 : 1)
    tap.click()
    performance.now = now
    await settle()
    assert.equal(active(), after, `after ${held} ms`)
  }
  tap.click() // by keyboard, without a pointer
  await settle()
  assert.equal(active(), true)
})

test("the visitor's choice of captions outlasts changes of other attributes", async () => {
  const element = place({ poster: "/a.jpg" })
  await element.start()
  const captions = button(element, "captions")
  captions.click()
  element.poster = "/b.jpg"
  assert.equal(captions.getAttribute("aria-pressed"), "false")
  assert.equal(find(element, "img").getAttribute("src"), "/b.jpg")
  element.captions = "on"
  assert.equal(captions.getAttribute("aria-pressed"), "true")
})

test("a page's poster may have any address, one of the service only that of a picture on the web", async () => {
  const own = place({ poster: "data:image/png;base64,AA==" })
  assert.equal(find(own, "img").getAttribute("src"), "data:image/png;base64,AA==")
  const element = place({}, { init: { ...init, avatars: [{ previewImageUrl: "javascript:alert(1)" }] } })
  await element.start()
  assert.equal(find(element, "img").hasAttribute("src"), false)
})

test("a disclosure that has to be confirmed has a button", async () => {
  const element = place({}, { init, options: { requireDisclosureAck: true } })
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
