import assert from "node:assert/strict"
import { test } from "node:test"
import type { AgentOptions } from "../src/session/agentoptions.js"
import { AgentSession, type TransportChange } from "../src/session/agentsession.js"
import { AvatarSession } from "../src/session/avatar.js"
import { ChatSession } from "../src/session/chatsession.js"
import { AgentError } from "../src/core/errors.js"
import { collected, FakeProgram, FakeSource, made, settle } from "./fake.js"

globalThis.reportError = (exception: unknown) => assert.fail(`reported: ${exception}`)

const options: AgentOptions = { token: "secret", threadId: "th-1", mode: "chat" }

/** A session whose program has made its first transport. */
async function begun(given: AgentOptions = options) {
  const program = await new FakeProgram().load()
  const session = new AgentSession(given)
  await made(session)
  const mode = given.mode ?? "avatar"
  Object.assign(program.properties, { mode, timings: {} })
  return { program, session, inner: program.give(mode) }
}

/** A face whose two calls wait for the program. */
function waiting() {
  const program = new FakeProgram()
  const { loaded } = program.loading()
  const session = new AgentSession({ token: "t", mode: "avatar" })
  const transport = session.transport as AvatarSession
  transport.muteAudioOutput()
  transport.unmuteAudioOutput()
  return { program, session, transport, loaded }
}

test("loops over events of the first transport end with a session that ends before the runtime is there", async () => {
  const ends: ((session: AgentSession) => unknown)[] = [(session) => session.disconnect(), (session) => session.dispose()]
  for (const end of ends) {
    new FakeProgram().loading()
    const session: AgentSession = new AgentSession(options)
    const transport = session.transport as ChatSession
    const next = transport.next("transcript")
    const loop = transport.stream("ended").next()
    await end(session)
    await assert.rejects(next, { code: "ended" })
    assert.deepEqual(await loop, { done: true, value: undefined })
    await assert.rejects(transport.next("sessionCompleted"), { code: "ended" })
  }
})

test("a connect that failed is an end, of which nothing else tells", async () => {
  const { program, session } = await begun()
  const transcript = session.next("transcript")
  program.become("failed")
  await assert.rejects(transcript, { code: "ended" })
  await assert.rejects(session.next("ended"), { code: "ended" })
})

test("a call does not overtake those that wait for the transport to be made", async () => {
  const program = await new FakeProgram().load()
  const session = new AgentSession({ ...options, token: "djJ8NTUwMXxlbmNyeXB0ZWQ" })
  const transport = session.transport as ChatSession
  transport.setToken("first")
  await made(session)
  const inner = program.give("chat")
  transport.setToken("second") // in the same task
  const completed = transport.completeThread()
  await settle()
  await completed
  assert.deepEqual(inner.calls, [["setToken", "first"], ["setToken", "second"], ["completeThread", undefined]])
})

test("the first transport is that of the mode, with the partner of its options", () => {
  new FakeProgram().loading()
  const { transport } = new AgentSession({ token: "t", partnerId: 12, avatar: { partnerId: "13" } })
  assert.ok(transport instanceof AvatarSession)
  assert.equal(transport.partnerId, "13")
})

test("calls of the first transport reject when the runtime can't be loaded, and are of no use after an early end", async () => {
  const { failed } = new FakeProgram().loading()
  const session = new AgentSession(options)
  const { transport } = session
  const completed = transport.completeThread()
  failed(new AgentError({ code: "load_failed" }))
  await assert.rejects(completed, { code: "load_failed" })
  new FakeProgram().loading()
  const again = transport.completeThread()
  session.disconnect()
  await assert.rejects(again, { code: "invalid_state" })
  assert.throws(() => transport.setToken("new"), { code: "invalid_state" })
  assert.equal(transport.state, "idle")
})

test("a text for one mode is sent in that mode alone", async () => {
  const { program, session, inner: chat } = await begun()
  program.become("connected")
  program.results["sendText"] = () => Promise.resolve(true)
  chat.results["sendText"] = (_, text) => Promise.resolve({ text })
  assert.equal((await session.sendText("one", { mode: "chat" })).text, "one")
  const sent = chat.calls.length
  await assert.rejects(session.sendText("two", { mode: "avatar" }), { code: "invalid_state" })
  program.become("switching")
  await assert.rejects(session.sendText("three", { mode: "chat" }), { code: "invalid_state" })
  assert.equal(chat.calls.length, sent)
  assert.equal(await session.sendText("either"), true)
})

test("a switch gives another transport, and the old one is of no use then", async () => {
  const { program, session, inner: chat } = await begun()
  const changes: TransportChange[] = []
  session.on("transportChanged", (change) => changes.push(change))
  program.dispatch("transportChanged", { mode: "chat" })
  program.results["switchMode"] = () => Promise.resolve()
  const old = session.transport as ChatSession
  const handler = old.onToolCall("open", () => "opened")
  const call = chat.calls.at(-1)?.[3] as () => unknown
  const switched = session.switchMode("avatar")
  const avatar = program.give("avatar")
  program.dispatch("transportChanged", { mode: "avatar" })
  assert.equal(session.transport, old)
  program.properties["mode"] = "avatar"
  avatar.properties["micStarted"] = true
  chat.properties["threadId"] = "th-9"
  chat.release()
  await switched
  assert.deepEqual(program.calls.at(-1), ["switchMode", undefined, "avatar"])
  assert.ok(session.transport instanceof AvatarSession)
  assert.equal(session.transport.micStarted, true)
  assert.deepEqual(changes.map(({ mode, transport }) => [mode, transport === old, transport === session.transport]), [
    ["chat", true, false],
    ["avatar", false, true],
  ])

  const before = chat.calls.length
  assert.equal(old.threadId, "th-9")
  assert.equal(call(), undefined)
  handler()
  await assert.rejects(old.sendText("Hi"), { code: "invalid_state" })
  await assert.rejects(old.connect(), { code: "invalid_state" })
  assert.throws(() => old.updateRequestVars({}), { code: "invalid_state" })
  assert.throws(() => old.disconnect(), { code: "invalid_state" })
  assert.throws(() => old.onToolCall("open", () => {}), { code: "invalid_state" })
  assert.equal(chat.calls.length, before)

  avatar.release()
  const gone = session.transport
  gone.on("localMicLevel", () => {})
  assert.throws(() => gone.setVideoEl(null), { code: "invalid_state" })
  assert.equal(gone.micStarted, true)
})

test("a turn streams through the transport until it is let go", async () => {
  const { session, inner } = await begun()
  const sources: FakeSource[] = []
  inner.results["streamText"] = () => sources[sources.push(new FakeSource([{ content: "a" }], false)) - 1]
  const transport = session.transport as ChatSession
  const turn = transport.streamText("Hi")
  assert.deepEqual(await turn.next(), { done: false, value: { content: "a" } })
  await turn.return?.()
  assert.equal(sources[0]?.left, true)
  const open = transport.streamText("Hi")
  await open.next()
  inner.release()
  await assert.rejects(open.next(), { code: "invalid_state" })
  assert.throws(() => transport.streamText("Hi"), { code: "invalid_state" })
})

test("a transport is not disposed by itself", async () => {
  const { session } = await begun()
  await assert.rejects(session.transport!.dispose(), { code: "invalid_state" })
  assert.equal(session.transport!.state, "idle")
})

test("dispose ends the transport too, and its properties stay", async () => {
  const { program, session, inner } = await begun()
  const { transport } = session
  program.become("connected")
  inner.properties["threadId"] = program.properties["threadId"] = "th-3"
  program.results["dispose"] = async () => {
    inner.dispatch("stateChange", { state: "closed" })
    inner.release()
    program.become("closed")
  }
  await session.dispose()
  assert.deepEqual([session.state, session.threadId, session.transport === transport], ["closed", "th-3", true])
  assert.deepEqual([transport?.state, transport?.threadId], ["closed", "th-3"])
  assert.throws(() => transport?.setDynamicPrompt({}), { code: "invalid_state" })
})

test("calls that wait for a transport are dropped when one of them ends it", async () => {
  const { program, session, transport, loaded } = waiting()
  const completed = transport.completeThread()
  Object.assign(program.properties, { mode: "avatar", timings: {} })
  loaded()
  await made(session)
  const inner = program.give("avatar")
  inner.results["muteAudioOutput"] = () => inner.release()
  await assert.rejects(completed, { code: "invalid_state" })
  assert.deepEqual(inner.calls, [["muteAudioOutput"]])
})

test("a call that a listener makes does not overtake those that wait", async () => {
  const { program, session, transport, loaded } = waiting()
  transport.on("warning", () => transport.setAudioOutputVolume(0.5))
  Object.assign(program.properties, { mode: "avatar", timings: {} })
  loaded()
  await made(session)
  const inner = program.give("avatar")
  inner.results["muteAudioOutput"] = () => inner.dispatch("warning", { code: "mic_silent" })
  await settle()
  assert.deepEqual(inner.calls, [["muteAudioOutput"], ["unmuteAudioOutput"], ["setAudioOutputVolume", 0.5]])
})

test("a crash of the program ends the transport and the session", async () => {
  const { program, session, inner } = await begun()
  inner.dispatch("stateChange", { state: "connected" })
  program.become("connected")
  const seen: unknown[] = []
  const follow = (name: string, one: ChatSession) => {
    one.on("error", (error) => seen.push([name, (error as AgentError).code]))
    one.on("stateChange", ({ state }) => seen.push([name, state]))
    one.on("ended", ({ reason }) => seen.push([name, reason]))
  }
  follow("chat", session.transport as ChatSession)
  follow("agent", session as unknown as ChatSession)
  program.end(2)
  await settle()
  assert.deepEqual(seen, [
    ["chat", "internal_error"],
    ["chat", "closed"],
    ["chat", "internal_error"],
    ["agent", "internal_error"],
    ["agent", "failed"],
    ["agent", "internal_error"],
  ])
  await assert.rejects(session.transport!.completeThread(), { code: "internal_error" })
})

test("a forgotten agent is collected when it has ended, with its transports", async () => {
  const program = await new FakeProgram().load()
  const kept: { dispatch: unknown; release: unknown }[] = []
  const use = async () => {
    const session: AgentSession = new AgentSession(options)
    session.on("transportChanged", ({ transport }) => (transport as ChatSession).on("ended", () => session.state))
    await made(session)
    program.properties["mode"] = "chat"
    const inner = program.give("chat")
    kept.push({ dispatch: inner.dispatch, release: inner.release })
    program.dispatch("transportChanged", { mode: "chat" })
    program.become("connected")
    inner.dispatch("stateChange", { state: "connected" })
    inner.dispatch("stateChange", { state: "closed" })
    inner.release()
    program.become("closed")
  }
  await use()
  await collected(() => program.sessions === 0)
  assert.equal(program.sessions, 0)
  assert.equal(kept.length, 1)
})
