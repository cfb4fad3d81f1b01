import assert from "node:assert/strict"
import { afterEach, mock, test } from "node:test"
import { compile } from "../src/load.js"
import { settle } from "./fake.js"

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

for (const type of ["application/wasm", "application/octet-stream"]) {
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
