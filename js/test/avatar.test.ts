import assert from "node:assert/strict"
import { test } from "node:test"
import { AgentSession } from "../src/session/agentsession.js"
import { AvatarSession } from "../src/session/avatar.js"
import { ChatSession } from "../src/session/chatsession.js"
import { localError } from "../src/core/errors.js"
import { diagnostics } from "../src/core/load.js"
import type { Transcript } from "../src/generated/events.js"
import type { AvatarOptions } from "../src/session/avataroptions.js"
import { visitor } from "../src/session/visitor.js"
import { collected, FakeProgram, made, running, settle } from "./fake.js"

globalThis.reportError = (exception: unknown) => assert.fail(`reported: ${exception}`)

const options: AvatarOptions = { token: "secret", threadId: "th-1", kickoff: "Hello" }

test("before the runtime is there properties have their initial values", () => {
  new FakeProgram().loading()
  const session = new AvatarSession({ ...options, partnerId: 7, stickyId: "sticky" })
  const { state, mode, speaking, paused, kickoff, capabilities, threadId, partnerId, micEnabled, audioOutputVolume, avatarStream, videoEl } = session
  assert.deepEqual(
    { state, mode, speaking, paused, kickoff, capabilities, threadId, partnerId, micEnabled, audioOutputVolume, avatarStream, videoEl },
    {
      state: "idle",
      mode: "video",
      speaking: false,
      paused: false,
      kickoff: { text: "Hello", echo: false, sent: false },
      capabilities: { screenShare: false, cameraAnalysis: false, webSearch: false, interruptions: true, tapToTalk: false },
      threadId: "th-1",
      partnerId: "7",
      micEnabled: true,
      audioOutputVolume: 1,
      avatarStream: null,
      videoEl: null,
    },
  )
  assert.equal(session.getStickyId(), "sticky")
  assert.equal(session.getDisclosure(), null)
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

test("the statistics are the program's", async () => {
  const program = await new FakeProgram().load()
  const session = new AvatarSession(options)
  await assert.rejects(session.getStats(), { code: "invalid_state" })
  await made(session)
  program.results["getStats"] = () => Promise.resolve({ candidateType: "relay" })
  const { signal } = new AbortController()
  assert.equal((await session.getStats({ signal })).candidateType, "relay")
  assert.deepEqual(program.calls.at(-1), ["getStats", signal])
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
  const { program, session } = await running(() => new AvatarSession(options))
  const { signal } = new AbortController()
  program.results["speak"] = () => Promise.resolve(true)
  program.results["waitForCapacity"] = () => Promise.resolve({ available: true })
  assert.equal(await session.speak("Hi", { signal }), true)
  assert.deepEqual(await session.waitForCapacity({ maxWaitMs: 5, signal }), { available: true })
  assert.deepEqual(program.calls, [
    ["speak", signal, "Hi"],
    ["waitForCapacity", signal, { maxWaitMs: 5 }],
  ])
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

test("events reach the listeners, and properties are the program's", async () => {
  const { program, session } = await running(() => new AvatarSession(options))
  const seen: Transcript[] = []
  session.on("transcript", (transcript) => seen.push(transcript))
  const transcript: Transcript = { type: "user", text: "Hi", speechId: null }
  program.dispatch("transcript", transcript)
  assert.deepEqual(seen, [transcript])
  program.become("connected")
  assert.equal(session.state, "connected")
  program.properties["micEnabled"] = false
  assert.equal(session.micEnabled, false)
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
  assert.deepEqual(program.omitted, ["brainSegment", "transcript", "speechChunk"])
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

test("a handler runs until it is removed", async () => {
  const { program, session } = await running(() => new AvatarSession(options))
  const remove = session.onToolCall("open", (call) => ({ opened: call.name }), { page: { type: "int", required: true } })
  const [, , name, handler, schema] = program.calls[0] as [string, number, string, (call: unknown) => unknown, unknown]
  assert.deepEqual([name, schema], ["open", { page: { type: "int", required: true } }])
  assert.deepEqual(handler({ name: "open" }), { opened: "open" })
  remove()
  assert.equal(handler({ name: "open" }), undefined)
})

test("dispose ends the session for good", async () => {
  const { program, session } = await running(() => new AvatarSession(options))
  program.become("connected")
  const states: string[] = []
  session.on("stateChange", ({ state }) => states.push(state))
  program.results["dispose"] = async () => {
    program.become("disconnecting")
    program.become("disconnected")
  }
  await session.dispose()
  await session.dispose()
  assert.deepEqual(states, ["disconnecting", "disconnected"])
  assert.equal(session.state, "disconnected")
  assert.deepEqual(await diagnostics(), { sessions: 0, callbacks: 0, goroutines: 1 })
  await assert.rejects(session.connect(), { code: "aborted" })
  assert.throws(() => session.interrupt(), { code: "invalid_state" })
  session.disconnect()
  session.mute()
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

export function typesOnly(): void {
  const init = { ks: "t", genieUrl: "https://x.example", avatars: [], turnCredentials: { username: "u", credential: "c" } }
  const session = new AvatarSession({ ...init, videoEl: null })
  session.on("transcript", ({ type, words }) => void [type === "partial", words?.[0]?.startMs])
  session.on("error", (error) => void error.message)
  // @ts-expect-error neither token nor ks
  void new AvatarSession({ region: "nvp1" })
  // @ts-expect-error the regions are a closed set
  void new AvatarSession({ token: "t", region: "moon" })
  // @ts-expect-error unknown event
  session.on("transcripts", () => {})
  // @ts-expect-error wrong payload
  session.on("stateChange", (state: string) => state)
  // @ts-expect-error a transcript has no such type
  session.on("transcript", ({ type }) => type === "whole")
  // @ts-expect-error unknown capability
  void new AvatarSession({ token: "t", capabilities: { fly: "on" } })
  // @ts-expect-error unknown time limit
  void new AvatarSession({ token: "t", timeouts: { forever: 1 } })
  // @ts-expect-error read only
  session.state = "connected"
}
