import assert from "node:assert/strict"
import { test } from "node:test"
import { localError } from "../src/core/errors.js"
import { ProgramObject } from "../src/core/programobject.js"
import { dispose } from "../src/core/load.js"
import { chatProgram } from "../src/core/load.js"
import { pull, pullExport } from "../src/core/stream.js"
import { collected, FakeProgram, settle } from "./fake.js"

/** A sequence as the Go program hands one over. */
class Sequence {
  asked = 0
  left = 0
  /** Settles the promises of next, oldest first. */
  readonly answers: { resolve: (result: { done: boolean; value?: string[] }) => void; reject: (reason: unknown) => void }[] = []

  next(): Promise<IteratorResult<readonly string[]>> {
    assert.equal(this.left, 0, "next after return")
    this.asked++
    return new Promise((resolve, reject) => this.answers.push({ resolve: resolve as never, reject }))
  }

  async return(): Promise<void> {
    assert.equal(this.left++, 0, "return twice")
  }

  async say(...value: string[]): Promise<void> {
    await settle()
    this.answers.shift()?.resolve({ done: false, value })
  }
}

const over = { done: true, value: undefined }

test("a sequence is opened at the first value that is asked for, and asked for no more than the loop takes", async () => {
  const sequence = new Sequence()
  let opened = 0
  const stream = pull(async () => (opened++, sequence))
  await settle()
  assert.equal(opened, 0)
  const first = stream.next()
  await sequence.say("a")
  assert.deepEqual(await first, { done: false, value: "a" })
  await settle()
  assert.deepEqual([opened, sequence.asked, sequence.left], [1, 1, 0])
  const second = stream.next()
  await settle()
  sequence.answers.shift()?.resolve({ done: true })
  assert.deepEqual(await second, over)
  assert.deepEqual(await stream.next(), over)
  assert.deepEqual([opened, sequence.asked, sequence.left], [1, 2, 1])
})

test("values that came together are handed out one by one, and asked for once", async () => {
  const sequence = new Sequence()
  const stream = pull(async () => sequence)
  const first = stream.next()
  const values = Array.from({ length: 25_000 }, (_, i) => String(i)) // more than a stalled listener may leave
  await sequence.say(...values)
  const got = [(await first).value]
  while (got.length < values.length) got.push((await stream.next()).value)
  assert.deepEqual(got, values)
  assert.equal(sequence.asked, 1)
  const last = stream.next()
  await settle()
  assert.equal(sequence.asked, 2)
  sequence.answers.shift()?.resolve({ done: true })
  assert.deepEqual(await last, over)
})

test("what came with the value at which the loop is left, or aborted, is dropped", async () => {
  for (const leave of ["return", "abort"]) {
    const sequence = new Sequence()
    const controller = new AbortController()
    const stream = pull(async () => sequence, controller.signal)
    const first = stream.next()
    await sequence.say("a", "b")
    await first
    if (leave === "return") await stream.return?.()
    else {
      controller.abort("enough")
      await assert.rejects(stream.next(), { code: "aborted", cause: "enough" })
    }
    assert.deepEqual(await stream.next(), over)
    assert.equal(sequence.left, 1)
  }
})

test("an aborted signal throws at once and ends the sequence, also while it opens", async () => {
  for (const opening of [false, true]) {
    const sequence = new Sequence()
    const controller = new AbortController()
    let open = () => {}
    const stream = pull(() => new Promise<Sequence>((resolve) => (open = () => resolve(sequence))), controller.signal)
    const next = stream.next()
    if (!opening) open()
    await settle()
    controller.abort("enough")
    await assert.rejects(next, { code: "aborted", cause: "enough" })
    open()
    await settle()
    assert.equal(sequence.left, 1)
    sequence.answers.shift()?.resolve({ done: false, value: ["late"] })
    assert.deepEqual(await stream.next(), over)
  }
  await assert.rejects(pull(() => assert.fail("opened"), AbortSignal.abort()).next(), { code: "aborted" })
  assert.throws(() => pull(() => assert.fail("opened"), "stop" as never), { code: "bad_request" })
})

test("a stream that is over lets go of its signal", async () => {
  const { signal } = new AbortController()
  let listeners = 0
  const count = (by: number, original: (...args: never[]) => void) =>
    function (this: AbortSignal, ...args: never[]) {
      listeners += by
      original.apply(this, args)
    }
  signal.addEventListener = count(1, signal.addEventListener) as never
  signal.removeEventListener = count(-1, signal.removeEventListener) as never
  const stream = pull(async () => new Sequence(), signal)
  assert.equal(listeners, 1)
  await stream.return?.()
  assert.equal(listeners, 0)
})

test("a stream that the page has forgotten is ended when it is collected, whatever the page keeps", async () => {
  const { signal } = new AbortController()
  const sequence = new Sequence()
  await (async () => {
    const first = pull(async () => sequence, signal).next()
    await sequence.say("a")
    await first
  })()
  await collected(() => sequence.left > 0, 100)
  assert.equal(sequence.left, 1)
})

const owner = { receive() {}, ending() {}, ended() {} }

function object(program: FakeProgram, sequence: Sequence): ProgramObject {
  program.results["listen"] = () => ({ next: () => sequence.next(), return: () => sequence.return() })
  return new ProgramObject({ find: chatProgram, options: {}, open: (go, options, dispatch) => go.chatSession(options, dispatch) })
}

test("disposing a session ends its streams, and calls nothing that is gone", async () => {
  const program = await new FakeProgram().load("chat")
  const sequence = new Sequence()
  const session = object(program, sequence)
  const stream = session.stream("listen", undefined)
  session.attach(owner)
  const next = stream.next()
  await settle()
  const disposed = session.dispose()
  sequence.answers.shift()?.reject(localError("aborted", "cut short"))
  await disposed
  await assert.rejects(next, { code: "aborted" })
  await assert.rejects(session.stream("listen", undefined).next(), { code: "aborted" })
  assert.deepEqual([sequence.asked, sequence.left], [1, 0])
  await dispose()
})

test("a program's end ends its streams, and what the program refuses is thrown", async () => {
  const program = await new FakeProgram().load("chat")
  const sequence = new Sequence()
  const methods = { next: () => sequence.next(), return: () => sequence.return() }
  const stream = pullExport(chatProgram, () => methods)
  const next = stream.next()
  const refused = pullExport(chatProgram, () => localError("bad_request", "no")).next()
  await assert.rejects(refused, { code: "bad_request" })
  program.end(2)
  await assert.rejects(next, { code: "internal_error" })
  assert.deepEqual(await stream.next(), over)
  assert.deepEqual([sequence.asked, sequence.left], [1, 0])
})
