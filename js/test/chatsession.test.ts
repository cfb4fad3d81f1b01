import assert from "node:assert/strict"
import { test } from "node:test"
import type { ChatOptions } from "../src/session/chatoptions.js"
import { ChatSession } from "../src/session/chatsession.js"
import { AgentError } from "../src/core/errors.js"
import { collected, FakeProgram, FakeSource, made, running, settle } from "./fake.js"

globalThis.reportError = (exception: unknown) => assert.fail(`reported: ${exception}`)

const options: ChatOptions = { token: "secret", threadId: "th-1", kickoff: "Hello" }
const turn = { text: "Hi.", threadId: "th-1", messageId: "m-1" }

test("calls made early take effect in order, from connect on", async () => {
  const program = new FakeProgram()
  const { loaded } = program.loading()
  program.results["connect"] = async () => program.become("connected")
  program.results["sendText"] = () => Promise.resolve(turn)
  const session = new ChatSession(options)
  assert.throws(() => session.updateRequestVars({ a: 1 }), { code: "invalid_state" })
  await assert.rejects(session.sendText("too early"), { code: "invalid_state" })
  const remove = session.onToolCall("open", () => {})
  const connected = session.connect()
  session.updateRequestVars({ a: 1 })
  session.setDynamicPrompt({ page: "home" })
  const answer = session.sendText("Hi", { forceExperience: "markdown", modelType: "fast" })
  session.setToken({ ks: "other" })
  remove()
  loaded()
  await connected
  assert.deepEqual(await answer, turn)
  assert.deepEqual(
    program.calls.map(([name, ...args]) => (name === "addToolHandler" ? [name, args[0], args[1]] : [name, ...args])),
    [
      ["addToolHandler", 1, "open"],
      ["connect", undefined],
      ["updateRequestVars", { a: 1 }],
      ["setDynamicPrompt", { page: "home" }],
      ["sendText", undefined, "Hi", { forceExperience: "markdown", modelType: "fast" }],
      ["setToken", "other"],
      ["removeHandler", 1],
    ],
  )
  assert.equal(program.options["token"], "secret")
  assert.equal(session.state, "connected")
})

test("nobody waits for what can't come: after the end, after dispose, and after the program's", async () => {
  const { program, session } = await running(() => new ChatSession(options))
  program.become("connected")
  let tell = () => {}
  program.settled = new Promise((resolve) => (tell = resolve))
  program.become("closed")
  const ended = session.next("ended")
  program.dispatch("ended", { reason: "disconnect" })
  assert.deepEqual(await ended, { reason: "disconnect" })
  await assert.rejects(session.next("transcript"), { code: "ended" })
  await assert.rejects(session.next("ended"), { code: "ended" })
  for await (const transcript of session.stream("transcript")) assert.fail(`got ${transcript.text}`)
  const completed = session.next("sessionCompleted") // which the service has not answered yet
  const completions = session.stream("sessionCompleted")
  tell()
  await assert.rejects(completed, { code: "ended" })
  assert.deepEqual(await completions.next(), { done: true, value: undefined })
  await assert.rejects(session.next("sessionCompleted"), { code: "ended" })

  const other = new ChatSession(options)
  await made(other)
  const waits = other.next("ended") // the program here tells nothing of its own
  await other.dispose()
  await assert.rejects(waits, { code: "ended" })
  await assert.rejects(other.next("transcript"), { code: "ended" })

  const last = new ChatSession(options)
  await made(last)
  const never = last.next("transcript")
  program.end(0)
  await assert.rejects(never, { code: "ended" })
  await assert.rejects(last.next("ended"), { code: "ended" })
})

test("the cause of a turn that a signal ended is the signal's reason", async () => {
  const { program, session } = await running(() => new ChatSession(options))
  program.become("connected")
  const refusal = (code: string, cause: string) => new AgentError({ code, detail: "read", phase: "connect", cause })
  program.results["sendText"] = (signal) =>
    new Promise((_, reject) => (signal as AbortSignal).addEventListener("abort", () => reject(refusal("aborted", "context canceled"))))
  for (const reason of ["stop-button", new Error("stop"), { button: "stop" }]) {
    const controller = new AbortController()
    const rejected = assert.rejects(session.sendText("Hi", { signal: controller.signal }), (error: AgentError) => {
      assert.deepEqual([error.code, error.phase], ["aborted", "connect"])
      assert.equal(error.cause, reason)
      return true
    })
    controller.abort(reason)
    await rejected
  }
  // An end that is not the signal's has a cause of its own.
  program.results["sendText"] = (signal) =>
    new Promise((_, reject) => (signal as AbortSignal).addEventListener("abort", () => reject(refusal("network_error", "reset"))))
  const controller = new AbortController()
  const rejected = assert.rejects(session.sendText("Hi", { signal: controller.signal }), { code: "network_error", cause: new Error("reset") })
  controller.abort("too late")
  await rejected
})

test("a streamed turn is asked for by the loop, also before the runtime is there", async () => {
  const program = new FakeProgram()
  const { loaded } = program.loading()
  program.results["connect"] = async () => program.become("connected")
  const source = new FakeSource([{ content: "a" }, { content: "b" }])
  program.results["streamText"] = () => source
  const session = new ChatSession(options)
  assert.throws(() => session.streamText("too early"), { code: "invalid_state" })
  void session.connect()
  const segments: unknown[] = []
  const loop = (async () => {
    for await (const { content } of session.streamText("Hi", { modelType: "fast" })) segments.push(content)
  })()
  await settle()
  loaded()
  await loop
  await settle()
  assert.deepEqual(segments, ["a", "b"])
  assert.equal(source.left, true)
  assert.deepEqual(program.calls.slice(1), [["streamText", "Hi", { modelType: "fast" }]])
})

test("leaving a loop leaves the turn, and so do a signal and the end of the session", async () => {
  const { program, session } = await running(() => new ChatSession(options))
  program.become("connected")
  const sources: FakeSource[] = []
  program.results["streamText"] = () => {
    sources.push(new FakeSource([{ content: "a" }], false))
    return sources.at(-1)
  }
  for await (const { content } of session.streamText("Hi")) {
    assert.equal(content, "a")
    break
  }
  const controller = new AbortController()
  const aborted = session.streamText("Hi", { signal: controller.signal })
  await aborted.next()
  const next = aborted.next()
  controller.abort()
  await assert.rejects(next, { code: "aborted" })
  await settle()
  assert.deepEqual(sources.map(({ left }) => left), [true, true])
  const disposed = session.streamText("Hi")
  await disposed.next()
  await session.dispose()
  await assert.rejects(disposed.next(), { code: "aborted" })
})

test("a forgotten chat is collected and disposed when it is closed, and not while it is connected", async () => {
  const program = await new FakeProgram().load()
  let heard = 0
  program.results["connect"] = async () => program.become("connected")
  const use = () => {
    const session: ChatSession = new ChatSession({ ...options, onResponse: () => void session.state })
    session.onToolCall("open", () => session.state)
    session.on("transcript", () => void [heard++, session.state])
    void session.connect()
  }
  use()
  await settle()
  await collected(() => false, 5)
  program.dispatch("transcript", { type: "user", text: "still here", speechId: null })
  assert.deepEqual([heard, program.sessions], [1, 1])
  program.become("closed")
  await collected(() => program.sessions === 0)
  assert.equal(program.sessions, 0)
})

test("a forgotten chat that is closed tells of its end before it is collected", async () => {
  const program = await new FakeProgram().load()
  let told = () => {}
  program.settled = new Promise((resolve) => (told = resolve))
  program.results["connect"] = async () => program.become("connected")
  const heard: boolean[] = []
  const use = () => {
    const session: ChatSession = new ChatSession(options)
    session.next("sessionCompleted").then(({ sent }) => heard.push(sent))
    void session.connect()
  }
  use()
  await settle()
  program.become("closed")
  await collected(() => false, 5)
  program.dispatch("ended", { reason: "disconnect" })
  program.dispatch("sessionCompleted", { reason: "disconnect", sent: true, suppressed: false, peers: 0 })
  await settle()
  assert.deepEqual(heard, [true])
  told()
  await collected(() => program.sessions === 0)
  assert.equal(program.sessions, 0)
})
