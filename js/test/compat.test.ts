import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { test } from "node:test"
import { JSDOM } from "jsdom"
import * as compat from "../src/compat.js"
import * as main from "../src/index.js"
import type { Segment, Widget } from "../src/events.js"

// What the Go runtime reads of replies (runtime/converse) is read here too.
const fixtures = new URL("../../../runtime/converse/testdata/", import.meta.url) // seen from the bundled test
const texts = (name: string) => readFileSync(new URL(name, fixtures))
const names = readdirSync(fixtures).filter((name) => /\.(ndjson|sse)$/.test(name))

/** The bytes in pieces of a size, as a network cuts them. */
async function* cut(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

/** A collected turn in the form of runtime/converse. */
function plain({ text, threadId, messageId, segments, experiencesList, toolCalls, oauthRequired, errors, spiralStopped, truncated }: compat.CollectedTurn): object {
  return JSON.parse(JSON.stringify({
    text, threadId, messageId, segments, widgets: experiencesList, oauthRequired, errors, spiralStopped, truncated,
    toolCalls: toolCalls.map(({ name, args, raw, fusedArgs, toolMetadata: { id, type, waitForResponse } }) => ({ name, args, fusedArgs, id, type, waitForResponse, raw })),
  })) as object
}

assert.ok(names.length >= 10)
for (const name of names) {
  test(`collectConverse reads ${name} as the Go runtime does`, async () => {
    const { empty, warnings, malformedWidgets, ...want } = JSON.parse(String(texts(name.replace(/\.\w+$/, ".turn.json")))) as Record<string, unknown>
    void [empty, warnings, malformedWidgets]
    for (const key of ["widgets", "toolCalls", "oauthRequired", "errors"]) want[key] ??= []
    for (const size of [7, 1 << 20]) assert.deepEqual(plain(await compat.collectConverse(cut(texts(name), size))), want)
  })
}

test("parseConverseStream reads a reply, its body and its text", async () => {
  const line = '{"type":"text","content":"a"}'
  const all = async (source: compat.ConverseSource) => {
    const list: unknown[] = []
    for await (const { type, content } of compat.parseConverseStream(source)) list.push([type, content])
    return list
  }
  const want = [["text", "a"]]
  assert.deepEqual(await all(line), want)
  assert.deepEqual(await all(new Response(line)), want)
  assert.deepEqual(await all(new Response(line).body!), want)
  assert.deepEqual(await all(new Response(line.replace(",", ",\n"), { headers: { "content-type": "application/json" } })), want)
  assert.deepEqual(await all(`event: x\ndata: ${line}\n\ndata: [DONE]\n`), want)
  assert.deepEqual(await all("<html>\n"), [["error", "<html>"]])
  assert.equal((await all("<br>\n".repeat(100))).length, 16)
  await assert.rejects(all(new Response(line, { status: 503 })), { code: "invalid_response", status: 503 })
})

test("a loop over parseConverseStream that is left cancels the reply", async () => {
  let cancelled = false
  const body = new ReadableStream<Uint8Array>({ pull: (to) => to.enqueue(new TextEncoder().encode('{"type":"text","content":"a"}\n')), cancel: () => void (cancelled = true) })
  for await (const { type } of compat.parseConverseStream(body)) if (type === "text") break
  assert.ok(cancelled)
})

test("collectConverse ends at its limits", async () => {
  const calls = Array.from({ length: 20 }, (_, page) => `{"type":"tool","content":"open {\\"page\\":${page}}"}`).join("\n")
  const turn = await compat.collectConverse(calls)
  assert.deepEqual([turn.spiralStopped, turn.segments.length, turn.toolCalls.length], [true, 8, 3])
  const long = await compat.collectConverse('{"type":"text","content":"a"}\n'.repeat(5), { maxSegments: 3 })
  assert.deepEqual([long.truncated, long.text, long.kindCounts.spoken], [true, "aaa", 3])
  const whole = await compat.collectConverse('{"type":"text","content":"a"}\n'.repeat(3), { maxSegments: 3 })
  assert.equal(whole.truncated, false)
  const checked = await compat.collectConverse(calls, { maxToolCalls: 20, maxPerTool: 20, toolArgSchemas: { open: { page: { type: "int", enum: [1, 2] } } } })
  assert.deepEqual([checked.toolCalls.length, checked.toolCallsInvalid.length], [2, 18])
})

test("tool calls are parsed", () => {
  assert.deepEqual(compat.parseToolCall('open_doc {"id":1}{"id":"}{"} {broken'), {
    name: "open_doc", args: { id: "}{" }, fusedArgs: [{ id: 1 }], raw: 'open_doc {"id":1}{"id":"}{"} {broken', toolMetadata: { waitForResponse: false },
  })
  assert.equal(compat.parseToolCall(' {"id":1}'), undefined)
  assert.deepEqual(compat.parseToolCall("ping")?.args, {})
  const besides = { type: "tool", content: "ping", tool_metadata: { id: "t", name: "ping", args: { a: 1 }, type: "client", wait_for_response: true } } as unknown as Segment
  assert.deepEqual(compat.parseToolCall(besides), { name: "ping", args: { a: 1 }, raw: "ping", toolMetadata: { id: "t", waitForResponse: true, type: "client" } })
  assert.equal(compat.parseToolResponseName(" show_chart responded with size 113"), "show_chart")
  assert.equal(compat.parseToolResponseName("show_chart respondedly"), undefined)
})

test("arguments are checked", () => {
  const { validateToolArgs } = compat
  assert.deepEqual(validateToolArgs({ page: "x", n: 1.5 }, { page: { type: "str", enum: ["home"] }, n: { type: "int" }, id: { required: true }, any: {} }), [
    "id is missing", "n must be of type int", "page is not one of the allowed values",
  ])
  assert.deepEqual(validateToolArgs({ a: "s", b: 1, c: 1.5, d: true, e: [], f: {} }, { a: { type: "str" }, b: { type: "int" }, c: { type: "float" }, d: { type: "bool" }, e: { type: "list" }, f: { type: "dict" } }), [])
  assert.deepEqual(validateToolArgs({ f: null }, { f: { type: "dict" } }), ["f must be of type dict"])
  assert.deepEqual(validateToolArgs([], {}), ["the arguments must be an object"])
  assert.deepEqual(validateToolArgs({}, { toString: { required: true } }), ["toString is missing"])
  assert.throws(() => validateToolArgs({}, { a: { type: "text" as "str" } }), { code: "bad_request" })
})

test("canonicalJson gives equal values equal texts", () => {
  assert.equal(compat.canonicalJson({ b: [{ d: 1, c: 2 }], a: null }), '{"a":null,"b":[{"c":2,"d":1}]}')
  assert.equal(compat.canonicalJson({ a: 1, b: 2 }), compat.canonicalJson({ b: 2, a: 1 }))
})

test("an assembler takes widgets in pieces, and reports what was cut off", () => {
  const done: Widget[] = []
  const malformed: object[] = []
  const assembler = new compat.SegmentAssembler((widget) => done.push(widget), (what) => malformed.push(what))
  const add = (runtimeName: string | undefined, content: unknown, more: object = {}) =>
    assembler.add({ type: "unisphere-tool", content, ...(runtimeName && { metadata: { runtimeName } }), ...more } as unknown as Segment)
  add("followups-tool", '["a')
  assembler.add({ type: "text", content: "aside" } as unknown as Segment)
  add(undefined, '"]', { segmentEnd: true })
  assert.deepEqual(done.splice(0), [{ runtime: "followups", followups: { questions: ["a"] } }])
  add("sources-tool", '{"sources":[')
  add("summary-tool", "All fine.")
  assert.deepEqual(malformed, [{ runtime: "sources", raw: '{"sources":[' }])
  assembler.end()
  assert.deepEqual(done.splice(0), [{ runtime: "summary", summary: { summary: "All fine.", bullets: [] } }])
  add("followups-tool", '["a"]')
  assembler.add({ type: "user-interruption" } as unknown as Segment)
  assembler.end()
  assert.deepEqual(done, [])
})

test("widgets are read from every form of their content", () => {
  const { parseWidget } = compat
  const list = (questions: string[]) => ({ runtime: "followups", followups: { questions } })
  assert.deepEqual(parseWidget("followups-tool", "questions:\n- a\n- Pricing: is there a 'free' plan?\n  and: more\n- text: b\n- question:\n- c"), list(["a", "Pricing: is there a 'free' plan?", "b", "c"]))
  assert.deepEqual(parseWidget("followups", '```json\n{"questions":["a",{"text":"b"},"",7,null]}\n```'), list(["a", "b", "7"]))
  assert.deepEqual(parseWidget("followups", "Note: it rains"), { runtime: "followups", raw: "Note: it rains" })
  assert.deepEqual(parseWidget("chart-tool", "kind: bar\nvalues:\n  - 1\n  - 2.5\n"), { runtime: "chart", body: { kind: "bar", values: [1, 2.5] } })
  assert.deepEqual(parseWidget("x", { a: JSON.parse('{"__proto__":{"b":1},"c":2}') as object }), { runtime: "x", body: { a: { c: 2 } } })
  const links = ["https://a.example/x", "/path?x#y", "page", "tel:+491234", "javascript:alert(1)", " JavaScript:alert(1)", "java\tscript:alert(1)", "data:text/html,x", "file:///etc/passwd"]
  assert.deepEqual(links.filter((url) => parseWidget("show-link", { url }).showLink?.url), links.slice(0, 4))
  assert.deepEqual(links.filter((url) => parseWidget("external-video", { url }).externalVideo?.url), links.slice(0, 1))
  assert.equal(parseWidget("video-gallery", { videos: [{ id: 1, length: "1:02:03" }] }).videoGallery?.videos[0]?.duration, 3723)
})

test("a name of the service is never a property of an object", async () => {
  const { collectConverse, parseWidget } = compat
  for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
    assert.deepEqual(parseWidget(name, { a: 1 }), { runtime: name, body: { a: 1 } })
    assert.deepEqual(parseWidget(name, "words"), { runtime: name, raw: "words" })
    const segments: object[] = [
      { role: "assistant", type: "unisphere-tool", content: '{"a":1}', metadata: { runtimeName: `${name}-tool` }, segmentStart: true, segmentEnd: true, segmentNumber: 0, et: 0 },
      { role: "assistant", type: "tool", content: `${name} {"a":1}`, tool_metadata: { id: "1", name, args: { a: 1 }, type: "client" }, segmentNumber: 1, et: 0 },
    ]
    const turn = await collectConverse(segments.map((segment) => JSON.stringify(segment)).join("\n") as never, { toolArgSchemas: { other: {} } })
    assert.deepEqual(Object.entries(turn.experiences), [[name, { runtime: name, body: { a: 1 } }]])
    assert.deepEqual(turn.toolCalls.map((call) => [call.name, call.args]), [[name, { a: 1 }]])
  }
})

test("a widget of many lines takes time in proportion to them", () => {
  const lines = Array.from({ length: 20_000 }, (_, i) => `    k${i}: v`).join("\n")
  const began = process.cpuUsage()
  const { body } = compat.parseWidget("chart", `rows:\n  - k: v\n${lines}`) as { body: { rows: object[] } }
  assert.equal(Object.keys(body.rows[0]!).length, 20_001)
  assert.ok(process.cpuUsage(began).user < 3_000_000)
})

test("redact removes secrets from texts and objects", () => {
  const { redact } = compat
  const token = "djJ8NTUwMXxq3-Zr0k_9XbQ7mJtW5vHs8dLwPz2aYc6Ne1FgRiUoTA4=="
  for (const [text, want] of [
    [`token ${token} was refused`, "token [redacted] was refused"],
    ["got Bearer eyJhbGciOi.J9.x_y", "got Bearer [redacted]"],
    ["sent KS abc123def456", "sent KS [redacted]"],
    ["a KS token, basic knowledge, Bearer missing", "a KS token, basic knowledge, Bearer missing"],
    ["dial https://alice:s3cret@talk.example/x", "dial https://[redacted]@talk.example/x"],
    ["https://x.example/a?ks=abc&format=1", "https://x.example/a?ks=[redacted]&format=1"],
    ['{"password":"a\\"b","n":1}', '{"password":[redacted],"n":1}'],
    ["secret 0123456789abcdef0123456789ABCDEF here", "secret [redacted] here"],
    ["avatar 65f0c0ffee65f0c0ffee65f0", "avatar 65f0c0ffee65f0c0ffee65f0"],
    ["dial 10.1.2.3:443, 172.31.0.1, 192.168.0.9.", "dial [redacted]:443, [redacted], [redacted]."],
    ["8.8.8.8 172.32.0.1 http://127.0.0.1:8080", "8.8.8.8 172.32.0.1 http://127.0.0.1:8080"],
    ["tasks: 3, risks=4, max_output_tokens: 500", "tasks: 3, risks=4, max_output_tokens: 500"],
  ]) {
    assert.equal(redact(text), want)
    assert.equal(redact(redact(text)), want)
  }
  const from = { ks: token, token: null, count: 3, deep: [{ note: `has ${token}`, requestVars: { name: "Ann" } }] }
  assert.deepEqual(redact(from), { ks: "[redacted]", token: null, count: 3, deep: [{ note: "has [redacted]", requestVars: "[redacted]" }] })
  assert.equal(from.ks, token)
})

test("texts of the service are bounded", () => {
  assert.equal(compat.clampInbound("a\0b\n" + "😀".repeat(9000)).length, 3 + 2 * 7997)
  assert.equal(compat.safeText("x".repeat(3000)).length, 2000)
  assert.equal(compat.safeText(undefined), "")
  assert.deepEqual(compat.sanitizeJson(JSON.parse('{"constructor":1,"a":[{"prototype":2,"b":3}],"password":"stays"}')), { a: [{ b: 3 }], password: "stays" })
  const deep = JSON.parse("[".repeat(100) + "]".repeat(100)) as unknown
  assert.match(JSON.stringify(compat.sanitizeJson(deep)), /^\[{64}null\]{64}$/)
})

test("a tracker times words, and drops utterances that are over", () => {
  const tracker = new compat.TranscriptTracker()
  tracker.beginUtterance("s-1")
  const chunk = (text: string, durationMs: number, speechId: string) => tracker.ingestChunk({ text, durationMs, speechId })
  assert.deepEqual(chunk("Two things", 800, "s-1"), { type: "partial", text: "Two things", speechId: "s-1", words: [{ word: "Two", startMs: 0 }, { word: "things", startMs: 400 }] })
  assert.deepEqual(chunk("changed.", 400, "s-1")?.words, [{ word: "changed.", startMs: 800 }])
  assert.equal(chunk("", 1, "s-1"), undefined)
  assert.equal(chunk("late", 100, "s-0"), undefined)
  assert.deepEqual([tracker.isCurrent("s-1"), tracker.isCurrent("s-2")], [true, false])
})

test("the wire's helpers say what the service expects", () => {
  assert.deepEqual(compat.turnServers("turn:relay.example/")[0]?.urls, [
    "turn:relay.example:80?transport=udp", "turn:relay.example:443?transport=udp", "turn:relay.example:80?transport=tcp", "turns:relay.example:443?transport=tcp",
  ])
  assert.deepEqual(compat.turnServers(""), [])
  assert.equal(compat.iceConfig({ turnServerUrl: "relay.example", isFirefox: true }).iceTransportPolicy, "all")
  assert.equal(compat.whepUrl({ srsBaseUrl: "https://srs.example/", sessionId: "s-81" }), "https://srs.example/rtc/v1/whep/?app=app&stream=s-81")
  const hosts = ["localhost", "[::1]", "10.0.0.1", "172.16.0.1", "192.168.1.1", "127.0.0.1", "169.254.0.1", "[fd00::1]", "[fe80::1]", "[::ffff:10.0.0.1]"]
  for (const host of hosts) assert.ok(compat.whepUrlHasPrivateIp(`https://${host}/x`), host)
  for (const host of ["edge.example", "8.8.8.8", "172.32.0.1", "[2001:db8::1]"]) assert.ok(!compat.whepUrlHasPrivateIp(`https://${host}/x`), host)
  assert.deepEqual(compat.buildTextEntered("Hi"), [{ text: "", isFinal: false, isSpeechStart: true }, { text: "Hi", isFinal: true }])
  assert.ok(compat.isAudioMode({ status: "audio/phone mode - no STV session" }))
  assert.deepEqual([compat.modelTypeWire("fast"), compat.modelTypeWire()], ["fast", undefined])
  assert.throws(() => compat.modelTypeWire("slow" as "fast"), { code: "bad_request" })
  const link = { type: "unisphere-tool", content: { url: "/x" }, metadata: { runtimeName: "show-link-tool" } } as unknown as Segment
  assert.deepEqual(compat.classifyAgentAction(link), { type: "navigate", runtime: "show-link", runtimeName: "show-link-tool", payload: { url: "/x" }, source: "agent" })
  assert.equal(compat.classifyAgentAction({ type: "text", content: "a" } as unknown as Segment), undefined)
  const join = compat.buildJoin({ token: "t", room: "r", requestVars: { a: 1 } }) as { kaltura: object }
  assert.deepEqual(join.kaltura, { ks: "t", force_experience: "avatar_only", capabilities: { avatar: "on", generate_followup_questions: "on" }, request_vars: { a: 1 } })
})

test("a renderer draws the widgets of a session between start and stop", () => {
  const { window } = new JSDOM("<main></main>")
  Object.assign(globalThis, { document: window.document })
  try {
    const target = window.document.querySelector("main")!
    const session = new compat.Emitter<{ widget: Widget; turnStart: { isNewTurn: boolean }; error: unknown }>()
    const unhandled: string[] = []
    const renderer = new compat.ExperienceRenderer({ session, mount: target, maxRendered: 2, onUnhandled: ({ runtime }) => unhandled.push(runtime) })
    const widget = (text: string): Widget => compat.parseWidget("summary", { summary: text })
    session.emit("widget", widget("early"))
    renderer.start()
    for (const text of ["one", "two", "three"]) session.emit("widget", widget(text))
    session.emit("widget", compat.parseWidget("chart", { a: 1 }))
    assert.deepEqual([target.children.length, target.textContent!.includes("one"), target.textContent!.includes("three"), unhandled], [2, false, true, ["chart"]])
    assert.equal(renderer.last?.summary?.summary, "three")
    renderer.register("chart", () => window.document.createElement("canvas"))
    session.emit("widget", compat.parseWidget("chart-tool", { a: 1 }))
    assert.ok(target.querySelector("canvas"))
    session.emit("turnStart", { isNewTurn: true })
    assert.deepEqual([target.children.length, renderer.rendered.length], [0, 0])
    renderer.stop()
    session.emit("widget", widget("late"))
    assert.equal(target.children.length, 0)
    assert.throws(() => new compat.ExperienceRenderer({ session, mount: target, urlPolicy: () => true } as never), { code: "bad_request", message: /^remove urlPolicy:/ })

    let mounted: unknown
    const element = compat.mountWidget(widget("x"), target, { onMount: (element) => (mounted = element) })
    assert.equal(element, mounted)
    assert.equal(element.parentElement, target)
    assert.equal((compat.renderSafeLink("https://a.example/", "A") as HTMLAnchorElement).rel, "noopener noreferrer")
    assert.equal(compat.renderSafeLink("javascript:alert(1)", "A").tagName, "SPAN")
  } finally {
    delete (globalThis as { document?: unknown }).document
  }
})

test("every name of the reference client is here or in docs/moving.md, and so is every export", () => {
  const doc = readFileSync(new URL("../../../docs/moving.md", import.meta.url), "utf8")
  const [here, missing] = doc.split("## What is not here") as [string, string]
  const named = (text: string) => new Set([...text.matchAll(/`(\w+)`/g)].map(([, name]) => name!))
  // Pages import these (captions, widgets, streams, the wire, safety, opening, media).
  const reference = `CaptionService TranscriptTracker apportion ExperienceRenderer mountWidget SegmentAssembler parseWidget parseContent normalizeRuntime
    isKnownRuntime RUNTIMES DEFAULT_RENDERERS WIDGET_KINDS attachChromaKeyAvatar createNoiseSuppressor KavaAnalytics parseConverseStream collectConverse parseToolCall
    parseToolResponseName parseOAuthRequired segmentKind validateToolArgs canonicalJson turnServers iceConfig buildJoin buildStvNewSession whepUrl whepUrlHasPrivateIp
    buildTextEntered isAudioMode classifyAgentAction CAPACITY_BACKOFF DEFAULT_CM_URL EXPERIENCES MODEL_TYPES modelTypeWire redact safeText clampInbound safeUrl
    sanitizeJson renderSafeLink SILENT_OPENING SILENT_OPENING_LABEL isSilentOpening thumbnailUrl playerEmbedUrl externalEmbedUrl EMBED_HOSTS REGIONS FATAL_ERROR_CODES
    KalturaAvatarSession KalturaChatSession KalturaAgentSession KalturaError`.split(/\s+/)
  for (const name of reference) {
    if (name in compat) assert.ok(named(here).has(name), `${name} is not in the table of names`)
    else assert.ok(named(missing).has(name), `${name} is neither an export nor among what is not here`)
  }
  for (const name of Object.keys(compat)) if (!(name in main)) assert.ok(named(here).has(name), `${name} is not in the table of names`)
})
