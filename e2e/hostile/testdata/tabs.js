// What the tests of tabs_test.go do in their pages.
import { chatOf, diagnostics, holdings, left, load } from "./hostile.js"

export async function forgedMessagesBetweenTabs() {
  const memories = []
  const {instantiate} = WebAssembly
  WebAssembly.instantiate = async (/** @type {any} */ module, /** @type {any} */ imports) => {
    /** @type {any} */
    const instance = await instantiate(module, imports)
    const {exports} = instance.instance ?? instance
    if (exports.mem) memories.push(exports.mem)
    return instance
  }
  await load()
  const size = () => memories.reduce((sum, {buffer}) => sum + buffer.byteLength, 0)
  if (size() === 0) throw new Error("the memory of the program was not found")
  const before = await holdings()
  const talk = async () => {
    const talk = await chatOf({presenceHeartbeatMs: 50})
    await talk.session.connect()
    await talk.session.sendText("My name is Sam.")
    return {...talk, session: talk.session, talk, channel: new BroadcastChannel("kaltura-agents:thread:" + talk.session.threadId)}
  }
  // Receives after the session's own channel, which has then handled what was sent before.
  const handled = ({session}) => new Promise((/** @type {(value?: unknown) => void} */ resolve) => {
    const own = new BroadcastChannel("kaltura-agents:thread:" + session.threadId)
    own.onmessage = ({data}) => { if (data === "last") { own.close(); resolve() } }
  })
  const one = await talk(), two = await talk()
  const post = (to, message) => to.channel.postMessage(typeof message === "string" ? message : JSON.stringify({v: 1, ...message}))
  let done = handled(one)
  const huge = "x".repeat(64_000_000)
  const at = size()
  for (const data of [
    5n, 5, null, undefined, true, NaN, {}, {length: 5n}, [1], new Date(), /x/, new Error("x"), new Map([[1, 2]]), new Uint8Array(1000), new Blob(["x"]),
    huge, JSON.stringify({v: 1, id: huge, t: "alive"}), "", "{", "[".repeat(900), "null", "5", "\uD800", '{"v":1e400,"id":"a","t":"alive"}',
    '{"v":1,"id":5,"t":"alive"}', '{"v":1,"id":"a","t":["bye"]}', '{"v":1,"id":"a","t":"alive","reported":{}}', '{"v":1,"id":"a","t":"bye","reported":1}',
    '{"v":1,"id":"a","t":"bye","reported":true}', '{"v":1,"id":"__proto__","t":"hello"}',
  ]) one.channel.postMessage(data)
  for (let i = 0; i < 3000; i++) post(one, {id: "tab" + i, t: ["hello", "alive", "ack", "unknown"][i % 4]}) // more than are noted
  for (let i = 0; i < 1000; i++) post(one, {id: "b", t: i % 2 ? "bye" : "alive"})
  one.channel.postMessage("last")
  await done
  const {text: answer} = await one.session.sendText("What is my name?")
  const grown = size() - at
  const {callbacks} = await diagnostics()
  // A tab that was made up keeps the report back, and its goodbye lets the next one through.
  one.session.disconnect()
  await one.talk.until("sessionCompleted")
  done = handled(two)
  post(two, {id: "forged", t: "alive"})
  post(two, {id: "forged", t: "bye"})
  two.channel.postMessage("last")
  await done
  two.session.disconnect()
  await two.talk.until("sessionCompleted")
  const result = {answer, grown, callbacks, suppressed: one.talk.completions, sent: two.talk.completions}
  for (const {session, channel} of [one, two]) {
    channel.close()
    await session.dispose()
  }
  return {...result, left: await left(before)}
}

/** A conversation, whose thread the second tab joins. */
export async function firstTab() {
  const one = globalThis.one = await chatOf({presenceHeartbeatMs: 50})
  await one.session.connect()
  await one.session.sendText("My name is Sam.")
  const {threadId} = one.session
  addEventListener("pagehide", () => localStorage.setItem("handled " + threadId + " one", "")) // after the session's own
  return threadId
}

/** Joins the thread. Resolves when the tabs have heard each other. */
export async function secondTab(threadId) {
  const beats = {}
  const channel = new BroadcastChannel("kaltura-agents:thread:" + threadId)
  const known = new Promise((/** @type {(value?: unknown) => void} */ resolve) => channel.onmessage = ({data}) => {
    const {id} = JSON.parse(data)
    beats[id] = (beats[id] ?? 0) + 1
    if (Object.values(beats).filter((n) => n > 2).length === 2) resolve()
  })
  const two = globalThis.two = await chatOf({threadId, presenceHeartbeatMs: 50})
  const bye = new BroadcastChannel("kaltura-agents:thread:" + threadId) // receives after the session's own
  globalThis.gone = new Promise((/** @type {(value?: unknown) => void} */ resolve) => bye.onmessage = ({data}) => JSON.parse(data).t === "bye" && resolve())
  await two.session.connect()
  addEventListener("pagehide", () => localStorage.setItem("handled " + threadId + " two", ""))
  await known
  channel.close()
}
