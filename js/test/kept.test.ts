import assert from "node:assert/strict"
import { afterEach, beforeEach, mock, test } from "node:test"
import { requestInit, type AppInitOptions } from "../src/session/appinit.js"
import { AgentError } from "../src/core/errors.js"
import type { ErrorCode } from "../src/generated/codes.js"
import type { Program } from "../src/core/program.js"
import { TabStorage } from "./page.js"

let tab: TabStorage
beforeEach(() => {
  tab = new TabStorage()
  Object.assign(globalThis, { document: {} })
  Object.defineProperty(globalThis, "sessionStorage", { configurable: true, get: () => tab })
})

afterEach(() => {
  mock.timers.reset()
  Reflect.deleteProperty(globalThis, "document")
  Reflect.deleteProperty(globalThis, "sessionStorage")
})

/** The tokens with which appInit was called, and what it replies: a new token for each call, or an error for some. */
let asked: (string | undefined)[] = []
let refused: string | undefined
let code: ErrorCode

async function init(options: AppInitOptions): Promise<string> {
  const go = {
    appInit: (_: unknown, { token }: { token?: string }) => {
      asked.push(token)
      if (token !== undefined && token === refused) throw new AgentError({ code, detail: "refused" })
      return { ks: `${token ?? "visitor"}+`, ...(token === undefined && { kind: "widget" }) }
    },
  }
  const program = { call: async (f: (table: typeof go) => unknown) => f(go) } as unknown as Program
  asked = []
  const { ks, kind } = await requestInit(async () => program, options)
  assert.equal(kind, options.token === undefined ? "widget" : undefined)
  return ks
}

const place = { agenticUrl: "https://agent.example/v1", ovpUrl: "https://ovp.example" }

test("the token of a widget's visitor is used again in the same tab", async () => {
  assert.equal(await init({ widgetId: "w", ...place }), "visitor+")
  assert.deepEqual(asked, [undefined])
  assert.equal(await init({ widgetId: "w", ...place }), "visitor++")
  assert.deepEqual(asked, ["visitor+"])
  tab = new TabStorage()
  await init({ widgetId: "w", ...place })
  assert.deepEqual(asked, [undefined])
})

test("it is sent to no other address, and for no other widget", async () => {
  await init({ widgetId: "w", ...place })
  for (const other of [{ widgetId: "v", ...place }, { widgetId: "w" }, { widgetId: "w", ...place, agenticUrl: "https://evil.example/v1" }, { widgetId: "w", ...place, region: "frp2" as const }]) {
    await init(other)
    assert.deepEqual(asked, [undefined], JSON.stringify(other))
  }
})

test("a page with a token of its own, or with keepToken false, keeps none", async () => {
  await init({ widgetId: "w", token: "mine", ...place })
  assert.deepEqual(asked, ["mine"])
  await init({ widgetId: "w", keepToken: false, ...place })
  assert.deepEqual(asked, [undefined])
  assert.equal(tab.items.size, 0)
  // @ts-expect-error not a boolean
  await assert.rejects(init({ widgetId: "w", keepToken: "no" }), { code: "bad_request" })
})

test("it is used for twelve hours after the visitor's first one", async () => {
  mock.timers.enable({ apis: ["Date"] })
  await init({ widgetId: "w", ...place })
  mock.timers.tick(8 * 3_600_000)
  await init({ widgetId: "w", ...place })
  assert.deepEqual(asked, ["visitor+"])
  mock.timers.tick(4 * 3_600_000)
  await init({ widgetId: "w", ...place })
  assert.deepEqual(asked, [undefined])
})

test("one that the service no longer accepts is replaced", async () => {
  for (code of ["api_exception", "agent_not_found", "intellect_not_found", "genie_id_mismatch"] as const) {
    tab = new TabStorage()
    await init({ widgetId: "w", ...place })
    refused = "visitor+"
    assert.equal(await init({ widgetId: "w", ...place }), "visitor+")
    assert.deepEqual(asked, ["visitor+", undefined], code)
    refused = undefined
  }
})

test("a page without a storage gets a token for each call, and so does a server", async () => {
  Object.defineProperty(globalThis, "sessionStorage", { configurable: true, get: () => { throw new Error("denied") } })
  for (const _ of [1, 2]) {
    await init({ widgetId: "w", ...place })
    assert.deepEqual(asked, [undefined])
  }
  Object.defineProperty(globalThis, "sessionStorage", { configurable: true, get: () => tab })
  Reflect.deleteProperty(globalThis, "document")
  await init({ widgetId: "w", ...place })
  assert.equal(tab.items.size, 0)
})
