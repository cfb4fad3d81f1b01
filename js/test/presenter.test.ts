import assert from "node:assert/strict"
import { test, type TestContext } from "node:test"
import * as compat from "../src/compat.js"
import { followVideo, parseSlideNumber, Presenter, type PresenterMemory, type PresenterOptions } from "../src/presenter.js"
import { TabStorage, ToolEvents } from "./page.js"

const slides = [
  { title: "Welcome", talking_points: ["who we are"], narrator_guidance: "warmly" },
  { title: "Figures", category: "financial", content: { revenue: 7, visual: "chart.svg" } },
  { title: "Terms", category: "legal" },
  { title: "Terms", talking_points: ["the rest"] },
]

/** A session whose tool a test calls. */
class Session extends ToolEvents {
  readonly prompts: Record<string, any>[] = []
  readonly answers: [unknown, object][] = []
  connected = true

  setDynamicPrompt(data: Record<string, unknown>): void {
    if (!this.connected) throw Object.assign(new Error("not connected"), { code: "invalid_state" })
    this.prompts.push(JSON.parse(JSON.stringify(data)) as Record<string, any>)
  }

  async respondToTool(id: string | undefined, response: Record<string, unknown>): Promise<void> {
    this.answers.push([id, response])
  }

  call(args: Record<string, unknown>, id?: string): Promise<unknown> {
    return this.callTool("navigate_to_slide", args, id)
  }

  turn(): void {
    this.emit("turnStart", { speechId: "s", turnId: "t", isNewTurn: true })
  }
}

class Storage extends TabStorage {
  get memory(): PresenterMemory {
    return JSON.parse(this.items.get("kaltura_presenter_memory")!) as PresenterMemory
  }
}

function make(t: TestContext, more: Partial<PresenterOptions> = {}) {
  const session = new Session()
  const changes: unknown[] = []
  let time = 1_000_000
  const presenter = new Presenter({ session, slides, onSlideChange: (n, slide, reason) => changes.push([n, slide.title, reason, session.prompts.length]), now: () => time, ...more })
  t.after(() => presenter.destroy())
  return { session, presenter, changes, pass: (ms: number) => (time += ms) }
}

test("numbers of slides are read as models write them", () => {
  const yes: [unknown, number][] = [
    [3, 3], ["3", 3], [" 12 ", 12], ["Slide 4", 4], ["slide number seven", 7], ["page: 2", 2], ["#5", 5], ["number nine.", 9], ["ten", 10], ["nineteen", 19], ["Twenty", 20],
    ["twenty-one", 21], ["twenty one", 21], ["twentyone", 21], ["ninety-nine", 99],
  ]
  for (const [raw, want] of yes) assert.equal(parseSlideNumber(raw), want, String(raw))
  for (const raw of [0, -1, 1.5, NaN, Infinity, "", "0", "zero", "none", "slide", "twenty-eleven", "twenty zero", "hundred", "3 4", null, undefined, {}, [3], true]) assert.equal(parseSlideNumber(raw), null, String(raw))
  assert.equal(parseSlideNumber(5, 4), null)
  assert.equal(parseSlideNumber("four", 4), 4)
  assert.equal(compat.parseSlideNumber, parseSlideNumber)
  assert.equal(compat.Presenter, Presenter)
})

test("without a session, without slides and with bad options it throws", () => {
  const session = new Session()
  const bad: [unknown, RegExp][] = [
    [undefined, /needs a session/], [{ slides }, /needs a session/], [{ session, slides: [] }, /at least one slide/], [{ session }, /at least one slide/],
    [{ session, slides: [{}] }, /slide 1 must be an object with a title/], [{ session, slides: [slides[0], { title: "x", content: 1 }] }, /content of slide 2/],
    [{ session, slides, dupSuppressMs: -1 }, /dupSuppressMs/], [{ session, slides, onSlideChange: 1 }, /onSlideChange must be a function/], [{ session, slides, toolCallName: "" }, /toolCallName/],
    [{ session, slides, context: "x" }, /context/], [{ session, slides, storage: {} }, /storage/],
  ]
  for (const [options, message] of bad) assert.throws(() => new Presenter(options as PresenterOptions), { code: "bad_request", message })
  assert.equal(session.tools.size, 0)
})

test("the agent is told of the slide that is shown, without its visual", async (t) => {
  const { session, presenter, changes } = make(t, {
    context: { product: "x" },
    extendContext: (slide, { current, total }) => ({ extra: `${slide.title} ${current}/${total}` }),
  })
  assert.deepEqual([session.prompts, presenter.lastContextSlide], [[], null])
  await presenter.start()
  assert.deepEqual(session.prompts.pop(), {
    v: "3", mode: "presentation", current_slide: 1, total_slides: 4, slide: { title: "Welcome", talking_points: ["who we are"], narrator_guidance: "warmly" },
    nav: null, product: "x", extra: "Welcome 1/4", meta: { disclaimer_required: false, non_gaap_cited: false }, memory: null,
  })
  presenter.goTo(2)
  const { slide, nav, meta } = session.prompts[0]!
  assert.deepEqual(slide, { title: "Figures", category: "financial", content: { revenue: 7 } })
  assert.deepEqual(nav, { from: 1, why: "user", resume: null })
  assert.deepEqual(meta, { disclaimer_required: true, non_gaap_cited: true })
  assert.deepEqual(changes, [[2, "Figures", "user", 1]], "the context was sent before")
  presenter.goTo(2)
  for (const target of [0, 5, 1.5, NaN]) presenter.goTo(target)
  assert.deepEqual([changes.length, presenter.current, presenter.slide, presenter.total, presenter.lastContextSlide, presenter.lastDppSlide], [1, 2, slides[1], 4, 2, 2])
})

test("the older names work beside the new ones", async (t) => {
  const { session, presenter } = make(t, { extendDpp: () => ({ a: 1 }), dppSlide: ({ title }, { current, total, content }) => ({ title, current, total, content }) })
  presenter.goTo(2)
  presenter.refreshDpp()
  assert.deepEqual(session.prompts[1]!["slide"], { title: "Figures", current: 2, total: 4, content: { revenue: 7 } })
  assert.equal(session.prompts[1]!["a"], 1)
})

test("the agent turns slides, and goes on where it was", async (t) => {
  const { session, presenter, changes, pass } = make(t)
  await presenter.start()
  presenter.goTo(2)
  assert.deepEqual(await session.call({ slide_num: "four" }, "call-1"), { slide_num: 4, title: "Terms" })
  assert.deepEqual(session.answers, [["call-1", { slide_num: 4, title: "Terms" }]])
  assert.deepEqual(session.prompts.at(-1)!["nav"], { from: 2, why: "avatar", resume: 2 })
  assert.deepEqual(presenter.lastNav, { target: 4, reason: "avatar", at: 1_000_000 })
  await session.call({ slide_num: 4, reason: "resume" })
  assert.deepEqual([presenter.current, changes.at(-1)], [2, [2, "Figures", "resume", 4]])
  // The same call again is a repetition of the model, for a while.
  presenter.goTo(3)
  await session.call({ slide_num: 2 })
  assert.equal(presenter.current, 3)
  pass(3000)
  await session.call({ slide_num: 2 })
  assert.equal(presenter.current, 2)
  assert.deepEqual(await session.call({ slide_num: "x" }), { error: "there is no such slide; the slides are 1 to 4" })
  assert.deepEqual(presenter.covered, [1, 2, 3, 4])
})

test("a handler gets arguments and call from sessions of the reference client", async (t) => {
  const { session, presenter } = make(t)
  const handler = session.tools.get("navigate_to_slide")!
  await handler({ slide_num: 3 }, { name: "navigate_to_slide", args: { slide_num: 3 }, raw: "", toolMetadata: { id: "c", waitForResponse: true } })
  assert.deepEqual([presenter.current, session.answers], [3, [["c", { slide_num: 3, title: "Terms" }]]])
  await handler({ slide_num: 2 })
  assert.equal(presenter.current, 2)
})

test("one slide in a turn, when the page says so", async (t) => {
  const { session, presenter } = make(t, { oneNavPerTurn: true })
  session.turn()
  await session.call({ slide_num: 2 })
  await session.call({ slide_num: 3 })
  assert.deepEqual([presenter.current, presenter.navSuppressedThisTurn], [2, true])
  session.turn()
  assert.equal(presenter.navSuppressedThisTurn, false)
  await session.call({ slide_num: 3 })
  assert.equal(presenter.current, 3)
})

test("tools may have another name, or none", (t) => {
  assert.deepEqual([...make(t, { toolCallName: "go_to_page" }).session.tools.keys()], ["go_to_page"])
  assert.deepEqual([...make(t, { toolCallName: false }).session.tools.keys()], [])
})

test("an outline tells equal titles apart", async (t) => {
  const { session, presenter } = make(t, { deckOutline: true })
  await presenter.start()
  assert.deepEqual(session.prompts[0]!["outline"], [
    { slide_num: 1, title: "Welcome" }, { slide_num: 2, title: "Figures" }, { slide_num: 3, title: "Terms (3)" }, { slide_num: 4, title: "Terms (the rest)" },
  ])
})

test("the memory of a visit is stored, told once, and told again after a rebuild", async (t) => {
  const storage = new Storage()
  const first = make(t, { storage, extraMemory: (questions) => ({ count: questions.length }) })
  await first.presenter.start()
  first.presenter.goTo(2)
  for (let i = 1; i <= 5; i++) first.session.user(`question ${i}`)
  first.presenter.recordQuestion("  ")
  first.session.emit("ended", { reason: "disconnect" })
  assert.deepEqual(storage.memory, { timestamp: 1_000_000, lastSlide: 2, lastSequential: 2, covered: [1, 2], interests: ["question 2", "question 3", "question 4", "question 5"], count: 5 })
  assert.deepEqual([first.presenter.questions.length, first.presenter.memory], [5, storage.memory])

  const second = make(t, { storage, restoreMemory: (stored) => ({ count: stored["count"] }), now: () => 1_000_000 + 2 * 3600_000 })
  await second.presenter.start()
  const told = { resume: 2, covered: [1, 2], interests: storage.memory.interests, hours_ago: 2, count: 5 }
  assert.deepEqual(second.session.prompts[0]!["memory"], told)
  second.presenter.refreshContext()
  assert.equal(second.session.prompts[1]!["memory"], null)
  second.session.emit("reconnected", { recovered: true } as never)
  assert.equal(second.session.prompts.length, 2)
  second.session.emit("reconnected", { recovered: false } as never)
  assert.deepEqual(second.session.prompts[2]!["memory"], told)
  second.presenter.clearMemory()
  assert.deepEqual([second.presenter.memory, storage.items.size], [null, 0])

  storage.setItem("kaltura_presenter_memory", JSON.stringify({ timestamp: 1_000_000, lastSequential: 3, covered: [1, 2, 3], interests: ["How much?"] }))
  const third = make(t, { storage, now: () => 1_000_000 + 3600_000 })
  third.session.connected = false
  third.presenter.goTo(3) // the page goes on where the visitor was
  assert.deepEqual(storage.memory.covered, [1, 3])
  third.session.connected = true
  await third.presenter.start()
  assert.deepEqual(third.session.prompts[0]!["memory"], { resume: 3, covered: [1, 2, 3], interests: ["How much?"], hours_ago: 1 })

  storage.setItem("kaltura_presenter_memory", JSON.stringify({ timestamp: 1_000_000 - 31 * 24 * 3600_000, lastSequential: 3 }))
  assert.equal(make(t, { storage }).presenter.memory, null)
  for (const text of ["{", "7", "[]", "{}"]) {
    storage.setItem("kaltura_presenter_memory", text)
    assert.equal(make(t, { storage }).presenter.memory, null, text)
  }
  const full = { getItem: () => null, removeItem: () => {}, setItem: () => { throw new Error("full") } }
  assert.equal(make(t, { storage: full }).presenter.saveMemory(), false)
  assert.equal(make(t).presenter.saveMemory(), false)
})

test("the text of a turn grows by what the agent says", (t) => {
  const heard: string[][] = []
  const { session } = make(t, { onTurnText: (piece, turn) => heard.push([piece, turn]) })
  const segment = (type: string, content: string) => session.emit("brainSegment", { type, content } as never)
  session.turn()
  segment("text", "Hello ")
  segment("think", "hm")
  segment("avatar", "there.")
  session.turn()
  segment("text", "Next")
  assert.deepEqual(heard, [["Hello ", "Hello "], ["there.", "Hello there."], ["Next", "Next"]])
})

test("slides are added, times are counted, and nothing is left after the end", async (t) => {
  const { session, presenter, pass } = make(t)
  assert.equal(presenter.appendSlide({ title: "More" }), 5)
  assert.throws(() => presenter.appendSlide({} as never), { code: "bad_request", message: /slide 6/ })
  presenter.goTo(5)
  pass(2600)
  assert.equal(presenter.secondsOnCurrentSlide, 3)
  presenter.destroy()
  assert.equal(session.tools.size, 0)
  session.user("unheard")
  assert.deepEqual(presenter.questions, [])
})

test("before the connect the slide changes, and the start tells the agent", async (t) => {
  const { session, presenter } = make(t)
  session.connected = false
  presenter.goTo(3)
  await assert.rejects(presenter.start(), { code: "invalid_state" })
  session.connected = true
  await presenter.start()
  assert.deepEqual([session.prompts.length, session.prompts[0]!["current_slide"]], [1, 3])
})

test("an agent that waits for a slide is told that the page failed", async (t) => {
  const warn = t.mock.method(console, "warn", () => {})
  const { session } = make(t, { onSlideChange: () => assert.fail("no such picture") })
  await assert.rejects(session.call({ slide_num: 2 }, "call-1"), { message: "no such picture" })
  assert.deepEqual(session.answers, [["call-1", { error: "the page failed to do this" }]])
  assert.deepEqual(warn.mock.calls.map(({ arguments: [text] }) => text), ["agentruntime: presenter: the tool navigate_to_slide failed: no such picture"])
})

test("chapters of a video are slides", (t) => {
  const video = Object.assign(new EventTarget(), { currentTime: 0 }) as unknown as HTMLVideoElement
  const { presenter } = make(t)
  assert.throws(() => followVideo(presenter, video, { starts: [0, 5] }), { code: "bad_request" })
  assert.throws(() => followVideo(presenter, video, { starts: [0, 5, 4, 9] }), { code: "bad_request" })
  const { seek, stop } = followVideo(presenter, video, { starts: [0, 5, 10, 15] })
  video.currentTime = 11
  video.dispatchEvent(new Event("timeupdate"))
  assert.deepEqual([presenter.current, presenter.lastNav?.reason], [3, "video"])
  seek()
  assert.equal(video.currentTime, 11)
  presenter.goTo(2)
  seek()
  assert.equal(video.currentTime, 5)
  presenter.appendSlide({ title: "Questions" }) // of which the video has nothing
  presenter.goTo(5)
  seek()
  assert.deepEqual([video.currentTime, presenter.current], [5, 5])
  presenter.goTo(2)
  stop()
  video.currentTime = 16
  video.dispatchEvent(new Event("seeked"))
  assert.equal(presenter.current, 2)
})
