import assert from "node:assert/strict"
import { afterEach, beforeEach, mock, test } from "node:test"
import { AvatarSession } from "../src/session/avatar.js"
import { appInit as chatInit, load as loadChat } from "../src/chat.js"
import { localError } from "../src/core/errors.js"
import { appInit, fullProgram, load } from "../src/session/full.js"
import { chatProgram, compile, diagnostics, dispose } from "../src/core/load.js"
import { FakeProgram, made, settle } from "./fake.js"

beforeEach(() => dispose())

test("what needs no media runs in the program that is there, in the full one if both are", async () => {
  const chat = await new FakeProgram().load("chat")
  chat.held = 1
  assert.equal((await chatProgram()).callSync((go) => go.holds().goroutines), 1)
  const full = await new FakeProgram().load("full")
  full.held = 2
  assert.equal((await chatProgram()).callSync((go) => go.holds().goroutines), 2)
})

test("what needs no media waits for a program that is being loaded", async () => {
  const { loaded } = new FakeProgram().loading("full")
  const waiting = chatProgram()
  loaded()
  assert.equal(await waiting, await fullProgram())
})

test("what needs media does not run in the chat program", async () => {
  const chat = await new FakeProgram().load("chat")
  await assert.rejects(fullProgram(), { code: "load_failed", message: /needs a page.* from agentruntime\/chat$/ }) // in node there is nothing to load
  const full = await new FakeProgram().load("full")
  const session = new AvatarSession({ token: "t" })
  await made(session)
  assert.deepEqual([chat.sessions, full.sessions], [0, 1])
  await session.dispose()
})

test("appInit of either entry asks the program that is there", async () => {
  const chat = await new FakeProgram().load("chat")
  await appInit({ widgetId: "a" })
  await chatInit({ widgetId: "b" })
  const full = await new FakeProgram().load("full")
  await chatInit({ widgetId: "c" })
  assert.deepEqual(chat.inits.map(({ widgetId }) => widgetId), ["a", "b"])
  assert.deepEqual(full.inits.map(({ widgetId }) => widgetId), ["c"])
})

test("load is content with what is there, and not with what is smaller", async () => {
  await new FakeProgram().load("chat")
  await load({ program: "chat" })
  await loadChat()
  await assert.rejects(load(), { code: "load_failed" })
  await new FakeProgram().load("full")
  await load()
  // @ts-expect-error a name that no program has
  await assert.rejects(load({ program: "small" }), { code: "bad_request" })
})

test("a load that failed is forgotten, and the other program is not", async () => {
  const chat = await new FakeProgram().load("chat")
  chat.held = 1
  const { failed } = new FakeProgram().loading("full")
  const waiting = chatProgram()
  failed(localError("load_failed", "not there"))
  await assert.rejects(waiting, { code: "load_failed" })
  assert.equal((await chatProgram()).callSync((go) => go.holds().goroutines), 1)
})

test("a program that ends is forgotten alone", async () => {
  const chat = await new FakeProgram().load("chat")
  const full = await new FakeProgram().load("full")
  chat.held = 1
  full.end(2)
  await settle()
  assert.equal((await chatProgram()).callSync((go) => go.holds().goroutines), 1)
})

test("dispose ends a download under way", async () => {
  Object.assign(globalThis, { location: new URL("https://page.example/") })
  let asked = (_: AbortSignal) => {}
  const asking = new Promise<AbortSignal>((resolve) => (asked = resolve))
  const fetching = mock.method(globalThis, "fetch", (_: URL, { signal }: { signal: AbortSignal }) => {
    asked(signal)
    return new Promise(() => {})
  })
  try {
    const failed = assert.rejects(chatProgram({ wasmUrl: "chat.wasm" }), { code: "aborted" })
    const signal = await asking
    await dispose()
    await failed
    assert.equal(signal.aborted, true)
  } finally {
    fetching.mock.restore()
    Reflect.deleteProperty(globalThis, "location")
  }
})

test("dispose ends both programs, and diagnostics tells of both", async () => {
  assert.deepEqual(await diagnostics(), { sessions: 0, callbacks: 0, goroutines: 0 })
  const chat = await new FakeProgram().load("chat")
  const full = await new FakeProgram().load("full")
  chat.sessions = 2
  full.sessions = 3
  assert.deepEqual(await diagnostics(), { sessions: 5, callbacks: 0, goroutines: 2 })
  const open = [fullProgram, chatProgram].map(async (find) => (await find()).call(() => new Promise(() => {})))
  const rejected = Promise.all(open.map((call) => assert.rejects(call, { code: "aborted" })))
  await settle()
  await dispose()
  await rejected
  assert.deepEqual(await diagnostics(), { sessions: 0, callbacks: 0, goroutines: 0 })
})

// Downloading

const empty = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0) // a module with nothing in it
const url = new URL("https://page.example/chat.wasm")
const never = new AbortController().signal

afterEach(() => mock.reset())

/** Answers the next request with what is sent to it. */
function serve(type = "application/wasm"): { send(bytes: Uint8Array): void; end(): void; signal: () => AbortSignal } {
  let body: ReadableStreamDefaultController<Uint8Array>
  let signal: AbortSignal
  const stream = new ReadableStream<Uint8Array>({ start: (controller) => void (body = controller) })
  mock.method(globalThis, "fetch", async (_: URL, init: RequestInit) => {
    signal = init.signal!
    return new Response(stream, { headers: { "content-type": type } })
  })
  return { send: (bytes) => body.enqueue(bytes), end: () => body.close(), signal: () => signal }
}

/** Lets seconds pass. */
async function pass(seconds: number): Promise<void> {
  mock.timers.tick(seconds * 1000)
  for (let i = 0; i < 20; i++) await new Promise<void>(setImmediate)
}

for (const type of ["application/wasm", "application/wasm; charset=utf-8", "application/octet-stream"]) {
  test(`a file that comes slowly is waited for, as ${type}`, async () => {
    mock.timers.enable({ apis: ["setTimeout"] })
    const { send, end } = serve(type)
    const module = compile(url, "chat.wasm", never)
    for (const byte of empty) {
      await pass(19)
      send(Uint8Array.of(byte))
      await pass(0)
    }
    end()
    assert.ok((await module) instanceof WebAssembly.Module)
    await pass(60)
  })

  test(`a file that stops coming is given up, as ${type}`, async () => {
    mock.timers.enable({ apis: ["setTimeout"] })
    const { send, signal } = serve(type)
    const failed = assert.rejects(compile(url, "chat.wasm", never), { code: "load_failed", retryable: true, message: /chat\.wasm stopped coming: nothing for 20 seconds/ })
    send(empty.subarray(0, 4))
    await pass(0)
    await pass(19)
    assert.equal(signal().aborted, false)
    await pass(1)
    await failed
    assert.equal(signal().aborted, true)
  })
}

test("a server that does not answer is given up", async () => {
  mock.timers.enable({ apis: ["setTimeout"] })
  mock.method(globalThis, "fetch", () => new Promise(() => {}))
  const failed = assert.rejects(compile(url, "chat.wasm", never), { code: "load_failed", retryable: true })
  await pass(20)
  await failed
})

test("a signal ends the download with its reason", async () => {
  const { send, signal } = serve()
  const controller = new AbortController()
  const reason = new Error("enough")
  const failed = assert.rejects(compile(url, "chat.wasm", controller.signal), reason)
  send(empty.subarray(0, 4))
  await settle()
  controller.abort(reason)
  await failed
  assert.equal(signal().aborted, true)
  await assert.rejects(compile(url, "chat.wasm", controller.signal), reason)
})

test("a page in the file's place is told from it, and what to do", async () => {
  const { send, end } = serve("text/html")
  send(new TextEncoder().encode("<!doctype html><title>fallback</title>"))
  end()
  await assert.rejects(compile(url, "chat.wasm", never), { code: "load_failed", message: /not a WebAssembly file \(its type is "text\/html"\).*wasmUrl.*optimizeDeps/ })
})
