// What measure.mjs measures: a test file for each kind of session, with the scripted program and with the real one.

import assert from "node:assert/strict"
import { host, standIns, StandInVideo } from "../../js/src/core/standin.ts"

const dist = "../../js/dist/"
const question = "What is on the menu?"
const [kind, way] = process.argv.slice(2)

/** The answer to a turn in text; other requests are those of the stand-ins. */
async function answer(input) {
  if (!String(input).endsWith("/assistant/converse")) return standIns.fetch(input)
  const segments = [
    { type: "think", threadId: "thread", messageId: "message", segmentStart: true },
    { type: "text", content: question, segmentStart: true },
    { type: "text", segmentEnd: true },
    { type: "share", content: { canShare: true } },
    { type: "think", isFinal: true },
  ]
  const lines = segments.map((segment, i) => `${JSON.stringify({ role: "assistant", content: "", segmentNumber: i, et: 0, ...segment })}\n`)
  return new Response(lines.join(""), { headers: { "content-type": "application/x-ndjson" } })
}

/** What the real program needs of a page besides the stand-ins. */
const page = { window: globalThis, document: new EventTarget(), fetch: answer }
if (!("navigator" in globalThis)) Object.assign(page, { navigator: { userAgent: "" } }) // in Node.js 20
const addresses = { genieUrl: host, conversationManagerUrl: host, srsBaseUrl: host, turnServerUrl: "turn:warmup.invalid" }
const common = { token: "token", ...addresses, pageLifecycleAware: false, networkAware: false, logger: () => {} }
const live = { ...common, videoEl: new StandInVideo(), micStartMode: "deferred" }

async function makeSession() {
  if (way === "scripted") {
    const { FakeAvatarSession, FakeChatSession } = await import(`${dist}testing.js`)
    return { session: kind === "chat" ? new FakeChatSession() : new FakeAvatarSession({ micStartMode: "deferred" }), end: async () => {} }
  }
  Object.assign(globalThis, standIns, page)
  const { AvatarSession, ChatSession, dispose } = await import(`${dist}${kind === "chat" ? "chat" : "index"}.js`)
  return { session: kind === "chat" ? new ChatSession(common) : new AvatarSession(live), end: dispose }
}

const { session, end } = await makeSession()
await session.connect()
assert.equal(session.state, "connected")
if (kind === "chat") assert.equal((await session.sendText(question)).text, question)
session.disconnect()
await session.dispose()
await end()
const { user, system } = process.cpuUsage()
console.log((user + system) / 1000)
