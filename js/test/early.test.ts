import assert from "node:assert/strict"
import { test, type TestContext } from "node:test"
import type { AppInitOptions } from "../src/session/appinit.js"
import { beginInit } from "../src/session/early.js"
import { initPath, regions, startWidgetSession } from "../src/generated/regions.js"

const { agenticUrl, ovpUrl } = regions["nvp1"]!
const init = agenticUrl + initPath
const widget = ovpUrl + startWidgetSession

interface Asked {
  url: string
  authorization: string | undefined
  body: string | undefined
  signal: AbortSignal
  answer(body: unknown): void
}

/** Replaces the global fetch, and returns what is asked of it. */
function record(t: TestContext): Asked[] {
  const asked: Asked[] = []
  t.mock.method(globalThis, "fetch", (url: string, { headers, body, signal }: { headers?: Record<string, string>; body?: string; signal: AbortSignal }) => {
    return new Promise<Response>((resolve, reject) => {
      asked.push({ url, authorization: headers?.["authorization"], body, signal, answer: (body) => resolve(new Response(JSON.stringify(body))) })
      signal?.addEventListener("abort", () => reject(signal.reason))
    })
  })
  return asked
}

const settle = () => new Promise((resolve) => setImmediate(resolve))
const bytes = (text: string) => new TextEncoder().encode(text)

test("nothing is begun where the program might refuse the options", (t) => {
  const asked = record(t)
  const refused: object[] = [
    { token: "t", region: "moon" },
    { token: 5 },
    { widgetId: {} },
    { token: "t", agenticUrl: "" },
    { token: "t", agenticUrl: "http://service.example/v1" },
    { token: "t", agenticUrl: "https://me:secret@service.example" },
    { token: "t", agenticUrl: "https://service.example?a" },
    { token: "t", genieUrl: "ftp://service.example" },
    { widgetId: "w", ovpUrl: "nowhere" },
  ]
  for (const options of refused) assert.equal(beginInit(options as AppInitOptions), undefined, JSON.stringify(options))
  assert.equal(beginInit({ token: "t" }, AbortSignal.abort()), undefined)
  assert.deepEqual(asked, [])
})

test("the program takes over both requests, and makes all others itself", async (t) => {
  const asked = record(t)
  const early = beginInit({ widgetId: "0_a b" })!
  assert.deepEqual(asked.map(({ url, body }) => [url, body]), [[widget, "format=1&widgetId=0_a+b"]])
  const first = early.fetch(widget, { headers: {}, body: bytes("format=1&widgetId=0_a+b") })
  asked[0]!.answer({ ks: "ticket" })
  assert.deepEqual(await (await first).json(), { ks: "ticket" })
  assert.deepEqual(asked.slice(1).map(({ url, authorization }) => [url, authorization]), [[init, "KS ticket"]])
  const second = early.fetch(init, { headers: { authorization: "KS ticket" } })
  asked[1]!.answer({ ks: "conversation" })
  assert.deepEqual(await (await second).json(), { ks: "conversation" })
  void early.fetch(init, { headers: { authorization: "KS ticket" } })
  void early.fetch(init, { headers: { authorization: "KS another" } })
  assert.equal(asked.length, 4, "a reply is given once, and to an equal request only")
})

test("a widget reply without a token is the program's to judge", async (t) => {
  const asked = record(t)
  const early = beginInit({ widgetId: "w", ovpUrl: "https://service.example/" })!
  assert.equal(asked[0]!.url, "https://service.example" + startWidgetSession)
  asked[0]!.answer({ objectType: "KalturaAPIException" })
  const reply = await early.fetch(asked[0]!.url, { body: bytes("format=1&widgetId=w") })
  assert.deepEqual(await reply.json(), { objectType: "KalturaAPIException" })
  assert.equal(asked.length, 1)
})

test("requests are aborted with the call, with the program's request, and at the end", async (t) => {
  const asked = record(t)
  const call = new AbortController()
  beginInit({ token: "t" }, call.signal)
  call.abort()
  const early = beginInit({ token: "t" })!
  const request = new AbortController()
  const reply = early.fetch(init, { headers: { authorization: "KS t" }, signal: request.signal })
  request.abort()
  await assert.rejects(reply)
  beginInit({ token: "t" })!.end()
  await settle()
  assert.deepEqual(asked.map(({ signal }) => signal.aborted), [true, true, true])
})
