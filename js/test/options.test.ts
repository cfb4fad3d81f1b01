import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import { AgentError } from "../src/errors.js"
import { plainOptions, tokenOf, type AvatarOptions } from "../src/options.js"

// Seen from the bundled test.
const cases = JSON.parse(readFileSync(new URL("../../../cmd/wasm/testdata/options.json", import.meta.url), "utf8")) as {
  name: string
  options: AvatarOptions
  code: string
}[]

/** The code that options are refused with, "" if they are fine. */
function refusal(options: unknown): string {
  try {
    plainOptions(options as AvatarOptions)
    return ""
  } catch (error) {
    assert.ok(error instanceof AgentError, String(error))
    return error.code
  }
}

for (const { name, options, code } of cases) {
  test(`options: ${name}`, () => assert.equal(refusal(options), code))
}

test("what only JavaScript can get wrong", () => {
  for (const options of [undefined, null, "token"]) assert.equal(refusal(options), "bad_request")
  assert.equal(refusal({ token: "t", requestVars: "a=b" }), "validation_error")
  assert.equal(refusal({ token: "t", requestVars: [] }), "validation_error")
  assert.equal(refusal({ token: "t", requestVars: { a: 1n } }), "validation_error")
  assert.equal(refusal({ token: "t", logger: "console" }), "bad_request")
  assert.equal(refusal({ token: { ks: "" } }), "bad_request")
})

test("a token is a string or an object with ks", () => {
  assert.equal(tokenOf("t"), "t")
  assert.equal(tokenOf({ ks: "t" }), "t")
  assert.equal(plainOptions({ ks: "t" }).token, "t")
  assert.equal(plainOptions({ token: { ks: "a" }, ks: "b" }).token, "a")
})

test("options take one form", () => {
  const plain = plainOptions({
    ks: "t",
    partnerId: 42,
    kickoff: "Hello",
    genieUrl: new URL("https://genie.example/base"),
    iceServers: [{ urls: "turn:relay.example" }, { urls: ["stun:a", "stun:b"] }],
    agentActions: { navigate: "off", genui: false, toolCall: ["open"] },
  })
  assert.equal(plain.partnerId, "42")
  assert.deepEqual(plain.kickoff, { text: "Hello", echo: false, sent: false })
  assert.equal(plain["genieUrl"], "https://genie.example/base")
  assert.deepEqual(plain["iceServers"], [{ urls: ["turn:relay.example"] }, { urls: ["stun:a", "stun:b"] }])
  assert.deepEqual(plain["agentActions"], { navigate: false, genui: false, structuredDataForm: true, toolCall: true, tools: ["open"] })
  assert.match(plain.stickyId, /^[a-z0-9]{16}$/)
  assert.equal(plainOptions({ token: "t", stickyId: "mine" }).stickyId, "mine")
})
