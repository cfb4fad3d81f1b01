import assert from "node:assert/strict"
import { test } from "node:test"
import { AgentError } from "../src/core/errors.js"
import { LAUNCHER_LABELS } from "../src/element/launcherlabels.js"
import type { AppInitResult } from "../src/generated/settings.js"
import { FakeProgram, settle } from "./fake.js"
import { makeElementPage, until } from "./page.js"

const window = makeElementPage()
Object.assign(globalThis, {
  sessionStorage: window.sessionStorage,
  matchMedia: () => new EventTarget(), // which jsdom lacks, as what follows
  addEventListener: window.addEventListener.bind(window),
  removeEventListener: window.removeEventListener.bind(window),
})
Object.assign(window.HTMLDialogElement.prototype, { show(this: HTMLDialogElement) { this.open = true } })
Object.assign(window.HTMLElement.prototype, { checkVisibility: () => true })
const { AgentLauncherElement } = await import("../src/launcher.js")

/** A launcher that shows its agent, whose program connects at once, or as `connect` does. */
async function shown(properties: Partial<InstanceType<typeof AgentLauncherElement>>, connect?: () => Promise<void>) {
  const program = await new FakeProgram().load()
  Object.assign(program.results, { connect: connect ?? (async () => program.become("connected")), dispose: async () => {} })
  program.properties["capabilities"] = {}
  const launcher = new AgentLauncherElement()
  Object.assign(launcher, { init: { ks: "t", partnerId: "1", genieUrl: "https://genie.example" } satisfies Partial<AppInitResult>, ...properties })
  window.document.body.append(launcher)
  launcher.show()
  await until("there is an agent", () => launcher.agent !== undefined, settle)
  return { program, launcher, agent: launcher.agent! }
}

/** Where the thread with an agent is kept. */
const keyOf = (id: string) => `agentruntime conversation ${JSON.stringify([id, null, null, null, null])}`

test("a launcher is drawn on a page that names no language", () => {
  const { body } = window.document
  assert.equal(body.closest("[lang]"), null)
  body.insertAdjacentHTML("beforeend", `<agent-launcher widget-id="w" greet="Any questions?"></agent-launcher>`)
  const launcher = body.lastElementChild as HTMLElement
  const find = (part: string) => launcher.shadowRoot!.querySelector<HTMLElement>(`[part~=${part}]`)!
  assert.deepEqual([find("launcher").getAttribute("aria-label"), find("unread").hidden, find("greet").textContent], [LAUNCHER_LABELS.open, true, "Any questions?"])
  launcher.remove()
})

test("a thread is kept for the agent that it was begun with", async () => {
  const { program, launcher, agent } = await shown({ widgetId: "w-1" })
  await agent.start()
  program.properties["threadId"] = "t-1"
  const kept = () => ["w-1", "w-2"].map((id) => sessionStorage.getItem(keyOf(id))?.match(/t-\d/)?.[0])
  launcher.widgetId = "w-2"
  window.dispatchEvent(new window.Event("pagehide"))
  assert.deepEqual(kept(), ["t-1", undefined])
  agent.end()
  assert.deepEqual([agent.threadId, kept()], [null, ["t-1", undefined]], "the next conversation is with the other agent")
  await agent.start()
  program.properties["threadId"] = "t-2"
  window.dispatchEvent(new window.Event("pagehide"))
  assert.deepEqual(kept(), ["t-1", "t-2"])
  launcher.startNew()
  assert.deepEqual([kept(), launcher.shadowRoot!.querySelector<HTMLElement>("[part~=fresh]")!.hidden], [["t-1", undefined], true])
})

test("an agent that is chosen while nothing is said gets no thread of the one before", async () => {
  const keep = (id: string, thread: string) => sessionStorage.setItem(keyOf(id), JSON.stringify({ thread, said: [{ who: "user", text: `to ${id}` }] }))
  keep("w-3", "t-3")
  keep("w-5", "t-5")
  const { program, launcher, agent } = await shown({ widgetId: "w-3", modes: "face" })
  const next = () => [agent.threadId, agent.history.map(({ text }) => text).join()]
  assert.deepEqual(next(), ["t-3", "to w-3"])
  launcher.widgetId = "w-4"
  assert.deepEqual(next(), [null, ""])
  await agent.start()
  assert.equal(program.options["threadId"], undefined)
  agent.end()
  launcher.widgetId = "w-5"
  assert.deepEqual(next(), ["t-5", "to w-5"])
  launcher.threadId = "t-9" // the page's own
  assert.deepEqual(next(), ["t-9", ""])
  launcher.threadId = null
  assert.deepEqual(next(), ["t-5", "to w-5"])
  launcher.remove()
})

test("a thread that a face can't continue is forgotten, and the next start begins another", async (t) => {
  t.mock.method(console, "error", () => {})
  sessionStorage.setItem(keyOf("w-8"), JSON.stringify({ thread: "t-8", said: [] }))
  const refuse = () => Promise.reject(new AgentError({ code: "bad_request", detail: "the service refused the request", phase: "connect" }))
  const { program, launcher, agent } = await shown({ widgetId: "w-8", modes: "face" }, refuse)
  await assert.rejects(agent.start(), { code: "bad_request" })
  assert.equal(program.options["threadId"], "t-8")
  assert.equal(agent.shadowRoot!.querySelector<HTMLButtonElement>("[part~=start]")!.hidden, false)
  program.results["connect"] = async () => program.become("connected")
  await agent.start()
  assert.equal(program.options["threadId"], undefined)
  launcher.remove()
})

test("a thread that is refused in text is forgotten, and the next message begins another", async (t) => {
  t.mock.method(console, "error", () => {})
  sessionStorage.setItem(keyOf("w-12"), JSON.stringify({ thread: "t-12", said: [{ who: "user", text: "Hello" }] }))
  const { program, launcher, agent } = await shown({ widgetId: "w-12" })
  await until("it continues", () => agent.phase === "live", settle)
  assert.equal(program.options["threadId"], "t-12")
  program.properties["threadId"] = "t-12"
  const refusal = new AgentError({ code: "thread_access_denied", detail: "No permission for thread t-12" })
  program.results["disconnect"] = (options) => {
    program.become("closed")
    program.dispatch("ended", { reason: (options as { reason: string }).reason })
  }
  program.results["sendText"] = async () => {
    program.dispatch("error", refusal)
    throw refusal
  }
  await assert.rejects(agent.send("Are you there?"), { code: "thread_access_denied" })
  assert.deepEqual(program.calls.find(([name]) => name === "disconnect"), ["disconnect", { final: false, reason: "thread_access_denied" }])
  assert.equal(agent.phase, "error")
  assert.match(agent.shadowRoot!.querySelector("[part~=message]")!.textContent, /begin a new one/)
  window.dispatchEvent(new window.Event("pagehide"))
  assert.deepEqual([agent.threadId, sessionStorage.getItem(keyOf("w-12"))], [null, null])
  program.results["sendText"] = async () => ({ text: "Yes.", segments: [], errors: [] })
  await agent.send("Are you there?")
  assert.equal(program.options["threadId"], undefined)
  launcher.remove()
})

test("a thread is kept when the page is the cause that a conversation can't begin", async (t) => {
  t.mock.method(console, "error", () => {})
  sessionStorage.setItem(keyOf("w-10"), JSON.stringify({ thread: "t-10", said: [] }))
  const { program, launcher, agent } = await shown({ widgetId: "w-10", modes: "face", options: { idleTimeoutMs: -1 } })
  await assert.rejects(agent.start(), { code: "bad_request" })
  launcher.options = {}
  await agent.start()
  assert.equal(program.options["threadId"], "t-10")
  launcher.remove()
})

test("a new conversation may begin as soon as the agent is made", async () => {
  sessionStorage.setItem(keyOf("w-11"), JSON.stringify({ thread: "t-11", said: [] }))
  const launcher = new AgentLauncherElement()
  Object.assign(launcher, { init: { ks: "t", partnerId: "1", genieUrl: "https://genie.example" }, widgetId: "w-11", modes: "face" })
  launcher.addEventListener("agentCreated", () => launcher.startNew())
  window.document.body.append(launcher)
  launcher.show()
  const shown = () => launcher.shadowRoot!.querySelector("agent-avatar")
  await until("there is an agent", () => shown() !== null, settle)
  assert.deepEqual([launcher.agent === shown(), launcher.agent?.threadId], [true, null])
  launcher.remove()
})

test("what becomes of an agent after startNew() changes nothing of its launcher", async (t) => {
  t.mock.method(console, "error", () => {})
  let refuse: ((reason: Error) => void) | undefined
  const { launcher, agent } = await shown({ widgetId: "w-9", modes: "face" }, () => new Promise((_, reject) => (refuse = reject)))
  const starting = agent.start()
  await until("it connects", () => refuse !== undefined, settle)
  const uncaught: string[] = []
  window.addEventListener("error", ({ message }) => uncaught.push(message))
  launcher.startNew()
  refuse!(new AgentError({ code: "bad_request", detail: "the service refused the request" }))
  await assert.rejects(starting, { code: "bad_request" })
  assert.deepEqual(uncaught, [])
  launcher.remove()
})

test("a launcher that was removed continues its conversation where it is added again", async () => {
  const { program, launcher, agent } = await shown({ widgetId: "w-6" })
  await agent.start()
  program.properties["threadId"] = "t-6"
  window.dispatchEvent(new window.Event("pagehide"))
  launcher.remove()
  await settle()
  assert.deepEqual([agent.phase, agent.threadId], ["idle", "t-6"])
  window.document.body.append(launcher)
  launcher.greet = "Welcome back."
  assert.equal(agent.greeting, "Welcome back.")
  launcher.remove()
})
