import assert from "node:assert/strict"
import { mock, test } from "node:test"
import { zipSync, strToU8 } from "fflate"
import { zip } from "../src/record/zip.js"
import { openRecording, readRecording } from "../src/replay.js"

const lines = [
  { version: 1, started: "2026-05-04T10:00:00.000Z", redacted: true },
  { t: 0, event: "stateChange", data: { state: "preparing" } },
  { t: 200, file: "agent.webm" },
  { t: 1000, event: "transcript", data: { type: "user", text: "Hello?", speechId: null } },
  { t: 1500, event: "transcript", data: { type: "final", text: "Good morning.", speechId: "s" } },
  { t: 1600, event: "avatarStartTalking", data: { speechId: "s" } },
  { t: 1600, event: "speechChunk", data: { text: "Good morning.", durationMs: 800, speechId: "s" } },
  { t: 1700, event: "turnEnd", data: { speechId: "s" } },
  { t: 2400, event: "avatarStopTalking", data: { text: "Good morning.", speechId: "s" } },
]
const events = lines.map((line) => JSON.stringify(line) + "\n").join("")
const turns = [
  { by: "visitor", text: "Hello?", startMs: 1000, endMs: 1000 },
  { by: "agent", text: "Good morning.", startMs: 1500, endMs: 2400 },
]

test("a zip file of record() is read, and that of a packed folder", async () => {
  const picture = new Uint8Array([0x1a, 0x45, 0xdf, 0xa3])
  const own = await zip([{ name: "events.jsonl", content: new Blob([events]) }, { name: "agent.webm", content: new Blob([picture]) }])
  const packed = zipSync({ "monday/events.jsonl": strToU8(events), "monday/agent.webm": picture, "__MACOSX/monday/._events.jsonl": strToU8("x") }, { level: 9 })
  for (const file of [own, new Blob([packed as Uint8Array<ArrayBuffer>])]) {
    const recording = await openRecording(file)
    assert.deepEqual([recording.started.toISOString(), recording.redacted, recording.entries.length], ["2026-05-04T10:00:00.000Z", true, lines.length - 1])
    assert.deepEqual(recording.files.map(({ name, begin, content }) => [name, begin, content.type, content.size]), [["agent.webm", 200, "video/webm", 4]])
    assert.deepEqual(recording.turns, turns)
    assert.match(recording.captions(200), /00:00:01\.800 --> 00:00:02\.600\n<v Agent>Good morning\./)
  }
})

test("what is no recording is refused, with its reason", async () => {
  const packed = (files: Record<string, string>) => zipSync(Object.fromEntries(Object.entries(files).map(([name, text]) => [name, strToU8(text)]))) as Uint8Array<ArrayBuffer>
  const damaged = packed({ "events.jsonl": events }).slice(0, -30)
  const refused: [BlobPart, RegExp][] = [
    ["text", /the file is not a zip file/],
    [damaged, /the zip file is damaged/],
    [packed({ "notes.txt": "" }), /has no events\.jsonl/],
    [packed({ "events.jsonl": "" }), /the first line of events\.jsonl has no version/],
    [packed({ "events.jsonl": '{"version": 2}\n' }), /its version is 2, and this package reads up to 1/],
    [packed({ "events.jsonl": events.replace('{"t":1000', '{"') }), /line 4 of events\.jsonl is not an event/],
  ]
  for (const [content, message] of refused) await assert.rejects(openRecording(new Blob([content])), { code: "validation_error", message })
  await assert.rejects(openRecording("x" as never), { code: "bad_request" })
  assert.throws(() => readRecording(5 as never), { code: "bad_request" })
})

test("an answer in text is its pieces as they are, which end anywhere", () => {
  const pieces = ["\n", "In Ro", "om ", "1.", "5:\n", "\n", "- up ", " "].map((text) => ({ t: 2, event: "transcript", data: { type: "final", text, speechId: null } }))
  const text = [lines[0], lines[3], ...pieces].map((line) => JSON.stringify(line)).join("\n")
  assert.deepEqual(readRecording(text).turns.map(({ text }) => text), ["Hello?", "In Room 1.5:\n\n- up"])
})

test("a turn ends with its session, so that the opening line of the next one is a turn of its own", () => {
  for (const [event, data] of [["reconnecting", { cold: true }], ["reconnected", { recovered: false }]] as const) {
    const cut = [
      ...lines.slice(0, 6),
      { t: 1700, event: "reconnecting", data: { reason: "transport close" } },
      { t: 1800, event: "reconnected", data: { recovered: true } },
      { t: 2000, event, data },
      { t: 3000, event: "transcript", data: { type: "final", text: "Welcome back.", speechId: "u" } },
    ]
    const { turns } = readRecording(cut.map((line) => JSON.stringify(line)).join("\n"))
    assert.deepEqual(turns.slice(1), [
      { by: "agent", text: "Good morning.", startMs: 1500, endMs: 2000 },
      { by: "agent", text: "Welcome back.", startMs: 3000, endMs: 3000 },
    ])
  }
})

test("the last line may be cut off", () => {
  assert.equal(readRecording(events.slice(0, -20)).entries.length, lines.length - 2)
})

test("a recording is played in virtual time, faster, at once, and until it is aborted", async () => {
  const recording = readRecording(events)
  mock.timers.enable({ apis: ["setTimeout"] })
  try {
    const seen: number[] = []
    const played = recording.play(({ t }) => seen.push(t))
    mock.timers.tick(1000)
    assert.deepEqual(seen, [0, 200, 1000])
    mock.timers.tick(1400)
    await played
    assert.deepEqual(seen, recording.entries.map(({ t }) => t))

    seen.length = 0
    const fast = recording.play(({ t }) => seen.push(t), { speed: 2 })
    mock.timers.tick(800)
    assert.deepEqual(seen, [0, 200, 1000, 1500, 1600, 1600])
    mock.timers.tick(400)
    await fast

    const leaving = new AbortController()
    const left = recording.play(({ t }) => t === 1000 && leaving.abort(), { signal: leaving.signal })
    mock.timers.tick(5000)
    await assert.rejects(left, { code: "aborted" })
    const broken = recording.play(() => { throw new Error("the page is broken") })
    mock.timers.tick(5000)
    await assert.rejects(broken, /the page is broken/)
  } finally {
    mock.timers.reset()
  }
  let count = 0
  await recording.play(() => count++, { speed: 0 })
  assert.equal(count, recording.entries.length)
  await assert.rejects(recording.play(() => {}, { speed: -1 }), { code: "bad_request" })
  await assert.rejects(recording.play(undefined as never), { code: "bad_request" })
})
