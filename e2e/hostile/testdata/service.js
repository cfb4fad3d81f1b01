// What the tests of service_test.go do in their pages, which have no local service.
import { AgentError, ChatSession, converse, converseOnce, diagnostics, load, visitor } from "/js/dist/chat.js"

/** The code of an error; an error of another class is `untyped`. */
const errorCode = (e) => (e instanceof AgentError ? e.code : `untyped: ${e}`)

/** All that is in an error. */
const everything = (e) => [e.message, e.stack, JSON.stringify(e), String(e.cause?.message), JSON.stringify(e.body), JSON.stringify(e.headers), JSON.stringify({ ...e })].join()

export async function repliesOfALiarBecomeTypedErrors(access, names) {
  const said = []
  const session = new ChatSession({...access, logger: (...line) => said.push(JSON.stringify(line)), onAuditEvent: (e) => said.push(JSON.stringify(e)),
    onResponse: (r) => said.push(JSON.stringify(r))})
  for (const name of /** @type {const} */ (["error", "warning", "stateChange", "ended", "turnStart", "brainStalled"])) session.on(name, (e) => said.push(JSON.stringify(e) + (e instanceof Error ? everything(e) : "")))
  await session.connect()
  const got = {}, leaks = []
  for (const name of names) {
    try {
      got[name] = (await session.sendText(name)).text
    } catch (e) {
      got[name] = errorCode(e)
      if (everything(e).includes(access.token)) leaks.push(name + " " + everything(e))
    }
  }
  leaks.push(...said.filter((line) => line.includes(access.token)))
  await session.dispose()
  return {got, leaks}
}

export async function stormOfAbortsLeavesNothing(access) {
  await load()
  const before = await diagnostics()
  const session = new ChatSession(access)
  let stalled = 0
  session.on("brainStalled", () => stalled++)
  await session.connect()
  const silence = new AbortController()
  const silent = session.sendText("never", {signal: silence.signal}).catch(errorCode)
  await new Promise((resolve) => session.on("brainStalled", resolve))
  silence.abort()
  await silent
  const codes = {}
  const asks = ["never", "hang", "fine", "cut"]
  for (let i = 0; i < 500; i++) {
    const stop = new AbortController()
    const ask = asks[Math.floor(Math.random() * asks.length)]
    const how = i % 4
    const turn = how < 2
      ? session.sendText(ask, {signal: stop.signal}).then(() => "text", errorCode)
      : (async () => {
          try {
            for await (const _ of session.streamText(ask, {signal: stop.signal})) if (how === 3) break
            return "text"
          } catch (e) { return errorCode(e) }
        })()
    if (how > 0 || i % 8) setTimeout(() => stop.abort(), Math.random() * 10)
    else stop.abort()
    const code = await turn
    codes[code] = (codes[code] ?? 0) + 1
  }
  session.streamText("never") // never looped over
  const twice = session.streamText("fine")
  for await (const _ of twice);
  for await (const _ of twice) throw new Error("a loop that is over goes on")
  const middle = session.streamText("hang")
  await middle.next()
  const rest = [middle.next(), middle.next()].map((p) => p.catch(errorCode))
  await rest[0]
  const {text} = await (async () => { await middle.return?.(); return session.sendText("fine") })()
  await session.dispose()
  const until = performance.now() + 60_000
  let after
  do {
    await new Promise((resolve) => setTimeout(resolve, 20))
    after = await diagnostics()
  } while (JSON.stringify(after) !== JSON.stringify(before) && performance.now() < until)
  return {codes, text, before, after, stalled}
}

export async function anythingIsRefusedWithATypedError(access) {
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
