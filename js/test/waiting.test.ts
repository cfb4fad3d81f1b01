import assert from "node:assert/strict"
import { test } from "node:test"
import { SessionEmitter } from "../src/emitter.js"

interface Events {
  text: string
  ended: { reason: string }
  error: unknown
}

const end = { reason: "disconnect" }

test("next resolves with the next event of its name", async () => {
  const session = new SessionEmitter<Events>()
  const next = session.next("text")
  session.emit("text", "a")
  session.emit("text", "b")
  assert.equal(await next, "a")
})

test("next rejects when the session ends first, but not when its end is what it waits for", async () => {
  const session = new SessionEmitter<Events>()
  const text = session.next("text")
  const ended = session.next("ended")
  session.emit("ended", end)
  await assert.rejects(text, { code: "ended" })
  assert.equal(await ended, end)
})

test("next rejects with aborted", async () => {
  const session = new SessionEmitter<Events>()
  const controller = new AbortController()
  const next = session.next("text", { signal: controller.signal })
  controller.abort("enough")
  await assert.rejects(next, { code: "aborted", cause: "enough" })
  await assert.rejects(session.next("text", { signal: controller.signal }), { code: "aborted" })
})

test("a stream has the events from its making to the end", async () => {
  const session = new SessionEmitter<Events>()
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

test("leaving the loop ends the stream", async () => {
  const session = new SessionEmitter<Events>()
  const stream = session.stream("text")
  session.emit("text", "a")
  session.emit("text", "b")
  for await (const text of stream) {
    assert.equal(text, "a")
    break
  }
  session.emit("text", "c")
  assert.deepEqual(await stream.next(), { done: true, value: undefined })
})

test("a stream that is cancelled gives what it has, then throws once", async () => {
  const session = new SessionEmitter<Events>()
  const controller = new AbortController()
  const stream = session.stream("text", { signal: controller.signal })
  session.emit("text", "a")
  controller.abort()
  assert.deepEqual(await stream.next(), { done: false, value: "a" })
  await assert.rejects(stream.next(), { code: "aborted" })
  assert.deepEqual(await stream.next(), { done: true, value: undefined })
  await assert.rejects(session.stream("text", { signal: controller.signal }).next(), { code: "aborted" })
})

test("a loop that stopped does not fill the memory", async () => {
  const session = new SessionEmitter<Events>()
  const stream = session.stream("text")
  for (let i = 0; i < 10_005; i++) session.emit("text", String(i))
  assert.deepEqual(await stream.next(), { done: false, value: "5" })
})
