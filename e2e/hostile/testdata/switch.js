// What the tests of switch_test.go do in their pages.
import { agentOf, holdings, left, load, outcome, tally, within } from "./hostile.js"

export async function hammeredSwitchesLeaveAWorkingConversation() {
  await load()
  const before = await holdings()
  const talk = await agentOf()
  const {session} = talk
  const calls = []
  const call = (f) => {
    const settled = within(outcome(f)).then((o) => o.includes(" ") ? "text" : o)
    calls.push(settled)
    return settled
  }
  const other = () => session.mode === "chat" ? "avatar" : "chat"
  const inTime = (ms) => AbortSignal.timeout(ms)
  await session.connect()
  await session.sendText("My name is Sam.")
  // Listeners that call back, each up to ten times: of the session and of each transport.
  const listeners = {}
  let over = false
  const meddle = (source, name) => () => {
    const key = source + " " + name
    const n = listeners[key] = (listeners[key] ?? 0) + 1
    if (over || n > 10) return
    call(() => session.switchMode(n % 2 ? other() : session.mode))
    call(() => session.sendText(key + " " + n, n % 3 ? {signal: inTime(n * 20)} : undefined))
    call(() => session.switchMode(other(), {signal: inTime(n)}))
    call(() => session.connect())
    call(() => session.updateRequestVars({[name]: n}))
    call(() => session.transport.sendText?.("inside " + n, {signal: inTime(5)}) ?? session.transport.interrupt())
    call(() => session.respondToTool("nothing", {}).then(({ok}) => ok))
    if (n === 5) throw new Error("a listener on purpose")
  }
  for (const name of ["stateChange", "transportChanged", "modeChanged", "transcript", "turnStart", "turnEnd", "responsePending", "mediaReady", "error"]) {
    session.on(name, meddle("session", name))
  }
  session.on("transportChanged", ({transport}) => {
    for (const name of ["stateChange", "transcript", "ended"]) transport.on(name, meddle("transport", name))
  })
  call(() => session.switchMode("avatar"))
  for (let i = 0; i < 100; i++) {
    const stop = new AbortController()
    if (i % 10 === 3) stop.abort()
    call(() => session.switchMode(i % 2 ? "avatar" : "chat", {signal: i % 3 ? stop.signal : undefined}))
    if (i % 4 === 0) call(() => session.sendText("rapid " + i, {signal: stop.signal}))
    if (i % 5 === 0) setTimeout(() => stop.abort(), i)
  }
  for (let i = 0; i < 100; i++) await call(() => session.switchMode(other(), {signal: i % 3 ? inTime(1) : AbortSignal.abort()}))
  over = true
  const outcomes = []
  while (calls.length > 0) outcomes.push(...await Promise.all(calls.splice(0)))
  // Switches that are given up, each a little later than the one before, and some
  // that are not, however busy the machine is.
  let givenUp = 0
  for (let i = 0; i < 25; i++) {
    const mode = other()
    if (await within(outcome(() => session.switchMode(mode, {signal: i % 5 === 4 ? undefined : inTime(12 * i)}))) === "aborted") givenUp++
    else if (session.mode !== mode) givenUp = -Infinity
  }
  // The conversation is where it was left, and goes on in both modes.
  const state = session.state
  const to = async (mode) => { while (session.mode !== mode) await within(outcome(() => session.switchMode(mode))) }
  await to("chat")
  const {text} = await session.sendText("What is my name?")
  await to("avatar")
  const heard = new Promise((resolve) => session.on("avatarStopTalking", ({text}) => text.includes("name is") && resolve(text)))
  await session.sendText("What is my name?")
  const spoken = await within(heard)
  const {ends} = talk
  await session.dispose()
  return {
    outcomes: tally(outcomes), text, spoken, state, ends, givenUp,
    listeners, modes: talk.all("modeChanged").length, left: await left(before),
  }
}

export async function disconnectInEveryListenerOfASwitch() {
  await load()
  const before = await holdings()
  /** @type {Record<string, [string, (payload: any) => boolean]>} */
  const moments = {
    "there, switching": ["stateChange", ({state}) => state === "switching"],
    "there, transport": ["transportChanged", ({mode}) => mode === "avatar"],
    "there, connecting": ["transport stateChange", ({state}) => state === "connecting"],
    "there, opened": ["transport serverConnected", () => true],
    "there, connected": ["transport stateChange", ({state}) => state === "connected"],
    "there, mode": ["modeChanged", ({mode}) => mode === "avatar"],
    "there, ready": ["mediaReady", () => true],
    "there, end of the old": ["old ended", () => true],
    "back, transport": ["transportChanged", ({mode}) => mode === "chat"],
    "back, mode": ["modeChanged", ({mode}) => mode === "chat"],
    "back, answer": ["turnStart", () => true],
  }
  const run = async ([when, [event, fits]], i) => {
    const talk = await agentOf()
    const {session} = talk
    await session.connect()
    await session.sendText("My name is Sam.")
    if (when.startsWith("back")) await session.switchMode("avatar")
    let gone
    const act = (payload) => {
      if (!fits(payload)) return
      session.disconnect({reason: "first"})
      session.disconnect({reason: "second"})
      if (i % 2) gone = session.dispose()
    }
    const [of, name] = event.includes(" ") ? event.split(" ") : ["session", event]
    if (of === "session") session.on(name, act)
    if (of === "old") session.transport.on(name, act)
    if (of === "transport") session.on("transportChanged", ({transport}) => transport.on(name, act))
    const switching = outcome(() => session.switchMode(when.startsWith("back") ? "chat" : "avatar"))
    const asked = outcome(() => session.sendText("What is my name?"))
    const switched = await within(switching)
    if (when.endsWith("opened") || when.endsWith("ready")) session.disconnect({reason: "first"}) // where that moment may never come
    const result = {when, asked: await within(asked), switched, again: await outcome(() => session.switchMode("chat"))}
    await (gone ?? session.dispose())
    return {...result, state: session.state, ends: talk.ends, completions: talk.completions}
  }
  const sessions = []
  const all = Object.entries(moments)
  for (let i = 0; i < all.length; i += 4) sessions.push(...await Promise.all(all.slice(i, i + 4).map((m, k) => run(m, i + k))))
  return {sessions, left: await left(before)}
}
