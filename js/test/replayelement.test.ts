import assert from "node:assert/strict"
import { afterEach, mock, test } from "node:test"
import type { AgentAvatarElement } from "../src/element.js"
import { readRecording } from "../src/replay.js"
import type { AppInitResult } from "../src/generated/settings.js"
import { FakeAgent, FakeAgentSession, FakeAvatarSession, FakeChatSession } from "../src/testing.js"
import { makeElementPage, until as awaitTrue } from "./page.js"

globalThis.reportError = (exception: unknown) => assert.fail(`reported: ${exception}`)

const window = makeElementPage()

const call = { name: "paint", args: { color: "red" }, toolMetadata: { id: "t-1", name: "paint", type: "client", waitForResponse: true } }
const entries = [
  [0, "stateChange", { state: "connecting" }],
  [40, "track", {}],
  [50, "mediaReady", { mode: "video", videoWidth: 512, videoHeight: 512 }],
  [60, "stateChange", { state: "connected" }],
  [1000, "responsePending", {}],
  [1000, "turnStart", { speechId: "s", turnId: "u", isNewTurn: true }],
  [1000, "transcript", { type: "user", text: "Red, please", speechId: null }],
  [1400, "toolCall", call],
  [1450, "toolCallResult", { call, ok: true, value: "recorded" }],
  [1500, "responseSettled", {}],
  [1500, "transcript", { type: "final", text: "It is red.", speechId: "s" }],
  [1800, "speechChunk", { text: "It is red.", durationMs: 900, speechId: "s" }],
  [1800, "avatarStartTalking", { speechId: "s", turnId: "u" }],
  [1900, "turnEnd", { speechId: "s", turnId: "u" }],
  [2800, "avatarStopTalking", { text: "It is red.", speechId: "s", turnId: "u" }],
  [4000, "stateChange", { state: "disconnected" }],
  [4000, "ended", { reason: "conversation_ended" }],
] as const
const recordingOf = (some: readonly (typeof entries)[number][]) =>
  readRecording([{ version: 1, started: "2026-05-04T10:00:00Z", redacted: true }, ...some.map(([t, event, data]) => ({ t, event, data }))].map((line) => JSON.stringify(line) + "\n").join(""))
const recording = recordingOf(entries)

const soon = () => new Promise((resolve) => setImmediate(resolve))
const until = (condition: () => boolean) => awaitTrue(String(condition), condition, soon)

afterEach(async () => {
  mock.timers.reset()
  await FakeAgent.installed?.uninstall()
})

test("an element shows a recorded conversation in virtual time", async () => {
  await import("../src/element.js")
  new FakeAgent({ recording }).install()
  const element = window.document.createElement("agent-avatar") as AgentAvatarElement
  element.setAttribute("modes", "face text")
  element.init = { ks: "t", partnerId: "1", genieUrl: "https://genie.example", avatars: [] } as unknown as AppInitResult
  const painted: unknown[] = []
  element.addEventListener("sessionCreated", ({ detail: { session } }) => (session as FakeAgentSession).onToolCall("paint", ({ args }) => void painted.push(args)))
  window.document.querySelector("main")!.append(element)
  mock.timers.enable({ apis: ["setTimeout"] })
  void element.start()
  await until(() => (element.session as FakeAgentSession | undefined)?.state === "connecting" || (mock.timers.tick(1), false))
  mock.timers.tick(100)
  await until(() => element.phase === "live")
  const activity = () => element.shadowRoot!.querySelector<HTMLElement>("[part~=activity]")!.dataset["is"]
  mock.timers.tick(950)
  await until(() => activity() === "thinking")
  mock.timers.tick(800)
  await until(() => activity() === "speaking")
  assert.deepEqual(painted, [{ color: "red" }])
  mock.timers.tick(1000)
  await until(() => activity() !== "speaking")
  mock.timers.tick(1500)
  await until(() => element.phase === "ended")
  await until(() => element.transcript.length > 1)
  assert.deepEqual(element.transcript.map(({ who, text }) => [who, text.trim()]), [["user", "Red, please"], ["agent", "It is red."]])
  element.remove()
})

test("sessions of every kind play a recording, whose own events they emit", async () => {
  const names = (session: FakeAvatarSession | FakeChatSession | FakeAgentSession) => {
    const seen: string[] = []
    session.onAny((name, payload) => seen.push(name === "stateChange" ? String((payload as { state: string }).state) : String(name)))
    return seen
  }
  const avatar = new FakeAvatarSession({ agent: { recording, speed: 0 } })
  const seen = names(avatar)
  await avatar.connect()
  const recorded = entries.filter(([, name]) => name !== "track").map(([, name, data]) => (name === "stateChange" ? data.state : name))
  assert.deepEqual(seen, recorded)
  assert.equal(avatar.state, "disconnected")

  const begun = recordingOf(entries.slice(4, 15)) // after it was connected
  for (const session of [new FakeChatSession({ agent: { recording: begun, speed: 0 } }), new FakeAgentSession({ agent: { recording: begun, speed: 0 } })]) {
    const events = names(session)
    await session.connect()
    assert.equal(session.state, "connected")
    for (const name of ["transcript", "toolCall", "toolCallResult", "turnEnd"]) assert.ok(events.includes(name), name)
    await assert.rejects(session.sendText("And blue?"), { code: "invalid_state", message: /plays a recording/ })
    await session.dispose()
  }
  const live = new FakeAvatarSession({ agent: { recording: begun, speed: 0 } })
  const results: unknown[] = []
  live.on("toolCallResult", ({ call, ...outcome }) => results.push(outcome))
  live.onToolCall("paint", async ({ toolMetadata }) => {
    await live.respondToTool(toolMetadata.id, { status: "painted" })
    return "painted"
  })
  await live.connect()
  await until(() => results.length > 0)
  assert.deepEqual(results, [{ ok: true, value: "painted" }]) // of the page, not of the recording
  assert.deepEqual(live.agent.toolAnswers.map(({ id, response }) => [id, response]), [["t-1", { status: "painted" }]])
  await assert.rejects(live.speak("And blue?"), { code: "invalid_state", message: /plays a recording/ })
  await live.dispose()
})

test("a recorded failure to connect is that of connect(), and a page that leaves ends the recording", async () => {
  const failed = readRecording([
    { version: 1, started: "2026-05-04T10:00:00Z", redacted: true },
    { t: 0, event: "stateChange", data: { state: "connecting" } },
    { t: 5, event: "stateChange", data: { state: "error" } },
    { t: 5, event: "error", data: { code: "capacity_unavailable", message: "all agents are busy", detail: "all agents are busy" } },
  ].map((line) => JSON.stringify(line) + "\n").join(""))
  const session = new FakeAvatarSession({ agent: { recording: failed } })
  await assert.rejects(session.connect(), { code: "capacity_unavailable", message: "all agents are busy" })
  assert.equal(session.state, "error")

  mock.timers.enable({ apis: ["setTimeout"] })
  const left = new FakeAvatarSession({ agent: { recording } })
  const seen: unknown[] = []
  left.on("transcript", ({ text }) => seen.push(text))
  const connected = left.connect()
  await until(() => left.state === "connecting" || (mock.timers.tick(1), false))
  mock.timers.tick(60)
  await connected
  left.disconnect()
  mock.timers.tick(5000)
  await soon()
  assert.deepEqual(seen, [])
})
