import assert from "node:assert/strict"
import { test } from "node:test"
import { Emitter, SessionEmitter } from "../src/core/emitter.js"
import { untilAborted } from "../src/core/errors.js"

interface Events {
  text: string
  done: undefined
  error: unknown
}

/** What the page's reportError got, which node doesn't have. */
function reported(): unknown[] {
  const list: unknown[] = []
  globalThis.reportError = (exception: unknown) => void list.push(exception)
  return list
}

test("the function that on returns removes its own registration only", () => {
  const emitter = new Emitter<Events>()
  let calls = 0
  const listener = () => calls++
  const remove = emitter.on("text", listener)
  emitter.on("text", listener)
  remove()
  remove()
  emitter.emit("text", "")
  assert.equal(calls, 1)
})

test("off removes every registration of the function, those of once too", () => {
  const emitter = new Emitter<Events>()
  const listener = () => assert.fail("called")
  emitter.on("text", listener)
  emitter.once("text", listener)
  emitter.off("text", listener)
  emitter.off("done", listener)
  emitter.emit("text", "")
})

test("once is called once, also when its listener emits again", () => {
  const emitter = new Emitter<Events>()
  let calls = 0
  emitter.once("text", () => {
    calls++
    emitter.emit("text", "")
  })
  emitter.emit("text", "")
  assert.equal(calls, 1)
})

test("an aborted signal removes the listener", () => {
  const emitter = new Emitter<Events>()
  const controller = new AbortController()
  let calls = 0
  emitter.on("text", () => calls++, { signal: controller.signal })
  emitter.emit("text", "")
  controller.abort()
  emitter.emit("text", "")
  emitter.on("text", () => calls++, { signal: controller.signal })
  emitter.emit("text", "")
  assert.equal(calls, 1)
})

test("listeners added or removed while an event is emitted count from the next one", () => {
  const emitter = new Emitter<Events>()
  const seen: string[] = []
  const second = () => seen.push("second")
  emitter.on("text", () => {
    emitter.off("text", second)
    emitter.on("text", () => seen.push("new"))
  })
  emitter.on("text", second)
  emitter.emit("text", "")
  assert.deepEqual(seen, ["second"])
  emitter.emit("text", "")
  assert.deepEqual(seen, ["second", "new"])
})

test("a throwing listener does not stop the others and is emitted as error", () => {
  const emitter = new Emitter<Events>()
  const uncaught = reported()
  const errors: unknown[] = []
  const failure = new Error("listener")
  let calls = 0
  emitter.on("error", (error) => errors.push(error))
  emitter.on("text", () => {
    throw failure
  })
  emitter.on("text", () => calls++)
  emitter.emit("text", "")
  assert.equal(calls, 1)
  assert.deepEqual(errors, [failure])
  assert.deepEqual(uncaught, [])
})

test("a throwing error listener is reported and not called for its own exception", () => {
  const emitter = new Emitter<Events>()
  const uncaught = reported()
  let calls = 0
  emitter.on("error", () => {
    calls++
    throw "again"
  })
  emitter.emit("error", "first")
  assert.equal(calls, 1)
  assert.deepEqual(uncaught, ["again"])
})

test("removeAllListeners removes those of one event, or all", () => {
  const emitter = new Emitter<Events>()
  const seen: string[] = []
  emitter.on("text", () => seen.push("text"))
  emitter.on("done", () => seen.push("done"))
  emitter.removeAllListeners("text")
  emitter.emit("text", "")
  emitter.emit("done", undefined)
  emitter.removeAllListeners()
  emitter.emit("done", undefined)
  assert.deepEqual(seen, ["done"])
})

test("a listener that is not a function is refused where it is given", () => {
  // @ts-expect-error a listener is a function
  assert.throws(() => new Emitter<Events>().on("text", "x"), { name: "TypeError", message: "the listener of text must be a function" })
})

interface EndingEvents {
  text: string
  ended: { reason: string }
  error: unknown
}

const end = { reason: "disconnect" }

test("a stream has the events from its making to the end", async () => {
  const session = new SessionEmitter<EndingEvents>()
  session.emit("text", "before")
  const stream = session.stream("text")
  session.emit("text", "a")
  session.emit("text", "b")
  const seen: string[] = []
  const loop = (async () => {
    for await (const text of stream) seen.push(text)
  })()
  await Promise.resolve()
  session.emit("text", "c")
  session.emit("ended", end)
  session.emit("text", "after")
  await loop
  assert.deepEqual(seen, ["a", "b", "c"])
  assert.deepEqual(await stream.next(), { done: true, value: undefined })
})

test("a loop that stopped does not fill the memory", async () => {
  const session = new SessionEmitter<EndingEvents>()
  const stream = session.stream("text")
  for (let i = 0; i < 10_005; i++) session.emit("text", String(i))
  assert.deepEqual(await stream.next(), { done: false, value: "5" })
})

test("a listener of all events gets their names, also of those that have no listener", () => {
  const errors = reported()
  const emitter = new Emitter<Events>()
  const seen: unknown[] = []
  const over = new AbortController()
  const remove = emitter.onAny((event, payload) => seen.push(event, payload))
  emitter.onAny((event) => seen.push(event), { signal: over.signal })
  emitter.onAny(() => {
    throw new Error("a listener failed")
  })
  emitter.emit("text", "1")
  assert.deepEqual(seen, ["text", "1", "text"])
  assert.equal(errors.length, 1)
  remove()
  over.abort()
  emitter.emit("done", undefined)
  assert.equal(seen.length, 3)
  emitter.onAny((event) => seen.push(event))
  emitter.removeAllListeners()
  emitter.emit("text", "2")
  assert.equal(seen.length, 3)
})

test("a signal keeps no listener that is removed or was called once", () => {
  const emitter = new Emitter<Events>()
  const { signal } = new AbortController()
  const listener = () => {}
  let waiting = 0
  signal.addEventListener = () => waiting++
  signal.removeEventListener = () => waiting--
  emitter.once("text", listener, { signal })
  assert.equal(waiting, 1)
  emitter.emit("text", "")
  assert.equal(waiting, 0, "it was called")
  emitter.on("text", listener, { signal })
  emitter.off("text", listener)
  assert.equal(waiting, 0, "off")
  emitter.on("text", listener, { signal })
  emitter.removeAllListeners()
  assert.equal(waiting, 0, "all are removed")
})

test("many listeners may have one signal, without a warning of Node.js", async () => {
  const warnings: string[] = []
  const note = ({ name }: Error) => warnings.push(name)
  process.on("warning", note)
  const controller = new AbortController()
  const { signal } = controller
  const emitter = new Emitter<Events>()
  let calls = 0
  const removes = Array.from({ length: 20 }, () => emitter.on("done", () => calls++, { signal }))
  for (let i = 0; i < 20; i++) emitter.onAny(() => calls++, { signal })
  const waits = Array.from({ length: 20 }, () => untilAborted(new Promise(() => {}), signal))
  await new Promise((resolve) => setTimeout(resolve)) // Node.js warns in the next tick
  process.off("warning", note)
  assert.deepEqual(warnings, [])
  emitter.emit("done", undefined)
  assert.equal(calls, 40)
  for (const remove of removes) remove()
  emitter.emit("done", undefined)
  assert.equal(calls, 60)
  controller.abort()
  emitter.emit("done", undefined)
  assert.equal(calls, 60)
  for (const wait of waits) await assert.rejects(wait, { code: "aborted" })
})
