import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import { plainAgent, type AgentOptions } from "../src/session/agentoptions.js"
import { plainAvatar, type AvatarOptions } from "../src/session/avataroptions.js"
import { plainChat, type ChatOptions } from "../src/session/chatoptions.js"
import { requestInit, type AppInitOptions, type AppInitResult } from "../src/session/appinit.js"
import { converse } from "../src/session/converse.js"
import { AgentError } from "../src/core/errors.js"
import { checkSchema, tokenOf } from "../src/core/options.js"
import { visitor } from "../src/session/visitor.js"
import { refusal as refusalOf } from "./fake.js"

interface Case {
  name: string
  options: object
  code: string
}

/** Test cases that the tests of a Go package read too. The path starts at the bundled test. */
function shared<T>(folder: string, file: string): T {
  return JSON.parse(readFileSync(new URL(`../../../${folder}/testdata/${file}`, import.meta.url), "utf8")) as T
}

/** The code that options are refused with, "" if they are fine. */
const refusal = (options: unknown, check: (options: unknown) => unknown = plainAvatar) => refusalOf(() => check(options))

for (const { name, options, code } of shared<Case[]>("cmd/wasm", "options.json")) {
  test(`options of an avatar: ${name}`, () => assert.equal(refusal(options), code))
  test(`options of an agent's avatar: ${name}`, () => assert.equal(refusal({ mode: "chat", chat: { token: "t" }, avatar: options }, plainAgent), code))
}

for (const { name, options, code } of shared<Case[]>("cmd/wasm", "chatoptions.json")) {
  test(`options of a chat: ${name}`, () => assert.equal(refusal(options, plainChat), code))
  test(`options of an agent's chat: ${name}`, () => assert.equal(refusal({ avatar: { token: "t" }, chat: options }, plainAgent), code))
}

for (const [kind, hosts] of Object.entries(shared<Record<"private" | "public", string[]>>("internal/fetch", "hosts.json"))) {
  test(`http to a ${kind} host`, () => {
    for (const host of hosts) assert.equal(refusal({ token: "t", genieUrl: `http://${host}` }), kind === "public" ? "insecure_transport" : "", host)
  })
}

for (const { token, partner } of shared<{ token: string; partner: string }[]>("runtime/session", "partners.json")) {
  if (token) test(`the account of the token ${token}`, () => assert.equal(plainChat({ token })["partnerId"], partner))
}

test("what a token's object tells counts unless the options tell it", () => {
  const token = { ks: "djJ8NTUwMXxlbmNyeXB0ZWQ", kind: "widget", partnerId: 7 }
  for (const check of [plainAvatar, plainChat]) {
    const told = (options: object) => [check(options)["kind"], check(options)["partnerId"]]
    assert.deepEqual(told({ token }), ["widget", "7"])
    assert.deepEqual(told({ ks: token, kind: "agent", partnerId: "8" }), ["agent", "8"])
    assert.deepEqual(told({ token: { ...token, partnerId: null, kind: null } }), [undefined, "5501"])
  }
  for (const check of [plainAvatar, plainChat, plainAgent]) {
    assert.equal(refusal({ token: { ks: "t", kind: "admin" } }, check), "wrong_token_scope")
    assert.equal(refusal({ token: { ks: "t", kind: "ticket" } }, check), "bad_request")
  }
})

test("what only JavaScript can get wrong", () => {
  for (const options of [undefined, null, "token"]) assert.equal(refusal(options), "bad_request")
  assert.equal(refusal({ token: "t", requestVars: "a=b" }), "validation_error")
  assert.equal(refusal({ token: "t", requestVars: [] }), "validation_error")
  assert.equal(refusal({ token: "t", requestVars: { a: 1n } }), "validation_error")
  assert.equal(refusal({ token: "t", logger: "console" }), "bad_request")
  assert.equal(refusal({ token: { ks: "" } }), "bad_request")
})

test("options are of their kind, in every session", () => {
  const wrong: Record<string, readonly unknown[]> = {
    threadId: [5, {}],
    subjectId: [7],
    partnerId: [{}, true, NaN, 1.5],
    brainStallMs: ["a", -1, NaN, Infinity],
    toolSpiralLimit: ["a", -1, 1.5],
    hiddenGraceMs: [-1, "5"],
    crossTabPresence: ["no", 0],
  }
  for (const [name, values] of Object.entries(wrong)) {
    for (const value of values) {
      for (const check of [plainAvatar, plainChat, plainAgent]) assert.equal(refusal({ token: "t", [name]: value }, check), "bad_request", `${name} ${value}`)
    }
  }
  const ofAvatar: Record<string, readonly unknown[]> = {
    contextId: [5],
    idleTimeoutMs: [-1],
    debug: ["yes"],
    maxReconnectAttempts: [1.5, "3"],
    timeouts: [5, { overall: "long" }, { overall: -1 }, { whepTries: 1.5 }],
    iceServers: ["turn:relay.example", {}],
    turnCredentials: ["user:password"],
    agentActions: ["off"],
  }
  for (const [name, values] of Object.entries(ofAvatar)) {
    for (const value of values) assert.equal(refusal({ token: "t", [name]: value }), "bad_request", `${name} ${String(value)}`)
  }
  const fine = { partnerId: 4, brainStallMs: 0, hiddenGraceMs: 0.5, toolSpiralLimit: 0, threadId: "", maxReconnectAttempts: -1, timeouts: { overall: 100, whepTries: 2 } }
  for (const check of [plainAvatar, plainChat, plainAgent]) assert.equal(refusal({ token: "t", ...fine }, check), "")
  assert.throws(() => plainChat({ token: "t", threadId: 5 }), { detail: "threadId must be a string" })
})

test("a variable or a capability that is undefined is absent, and no number that JSON lacks is one", () => {
  const options = { token: "t", requestVars: { a: undefined, b: null, c: 0 }, capabilities: { avatar: undefined, show_link: "on" } }
  for (const plain of [plainAvatar(options), plainChat(options), plainAgent(options)]) {
    assert.deepEqual(plain["requestVars"], { b: null, c: 0 })
    assert.deepEqual(plain["capabilities"], { show_link: "on" })
  }
  for (const value of [NaN, Infinity, -Infinity]) {
    for (const check of [plainAvatar, plainChat, plainAgent]) assert.equal(refusal({ token: "t", requestVars: { tier: value } }, check), "validation_error")
  }
})

test("the schema of a tool is rules, with one of six types each", () => {
  const rules = (rule: unknown) => ({ page: rule })
  for (const schema of [undefined, null, {}, rules({}), rules({ type: "str", required: true, enum: ["a"] }), rules({ type: undefined, required: undefined, enum: undefined })]) {
    assert.equal(refusal(schema, checkSchema), "")
  }
  for (const schema of ["str", [], rules("str"), rules(null), rules({ type: "string" }), rules({ type: 1 }), rules({ required: "yes" }), rules({ enum: "a" })]) {
    assert.equal(refusal(schema, checkSchema), "bad_request")
  }
  assert.throws(() => checkSchema(rules({ type: "string" })), { detail: "the type of the argument page must be one of str, int, float, bool, list, dict" })
})

test("what can't be looked into is bad_request", () => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  for (const name of ["capabilities", "iceServers", "timeouts", "partnerId", "brainStallMs"]) assert.equal(refusal({ token: "t", [name]: proxy }), "bad_request", name)
  for (const schema of [proxy, { page: proxy }, { page: { enum: proxy } }]) assert.equal(refusal(schema, checkSchema), "bad_request")
})

test("a token is a string or an object with ks", () => {
  assert.equal(tokenOf("t"), "t")
  assert.equal(tokenOf({ ks: "t" }), "t")
  assert.equal(plainAvatar({ ks: "t" })["token"], "t")
  assert.equal(plainAvatar({ token: { ks: "a" }, ks: "b" })["token"], "a")
})

test("options take one form", () => {
  const plain = plainAvatar({
    ks: "t",
    partnerId: 42,
    kickoff: "Hello",
    genieUrl: new URL("https://genie.example/base"),
    iceServers: [{ urls: "turn:relay.example" }, { urls: ["stun:a", "stun:b"] }],
    agentActions: { navigate: "off", genui: false, toolCall: ["open"] },
  })
  assert.equal(plain["partnerId"], "42")
  assert.deepEqual(plain["kickoff"], { text: "Hello", echo: false, sent: false })
  assert.equal(plain["genieUrl"], "https://genie.example/base")
  assert.deepEqual(plain["iceServers"], [{ urls: ["turn:relay.example"] }, { urls: ["stun:a", "stun:b"] }])
  assert.deepEqual(plain["agentActions"], { navigate: false, genui: false, structuredDataForm: true, toolCall: true, tools: ["open"] })
  assert.match(String(plain["stickyId"]), /^[a-z0-9]{16}$/)
  assert.equal(plainAvatar({ token: "t", stickyId: "mine" })["stickyId"], "mine")
})

test("an agent's transports have what is shared, and what is their own before it", () => {
  const shared = () => {}
  const own = () => {}
  const plain = plainAgent({
    ks: "shared",
    kind: "widget",
    conversationManagerUrl: "https://talk.example",
    threadId: "th-1",
    kickoff: "Hello",
    partnerId: 7,
    logger: shared,
    requestVars: { a: 1 },
    capabilities: { show_link: "on" },
    hiddenGraceMs: 5,
    widgetConfig: { anything: true },
    avatar: { stickyId: "mine", token: "own", threadId: undefined, requestVars: { b: 2 } },
    chat: { logger: own, onErrorSegment: "warn", capabilities: { show_link: "off" }, kickoff: { text: "Hi", echo: true } },
  })
  assert.equal(plain.mode, "avatar")
  assert.deepEqual(plain["requestVars"], { a: 1 })
  assert.equal(plain["logger"], shared)
  const { avatar, chat } = plain
  assert.deepEqual(
    [avatar["token"], avatar["threadId"], avatar["requestVars"], avatar["kickoff"], avatar["partnerId"], avatar["stickyId"], avatar["logger"]],
    ["own", "th-1", { b: 2 }, { text: "Hello", echo: false, sent: false }, "7", "mine", shared],
  )
  assert.deepEqual(
    [chat["token"], chat["threadId"], chat["requestVars"], chat["kickoff"], chat["onErrorSegment"], chat["hiddenGraceMs"], chat["logger"]],
    ["shared", "th-1", undefined, { text: "Hi", echo: true, sent: false }, "warn", 5, own],
  )
  assert.deepEqual([plain["capabilities"], avatar["capabilities"], chat["capabilities"]], [{ show_link: "on" }, undefined, { show_link: "off" }])
})

test("a name that is no option is refused, with the name that may be meant", () => {
  const shared = { token: "t", kind: undefined, tokn: undefined, videoElm: null }
  for (const check of [plainAvatar, plainChat, plainAgent]) {
    assert.equal(refusal(shared, check), "", "what is undefined is not there")
    assert.throws(() => check({ tokn: "t" }), { code: "bad_request", detail: "there is no option tokn: did you mean token?" })
    assert.throws(() => check({ token: "t", threadid: "th" }), { detail: "there is no option threadid: did you mean threadId?" })
    for (const name of ["widgetId", "agenticUrl"]) assert.throws(() => check({ [name]: "w" }), { detail: `there is no option ${name}: it is one of appInit, which returns what a session needs` })
    assert.throws(() => check({ token: "t", colour: "red" }), { detail: "there is no option colour" })
    // Symbols and what is inherited are no options.
    assert.equal(refusal(Object.assign(Object.create({ inherited: 1 }), { token: "t", [Symbol("own")]: 1 }), check), "")
  }
  assert.throws(() => plainAgent({ token: "t", avatar: { micStartMod: "deferred" } }), { detail: "there is no option micStartMod: did you mean micStartMode?" })
  assert.throws(() => plainAgent({ token: "t", chat: { onErorSegment: "warn" } }), { detail: "there is no option onErorSegment: did you mean onErrorSegment?" })
  assert.throws(() => plainAvatar({ token: "t", timeouts: { firstframe: 1 } }), { detail: "there is no option timeouts.firstframe: did you mean timeouts.firstFrame?" })
  assert.throws(() => plainAvatar({ token: "t", agentActions: { navigte: "off" } }), { detail: "there is no option agentActions.navigte: did you mean agentActions.navigate?" })
  assert.throws(() => visitor({ token: "t", gneieUrl: "https://genie.example" } as never), { detail: "there is no option gneieUrl: did you mean genieUrl?" })
  assert.throws(() => converse({ token: "t", userMessage: "Hi", modelTyp: "fast" } as never), { detail: "there is no option modelTyp: did you mean modelType?" })
})

test("every option of every kind of session is known, and the whole reply of appInit", () => {
  // One object for several kinds may have options that only one of them uses.
  const all = { videoEl: null, micStartMode: "deferred", onErrorSegment: "warn", idleTimeoutMs: 5, noiseProcessor: () => {}, micConstraints: false, debug: false }
  const reply: Required<AppInitResult> = {
    partnerId: "7",
    ks: "t",
    kind: "widget",
    conversationManagerUrl: "https://talk.example",
    srsBaseUrl: "https://media.example",
    turnServerUrl: "relay.example",
    turnCredentials: { username: "u", credential: "c", expiry: 1 },
    avatars: [],
    widgetConfig: {},
    embedConfig: {},
    genieUrl: "https://genie.example",
  }
  for (const check of [plainAvatar, plainChat, plainAgent]) assert.equal(refusal({ ...reply, ...all }, check), "")
  assert.equal(typeof visitor({ ...reply, ...all }), "object")
  converse({ ...reply, userMessage: "Hi", forceExperience: "markdown", modelType: "fast", sse: true, capabilities: {}, requestVars: {}, signal: new AbortController().signal })
})

test("appInit refuses what it does not know, and a call without a widget and a token, and loads nothing", async () => {
  const init = (options: unknown) => requestInit(() => assert.fail("a program was loaded"), options as AppInitOptions)
  await assert.rejects(init({ widgetID: "w" }), { code: "bad_request", detail: "there is no option widgetID: did you mean widgetId?" })
  await assert.rejects(init({ widgetId: "w", genieURL: "https://genie.example" }), { detail: "there is no option genieURL: did you mean genieUrl?" })
  for (const options of [undefined, null, {}, { widgetId: "" }, { widgetId: undefined, region: "nvp1" }]) await assert.rejects(init(options), { code: "bad_request", detail: "a widgetId or a token is required" })
  let loads = 0
  const loaded = Promise.reject(new AgentError({ code: "load_failed" }))
  for (const options of [{ widgetId: "w", fetch: () => {}, region: undefined }, { token: "t", signal: new AbortController().signal, allowInsecureTransport: true, ovpUrl: "https://ovp.example" }]) {
    await assert.rejects(requestInit(() => (loads++, loaded), options as AppInitOptions), { code: "load_failed" })
  }
  assert.equal(loads, 2)
})

test("an agent's mode is one of two", () => {
  assert.equal(refusal({ token: "t", mode: "video" }, plainAgent), "bad_request")
  assert.equal(refusal({ token: "t", avatar: "yes" }, plainAgent), "bad_request")
  assert.equal(refusal({ token: "t", requestVars: { sys__ks: "x" } }, plainAgent), "validation_error")
  assert.equal(refusal({ avatar: { token: "a" } }, plainAgent), "bad_request")
  assert.equal(refusal({ avatar: { token: "a" }, chat: { ks: "b" } }, plainAgent), "")
})

/** What strict pages write, with exactOptionalPropertyTypes. */
export function typesOnly(maybe: { id?: string | undefined; element: HTMLVideoElement | undefined }): void {
  const shared = { token: "t", threadId: maybe.id, requestVars: { id: maybe.id }, capabilities: { avatar: undefined }, logger: undefined }
  const avatar: AvatarOptions = { ...shared, videoEl: maybe.element, onBeforeSend: undefined, timeouts: { overall: undefined }, socketFactory: undefined }
  const chat: ChatOptions = { ...shared, kind: undefined, onResponse: undefined }
  const agent: AgentOptions = { ...shared, mode: undefined, avatar: { videoEl: maybe.element }, chat: undefined }
  void [avatar, chat, agent]
}

test("a trace context is checked, and becomes a function", () => {
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
  const asked = (traceContext: unknown): unknown => (plainAvatar({ token: "t", traceContext })["traceContext"] as () => unknown)()
  assert.deepEqual(asked(traceparent), { traceparent, tracestate: "" })
  assert.deepEqual(asked({ traceparent, tracestate: "a=b" }), { traceparent, tracestate: "a=b" })
  assert.deepEqual(asked(() => traceparent), { traceparent })
  assert.equal(asked(() => undefined), undefined)
  for (const bad of ["trace", 7, {}, true, { traceparent: traceparent.toUpperCase() }, { traceparent, tracestate: "a\nb" }, traceparent.replace("b7ad6b7169203331", "0".repeat(16))]) {
    assert.equal(refusal({ token: "t", traceContext: bad }), "bad_request", JSON.stringify(bad))
    assert.equal(refusal({ token: "t", traceContext: bad }, plainChat), "bad_request", JSON.stringify(bad))
  }
})
