// What the test of anything_test.go does in its page, in which nothing is sent.
import { AgentError, ChatSession, converse, converseOnce, visitor } from "/js/dist/chat.js"

/** The code of an error; an error of another class is `untyped`. */
const errorCode = (e) => (e instanceof AgentError ? e.code : `untyped: ${e}`)

export async function anythingIsRefusedWithATypedError() {
  const access = { token: "a token of nobody", genieUrl: location.origin, crossTabPresence: false, sessionCompleteOnEnd: false }
  const thrower = {get signal() { throw new Error("getter") }, get token() { throw new Error("getter") }, get id() { throw new Error("getter") }}
  const revoked = Proxy.revocable({}, {})
  revoked.revoke()
  const session = new ChatSession({...access})
  await session.connect()
  let requests = 0
  const original = globalThis.fetch
  globalThis.fetch = (url, request) => {
    if (!/\.rest-\w+\.wasm$/.test(String(url))) requests++ // the second part of the program may come
    return original(url, request)
  }
  const v = visitor(access)
  const things = {number: 5, null: null, text: "x", thrower, revoked: revoked.proxy, symbol: Symbol("s"), bigint: 5n, signal: {signal: 5}}
  const calls = {
    ChatSession: (x) => new ChatSession(x === revoked.proxy ? {...access, kickoff: x} : x),
    visitor: (x) => visitor(x),
    converse: (x) => converse(x),
    converseOnce: (x) => converseOnce(x),
    sendText: (x) => typeof x === "string" ? session.sendText(" ") : session.sendText(x),
    sendTextOptions: (x) => typeof x === "number" || typeof x === "string" || typeof x === "bigint" || typeof x === "symbol" || x === null ? session.sendText("") : session.sendText("", x),
    streamText: (x) => typeof x === "string" ? session.streamText("").next() : session.streamText(x).next(),
    respondToTool: (x) => session.respondToTool(x, x),
    setDynamicPrompt: (x, kind) => session.setDynamicPrompt(kind === "signal" || kind === "null" ? [x] : x), // null clears it
    updateRequestVars: (x, kind) => session.updateRequestVars(kind === "signal" ? 5 : x),
    setToken: (x) => session.setToken(typeof x === "string" ? "" : x),
    onToolCall: (x) => session.onToolCall(x, x),
    onOAuthRequired: (x) => session.onOAuthRequired(x),
    get: (x) => v.threads.get(typeof x === "string" ? "" : x),
    getOptions: (x) => v.threads.get("", x),
    list: (x, kind) => v.threads.list(kind === "null" || kind === "signal" || kind === "thrower" ? {filter: x ?? 5} : x),
    rename: (x) => v.threads.rename("", x),
    feedback: (x) => v.feedback.add(x, x),
  }
  const wrong = []
  for (const [name, call] of Object.entries(calls)) {
    for (const [kind, thing] of Object.entries(things)) {
      let outcome = "nothing"
      try { await call(thing, kind) } catch (e) { outcome = errorCode(e) }
      if (outcome === "nothing" || outcome.startsWith("untyped")) wrong.push(name + " " + kind + ": " + outcome)
    }
  }
  if (requests) wrong.push(requests + " requests")
  globalThis.fetch = original
  await session.dispose()
  return wrong
}
