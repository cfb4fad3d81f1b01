import assert from "node:assert/strict"
import { test, type TestContext } from "node:test"
import { Captions, drawCaptions, type Caption, type CaptionOptions } from "../src/ui/captions.js"
import { breakLines, columns, directionOf, splitSentences } from "../src/ui/lines.js"
import { attachTextTrack } from "../src/ui/texttrack.js"
import { toWebVTT } from "../src/ui/webvtt.js"
import { Events, makePage, pass } from "./page.js"

function begin(t: TestContext, options?: CaptionOptions) {
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] })
  const session = new Events()
  const captions = new Captions(session, options)
  const shown: string[] = []
  captions.onCaption(({ text, clear }) => shown.push(clear ? "-" : text))
  return { session, captions, shown, pass: (ms: number) => pass(t, ms) }
}

test("a caption comes with the sound of its chunk, 400 ms after the chunk, and stays 2 s after the end", (t) => {
  const { session, shown, pass } = begin(t)
  session.say("a", "Two things changed.")
  session.chunk("a", "Two things", 600)
  session.start()
  pass(399)
  assert.deepEqual(shown, [])
  pass(1)
  assert.deepEqual(shown, ["Two things changed."])
  session.chunk("a", "changed.", 500)
  pass(1000)
  session.stop("Two things changed.")
  pass(1999)
  assert.deepEqual(shown, ["Two things changed."])
  pass(1)
  assert.deepEqual(shown, ["Two things changed.", "-"])
})

test("a sentence of more than two lines is shown piece by piece, as its sound comes there", (t) => {
  const { session, shown, pass } = begin(t, { maxCharsPerLine: 10 })
  const text = "one two three four five six seven eight"
  session.say("a", text)
  session.chunk("a", text, 3200)
  pass(400)
  assert.equal(shown.length, 1)
  assert.ok(shown[0]!.startsWith("one two"))
  pass(3200)
  assert.equal(shown.join(" ").replaceAll("\n", " "), text)
  for (const caption of shown) assert.ok(caption.split("\n").length <= 2 && caption.split("\n").every((line) => line.length <= 10), caption)
})

test("a caption ends when the session was lost with its connection and made again", (t) => {
  const { session, shown, pass } = begin(t)
  session.say("a", "First. Second.")
  session.chunk("a", "First.", 500)
  session.start()
  session.emit("reconnecting", { reason: "transport close", attempt: 1, maxAttempts: 5 })
  pass(400)
  assert.deepEqual(shown, ["First."])
  session.emit("reconnected", { recovered: true })
  assert.deepEqual(shown, ["First."])
  session.emit("reconnected", { recovered: false })
  assert.deepEqual(shown, ["First.", "-"])
})

test("what the agent says on after userStartedTalking is shown", (t) => {
  const { session, shown, pass } = begin(t)
  session.say("a", "First. Second.")
  session.chunk("a", "First.", 500)
  pass(400)
  session.emit("userStartedTalking", undefined as never)
  session.chunk("a", "Second.", 500)
  pass(400)
  assert.deepEqual(shown, ["First.", "-", "Second."])
})

test("without chunks the place is estimated at 11 characters in a second, and the rate is corrected by what was heard", (t) => {
  const { session, shown, pass } = begin(t)
  const first = "a".repeat(21) + "."
  session.say("a", `${first} ${"B".repeat(21)}.`)
  session.start()
  pass(400)
  assert.deepEqual(shown, [first])
  pass(1800)
  assert.deepEqual(shown, [first], "22 characters take two seconds")
  pass(600)
  assert.equal(shown.length, 2)
  pass(8200 - 2400)
  session.stop("") // 45 characters in 8.2 s are 5.5 in a second
  pass(2000)
  session.say("b", `${first} ${"B".repeat(21)}.`)
  session.start()
  pass(400 + 2400)
  assert.deepEqual(shown.slice(2), ["-", first], "slower than before")
  pass(600)
  assert.equal(shown.length, 5)
})

test("the end of a silent opening leaves the answer whose text is there already", (t) => {
  const { session, shown, pass } = begin(t)
  session.start()
  session.say("a", "Good morning.")
  pass(500)
  session.stop("<blank>")
  pass(5000)
  session.start()
  session.chunk("a", "Good morning.", 500)
  pass(400)
  assert.deepEqual(shown.slice(-1), ["Good morning."])
})

test("only final texts are shown, and no opening that is silent", (t) => {
  const { session, shown, pass } = begin(t)
  session.user("What?")
  session.chunk("x", "never announced", 500)
  session.say("x-approved-permissions", "[silence]")
  session.say(null, "an answer in text")
  session.start()
  pass(5000)
  assert.deepEqual(shown, [])
})

test("replacements and the filter change what is shown, not when", (t) => {
  const { session, captions, shown, pass } = begin(t, { replacements: { "c++": "C plus plus", ai: "A.I." }, filter: (text) => text.replace("secret", "…") })
  session.say("a", "AI said a secret of C++, again.")
  session.chunk("a", "AI", 500)
  pass(400)
  assert.deepEqual(shown, ["A.I. said a … of C plus plus, again."])
  captions.setReplacements({})
  session.say("a", "AI.")
  session.chunk("a", "said a secret of C++, again. AI.", 500)
  pass(1000)
  assert.equal(shown.at(-1), "AI.")
  assert.throws(() => captions.setReplacements({ a: 1 as never }), TypeError)
})

test("bad options are refused", () => {
  const session = new Events()
  assert.throws(() => new Captions(undefined as never), TypeError)
  assert.throws(() => new Captions(session, { maxLines: 0 }), RangeError)
  assert.throws(() => new Captions(session, { holdAfterEndMs: "2" as never }), TypeError)
  assert.throws(() => new Captions(session, { filter: "no" as never }), TypeError)
})

test("destroy clears the caption and ends every timer and listener", (t) => {
  const { session, captions, shown, pass } = begin(t)
  session.say("a", "First. Second.")
  session.chunk("a", "First.", 500)
  pass(400)
  captions.destroy()
  session.chunk("a", "Second.", 500)
  pass(5000)
  assert.equal(captions.current, undefined)
  assert.deepEqual(shown, ["First.", "-"])
})

test("captions are drawn as text with their direction", (t) => {
  const { session, captions, pass } = begin(t)
  const element = makePage().window.document.createElement("p")
  const end = drawCaptions(captions, element)
  session.say("a", "שלום <b>CSS</b>")
  session.chunk("a", "שלום", 500)
  pass(400)
  assert.deepEqual([element.textContent, element.children.length, element.dir], ["שלום <b>CSS</b>", 0, "rtl"])
  end()
  assert.equal(element.textContent, "")
})

test("an agent session's avatar clears captions by userStartedTalking", (t) => {
  const { session, shown, pass } = begin(t)
  const transport = new Events()
  Object.assign(session, { transport })
  session.emit("transportChanged" as never, { mode: "avatar", transport } as never)
  session.say("a", "First.")
  session.chunk("a", "First.", 500)
  pass(400)
  transport.emit("userStartedTalking", undefined as never)
  assert.deepEqual(shown, ["First.", "-"])
})

test("what was shown becomes a WebVTT file", (t) => {
  const { session, captions, pass } = begin(t)
  t.mock.timers.tick(3_599_000)
  session.say("a", "Is 1 < 2 & 3?")
  session.chunk("a", "Is 1 < 2 & 3?", 1500)
  pass(2000)
  session.stop("Is 1 < 2 & 3?")
  pass(2000)
  assert.equal(toWebVTT(captions.cues), "WEBVTT\n\n00:59:59.400 --> 01:00:03.000\nIs 1 &lt; 2 &amp; 3?\n")
})

test("WebVTT names speakers, and no text can end its cue", () => {
  const texts = [
    { startMs: 0, endMs: 0, text: "a\n\n00:00:09.000 --> 00:00:10.000\nb", who: "agent" },
    { startMs: 5, endMs: 90, text: "  " },
  ]
  assert.equal(toWebVTT(texts, { speakers: { agent: "A > B" } }), "WEBVTT\n\n00:00:00.000 --> 00:00:00.001\n<v A &gt; B>a\n00:00:09.000 --&gt; 00:00:10.000\nb\n")
})

test("a text track has a cue for each caption, in the time of the video", (t) => {
  const { session, captions, pass } = begin(t)
  class Cue {
    constructor(public startTime: number, public endTime: number, public text: string) {}
  }
  Object.assign(globalThis, { VTTCue: Cue })
  t.after(() => Reflect.deleteProperty(globalThis, "VTTCue"))
  const cues: Cue[] = []
  const track = { mode: "disabled", cues, addCue: (cue: Cue) => cues.push(cue), removeCue: (cue: Cue) => cues.splice(cues.indexOf(cue), 1) }
  const made: unknown[] = []
  const video = { currentTime: 10, addTextTrack: (...args: unknown[]) => (made.push(args), track) }
  const end = attachTextTrack(video as never, captions, { language: "en" })
  session.say("a", "One <i>. Two.")
  session.chunk("a", "One <i>.", 500)
  pass(400)
  video.currentTime = 11
  session.chunk("a", "Two.", 500)
  pass(400)
  assert.deepEqual(made, [["captions", "Captions", "en"]])
  assert.equal(track.mode, "showing")
  assert.deepEqual(cues.map((cue) => ({ ...cue })), [{ startTime: 10, endTime: 10.9, text: "One &lt;i&gt;." }, { startTime: 11, endTime: 1e6, text: "Two." }])
  video.currentTime = 12
  session.interrupt()
  assert.equal(cues[1]!.endTime, 11.9)
  session.say("b", "Three.")
  session.chunk("b", "Three.", 500)
  pass(400)
  assert.equal(cues.length, 3)
  session.interrupt()
  assert.equal(cues.length, 2) // hardly any time of the video has passed
  end()
  assert.deepEqual([cues.length, track.mode], [0, "disabled"])
})

test("lines end between words and are about equally long", () => {
  assert.deepEqual(breakLines("The quick brown fox jumps over the lazy dog near a river.", 47), ["The quick brown fox jumps over", "the lazy dog near a river."])
  assert.deepEqual(breakLines("  one \n two ", 47), ["one two"])
  assert.deepEqual(breakLines("", 47), [])
  assert.deepEqual(breakLines("https://long.example/abcdefghij x", 12), ["https://lon", "g.example/a", "bcdefghij x"])
})

test("Chinese and Japanese break inside of a text, never before a closing mark", () => {
  for (const text of ["今天我们来谈谈两件事，它们都很重要。", "東京タワーは「高い」です。とても、すばらしいですね。"]) {
    const lines = breakLines(text, 12)
    assert.equal(lines.join(""), text)
    assert.ok(lines.length > 2)
    for (const line of lines) {
      assert.ok(columns(line) <= 12, line)
      assert.doesNotMatch(line, /^[，。、」]|「$/u)
    }
  }
})

test("texts from right to left stay in their order", () => {
  const text = "مرحبا بكم في هذا المكان الجميل. نحن هنا CSS للمساعدة"
  const lines = breakLines(text, 20)
  assert.equal(lines.join(" "), text)
  assert.ok(lines.every((line) => columns(line) <= 20))
  assert.deepEqual([directionOf(text), directionOf("12: שלום"), directionOf("CSS שלום"), directionOf("12")], ["rtl", "rtl", "ltr", "ltr"])
})

test("sentences are split, but not after abbreviations", () => {
  const split = (text: string) => splitSentences(text).map((sentence) => sentence.trim())
  assert.deepEqual(split("Dr. Smith came. He sat down!  Why?"), ["Dr. Smith came.", "He sat down!", "Why?"])
  assert.deepEqual(split("今天。明天！"), ["今天。", "明天！"])
  assert.equal(splitSentences("a. B? C").join(""), "a. B? C")
})

test("a line of emoji and combined characters is not cut inside of one", () => {
  const family = "👨‍👩‍👧‍👦"
  assert.deepEqual(breakLines(family.repeat(5), 4), [family.repeat(2), family.repeat(2), family])
  assert.deepEqual(columns("e\u0301"), 1)
})

/** A caption is plain data. */
export const typed = (caption: Caption): string => caption.lines.join(caption.dir)
