import assert from "node:assert/strict"
import { test } from "node:test"
import { AgentSession } from "../src/session/agentsession.js"
import { AvatarSession } from "../src/session/avatar.js"
import { ChatSession } from "../src/session/chatsession.js"
import type { AgentError } from "../src/core/errors.js"
import { dispose } from "../src/core/load.js"
import { FakeProgram, made, running, settle } from "./fake.js"

// What sessions of all kinds do.

globalThis.reportError = (exception: unknown) => assert.fail(`reported: ${exception}`)

const options = { token: "secret", threadId: "th-1", mode: "chat" as const }

const kickoff = { text: "Hello", echo: false, sent: false }
const capabilities = { screenShare: false, cameraAnalysis: false, webSearch: false, interruptions: true, tapToTalk: false }

/** The kinds, with their program, the states in which an end and a crash leave them, and their properties before the runtime is there. */
const kinds = [
  {
    Kind: AvatarSession, program: "full", over: "disconnected", crashed: "error",
    initial: { partnerId: "7", kickoff, mode: "video", speaking: false, paused: false, capabilities, micEnabled: true, audioOutputVolume: 1, avatarStream: null, videoEl: null },
  },
  { Kind: ChatSession, program: "chat", over: "closed", crashed: "closed", initial: { partnerId: "7", kickoff, responsePending: false } },
  { Kind: AgentSession, program: "full", over: "closed", crashed: "failed", initial: { mode: "chat", timings: {} } },
] as const

for (const { Kind, program: programName, over, crashed, initial } of kinds) {
  const { name } = Kind
  const make = (more: object = {}) => new (Kind as new (given: object) => AvatarSession | ChatSession | AgentSession)({ ...options, ...more })

  test(`${name}: making one loads nothing, preload makes no session, and connect does`, async () => {
    await dispose()
    const program = new FakeProgram()
    const session = make()
    session.onToolCall("open", () => {})
    session.setToken("other")
    if (session instanceof AvatarSession) session.mute()
    await settle()
    assert.equal(session.state, "idle")
    const missing = programName === "chat" ? /chat\.wasm/ : /agentruntime\.wasm/
    for (const load of [session.preload(), session.connect()]) await assert.rejects(load, (error: AgentError) => error.code === "load_failed" && missing.test(error.message)) // there is none here
    assert.equal(session.state, "idle")

    await program.load(programName)
    program.results["connect"] = () => Promise.resolve()
    await make().preload()
    assert.equal(program.sessions, 0)
    await session.connect()
    assert.equal(program.sessions, 1)
  })

  test(`${name}: in a page that is rendered ahead, one is made when the visitor opens the page`, async (t) => {
    const program = new FakeProgram()
    await program.load(programName)
    let connects = 0
    program.results["connect"] = async () => void connects++
    const document = Object.assign(new EventTarget(), { prerendering: true })
    Object.assign(globalThis, { document })
    t.after(() => Reflect.deleteProperty(globalThis, "document"))
    const left = make()
    const leaving = left.connect()
    const session = make()
    const connecting = session.connect()
    await settle()
    left.disconnect()
    await assert.rejects(leaving, /was disconnected/)
    assert.equal(program.sessions, 0)
    document.dispatchEvent(new Event("prerenderingchange"))
    await connecting
    assert.equal(connects, 1)
  })

  test(`${name}: before the runtime is there properties have their initial values`, () => {
    new FakeProgram().loading()
    const session = make({ kickoff: "Hello", partnerId: 7 })
    for (const [property, value] of Object.entries({ state: "idle", threadId: "th-1", ...initial })) assert.deepEqual(session[property as "state"], value, property)
  })

  test(`${name}: the token is nowhere to be seen`, () => {
    new FakeProgram().loading()
    const session = make()
    assert.doesNotMatch(JSON.stringify(session), /secret/)
    assert.deepEqual(Object.keys(session), [])
  })

  test(`${name}: functions of the options are called through the session, and others are left alone`, async () => {
    const statuses: unknown[] = []
    const { program, session } = await running(() => make({ logger: () => {}, onResponse: ({ status }: { status: number }) => statuses.push(status) }))
    const given = session instanceof AgentSession ? ["avatar", "chat"].map((mode) => program.options[mode] as Record<string, unknown>) : [program.options]
    const hooks = given.map(({ onResponse }) => onResponse as (response: object) => void)
    for (const hook of hooks) hook({ status: 200 })
    assert.equal(typeof program.options["logger"], "function")
    await session.dispose()
    for (const hook of hooks) hook({ status: 500 })
    assert.deepEqual(statuses, hooks.map(() => 200))
  })

  // An avatar's session that is disconnected can begin again (avatar.test.ts).
  if (Kind !== AvatarSession) {
    test(`${name}: disconnected before the runtime is there, it is over at once`, async () => {
      const program = new FakeProgram()
      const { loaded } = program.loading(programName)
      const session = make() as ChatSession
      const seen: unknown[] = []
      session.on("stateChange", (change) => seen.push(change))
      session.on("ended", (end) => seen.push(end))
      const calls = [session.connect(), ...(Kind === ChatSession ? [session.sendText("Hi"), session.streamText("Hi").next()] : [])]
      session.disconnect({ final: false, reason: "left" })
      session.disconnect()
      const closed = { state: "closed", ...(Kind === AgentSession && { reason: "user_requested" }) }
      assert.deepEqual([seen, session.state], [[closed, { reason: "left" }], "closed"])
      for (const call of [...calls, session.connect()]) await assert.rejects(call, { code: "invalid_state" })
      await assert.rejects(session.next("ended"), { code: "ended" })
      loaded()
      await settle()
      assert.equal(program.sessions, 0)
    })

    test(`${name}: disposed before the runtime is there, it ends like any other`, async () => {
      new FakeProgram().loading()
      const session = make() as ChatSession
      const ended = session.next("ended")
      await session.dispose()
      assert.deepEqual([await ended, session.state], [{ reason: "disconnect" }, "closed"])
    })
  }

  test(`${name}: dispose ends it for good, and its properties stay`, async () => {
    const { program, session } = await running(make)
    program.results["connect"] = async () => program.become("connected")
    await session.connect()
    program.properties["threadId"] = "th-2"
    const states: string[] = []
    ;(session.on.bind(session) as AvatarSession["on"])("stateChange", ({ state }) => states.push(state))
    program.results["dispose"] = async () => program.become(over)
    await session.dispose()
    assert.deepEqual([states, session.state, session.threadId, program.sessions], [[over], over, "th-2", 0])
    for (const call of [() => session.setDynamicPrompt({}), () => session.updateRequestVars({ a: "b" }), () => session.setToken("other")]) assert.throws(call, { code: "invalid_state" })
    await assert.rejects(session.connect(), { code: "aborted" })
    await assert.rejects(session.completeThread(), { code: "aborted" })
    session.disconnect()
  })

  test(`${name}: a second dispose waits for the first, and await using disposes`, async () => {
    const { program, session } = await running(make)
    let closed = () => {}
    program.results["dispose"] = () => new Promise<void>((resolve) => (closed = resolve))
    const ended = (session as AvatarSession).next("ended")
    const both = [session.dispose(), session.dispose()]
    await settle()
    program.dispatch("ended", { reason: "disconnect" })
    assert.deepEqual(await ended, { reason: "disconnect" })
    closed()
    await Promise.all(both)
    assert.equal(program.names().filter((name) => name === "dispose").length, 1)
    delete program.results["dispose"]
    {
      await using other = make()
      await made(other)
      assert.equal(program.sessions, 1)
    }
    assert.equal(program.sessions, 0)
  })

  test(`${name}: a crash of the program ends the session with an error`, async () => {
    const { program, session } = await running(make)
    program.become("connected")
    const sent = session instanceof AvatarSession ? session.speak("Hi") : session.sendText("Hi")
    const seen: unknown[] = []
    const on = session.on.bind(session) as AvatarSession["on"]
    on("error", (error) => seen.push((error as AgentError).code))
    on("stateChange", ({ state }) => seen.push(state))
    on("ended", ({ reason }) => seen.push(reason))
    program.end(2)
    await assert.rejects(sent, { code: "internal_error" })
    await settle()
    assert.deepEqual([seen, session.state], [["internal_error", crashed, "internal_error"], crashed])
    await assert.rejects(session.connect(), { code: "internal_error" })
    session.disconnect()
  })
}
