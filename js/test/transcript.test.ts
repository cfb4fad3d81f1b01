import assert from "node:assert/strict"
import { test, type TestContext } from "node:test"
import type { AgentSession, AvatarSession, ChatSession } from "../src/index.js"
import { SpokenTranscript, type SpokenTranscriptOptions } from "../src/ui/transcript.js"
import type { SessionLike } from "../src/ui/listen.js"
import { Events, makePage, pass } from "./page.js"

function begin(t: TestContext, options?: SpokenTranscriptOptions) {
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] })
  const session = new Events()
  const transcript = new SpokenTranscript(session, options)
  const texts = () => transcript.entries.map(({ who, text }) => `${who}: ${text}`)
  return { session, transcript, texts, pass: (ms: number) => pass(t, ms) }
}

const answer = "The first sentence. The second one. And a third."

/** Speaks the answer, up to the start of its second sentence. */
function speak({ session, pass }: Pick<ReturnType<typeof begin>, "session" | "pass">): void {
  session.say("a", answer)
  session.chunk("a", "The first sentence.", 1000)
  session.start()
  pass(1000)
  session.chunk("a", "The second", 500)
  pass(400)
}

test("a sentence is added when its sound begins, none before", (t) => {
  const page = begin(t)
  const { session, texts, pass } = page
  session.user("Well?")
  session.say("a", answer)
  session.chunk("a", "The first sentence.", 1000)
  session.start()
  pass(399)
  assert.deepEqual(texts(), ["user: Well?"])
  pass(1)
  assert.deepEqual(texts(), ["user: Well?", "agent: The first sentence."])
  pass(5000)
  assert.deepEqual(texts(), ["user: Well?", "agent: The first sentence."], "a chunk that is late is waited for")
  session.chunk("a", "The second one.", 700)
  pass(400)
  assert.equal(texts()[1], "agent: The first sentence. The second one.")
})

test("after an interruption the text is exactly what was spoken", (t) => {
  const page = begin(t)
  speak(page)
  const { session, transcript, texts, pass } = page
  session.interrupt()
  assert.ok("The first sentence. The second one.".startsWith(transcript.entries[0]!.text), "no more than was heard, until the service says it")
  session.stop("The first sentence. The se")
  assert.deepEqual(texts(), ["agent: The first sentence. The se"])
  assert.deepEqual([transcript.entries[0]!.interrupted, transcript.entries[0]!.open], [true, false])
  session.say("a", "A late sentence.")
  session.chunk("a", "late", 100)
  pass(5000)
  assert.deepEqual(texts(), ["agent: The first sentence. The se"])
})

test("an answer that was cut before it was heard leaves no entry", (t) => {
  const { session, texts, pass } = begin(t)
  session.say("a", answer)
  session.start()
  session.interrupt()
  session.stop("")
  pass(5000)
  assert.deepEqual(texts(), [])
})

test("a connection that ends leaves what was heard, by whole words", (t) => {
  const page = begin(t)
  speak(page)
  page.pass(400)
  page.session.emit("ended", { reason: "reconnect_failed" })
  assert.deepEqual(page.texts(), ["agent: The first sentence. The"])
})

test("a switch of the transport leaves what was heard", (t) => {
  const page = begin(t)
  speak(page)
  page.session.emit("transportChanged" as never, { mode: "chat", transport: new Events() } as never)
  page.pass(5000)
  assert.deepEqual(page.texts(), ["agent: The first sentence."])
  assert.deepEqual([page.transcript.entries[0]!.open, page.transcript.entries[0]!.interrupted], [false, true])
})

test("an answer that ends by itself is complete, and goes on under the same id", (t) => {
  const page = begin(t)
  const { session, transcript, texts } = page
  speak(page)
  session.stop(answer)
  assert.deepEqual(texts(), [`agent: ${answer}`])
  assert.equal(transcript.entries[0]!.open, false)
  session.say("a", "One more.")
  session.chunk("a", "One more.", 500)
  page.pass(400)
  assert.deepEqual(texts(), [`agent: ${answer} One more.`])
  session.stop("One more.")
  assert.deepEqual(texts(), [`agent: ${answer} One more.`])
})

test("a silent opening is no entry, spoken or in text", (t) => {
  const { session, texts, pass } = begin(t)
  session.say(null, "[silence]")
  session.say("x-approved-permissions", "[silence]")
  session.chunk("x-approved-permissions", "[silence]", 1)
  session.start()
  pass(1000)
  assert.deepEqual(texts(), [])
  session.stop("[silence]")
  assert.deepEqual(texts(), [])
})

test("the polite live region follows the voice, and gets a text without a voice when it is whole", (t) => {
  const region = makePage().window.document.createElement("div")
  const page = begin(t, { liveRegion: region, plain: (text) => text.replaceAll("*", "") })
  const said = () => [...region.children].map(({ textContent }) => textContent)
  speak(page)
  assert.deepEqual(said(), ["The first sentence.", "The second one."])
  page.session.interrupt()
  page.session.stop("The first sentence. The se")
  page.session.say(null, "In **text**")
  assert.equal(said().length, 2)
  page.session.say(null, ", all of it")
  page.session.emit("turnEnd", { speechId: null })
  assert.deepEqual(said(), ["The first sentence.", "The second one.", "In text, all of it"])
  assert.deepEqual([region.getAttribute("aria-live"), region.getAttribute("aria-relevant")], ["polite", "additions"])
})

test("changes are told: one is added once, and removed only after that", (t) => {
  const page = begin(t)
  const kinds: string[] = []
  page.transcript.onChange(({ kind, entry }) => kinds.push(`${kind} ${entry.text}`))
  speak(page)
  page.session.interrupt()
  page.session.stop("")
  assert.deepEqual(kinds, [
    "added The first sentence.", "changed The first sentence. The second one.", "changed The first sentence.", "changed ", "removed ",
  ])
  assert.deepEqual(page.texts(), [])
})

test("a listener that throws does not keep the transcript from others", (t) => {
  const { session, transcript } = begin(t)
  const reported: unknown[] = []
  Object.assign(globalThis, { reportError: (exception: unknown) => reported.push(exception) })
  t.after(() => Reflect.deleteProperty(globalThis, "reportError"))
  const told: string[] = []
  transcript.onChange(() => { throw new Error("bad") })
  transcript.onChange(({ entry }) => told.push(entry.text))
  session.user("Hello")
  assert.deepEqual([told, reported.length], [["Hello"], 1])
  transcript.destroy()
  session.user("again")
  assert.equal(transcript.entries.length, 1)
})

/** Every session can be used. */
export const sessions = (avatar: AvatarSession, chat: ChatSession, agent: AgentSession): SessionLike[] => [avatar, chat, agent]
