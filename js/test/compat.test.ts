import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { mock, test } from "node:test"
import { JSDOM } from "jsdom"
import * as compat from "../src/compat.js"
import type { AppInitResult } from "../src/generated/settings.js"
import { FakeProgram, made } from "./fake.js"

// Each test has the facts of one group of the reference client's exports.

const bad = { code: "bad_request" }
const widget = (runtimeName: string | undefined, content: unknown, more: object = {}) => ({ type: "unisphere-tool", content, ...(runtimeName && { metadata: { runtimeName } }), ...more })

/** Runs a function with a document. */
function inPage(run: (body: HTMLElement, window: JSDOM["window"]) => void): void {
  const { window } = new JSDOM("<main></main>")
  Object.assign(globalThis, { document: window.document })
  try {
    run(window.document.querySelector("main")!, window)
  } finally {
    delete (globalThis as { document?: unknown }).document
  }
}

test("constants have the reference client's forms", () => {
  const { CAPABILITIES, CAPABILITY_DEFAULTS, CAPABILITY_INFO, CAPABILITY_STATE, CAPACITY_BACKOFF, EMBED_HOSTS, EXPERIENCES, MODEL_TYPES } = compat
  assert.deepEqual(EXPERIENCES, ["markdown", "summarization", "flashcards", "avatar_only"])
  assert.deepEqual(MODEL_TYPES, { fast: "fast", primary: null })
  assert.ok(Object.isFrozen(MODEL_TYPES) && Object.isFrozen(CAPABILITIES))
  assert.deepEqual(CAPACITY_BACKOFF, [30, 45, 60, 90, 120, 180, 240, 300, 360])
  assert.deepEqual(EMBED_HOSTS, ["www.youtube-nocookie.com", "player.vimeo.com", "www.kaltura.com", "cdnapisec.kaltura.com"])
  assert.equal(compat.DEFAULT_CM_URL, "https://conversation.avatar.us.kaltura.ai")
  assert.deepEqual(CAPABILITIES, [
    "use_knowledge_base", "use_content_search", "use_get_entry_content", "generate_followup_questions", "include_sources", "use_related_files", "video_gallery", "external_video",
    "show_link", "avatar", "avatar_filler", "avatar_show_content", "kaltura_genie_experiences", "use_web_search", "screen_share_analysis",
  ])
  assert.deepEqual(CAPABILITY_STATE, { ON: "on", OFF: "off", DISABLED: "disabled" })
  const off = Object.entries(CAPABILITY_DEFAULTS).filter(([, state]) => state === "off").map(([name]) => name).sort()
  assert.deepEqual(off, ["avatar", "avatar_filler", "avatar_show_content", "external_video", "screen_share_analysis", "show_link", "use_web_search", "video_gallery"])
  assert.equal(Object.values(CAPABILITY_DEFAULTS).filter((state) => state === "on").length, 7)
  const kinds = (kind: string) => Object.entries(CAPABILITY_INFO).filter(([, info]) => info.kind === kind).map(([name, { runtime }]) => (runtime ? `${name} ${runtime}` : name))
  assert.deepEqual(kinds("tool"), ["use_knowledge_base", "use_content_search", "use_get_entry_content", "use_related_files", "use_web_search"])
  assert.deepEqual(kinds("segment"), ["generate_followup_questions followups", "include_sources sources", "video_gallery video-gallery", "external_video external-video", "show_link show-link"])
  assert.deepEqual(kinds("mode"), ["avatar", "kaltura_genie_experiences"])
  assert.deepEqual(kinds("prompt"), ["avatar_filler", "avatar_show_content", "screen_share_analysis"])
  for (const { summary, defaultState } of Object.values(CAPABILITY_INFO)) assert.ok(summary.length > 10 && ["on", "off"].includes(defaultState))
  const runtimes = ["flashcards", "followups", "sources", "summary", "video-gallery", "show-link", "external-video", "user-properties-form", "content-gallery"]
  assert.deepEqual(compat.RUNTIMES, runtimes)
  assert.deepEqual(compat.GENUI_RUNTIMES, runtimes.map((name) => `${name}-tool`))
  assert.deepEqual(compat.WIDGET_KINDS, [...runtimes, "unknown", "error"])
  assert.deepEqual(Object.keys(compat.DEFAULT_RENDERERS), runtimes)
  assert.equal(compat.GENUI_WIDGET_NAME, "unisphere.widget.genie")
})

test("the wire's helpers", () => {
  const { buildJoin, buildStvNewSession, buildTextEntered, iceConfig, isAudioMode, modelTypeWire, turnServers, whepUrl, whepUrlHasPrivateIp } = compat
  assert.deepEqual(["fast", " FAST ", "Fast", "primary", "", null, undefined, 7].map(modelTypeWire), ["fast", "fast", "fast", undefined, undefined, undefined, undefined, undefined])
  for (const host of ["", "  ", null, undefined, "turn:"]) assert.equal(turnServers(host), null)
  const urls = ["turn:relay.example:80?transport=udp", "turn:relay.example:443?transport=udp", "turn:relay.example:80?transport=tcp", "turns:relay.example:443?transport=tcp"]
  for (const host of ["relay.example", "turn:relay.example/", "https://relay.example/", "turns:relay.example"]) assert.deepEqual(turnServers(host, { username: "u", credential: "c" }), { urls, username: "u", credential: "c" })
  assert.deepEqual(turnServers("relay.example"), { urls })
  const turn = turnServers("relay.example", { username: "u", credential: "c" })
  assert.deepEqual(iceConfig("stv", turn, false), { iceServers: [turn], iceTransportPolicy: "relay", bundlePolicy: "max-bundle" })
  assert.deepEqual([iceConfig("stv", turn, true), iceConfig("asr", null, false)].map(({ iceTransportPolicy, iceServers }) => [iceTransportPolicy, iceServers!.length]), [["all", 1], ["all", 0]])
  assert.deepEqual(buildJoin({ client: "web", room: "r", contextId: "c", threadId: "t", capabilities: { avatar: "on" }, ks: "k", entryId: "e", requestVars: { a: 1 }, userAgent: "UA", isMobile: true }), {
    client: "web", room: "r", channel: "r",
    kaltura: { context_id: "c", threadId: "t", force_experience: "avatar_only", capabilities: { avatar: "on" }, ks: "k", entryId: "e", request_vars: { a: 1 } },
    userAgent: "UA", userAgentHints: null, isMobile: true, channel_password: null, peer_name: "unknown", peer_video: false, peer_audio: true,
  })
  assert.deepEqual(["ks", "entryId", "request_vars"].filter((name) => name in buildJoin({ room: "r" }).kaltura), [])
  assert.equal(whepUrl("https://a.example/w", "https://srs.example", "s"), "https://a.example/w")
  assert.equal(whepUrl(null, "https://srs.example/", "s-81"), "https://srs.example/rtc/v1/whep/?app=app&stream=s-81")
  const hosts = ["localhost", "[::1]", "10.0.0.1", "172.16.0.1", "192.168.1.1", "127.0.0.1", "169.254.0.1", "[fd00::1]", "[fe80::1]", "[::ffff:10.0.0.1]"]
  for (const host of hosts) assert.equal(whepUrlHasPrivateIp(`https://${host}/x`), true, host)
  for (const url of ["https://edge.example/", "https://8.8.8.8/", "https://172.32.0.1/", "https://[2001:db8::1]/", "https://edge/", "https://printer.local/", "https://100.64.0.1/", "no address", undefined]) assert.equal(whepUrlHasPrivateIp(url), false, String(url))
  assert.deepEqual(buildTextEntered("Hi"), { text: "Hi", isFinal: true })
  assert.deepEqual(buildTextEntered("", false, true), { text: "", isFinal: false, isSpeechStart: true })
  assert.deepEqual([buildStvNewSession("r"), buildStvNewSession("r", "all")], [{ room_id: "r" }, { room_id: "r", cast_mode: "all" }])
  assert.deepEqual([{ status: "audio/phone mode - no STV session" }, { status: "ok" }, {}, null].map(isAudioMode), [true, false, false, false])
  assert.match(compat.uuidv4(), /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
  assert.match(compat.randId(), /^[a-z\d]{16}$/)
  assert.match(compat.randId(5), /^[a-z\d]{5}$/)
})

test("capabilities are checked, merged and resolved", () => {
  const { assertCapability, assertCapabilityState, mergeCapabilityWrite, resolveCapabilities, validateCapabilities } = compat
  assert.equal(assertCapability("avatar"), "avatar")
  assert.throws(() => assertCapability("fly"), { code: "unknown_capability" })
  assert.equal(assertCapabilityState("disabled"), "disabled")
  assert.throws(() => assertCapabilityState("maybe"), bad)
  const map = { avatar: "on" }
  assert.equal(validateCapabilities(map), map)
  for (const [value, error] of [[{ fly: "on" }, { code: "unknown_capability" }], [{ avatar: true }, bad], [null, bad], [[], bad]] as const) assert.throws(() => validateCapabilities(value), error)
  const current = { stored_elsewhere: "x", avatar: "off" }
  assert.deepEqual(mergeCapabilityWrite(current, map), { stored_elsewhere: "x", avatar: "on" })
  assert.equal(current.avatar, "off")
  assert.deepEqual(mergeCapabilityWrite(null, map), map)
  assert.throws(() => mergeCapabilityWrite(current, { fly: "on" }), { code: "unknown_capability" })
  const { capabilities, _meta } = resolveCapabilities({
    env: { show_link: "on", avatar: "disabled", external_video: "on" }, partnerConfig: { external_video: "off" }, request: { avatar: "on", external_video: "on" }, partnerId: 5,
  })
  assert.equal(Object.keys(capabilities).length, 15)
  assert.equal(_meta.partnerId, "5")
  assert.deepEqual(capabilities.avatar, { state: "off", resolvedFrom: "disabled_veto", vetoed: true, layers: { env: "disabled", partnerConfig: null, request: "on", default: "off" } })
  const from = (name: keyof typeof capabilities) => [capabilities[name].state, capabilities[name].resolvedFrom]
  assert.deepEqual([from("external_video"), from("show_link"), from("include_sources")], [["on", "request"], ["on", "env"], ["on", "default"]])
  assert.equal(resolveCapabilities({ partnerConfig: { show_link: "on" } }).capabilities.show_link.resolvedFrom, "partner_config")
  assert.equal(capabilities.use_web_search.inferred, true)
  const search = (layers: compat.CapabilityLayers) => resolveCapabilities(layers).capabilities.use_web_search
  assert.deepEqual([search({ webSearchConfigPresent: true }).state, search({ webSearchConfigPresent: true }).resolvedFrom], ["on", "web_search_config"])
  assert.equal(search({ webSearchConfigPresent: false, request: { use_web_search: "on" } }).state, "off")
  assert.equal(search({ env: { use_web_search: "disabled" } }).inferred, undefined)
})

test("addresses of videos", () => {
  const { externalEmbedUrl, playerEmbedUrl, thumbnailUrl } = compat
  // The addresses themselves are those of agentruntime/ui (widgets.test.ts).
  assert.equal(thumbnailUrl("1_x", "99", { width: 480 }), "https://cfvod.kaltura.com/p/99/sp/9900/thumbnail/entry_id/1_x/width/480")
  assert.equal(playerEmbedUrl("0_abc123", 99, { uiConfId: 7 }), "https://www.kaltura.com/index.php/extwidget/preview/partner_id/99/uiconf_id/7/entry_id/0_abc123/embed/iframe")
  for (const id of ["", "0_a/b", null, 7]) assert.deepEqual([thumbnailUrl(id, 99), playerEmbedUrl(id, 99)], ["", ""])
  assert.deepEqual(externalEmbedUrl("https://youtu.be/abcdef12345"), { embedUrl: "https://www.youtube-nocookie.com/embed/abcdef12345", provider: "YouTube" })
  assert.deepEqual(externalEmbedUrl("https://vimeo.com/123"), { embedUrl: "https://player.vimeo.com/video/123", provider: "Vimeo" })
  for (const url of ["https://a.example/v", "javascript:alert(1)", "", null]) assert.deepEqual(externalEmbedUrl(url), { embedUrl: "", provider: "" })
})

test("segments say what they are", () => {
  const { parseToolCall, parseToolResponseName, segmentKind } = compat
  assert.deepEqual([null, undefined, {}, { type: "think" }, { type: "text" }, { type: "avatar" }, { type: "avatar-filler" }, { type: "error" }, { type: "unisphere-tool" }].map(segmentKind), [
    "control", "control", "control", "control", "spoken", "spoken", "spoken", "error", "experience",
  ])
  const raw = 'open_doc {"id":1}{"id":"}{"} {broken'
  assert.deepEqual(parseToolCall({ type: "tool", content: raw }), { name: "open_doc", args: { id: "}{" }, fusedArgs: [{ id: 1 }], raw })
  assert.deepEqual(parseToolCall({ type: "tool", content: "ping" }), { name: "ping", args: {}, raw: "ping" })
  const metadata = (tool_metadata: object) => parseToolCall({ type: "tool", content: "ping", tool_metadata })?.toolMetadata
  assert.deepEqual(metadata({ id: "t", wait_for_response: true, type: "client" }), { id: "t", waitForResponse: true, type: "client" })
  assert.deepEqual(metadata({ id: "t", wait_for_response: "true" }), { id: "t", waitForResponse: false })
  assert.equal(metadata({ id: "", wait_for_response: true }), undefined)
  for (const segment of [null, undefined, { type: "text", content: "open {}" }, { type: "tool", content: { a: 1 } }, { type: "tool", content: ' {"id":1}' }]) assert.equal(parseToolCall(segment), null)
  assert.equal(parseToolResponseName({ type: "tool_response", content: " show_chart responded with size 113" }), "show_chart")
  for (const segment of [null, { type: "tool_response", content: "show_chart respondedly" }, { type: "tool", content: "x responded" }]) assert.equal(parseToolResponseName(segment), null)
})

test("arguments of a call are checked", () => {
  const { validateToolArgs } = compat
  assert.deepEqual(validateToolArgs({ page: "x", extra: 1 }, { page: { type: "str", required: true }, n: { type: "int" } }), { ok: true })
  assert.deepEqual([validateToolArgs({}, undefined), validateToolArgs({}, null), validateToolArgs(null, {})], [{ ok: true }, { ok: true }, { ok: true }])
  const errors = (args: unknown, schema: object) => {
    const check = validateToolArgs(args, schema as never)
    return check.ok ? [] : check.errors
  }
  assert.deepEqual(errors({ page: "x", n: 1.5 }, { page: { type: "str", enum: ["home"] }, n: { type: "int" }, id: { required: true } }), ["page is not one of the allowed values", "n must be of type int", "id is missing"])
  assert.deepEqual(errors({ a: 1, b: 1.5 }, { a: { type: "float" }, b: { type: "float" } }), [])
  assert.deepEqual(errors({ a: "1", b: [], c: {}, d: "true" }, { a: { type: "int" }, b: { type: "dict" }, c: { type: "list" }, d: { type: "bool" } }).length, 4)
  assert.deepEqual(errors(null, { id: { required: true } }), ["id is missing"])
  assert.equal(compat.canonicalJson({ b: [{ d: 1, c: 2 }], a: null }), '{"a":null,"b":[{"c":2,"d":1}]}')
})

test("actions have the reference client's kinds", () => {
  const { classifyAgentAction } = compat
  const call = { name: "open", args: { page: 1 }, raw: 'open {"page":1}' }
  assert.deepEqual(classifyAgentAction({ type: "tool", content: call.raw }), { type: "tool-call", runtime: "open", runtimeName: "open", widgetName: "", payload: call })
  assert.deepEqual(classifyAgentAction({ type: "navigate", content: { url: "/a" } }), { type: "navigate", runtime: "", runtimeName: "", widgetName: "", payload: { url: "/a" } })
  assert.deepEqual([classifyAgentAction({ type: "navigate", payload: 1 })?.payload, classifyAgentAction({ type: "navigate" })?.payload], [1, null])
  assert.deepEqual(classifyAgentAction({ type: "unisphere-tool", content: "x", metadata: { runtimeName: "user-properties-form-tool", widgetName: "w" } }), {
    type: "structured-data-form", runtime: "user-properties-form", runtimeName: "user-properties-form-tool", widgetName: "w", payload: "x",
  })
  const shown = { type: "render-genui", runtime: "flashcards", runtimeName: "flashcards-tool", widgetName: "w", payload: null }
  for (const names of [{ metadata: { runtimeName: "flashcards-tool", widgetName: "w" } }, { runtimeName: "flashcards-tool", widgetName: "w" }, { runtime_name: "flashcards-tool", widget_name: "w" }]) {
    assert.deepEqual(classifyAgentAction({ type: "unisphere-tool", ...names }), shown)
  }
  assert.equal(classifyAgentAction({ type: "followups", content: "x" })?.runtime, "followups")
  for (const segment of [null, undefined, { type: "text", content: "a" }, { type: "tool", content: "" }]) assert.equal(classifyAgentAction(segment), null)
})

test("texts of the service are bounded, and addresses checked", () => {
  const { clampInbound, safeText, safeUrl, sanitizeJson } = compat
  assert.equal(clampInbound("a\0b\tc\nd\re\x1b" + "x".repeat(9000)).length, 8000)
  assert.equal(clampInbound("a\0b\tc\nd\r"), "ab\tc\nd\r")
  const object = { a: 1 }
  assert.deepEqual([clampInbound(object), clampInbound(7), clampInbound(null)], [object, 7, null])
  assert.equal(clampInbound("abc", 2), "ab")
  assert.equal(clampInbound("a😀", 2), "a")
  assert.deepEqual([safeText("x".repeat(3000)).length, safeText("abc", 2), safeText(null), safeText(undefined), safeText(5), safeText("a\x07b")], [2000, "ab", "", "", "5", "ab"])
  for (const url of ["https://a.example/x?y#z", "http://a.example", "mailto:a@b.example", "tel:+49", "/path", "page?x=1", "#top", "?q=a:b"]) assert.equal(safeUrl(url), url)
  for (const url of ["javascript:alert(1)", "JAVA\tSCRIPT:alert(1)", " javascript:x", "data:text/html,x", "ftp://a.example", "//b.example", "\\\\b.example", "/\\b.example", "https://u:p@a.example/", "https://u@a.example/", "", " ", null, 7, {}]) {
    assert.equal(safeUrl(url), "", String(url))
  }
  assert.equal(safeUrl("ftp://a.example/", { allow: ["ftp"] }), "ftp://a.example/")
  assert.equal(safeUrl("ftp://a.example/", { allow: ["ftp:"] }), "ftp://a.example/")
  assert.equal(safeUrl("https://a.example/", { allow: ["ftp"] }), "")
  const from = JSON.parse('{"constructor":1,"__proto__":{"x":1},"a":[{"prototype":2,"b":3}],"password":"stays"}') as object
  assert.deepEqual(sanitizeJson({ ...from, f: () => {}, s: Symbol("s") }), { a: [{ b: 3 }], password: "stays" })
  const deep = JSON.parse(`${"[".repeat(100)}${"]".repeat(100)}`) as unknown
  assert.deepEqual(sanitizeJson(deep), deep)
  inPage(() => {
    const link = compat.renderSafeLink({ url: "https://a.example/", label: "x".repeat(300) })!
    assert.deepEqual([link.tagName, link.href, link.target, link.rel, link.textContent!.length], ["A", "https://a.example/", "_blank", "noopener noreferrer", 200])
    assert.equal(compat.renderSafeLink({ url: "/x", target: "_self" })?.target, "_self")
    assert.equal(compat.renderSafeLink({ url: "/x", target: "other" })?.target, "_blank")
    assert.equal(compat.renderSafeLink({ url: "/x" })?.textContent, "/x")
    assert.equal(compat.renderSafeLink({ url: "javascript:alert(1)", label: "x" }), null)
    assert.equal(compat.renderSafeLink(null), null)
  })
  assert.equal(compat.renderSafeLink({ url: "https://a.example/" }), null)
})

test("secrets are removed from texts and objects", () => {
  const { redact } = compat
  const token = "djJ8NTUwMXxq3-Zr0k_9XbQ7mJtW5vHs8dLwPz2aYc6Ne1FgRiUoTA4=="
  for (const [text, want] of [
    [`token ${token} was refused`, "token <KS> was refused"],
    [`https://x.example/a?ks=${token}&b=1`, "https://x.example/a?ks=<KS>&b=1"],
    ["got Bearer eyJhbGciOi.J9.x_y", "got Bearer <redacted>"],
    ["dial https://alice:s3cret@talk.example/x", "dial https://<redacted>@talk.example/x"],
    ['{"password":"abc","n":1}', '{"password":<redacted>,"n":1}'],
    ["it is 0123456789abcdef0123456789ABCDEF here", "it is <secret> here"],
    ["avatar 65f0c0ffee65f0c0ffee65f0", "avatar 65f0c0ffee65f0c0ffee65f0"],
    ["dial 10.1.2.3:443, 172.31.0.1, 192.168.0.9.", "dial <private-ip>:443, <private-ip>, <private-ip>."],
    ["8.8.8.8 172.32.0.1", "8.8.8.8 172.32.0.1"],
  ] as const) {
    assert.equal(redact(text), want)
    assert.equal(redact(redact(text)), want)
  }
  const from = { ks: token, api_token: "x", token: null, count: 3, adminSecret: "y", deep: [{ note: `has ${token}`, request_vars: { name: "Ann" }, password: "p", credential: "c" }] }
  assert.deepEqual(redact(from), {
    ks: "<redacted>", api_token: "<redacted>", token: null, count: 3, adminSecret: "<redacted>",
    deep: [{ note: "has <KS>", request_vars: "<request_vars-redacted>", password: "<redacted>", credential: "<redacted>" }],
  })
  assert.equal(from.ks, token)
  assert.deepEqual([redact(7), redact(null), redact(undefined)], [7, null, undefined])
})

test("content is read in every form", () => {
  const { parseContent, parseWidget } = compat
  assert.deepEqual([parseContent(null), parseContent(undefined), parseContent(" ")], [{}, {}, {}])
  assert.deepEqual(parseContent({ a: 1 }), { a: 1 })
  assert.deepEqual(parseContent([1, 2]), { items: [1, 2] })
  assert.deepEqual([parseContent('{"a":1}'), parseContent('["a"]'), parseContent('```json\n{"a":1}\n```')], [{ a: 1 }, { items: ["a"] }, { a: 1 }])
  assert.deepEqual(parseContent("kind: bar\nvalues:\n  - 1\n  - 2.5\n"), { kind: "bar", values: [1, 2.5] })
  assert.deepEqual([parseContent("Just words."), parseContent("{broken"), parseContent(7)], [{ raw: "Just words." }, { raw: "{broken" }, { raw: "7" }])
  assert.deepEqual(parseWidget(widget("followups-tool", '["a"]', { speechId: "s" })), { widgetName: "", runtimeName: "followups-tool", runtime: "followups", model: { items: ["a"] } })
  assert.deepEqual([parseWidget({ type: "unisphere-tool", runtimeName: "x-tool", model: { a: 1 } }).model, parseWidget({ type: "sources", data: { a: 2 } }).model], [{ a: 1 }, { a: 2 }])
  assert.equal(parseWidget({ type: "sources", data: {} }).runtime, "sources")
})

test("an assembler takes widgets in pieces, and reports what was cut off", () => {
  const done: unknown[] = []
  const malformed: unknown[] = []
  const assembler = new compat.SegmentAssembler({ onWidget: (each) => done.push(each), onMalformed: (what) => malformed.push(what) })
  assert.deepEqual([assembler.pending, assembler.flush(), assembler.onTurnEnd("s")], [false, false, false])
  assert.equal(assembler.ingest(widget("followups-tool", '["a', { speechId: "s" })), true)
  assert.equal(assembler.pending, true)
  assert.equal(assembler.ingest({ type: "text", content: "aside" }), false)
  assert.equal(assembler.ingest(widget(undefined, '"]')), true)
  assert.deepEqual([assembler.onTurnEnd("another"), assembler.onTurnEnd("s"), assembler.pending], [false, true, false])
  assert.deepEqual(done.splice(0), [{ widgetName: "", runtimeName: "followups-tool", runtime: "followups", model: { items: ["a"] }, speechId: "s" }])
  assembler.ingest(widget("sources-tool", '{"sources":['))
  assembler.ingest(widget("summary-tool", "All fine."))
  const [{ message, ...rest }] = malformed as [{ message: string }]
  assert.deepEqual(rest, { runtime: "sources", runtimeName: "sources-tool", speechId: null, reason: "boundary" })
  assert.match(message, /sources-tool/)
  assert.equal(assembler.flush(), true)
  assert.deepEqual(done.splice(0).map((each) => (each as { model: unknown }).model), [{ raw: "All fine." }])
  assembler.ingest(widget("followups-tool", '["a"]'))
  assembler.reset()
  assert.deepEqual([assembler.flush(), done], [false, []])
  // A widget of another utterance ends the one before; an object replaces what came.
  assembler.ingest(widget("followups-tool", { questions: ["a"] }, { speechId: "1" }))
  assembler.ingest(widget("followups-tool", { questions: ["b"] }, { speechId: "2" }))
  assembler.ingest(widget("followups-tool", { questions: ["c"] }, { speechId: "2" }))
  assembler.onTurnEnd()
  assert.deepEqual(done.map((each) => (each as { model: unknown }).model), [{ questions: ["a"] }, { questions: ["c"] }])
  assert.deepEqual([assembler.ingest(null), assembler.ingest(widget(undefined, "x"))], [false, false])
  new compat.SegmentAssembler({}).ingest(widget("summary-tool", "x"))
})

/** What a renderer makes of a content. */
const rendered = (runtime: string, content: unknown, options: object = {}) => {
  const session = new compat.Emitter<{ error: unknown }>()
  return new compat.ExperienceRenderer({ session, mount: () => {}, ...options }).render(runtime, content)
}

test("renderers make the data of every widget", () => {
  const data = (runtime: string, content: unknown, options?: object) => rendered(runtime, content, options).data as unknown
  assert.deepEqual(rendered("flashcards-tool", { title: "T", cards: [{ question: "q", answer: "a" }, { term: "t", definition: "d", label: "l" }, 7] }), {
    kind: "flashcards", runtime: "flashcards", runtimeName: "flashcards-tool", _meta: { known: true, firstClass: true },
    data: { title: "T", cards: [{ front: "q", back: "a", label: "" }, { front: "t", back: "d", label: "l" }] },
  })
  assert.deepEqual(data("followups", '["a",{"text":"b"},{"question":"c"},"",null]'), { questions: ["a", "b", "c"] })
  assert.deepEqual(data("sources", { citations: [{ name: "n", link: "https://a.example/", text: "s", relevance: 0.5 }, { title: "t", url: "javascript:x" }] }), {
    sources: [{ title: "n", url: "https://a.example/", snippet: "s", score: 0.5 }, { title: "t", url: "", snippet: "" }],
  })
  assert.deepEqual(data("summary", { summary: { title: "T", text: "x", points: ["a", { text: "b" }] } }), { title: "T", summary: "x", bullets: ["a", "b"] })
  assert.deepEqual(data("summary", "Plain words."), { title: "", summary: "Plain words.", bullets: [] })
  assert.deepEqual(data("video-gallery", { entries: [{ entry_id: "0_a", name: "V", length: 60 }] }, { partnerId: 99, uiConfId: 7 }), {
    title: "",
    videos: [{
      entryId: "0_a", title: "V", thumbnailUrl: "https://cfvod.kaltura.com/p/99/sp/9900/thumbnail/entry_id/0_a/width/480", url: "",
      embedUrl: "https://www.kaltura.com/index.php/extwidget/preview/partner_id/99/uiconf_id/7/entry_id/0_a/embed/iframe", duration: 60, description: "", alt: "V",
    }],
  })
  assert.deepEqual(data("show-link", { linkUrl: "https://a.example/", linkText: "A" }), { url: "https://a.example/", label: "A", description: "", safe: true })
  assert.deepEqual(data("show-link", { url: "javascript:x", label: "A" }), { url: "", label: "A", description: "", safe: false })
  assert.deepEqual(data("external-video", { videoUrl: "https://vimeo.com/123", title: "V", poster: "javascript:x" }), {
    url: "https://vimeo.com/123", embedUrl: "https://player.vimeo.com/video/123", title: "V", provider: "Vimeo", poster: "", description: "", safe: true,
  })
  assert.deepEqual(data("user-properties-form", { fields: [{ name: "age", type: "int", prompt: "Age", known_value: 3, required: true, help: "h" }, { key: "x", type: "odd" }] }), {
    title: "",
    fields: [{ key: "age", type: "int", label: "Age", knownValue: 3, required: true, description: "h" }, { key: "x", type: "str", label: "x", knownValue: null, required: false, description: "" }],
  })
  assert.deepEqual(data("content-gallery", { slides: [{ slideId: "1", heading: "H", body: "B", image: "/i.png", href: "https://a.example/" }] }), {
    title: "", items: [{ id: "1", title: "H", description: "B", imageUrl: "/i.png", url: "https://a.example/", alt: "H" }],
  })
})

test("a renderer takes renderers, policies and unknown widgets", () => {
  const session = new compat.Emitter<{ error: unknown }>()
  const unhandled: object[] = []
  const mounted: compat.Descriptor[] = []
  const renderer = new compat.ExperienceRenderer({ session, mount: (descriptor) => mounted.push(descriptor), onUnhandled: (what) => unhandled.push(what), maxRendered: 2, urlPolicy: { allow: ["http"] } })
  assert.deepEqual([renderer.rendered, renderer.last, renderer.has("sources-tool"), renderer.has("chart")], [[], null, true, false])
  assert.deepEqual(renderer.runtimes, [...compat.RUNTIMES].sort())
  const unknown = renderer.render(widget("chart-tool", { a: 1 }))
  assert.deepEqual([unknown.kind, unknown._meta, unhandled.length], ["unknown", { known: false, firstClass: false }, 1])
  assert.equal(renderer.register("chart-tool", () => { throw new Error("no chart") }), renderer)
  const failed = renderer.render("chart", { a: 1 })
  assert.deepEqual([failed.kind, failed.data, failed._meta], ["error", { message: "no chart" }, { known: true, firstClass: false }])
  let context: compat.RenderContext | undefined
  renderer.register("chart", (model, given) => ((context = given), { kind: "bars", data: model }))
  assert.equal(renderer.render("chart", { a: 1 }).kind, "bars")
  assert.deepEqual([context!.runtime, context!.urlPolicy("https://a.example/"), context!.urlPolicy("http://a.example/")], ["chart", "", "http://a.example/"])
  assert.deepEqual([renderer.rendered.length, renderer.last?.kind, mounted.length], [2, "bars", 3])
  for (const [name, fn] of [["", () => ({})], [" ", () => ({})], ["x", undefined]] as const) assert.throws(() => renderer.register(name, fn as never), bad)
  for (const mount of [7, "#x", {}, undefined]) assert.throws(() => new compat.ExperienceRenderer({ session, mount: mount as never }), bad)
  assert.throws(() => new compat.ExperienceRenderer({ mount: () => {} } as never), bad)
})

test("a renderer draws the widgets of a session between start and stop", () => {
  inPage((target) => {
    const session = new compat.Emitter<{ brainSegment: object; turnStart: { isNewTurn: boolean }; turnEnd: { speechId: string }; avatarStopTalking: { text: string }; interrupted: object; error: unknown }>()
    const renderer = new compat.ExperienceRenderer({ session, mount: target })
    const say = (text: string) => session.emit("brainSegment", widget("summary-tool", { summary: text }, { speechId: "s" }))
    say("early")
    session.emit("turnEnd", { speechId: "s" })
    assert.equal(renderer.start(), renderer)
    say("one")
    session.emit("turnEnd", { speechId: "s" })
    say("two")
    session.emit("avatarStopTalking", { text: "" })
    say("three")
    session.emit("interrupted", {})
    session.emit("turnEnd", { speechId: "s" })
    assert.deepEqual(renderer.rendered.map(({ data }) => (data as { summary: string }).summary), ["one", "two"])
    assert.deepEqual([target.children.length, target.firstElementChild!.className], [2, "kgenui kgenui--summary"])
    session.emit("turnStart", { isNewTurn: false })
    assert.equal(renderer.rendered.length, 2)
    say("dropped")
    session.emit("turnStart", { isNewTurn: true })
    session.emit("turnEnd", { speechId: "s" })
    assert.deepEqual([renderer.rendered, renderer.last, target.children.length], [[], null, 2])
    renderer.stop()
    say("late")
    session.emit("turnEnd", { speechId: "s" })
    assert.equal(renderer.last, null)
  })
})

test("every widget is drawn, and reports what the visitor does", (t) => {
  assert.equal(compat.mountWidget(rendered("summary", "x"), null), null) // no DOM
  inPage((target, window) => {
    const actions: unknown[] = []
    const mount = (runtime: string, content: unknown, options: compat.MountOptions = {}) =>
      compat.mountWidget(rendered(runtime, content, { partnerId: 99 }), target, { replace: true, onAction: (type, payload) => void actions.push([type, payload]), ...options })
    const click = (selector: string) => target.querySelector(selector)!.dispatchEvent(new window.Event("click", { bubbles: true, cancelable: true }))
    let at: unknown
    const root = mount("flashcards", { title: "T", cards: [{ front: "f", back: "b" }] }, { onMount: (element, { kind }) => (at = [element, kind]) })!
    assert.deepEqual([root.tagName, root.className, root.getAttribute("role"), root.parentElement], ["SECTION", "kgenui kgenui--flashcards", "group", target])
    assert.deepEqual(at, [root, "flashcards"])
    const back = root.querySelector<HTMLElement>(".kgenui__back")!
    assert.equal(back.hidden, true)
    click(".kgenui__flip")
    assert.equal(back.hidden, false)
    mount("followups", ["<b>a</b>"])
    click(".kgenui__question")
    mount("show-link", { url: "https://a.example/", label: "A" })
    click("a")
    mount("video-gallery", { videos: [{ id: "0_a", title: "V" }] })
    click(".kgenui__play")
    const player = target.querySelector("iframe")!
    assert.ok(player.src.startsWith("https://www.kaltura.com/") && player.getAttribute("sandbox")!.includes("allow-scripts"))
    mount("external-video", { url: "https://vimeo.com/123" })
    assert.equal(target.querySelector("iframe")!.src, "https://player.vimeo.com/video/123")
    mount("external-video", { url: "https://evil.example/123" })
    assert.equal(target.querySelector("iframe"), null)
    mount("user-properties-form", { fields: [{ key: "__proto__", type: "str", knownValue: "x" }, { key: "ok", type: "bool", knownValue: true }, { key: "n", type: "int", knownValue: 3 }] })
    target.querySelector("form")!.dispatchEvent(new window.Event("submit", { cancelable: true }))
    const embedUrl = "https://www.kaltura.com/index.php/extwidget/preview/partner_id/99/entry_id/0_a/embed/iframe"
    const submitted = (actions.pop() as [string, { values: Record<string, unknown> }])[1].values
    assert.deepEqual([Object.entries(submitted), Object.getPrototypeOf(submitted)], [[["__proto__", "x"], ["ok", true], ["n", "3"]], Object.prototype])
    assert.deepEqual(actions, [["followup", { question: "<b>a</b>" }], ["open", { url: "https://a.example/" }], ["play", { entryId: "0_a", url: "", embedUrl }]])
    for (const [runtime, content] of [["sources", { sources: [{ title: "S", url: "https://a.example/" }] }], ["summary", { summary: "x" }], ["content-gallery", { items: [{ title: "I" }] }], ["chart", { a: 1 }]] as const) {
      assert.equal(mount(runtime, content)?.className.startsWith("kgenui kgenui--"), true, runtime)
    }
    assert.equal(target.children.length, 1)
    assert.equal(mount("chart", { a: "<img src=x>" })?.querySelector("img"), null)
    assert.equal(mount("summary", { summary: "**x**" }, { markdown: true })?.querySelector("strong")?.textContent, "x")
    assert.equal(mount("summary", { summary: "**x**" })?.querySelector("strong"), null)
    // In a browser a field hides the form's own property of that name.
    const { appendChild } = window.Node.prototype
    t.mock.method(window.HTMLFormElement.prototype, "appendChild", function (this: HTMLFormElement, child: Node) {
      for (const input of (child as Element).querySelectorAll("[name]")) Object.defineProperty(this, input.getAttribute("name")!, { value: input })
      return appendChild.call(this, child)
    })
    mount("user-properties-form", { fields: [{ key: "appendChild", type: "str" }, { key: "addEventListener", type: "str", knownValue: "y" }] })
    target.querySelector("form")!.dispatchEvent(new window.Event("submit", { cancelable: true }))
    assert.deepEqual(actions.at(-1), ["submit", { values: { appendChild: "", addEventListener: "y" } }])
    for (const empty of ["flashcards", "followups", "sources", "summary", "video-gallery", "show-link", "external-video", "user-properties-form", "content-gallery"]) assert.equal(mount(empty, {}), null, empty)
  })
})

test("a tracker times words, and drops utterances that are over", () => {
  const { apportion, TranscriptTracker } = compat
  assert.deepEqual(apportion("Two more things", 900, 100), [{ word: "Two", startMs: 100 }, { word: "more", startMs: 400 }, { word: "things", startMs: 700 }])
  assert.deepEqual([apportion("  ", 100, 0), apportion("", 100, 0)], [[], []])
  const tracker = new TranscriptTracker()
  assert.deepEqual([tracker.latestSpeechId, tracker.isCurrent(""), tracker.isCurrent(null), tracker.isCurrent("s-1")], [null, true, true, false])
  tracker.beginUtterance("s-1")
  const chunk = (text: string, durationMs: number, speechId: string) => tracker.ingestChunk({ text, durationMs, speechId })
  assert.deepEqual(chunk("Two things", 800, "s-1"), { text: "Two things", type: "partial", speechId: "s-1", words: [{ word: "Two", startMs: 0 }, { word: "things", startMs: 400 }] })
  assert.deepEqual(chunk("changed.", 400, "s-1")?.words, [{ word: "changed.", startMs: 800 }])
  assert.deepEqual([chunk("", 100, "s-1"), chunk("x", 1, "s-1"), chunk("late", 100, "s-0")], [null, null, null])
  tracker.finishUtterance()
  assert.deepEqual(chunk("again", 100, "s-1")?.words, [{ word: "again", startMs: 0 }])
})

interface Speech {
  speechChunk: compat.ChunkLike
  transcript: { type: string; text: string; speechId?: string | null }
  avatarStartTalking: object
  avatarStopTalking: { text: string }
  interrupted: object
  userStartedTalking: object
  error: unknown
  reconnecting: { cold?: boolean }
  reconnected: { recovered: boolean }
  ended: object
}

/** Lets so many milliseconds pass. In one step, timers would all see the time at its end. */
function pass(ms: number): void {
  for (; ms > 0; ms--) mock.timers.tick(1)
}

/** Captions of a session, whose time is in the test's hands. */
function captioned(options: compat.CaptionOptions = {}) {
  mock.timers.enable({ apis: ["setTimeout", "Date"] })
  const session = new compat.Emitter<Speech>()
  const captions = new compat.CaptionService(session, options)
  const shown: string[] = []
  captions.onCaption(() => { throw new Error("a listener of the page") })
  captions.onCaption(({ text, clear }) => shown.push(clear ? "-" : text))
  const end = () => {
    captions.destroy()
    mock.timers.reset()
  }
  return { session, captions, shown, end }
}

test("captions come from chunks alone", () => {
  const { session, shown, end } = captioned()
  try {
    session.emit("speechChunk", { text: "Hello there", durationMs: 500, speechId: "s" })
    session.emit("speechChunk", { text: "my friend.", durationMs: 500, speechId: "s" })
    session.emit("speechChunk", { text: "", durationMs: 1, speechId: "s" })
    assert.deepEqual(shown, ["Hello there"])
    pass(500)
    assert.deepEqual(shown, ["Hello there", "my friend."])
    session.emit("avatarStopTalking", { text: "Hello there my friend." })
    session.emit("speechChunk", { text: "late", durationMs: 500, speechId: "s" })
    pass(1999)
    assert.equal(shown.length, 2)
    pass(1)
    assert.deepEqual(shown.splice(0), ["Hello there", "my friend.", "-"])
    // What the service has timed is shown to its end.
    for (const text of ["One", "two"]) session.emit("speechChunk", { text, durationMs: 500, speechId: "t" })
    session.emit("avatarStopTalking", { text: "One two" })
    pass(2999)
    assert.deepEqual(shown, ["One", "two"])
    pass(1)
    assert.deepEqual(shown, ["One", "two", "-"])
  } finally {
    end()
  }
})

test("captions end with the session that the agent spoke in", () => {
  const ends: [keyof Speech, object][] = [["reconnecting", { cold: true }], ["reconnected", { recovered: false }], ["ended", { reason: "reconnect_failed" }]]
  for (const [name, payload] of ends) {
    const { session, shown, end } = captioned()
    try {
      session.emit("avatarStartTalking", undefined as never)
      for (const text of ["Hello", "there"]) session.emit("speechChunk", { text, durationMs: 500, speechId: "s" })
      session.emit("reconnecting", {})
      assert.deepEqual(shown, ["Hello"], "the service may still have the session")
      session.emit(name, payload as never)
      assert.deepEqual(shown.splice(0), ["Hello", "-"], name)
      session.emit("speechChunk", { text: "Welcome back.", durationMs: 500, speechId: "u" })
      pass(2500)
      assert.deepEqual(shown, ["Welcome back.", "-"], `${name}: the agent still talks`)
    } finally {
      end()
    }
  }
})

test("captions without chunks follow an estimate, and interruptions clear them at once", () => {
  for (const cut of ["interrupted", "userStartedTalking"] as const) {
    const { session, shown, end } = captioned()
    try {
      session.emit("transcript", { type: "partial", text: "no", speechId: "s" })
      session.emit("transcript", { type: "final", text: "First sentence.", speechId: "s" })
      session.emit("transcript", { type: "final", text: "Second one.", speechId: "s" })
      assert.deepEqual(shown, [])
      session.emit("avatarStartTalking", {})
      assert.deepEqual(shown, ["First sentence."])
      pass(1400) // 15 characters at 11 a second, in steps of 200 ms
      assert.deepEqual(shown, ["First sentence.", "Second one."])
      session.emit(cut, {})
      assert.deepEqual(shown, ["First sentence.", "Second one.", "-"])
      pass(10_000)
      assert.equal(shown.length, 3)
    } finally {
      end()
    }
  }
})

test("captions are split, replaced and filtered", () => {
  const { session, captions, shown, end } = captioned({
    replacements: new Map([["AI", "artificial intelligence"], ["AI agent", "assistant"]]), filter: (text) => (text.includes("odd") ? 7 : text.toUpperCase()), maxCharsPerLine: 10, maxLines: 2,
  })
  try {
    const say = (text: string) => {
      shown.length = 0
      session.emit("speechChunk", { text, durationMs: 300 })
      pass(1000)
      return [...shown]
    }
    assert.deepEqual(say("An ai agent <b>said</b> it ."), ["AN ASSISTANT SAID", "IT."])
    assert.deepEqual(say("odd said"), ["odd said"])
    captions.setReplacements({ "said": "told" })
    assert.deepEqual(say("unsaid said"), ["UNSAID TOLD"])
    captions.setReplacements(null)
    assert.deepEqual(say("One. Two three four five"), ["ONE.", "TWO THREE FOUR FIVE"])
    assert.deepEqual(say("one, two three four five"), ["ONE,", "TWO THREE FOUR FIVE"])
    assert.deepEqual(say("x".repeat(45)), ["X".repeat(20), "X".repeat(20), "X".repeat(5)])
    assert.equal(captions.destroy(), undefined)
    assert.deepEqual(say("nothing"), [])
  } finally {
    end()
  }
})

test("an emitter's methods return what they do there", () => {
  const emitter = new compat.Emitter<{ a: number; error: unknown }>()
  const seen: number[] = []
  const off = emitter.on("a", (n) => seen.push(n))
  emitter.once("a", (n) => seen.push(n * 10))
  assert.deepEqual([emitter.emit("a", 1), emitter.emit("a", 2)], [undefined, undefined])
  off()
  emitter.emit("a", 3)
  assert.deepEqual(seen, [1, 10, 2])
  assert.deepEqual([emitter.off("a", () => {}), emitter.removeAllListeners()], [undefined, undefined])
})

test("parseConverseStream reads a reply, its body and its text", async () => {
  const line = '{"type":"text","content":"a"}'
  const all = async (source: compat.ConverseSource) => {
    const list: unknown[] = []
    for await (const { type, content } of compat.parseConverseStream(source)) list.push([type, content])
    return list
  }
  const want = [["text", "a"]]
  async function* cut(text: string): AsyncGenerator<Uint8Array> {
    const bytes = new TextEncoder().encode(text)
    for (let at = 0; at < bytes.length; at += 7) yield bytes.subarray(at, at + 7)
  }
  assert.deepEqual(await all(line), want)
  assert.deepEqual(await all(new Response(line)), want)
  assert.deepEqual(await all(new Response(line).body!), want)
  assert.deepEqual(await all({ ok: true, status: 200, body: new Response(line).body } as Response), want) // of a test's own fetch
  assert.deepEqual(await all(cut(`<html>\n${line}\nno JSON\n7\n`)), want)
  assert.deepEqual(await all(new Response(line.replace(",", ",\n"), { headers: { "content-type": "application/json" } })), want)
  assert.deepEqual(await all(`event: x\ndata: ${line}\n\ndata: [DONE]\n`), want)
  await assert.rejects(all(new Response(line, { status: 503 })), { code: "invalid_response", status: 503 })
  let cancelled = false
  const body = new ReadableStream<Uint8Array>({ pull: (to) => to.enqueue(new TextEncoder().encode(`${line}\n`)), cancel: () => void (cancelled = true) })
  for await (const { type } of compat.parseConverseStream(body)) if (type === "text") break
  assert.ok(cancelled)
})

test("collectConverse gathers an answer, and ends at its limits", async () => {
  const lines = [
    { type: "think", content: "…", threadId: "t-1", messageId: "m-1" }, { type: "avatar", content: " Hello " }, { type: "text", content: "there. " },
    widget("followups-tool", '["a"]'), widget("followups-tool", '["b"]', { speechId: "2" }), { type: "tool", content: 'open {"page":1}' }, { type: "tool", content: 'open {"page":1}' }, { type: "error", content: "x" },
  ]
  const turn = await compat.collectConverse(lines.map((line) => JSON.stringify(line)).join("\n"))
  assert.deepEqual([turn.text, turn.threadId, turn.messageId, turn.segments.length, turn.spiralStopped, turn.truncated], ["Hello there.", "t-1", "m-1", 8, false, false])
  assert.deepEqual(turn.kindCounts, { spoken: 2, control: 3, experience: 2, error: 1 })
  assert.deepEqual(turn.experiences, { "followups-tool": turn.experiencesList })
  assert.deepEqual(turn.experiencesList.map(({ model }) => model), [{ items: ["a"] }, { items: ["b"] }])
  assert.deepEqual(turn.toolCalls, [{ name: "open", args: { page: 1 }, raw: 'open {"page":1}' }])
  const calls = Array.from({ length: 20 }, (_, page) => `{"type":"tool","content":"open {\\"page\\":${page}}"}`).join("\n")
  const spiral = await compat.collectConverse(calls)
  assert.deepEqual([spiral.spiralStopped, spiral.segments.length, spiral.toolCalls.length], [true, 8, 3])
  const long = await compat.collectConverse('{"type":"text","content":"a"}\n'.repeat(5), { maxSegments: 3 })
  assert.deepEqual([long.truncated, long.text], [true, "aaa"])
  const checked = await compat.collectConverse(calls, { maxToolCalls: 21, maxPerTool: 20, toolArgSchemas: { open: { page: { type: "int", enum: [1, 2] } } } })
  assert.deepEqual([checked.toolCalls.length, checked.toolCallsInvalid.length, checked.toolCallsInvalid[0]!.errors.length], [2, 18, 1])
  assert.equal((await compat.collectConverse('{"type":"tool","content":"__proto__ {}"}', { toolArgSchemas: {} })).toolCalls.length, 1)
})

const options = { token: "secret" }

test("handlers of tools get the arguments and the call", async () => {
  const program = await new FakeProgram().load()
  const call = { name: "open", args: { page: 1 }, raw: 'open {"page":1}', toolMetadata: { id: "t", waitForResponse: true, type: "client" } }
  for (const Class of [compat.KalturaAvatarSession, compat.KalturaChatSession, compat.KalturaAgentSession]) {
    const session = new Class(options)
    const seen: unknown[] = []
    session.on("toolCall", (given) => seen.push(given))
    await made(session as never)
    program.calls.length = 0
    const remove = session.onToolCall("open", (args, given) => void seen.push(args, given), { page: { type: "int" } })
    const [, , name, handler, schema] = program.calls.find(([name]) => name === "addToolHandler") as [string, number, string, (call: unknown) => unknown, unknown]
    assert.deepEqual([name, schema], ["open", { page: { type: "int" } }])
    handler(call)
    program.dispatch("toolCall", { ...call, toolMetadata: { waitForResponse: false } })
    assert.deepEqual(seen, [{ page: 1 }, call, { name: "open", args: { page: 1 }, raw: 'open {"page":1}' }])
    remove()
    assert.throws(() => session.onToolCall(" ", () => {}), bad)
    assert.throws(() => session.onToolCall("open", undefined as never), bad)
    await session.dispose()
  }
})

test("results of handlers, refused calls and denied actions have the reference client's form", async () => {
  const program = await new FakeProgram().load()
  const session = new compat.KalturaAvatarSession(options)
  const seen: unknown[] = []
  for (const event of ["toolCallResult", "toolCallInvalid", "agentActionDenied"] as const) session.on(event, (payload) => seen.push(payload))
  await made(session as never)
  const call = { name: "open", args: {}, raw: "open", toolMetadata: { waitForResponse: false } }
  const given = { name: "open", args: {}, raw: "open" }
  program.dispatch("toolCallResult", { call, ok: true, value: 1 })
  program.dispatch("toolCallInvalid", { call, errors: ["x"] })
  program.dispatch("agentActionDenied", { type: "toolCall", reason: "no", toolName: "open" })
  program.dispatch("agentActionDenied", { type: "genui", reason: "no" })
  assert.deepEqual(seen, [{ call: given, ok: true, value: 1 }, { call: given, errors: ["x"] }, { type: "tool-call", reason: "no" }, { type: "render-genui", reason: "no" }])
  await session.dispose()
})

test("a veto that was written for the reference client vetoes", async () => {
  const program = await new FakeProgram().load()
  const tool = (name: string) => ({ type: "toolCall", toolName: name, payload: {}, call: { name, args: {}, raw: name, toolMetadata: { waitForResponse: false } }, source: "agent" })
  const shown = (runtime: string, type = "genui") => ({ type, runtime, runtimeName: `${runtime}-tool`, widgetName: "w", payload: "x", source: "agent" })
  const seen: unknown[] = []
  const session = new compat.KalturaAvatarSession({ ...options, agentActions: { toolCall: ["open"] }, onAgentAction: (action) => (seen.push(action), action.type !== "structured-data-form") })
  await made(session as never)
  assert.equal(program.options["agentActions"], undefined)
  const decide = program.options["onAgentAction"] as (action: object) => Promise<unknown>
  await assert.rejects(decide(tool("close")), /the tool close is not on the list/)
  assert.deepEqual(seen, [])
  assert.equal(await decide(tool("open")), true)
  assert.equal(await decide(shown("user-properties-form", "structuredDataForm")), false)
  assert.equal(await decide(shown("flashcards")), true)
  assert.deepEqual(seen, [
    { type: "tool-call", runtime: "open", runtimeName: "open", widgetName: "", payload: { name: "open", args: {}, raw: "open" }, source: "agent" },
    { type: "structured-data-form", runtime: "user-properties-form", runtimeName: "user-properties-form-tool", widgetName: "w", payload: "x", source: "agent" },
    { type: "render-genui", runtime: "flashcards", runtimeName: "flashcards-tool", widgetName: "w", payload: "x", source: "agent" },
  ])
  const refused = async (policy: compat.CompatPolicy, action: object) => {
    session.setActionPolicy(policy)
    return decide(action).then(() => false, () => true)
  }
  assert.equal(await refused({ genui: false }, shown("flashcards")), true)
  assert.equal(await refused({ "render-genui": false }, shown("flashcards")), true)
  assert.equal(await refused({ structuredDataForm: false }, shown("user-properties-form", "structuredDataForm")), true)
  assert.equal(await refused({ "structured-data-form": "off" }, shown("user-properties-form", "structuredDataForm")), true)
  assert.equal(await refused({ "tool-call": false }, tool("open")), true)
  for (const policy of [{ navigate: "off" }, { genui: false }] as const) assert.equal(await refused(policy, shown("show-link", "navigate")), true, "a link")
  const there = { type: "navigate", payload: { url: "/a" }, source: "agent" }
  assert.equal(await refused({ navigate: "off" }, there), true)
  assert.equal(await refused({ genui: false }, there), false)
  assert.deepEqual(seen.at(-1), { type: "navigate", runtime: "", runtimeName: "", widgetName: "", payload: { url: "/a" }, source: "agent" })
  assert.equal(await refused({ navigate: "off" }, shown("flashcards")), false)
  session.setActionPolicy(null)
  assert.equal(await decide(tool("close")), true)
  for (const policy of [{ navigte: "off" }, { genui: "no" }, { navigate: ["x"] }, 7]) assert.throws(() => session.setActionPolicy(policy as never), bad)
  assert.throws(() => new compat.KalturaAvatarSession({ ...options, agentActions: { tools: [] } as never }), bad)
  await session.dispose()
})

test("an agent session's transports are those of the reference client too, and share its veto", async () => {
  const program = await new FakeProgram().load()
  const session = new compat.KalturaAgentSession({ ...options, mode: "chat", avatar: { agentActions: { genui: false } } })
  assert.ok(session.transport instanceof compat.KalturaChatSession)
  await made(session as never)
  const { onAgentAction, agentActions } = program.options["avatar"] as Record<string, (action: object) => Promise<unknown>>
  assert.equal(agentActions, undefined)
  await assert.rejects(onAgentAction!({ type: "genui", runtime: "flashcards", source: "agent" }), /render-genui is switched off/)
  await session.dispose()
})

test("options that have no effect are ignored, with one line of the log", () => {
  const others = { socketFactory: () => {}, rtcConstructor: class {}, fetch, now: Date.now, anOptionOfALaterVersion: 1 }
  const lines: unknown[][] = []
  const logger = (...line: unknown[]) => void lines.push(line)
  for (const make of [
    () => new compat.KalturaAvatarSession({ ...options, ...others, logger }),
    () => new compat.KalturaChatSession({ ...options, ...others, logger }),
    () => new compat.KalturaAgentSession({ ...options, ...others, logger, avatar: others, chat: others }),
  ]) {
    void make().dispose()
    const names = ["socketFactory", "rtcConstructor", "fetch", "now", "anOptionOfALaterVersion"]
    assert.deepEqual(lines.splice(0), [["info", `these options have no effect and can be removed: ${names.join(", ")}`, { options: names }]])
  }
  assert.throws(() => new compat.KalturaAvatarSession(undefined as never), bad)
  assert.throws(() => new compat.KalturaAvatarSession({ token: "" }), bad)
  assert.throws(() => new compat.KalturaAvatarSession({ ...options, micStartMode: "later" as never }), bad)
})

test("the reply of appInit is enough for a session", (t) => {
  const lines: unknown[] = []
  t.mock.method(console, "info", (line: unknown) => lines.push(line))
  const init: AppInitResult = {
    ks: "t", partnerId: "4711", conversationManagerUrl: "https://talk.example", srsBaseUrl: "https://srs.example", turnServerUrl: "turn.example",
    genieUrl: "https://genie.example", avatars: [], widgetConfig: {},
  }
  for (const make of [() => new compat.KalturaAvatarSession(init), () => new compat.KalturaChatSession(init), () => new compat.KalturaAgentSession(init)]) void make().dispose()
  assert.deepEqual(lines, [])
})

test("nothing else imports agentruntime/compat", () => {
  const sources = new URL("../../src/", import.meta.url) // seen from the bundled test
  const files = readdirSync(sources, { recursive: true, encoding: "utf8" }).map((name) => name.replaceAll("\\", "/")).filter((name) => name.endsWith(".ts"))
  const importing = files.filter((name) => !/^(compat|management)(\.ts|\/)/.test(name) /* the server's entry is no part of a page */ && /["'][./]*\/compat(\.js|\/)/.test(readFileSync(new URL(name, sources), "utf8")))
  assert.deepEqual(importing, [])
  assert.ok(files.includes("compat/sessions.ts"))
})
