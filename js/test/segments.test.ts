import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { test } from "node:test"
import type { Segment, ToolCall, Widget } from "../src/generated/events.js"
import { parseContent, widgetOf } from "../src/segments/content.js"
import { WIDGET_RUNTIMES } from "../src/ui/widgets.js"
import { parseOAuthRequired, parseToolCall, validateToolArgs } from "../src/segments/tools.js"

// What the Go runtime reads of segments (runtime/converse) is read here too.
const fixtures = new URL("../../../runtime/converse/testdata/", import.meta.url) // seen from the bundled test
const names = readdirSync(fixtures).filter((name) => name.endsWith(".turn.json"))

interface Turn {
  segments: Segment[]
  toolCalls: object[] | null
  widgets: Widget[] | null
  oauthRequired: object[] | null
}

/** A call in the form of runtime/converse. */
const plain = ({ name, args, raw, fusedArgs, toolMetadata: { id, type, waitForResponse } }: ToolCall): object =>
  JSON.parse(JSON.stringify({ name, args, fusedArgs, id, type, waitForResponse, raw })) as object

assert.ok(names.length >= 7)
test("tools and consents are read as the Go runtime reads them", () => {
  let calls = 0
  for (const name of names) {
    const { segments, toolCalls, oauthRequired } = JSON.parse(String(readFileSync(new URL(name, fixtures)))) as Turn
    const read = segments.filter(({ type }) => type === "tool").flatMap((segment) => parseToolCall(segment) ?? []).map(plain)
    for (const call of toolCalls ?? []) assert.ok(read.some((each) => JSON.stringify(each) === JSON.stringify(call)), `${name}: ${JSON.stringify(call)} is not among ${JSON.stringify(read)}`)
    calls += toolCalls?.length ?? 0
    const consents = segments.flatMap((segment) => parseOAuthRequired(segment) ?? [])
    for (const consent of oauthRequired ?? []) assert.deepEqual(consents.find(({ authUrl }) => authUrl === (consent as { authUrl: string }).authUrl), consent, name)
  }
  assert.ok(calls > 0, `${calls} calls were compared`)
})

test("pages know the widgets that the Go runtime knows", () => {
  const declared = String(readFileSync(new URL("../widget.go", fixtures))).matchAll(/^\tRuntime\w+ += "(.+)"$/gm)
  assert.deepEqual([...WIDGET_RUNTIMES], Array.from(declared, ([, name]) => name), "WIDGET_RUNTIMES of js/src/ui/widgets.ts, and the names in runtime/converse/widget.go")
})

test("widgets are read as the Go runtime reads them", () => {
  const compared = new Set<string>()
  for (const name of names) {
    const { segments, widgets: listed } = JSON.parse(String(readFileSync(new URL(name, fixtures)))) as Turn
    const widgets = listed ?? []
    for (const widget of widgets) {
      // Pieces of one runtime and utterance; a text is appended, an object replaces.
      const pieces: unknown[] = []
      let open = ""
      for (const { type, metadata, content, speechId } of segments) {
        if (type === "unisphere-tool" && metadata?.runtimeName) open = metadata.runtimeName.replace(/-tool$/, "") + (speechId ?? "")
        else if (type === widget.runtime) open = widget.runtime + (speechId ?? "")
        else if (type !== "unisphere-tool") continue
        if (open === widget.runtime + (widget.speechId ?? "")) pieces.push(content)
      }
      const content = pieces.every((piece) => typeof piece === "string") ? pieces.join("") : pieces.find((piece) => typeof piece === "object")
      const whole = parseContent(content)
      if ((!whole.values && whole.text.trim() === "") || widgets.filter(({ runtime, speechId }) => runtime === widget.runtime && speechId === widget.speechId).length > 1) continue
      const { runtime, widgetName, speechId } = widget
      assert.deepEqual(widgetOf(runtime, whole, { ...(widgetName && { widgetName }), ...(speechId && { speechId }) }), widget, name)
      compared.add(runtime)
    }
  }
  assert.deepEqual(WIDGET_RUNTIMES.filter((runtime) => !compared.has(runtime)), [], "runtime/converse/testdata has no widget of these")
})

test("tool calls are parsed", () => {
  assert.deepEqual(parseToolCall('open_doc {"id":1}{"id":"}{"} {broken'), {
    name: "open_doc", args: { id: "}{" }, fusedArgs: [{ id: 1 }], raw: 'open_doc {"id":1}{"id":"}{"} {broken', toolMetadata: { waitForResponse: false },
  })
  assert.equal(parseToolCall(' {"id":1}'), undefined)
  assert.deepEqual(parseToolCall("ping")?.args, {})
  const besides = { type: "tool", content: "ping", tool_metadata: { id: "t", name: "ping", args: { a: 1 }, type: "client", wait_for_response: true } } as unknown as Segment
  assert.deepEqual(parseToolCall(besides), { name: "ping", args: { a: 1 }, raw: "ping", toolMetadata: { id: "t", waitForResponse: true, type: "client" } })
})

test("arguments are checked", () => {
  assert.deepEqual(validateToolArgs({ page: "x", n: 1.5 }, { page: { type: "str", enum: ["home"] }, n: { type: "int" }, id: { required: true }, any: {} }), [
    "id is missing", "n must be of type int", "page is not one of the allowed values",
  ])
  assert.deepEqual(validateToolArgs({ a: "s", b: 1, c: 1.5, d: true, e: [], f: {} }, { a: { type: "str" }, b: { type: "int" }, c: { type: "float" }, d: { type: "bool" }, e: { type: "list" }, f: { type: "dict" } }), [])
  assert.deepEqual(validateToolArgs({ f: null }, { f: { type: "dict" } }), ["f must be of type dict"])
  assert.deepEqual(validateToolArgs([], {}), ["the arguments must be an object"])
  assert.deepEqual(validateToolArgs({}, { toString: { required: true } }), ["toString is missing"])
  assert.throws(() => validateToolArgs({}, { a: { type: "text" as "str" } }), { code: "bad_request" })
})

const read = (runtime: string, content: unknown) => widgetOf(runtime.replace(/-tool$/, ""), parseContent(content))

test("widgets are read from every form of their content", () => {
  const list = (questions: string[]) => ({ runtime: "followups", followups: { questions } })
  assert.deepEqual(read("followups-tool", "questions:\n- a\n- Pricing: is there a 'free' plan?\n  and: more\n- text: b\n- question:\n- c"), list(["a", "Pricing: is there a 'free' plan?", "b", "c"]))
  assert.deepEqual(read("followups", '```json\n{"questions":["a",{"text":"b"},"",7,null]}\n```'), list(["a", "b", "7"]))
  assert.deepEqual(read("followups", "Note: it rains"), { runtime: "followups", raw: "Note: it rains" })
  assert.deepEqual(read("chart-tool", "kind: bar\nvalues:\n  - 1\n  - 2.5\n"), { runtime: "chart", body: { kind: "bar", values: [1, 2.5] } })
  assert.deepEqual(read("x", { a: JSON.parse('{"__proto__":{"b":1},"c":2}') as object }), { runtime: "x", body: { a: { c: 2 } } })
  const links = ["https://a.example/x", "/path?x#y", "page", "tel:+491234", "javascript:alert(1)", " JavaScript:alert(1)", "java\tscript:alert(1)", "data:text/html,x", "file:///etc/passwd"]
  assert.deepEqual(links.filter((url) => read("show-link", { url }).showLink?.url), links.slice(0, 4))
  assert.deepEqual(links.filter((url) => read("external-video", { url }).externalVideo?.url), links.slice(0, 1))
  assert.equal(read("video-gallery", { videos: [{ id: 1, length: "1:02:03" }] }).videoGallery?.videos[0]?.duration, 3723)
  const deep = JSON.parse(`{"a":${"[".repeat(100)}${"]".repeat(100)}}`) as object
  assert.match(JSON.stringify(read("x", deep).body), /^\{"a":\[{63}null\]{63}\}$/)
})

test("a name of the service is never a property of an object", () => {
  for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
    assert.deepEqual(read(name, { a: 1 }), { runtime: name, body: { a: 1 } })
    assert.deepEqual(read(name, "words"), { runtime: name, raw: "words" })
  }
})

test("a widget of many lines takes time in proportion to them", () => {
  const lines = Array.from({ length: 20_000 }, (_, i) => `    k${i}: v`).join("\n")
  const began = process.cpuUsage()
  const { body } = read("chart", `rows:\n  - k: v\n${lines}`) as { body: { rows: object[] } }
  assert.equal(Object.keys(body.rows[0]!).length, 20_001)
  assert.ok(process.cpuUsage(began).user < 3_000_000)
})
