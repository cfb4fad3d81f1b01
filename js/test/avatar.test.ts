import assert from "node:assert/strict"
import { test } from "node:test"
import { AgentSession } from "../src/session/agentsession.js"
import { AvatarSession } from "../src/session/avatar.js"
import { ChatSession } from "../src/session/chatsession.js"
import { localError } from "../src/core/errors.js"
import type { AvatarOptions } from "../src/session/avataroptions.js"
import { visitor } from "../src/session/visitor.js"
import { collected, FakeProgram, made, running, settle } from "./fake.js"

globalThis.reportError = (exception: unknown) => assert.fail(`reported: ${exception}`)

const options: AvatarOptions = { token: "secret", threadId: "th-1", kickoff: "Hello" }

test("before the runtime is there the visitor's id is that of the options, and there is no notice", () => {
  new FakeProgram().loading()
  const session = new AvatarSession({ ...options, stickyId: "sticky" })
  assert.deepEqual([session.getStickyId(), session.getDisclosure()], ["sticky", null])
})

test("calls made early take effect in order", async () => {
  const program = new FakeProgram()
  const { loaded } = program.loading()
  program.results["connect"] = () => Promise.resolve()
  const session = new AvatarSession(options)
  session.setToken({ ks: "other" })
  session.mute()
  const remove = session.onToolCall("open", () => {})
  const connected = session.connect()
  session.setAudioOutputVolume(3)
  remove()
  assert.throws(() => session.interrupt(), { code: "invalid_state" })
  await assert.rejects(session.speak("early"), { code: "invalid_state" })
  loaded()
  await connected
  const seen = program.calls.map(([name, first]) => [name, first])
  assert.deepEqual(seen, [
    ["setToken", "other"],
    ["mute", undefined],
    ["addToolHandler", 1],
    ["connect", undefined],
    ["setAudioOutputVolume", 1],
    ["removeHandler", 1],
  ])
  assert.equal(program.options["token"], "secret")
})

test("disconnecting before the runtime is there rejects connect and prepare at once", async () => {
  const program = new FakeProgram()
  const { loaded } = program.loading()
  const session = new AvatarSession(options)
  const connect = session.connect()
  const prepare = session.prepare()
  session.disconnect({ reason: "changed my mind" })
  await assert.rejects(connect, { code: "connect_failed" })
  await assert.rejects(prepare, { code: "connect_failed" })
  loaded()
  await settle()
  assert.deepEqual(program.calls, [["disconnect", { final: true, reason: "changed my mind" }]])
})

test("disconnecting before the runtime is there is seen at once, told once, and not the end", async () => {
  const program = new FakeProgram()
  const { loaded } = program.loading()
  const session = new AvatarSession(options)
  const states: string[] = []
  session.on("stateChange", ({ state }) => states.push(state))
  session.on("ended", () => assert.fail("it never began"))
  session.disconnect()
  session.disconnect()
  assert.deepEqual(states, ["disconnecting", "disconnected"])
  assert.equal(session.state, "disconnected")
  session.setToken("other")
  const connected = session.connect()
  const transcript = session.next("transcript")
  program.results["disconnect"] = () => {
    if (program.properties["state"] === "disconnected") return
    for (const state of ["disconnecting", "disconnected"]) program.become(state)
  }
  program.results["connect"] = async () => program.become("connected")
  loaded()
  await connected
  assert.deepEqual(states, ["disconnecting", "disconnected", "connected"])
  program.dispatch("transcript", { type: "user", text: "Hi", speechId: null })
  assert.equal((await transcript).text, "Hi")
  program.become("disconnected")
  assert.deepEqual(states.slice(3), ["disconnected"])
})

test("who is disconnected can begin again, so that only dispose ends the waiting", async () => {
  const { program, session } = await running(() => new AvatarSession(options))
  program.become("connected")
  program.become("disconnected")
  program.dispatch("ended", { reason: "disconnect" })
  await settle()
  const transcript = session.next("transcript")
  program.become("connected")
  program.dispatch("transcript", { type: "user", text: "again", speechId: null })
  assert.equal((await transcript).text, "again")
  const never = session.next("transcript")
  await session.dispose()
  await assert.rejects(never, { code: "ended" })
  await assert.rejects(session.next("ended"), { code: "ended" })
})

test("null is as good as no options", async () => {
  const { program, session } = await running(() => new AvatarSession(options))
  const wrong = session as unknown as Record<string, (...args: unknown[]) => unknown>
  for (const [method, ...args] of [["connect"], ["prepare"], ["waitForCapacity"], ["speak", "Hi"], ["startPlayback"], ["resume"], ["disconnect"]]) {
    void wrong[method!]?.(...args, null)
  }
  await settle()
  assert.deepEqual(program.names(), ["connect", "prepare", "waitForCapacity", "speak", "startPlayback", "resume", "disconnect"])
  const transcript = session.next("transcript", null as never)
  const stream = session.stream("transcript", null as never)
  program.dispatch("transcript", { type: "user", text: "Hi", speechId: null })
  assert.equal((await transcript).text, "Hi")
  assert.equal((await stream.next()).value.text, "Hi")
})

test("a signal ends a connect that waits for the runtime", async () => {
  const program = new FakeProgram()
  const { loaded } = program.loading()
  const session = new AvatarSession(options)
  const controller = new AbortController()
  const connect = session.connect({ signal: controller.signal })
  controller.abort("late")
  await assert.rejects(connect, { code: "aborted", cause: "late" })
  await assert.rejects(session.connect({ signal: "soon" as never }), { code: "bad_request" })
  loaded()
  await settle()
  assert.deepEqual(program.names(), [])
})

test("signals and arguments reach the method", async () => {
  const program = await new FakeProgram().load()
  const session = new AvatarSession(options)
  await assert.rejects(session.getStats(), { code: "invalid_state" })
  await made(session)
  const { signal } = new AbortController()
  program.results["speak"] = () => Promise.resolve(true)
  program.results["waitForCapacity"] = () => Promise.resolve({ available: true })
  assert.equal(await session.speak("Hi", { signal }), true)
  assert.deepEqual(await session.waitForCapacity({ maxWaitMs: 5, signal }), { available: true })
  program.results["getStats"] = () => Promise.resolve({ candidateType: "relay" })
  assert.equal((await session.getStats({ signal })).candidateType, "relay")
  assert.deepEqual(program.calls, [["speak", signal, "Hi"], ["waitForCapacity", signal, { maxWaitMs: 5 }], ["getStats", signal]])
})

test("an error that comes back is thrown", async () => {
  const { program, session } = await running(() => new AvatarSession(options))
  program.results["interrupt"] = () => localError("invalid_state", "not now")
  assert.throws(() => session.interrupt(), { code: "invalid_state", message: "not now" })
})

test("bad arguments are refused without asking anybody", async () => {
  new FakeProgram().loading()
  const session = new AvatarSession(options)
  const wrong = session as unknown as Record<string, (...args: unknown[]) => unknown>
  const refused: [string, unknown[], string][] = [
    ["setToken", [""], "bad_request"],
    ["setToken", [{}], "bad_request"],
    ["setVideoEl", [{}], "bad_request"],
    ["setAudioEl", ["#audio"], "bad_request"],
    ["setAudioOutputVolume", [NaN], "bad_request"],
    ["setAudioOutputVolume", ["1"], "bad_request"],
    ["onToolCall", [" ", () => {}], "bad_request"],
    ["onToolCall", ["open"], "bad_request"],
    ["onToolCall", ["open", () => {}, { page: { type: "string" } }], "bad_request"],
    ["onOAuthRequired", [], "bad_request"],
    ["updateRequestVars", [{ sys__ks: "x" }], "validation_error"],
  ]
  for (const [method, args, code] of refused) assert.throws(() => wrong[method]?.(...args), { code }, method)
  await assert.rejects(session.setAudioOutput(7 as never), { code: "bad_request" })
})

test("options that the Go side refuses reject every call that waits for it", async () => {
  const program = new FakeProgram()
  program.refusal = localError("bad_request", "statsIntervalMs must be a number")
  const { loaded } = program.loading()
  const session = new AvatarSession(options)
  const connect = session.connect()
  session.mute()
  loaded()
  await assert.rejects(connect, { message: /statsIntervalMs/ })
  await assert.rejects(session.connect(), { message: /statsIntervalMs/ })
  session.disconnect()
})

test("a load that failed is tried again by the next connect, and what was said before still counts", async () => {
  const first = new FakeProgram().loading()
  const session = new AvatarSession(options)
  session.mute()
  const connect = session.connect()
  first.failed(localError("load_failed", "no network"))
  await assert.rejects(connect, { message: "no network" })
  const program = await new FakeProgram().load()
  program.results["connect"] = () => Promise.resolve()
  await session.connect()
  assert.deepEqual(program.names(), ["mute", "connect"])
})

test("events that come often are left out while they have no listener", async () => {
  const { program, session } = await running(() => new AvatarSession(options))
  assert.deepEqual(program.omitted, ["brainSegment", "transcript", "speechChunk"])
  const remove = session.on("transcript", () => {})
  assert.deepEqual(program.omitted, ["brainSegment", "speechChunk"])
  const ended = new AbortController()
  session.onAny(() => {}, { signal: ended.signal })
  assert.deepEqual(program.omitted, [])
  ended.abort()
  session.once("speechChunk", () => {})
  remove()
  assert.deepEqual(program.omitted, ["brainSegment", "transcript"])
  program.dispatch("speechChunk", {})
  session.stream("brainSegment")
  assert.deepEqual(program.omitted, ["transcript", "speechChunk"])
  session.removeAllListeners()
  assert.deepEqual(program.omitted, ["transcript", "speechChunk"], "the stream goes on")
})

test("the level is measured while somebody listens", async () => {
  const { program, session } = await running(() => new AvatarSession(options))
  const remove = session.on("localMicLevel", () => {})
  session.once("localSpeakingChanged", () => {})
  session.on("transcript", () => {})
  remove()
  program.dispatch("localSpeakingChanged", { speaking: true })
  assert.deepEqual(program.calls, [
    ["measureLevel", true],
    ["measureLevel", false],
  ])
})

test("parts of the page that the session does not use are ignored, with one line of the log", async (t) => {
  const program = await new FakeProgram().load()
  const parts = { socketFactory: () => {}, now: Date.now, getUserMedia: async () => ({}) }
  const lines: unknown[][] = []
  const logger = (...line: unknown[]) => void lines.push(line)
  const logged = [["info", "these options have no effect and can be removed: socketFactory, now, getUserMedia", { options: ["socketFactory", "now", "getUserMedia"] }]]
  const all: (() => { dispose(): unknown })[] = [
    () => new AvatarSession({ ...options, ...parts, logger }),
    () => new ChatSession({ ...options, ...parts, logger }),
    () => new AgentSession({ ...options, ...parts, logger }),
    () => new AgentSession({ ...options, logger, avatar: parts, chat: parts }),
  ]
  for (const make of all) {
    make().dispose()
    assert.deepEqual(lines.splice(0), logged)
  }
  const info = t.mock.method(console, "info", () => {})
  visitor({ ...options, ...parts })
  const session = new AvatarSession({ ...options, ...parts })
  assert.equal(info.mock.callCount(), 2) // without a logger
  await made(session)
  assert.ok(!Object.keys(program.options).some((name) => name in parts))
  new AvatarSession({ ...options, fetch: undefined, now: null } as unknown as AvatarOptions).dispose()
})

test("a forgotten session at rest is collected and disposed, one that is connected is not", async () => {
  const resting = await new FakeProgram().load()
  const use = () => {
    const session: AvatarSession = new AvatarSession({ ...options, onBeforeSend: (text) => text + session.state })
    session.onToolCall("open", () => session.state)
    session.on("ended", () => session.state)
  }
  use()
  await settle()
  await collected(() => resting.sessions === 0)
  assert.equal(resting.sessions, 0)

  const live = await new FakeProgram().load()
  let heard = 0
  const connect = () => {
    const session = new AvatarSession(options)
    session.on("transcript", () => heard++)
    void session.connect()
  }
  live.results["connect"] = async () => live.become("connected")
  connect()
  await settle()
  await collected(() => false, 5)
  live.dispatch("transcript", { type: "user", text: "still here", speechId: null })
  assert.equal(heard, 1)
})
