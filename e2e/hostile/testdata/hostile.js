// Shared by the tests of this package: sessions whose events are recorded, and promises
// that must settle.
import { AgentError, AgentSession, appInit, ChatSession, diagnostics } from "/js/dist/index.js"
import { agents, held, Recording, service, settled } from "/e2e/pagetest/page/tools.js"

export { converse, dispose, load } from "/js/dist/index.js"
export { diagnostics, held, settled }

const names = ["stateChange", "transportChanged", "modeChanged", "transcript", "turnStart", "turnEnd", "sessionCompleted", "warning", "error", "ended"]

/** Calls appInit for an agent, and adds the service's options for sessions. All tabs belong to one visitor and use one token. */
export async function arrive(agent = "silent") {
  const token = sessionStorage.getItem(agent) // another tab gets a copy
  const init = await appInit({ widgetId: agents[agent], ...(token && { token }), ...service.addresses })
  sessionStorage.setItem(agent, init.ks)
  return { ...init, ...service.session }
}

/**
 * A conversation over both transports, in text unless options say otherwise; it is not connected.
 * @param {Partial<import("/js/dist/index.js").AgentSettings>} [options]
 */
export async function agentOf({ avatar, ...options } = {}) {
  const face = { micStartMode: "deferred", videoEl: document.createElement("video"), ...avatar }
  return new TestSession(new AgentSession({ ...(await arrive()), mode: "chat", avatar: face, ...options }))
}

/** A conversation in text; it is not connected. */
export async function chatOf(options) {
  return new TestSession(new ChatSession({ ...(await arrive()), ...options }))
}

class TestSession extends Recording {
  #transports = new WeakSet()

  constructor(session) {
    super(session, names)
    // Events that an agent session does not pass on.
    session.on("transportChanged", ({ transport }) => {
      if (this.#transports.has(transport)) return
      this.#transports.add(transport)
      transport.on("sessionCompleted", (payload) => session.emit("sessionCompleted", payload))
    })
  }

  /** The reasons in the `ended` events of this session. */
  get ends() {
    return this.all("ended").map(({ reason }) => reason)
  }

  /** The outcomes of the completion signal, one word for each attempt. */
  get completions() {
    return this.all("sessionCompleted").map(({ reason, sent, suppressed }) => (sent ? reason : `${reason} ${suppressed ? "suppressed" : "failed"}`))
  }
}

/** The code of an error; an error of another class is `untyped`. */
export const errorCode = (e) => (e instanceof AgentError ? e.code : `untyped: ${e}`)

/** Calls a function and resolves with its result or its error's code. */
export async function outcome(call) {
  try {
    const value = await call()
    return value?.text ?? String(value)
  } catch (e) {
    return errorCode(e)
  }
}

/** Resolves with the value of a promise, or with "pending" after ms. */
export async function within(promise, ms = 30_000) {
  let timer
  const late = new Promise((resolve) => (timer = setTimeout(resolve, ms, "pending")))
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Counts how often each text is in a list. */
export function tally(list) {
  const counts = {}
  for (const text of list) counts[text] = (counts[text] ?? 0) + 1
  return counts
}

/** Counts of the page's and the program's resources. The Go runtime has one timer or none, which is not counted. */
export async function holdings() {
  const all = { ...held(), ...(await diagnostics()) }
  return { ...all, timers: Math.max(0, all.timers - 1) }
}

/** The resources that are not released within 20 s, compared with before. */
export async function left(before) {
  let now
  const more = () => Object.entries(now).filter(([name, n]) => n > before[name])
  await settled(async () => {
    now = await holdings()
    return more().length === 0
  }, 20_000)
  return more().map(([name, n]) => `${n} ${name}, ${before[name]} before`)
}

/** Makes sessions in every phase, by the phase's name, each with a thread of its own, and returns them and their pending calls. */
export async function phases() {
  const talked = async (make) => {
    const talk = await make()
    await talk.session.connect()
    await talk.session.sendText("My name is Sam.")
    return talk
  }
  const kept = async () => {
    const { session } = await talked(chatOf)
    session.disconnect({ final: false })
    return session.threadId
  }
  const all = {
    idle: await chatOf({ threadId: await kept() }),
    connecting: await agentOf({ mode: "avatar", threadId: await kept() }),
    quiet: await talked(chatOf),
    "in a turn": await talked(chatOf),
    switching: await talked(agentOf),
    "with a face": await talked(agentOf),
    "back in text": await talked(agentOf),
    "left open": await talked(chatOf),
    disconnected: await talked(chatOf),
    disposed: await talked(agentOf),
  }
  const session = (name) => all[name].session
  await session("with a face").switchMode("avatar")
  await session("back in text").switchMode("avatar")
  await session("back in text").switchMode("chat")
  session("left open").disconnect({ final: false })
  session("disconnected").disconnect()
  await all["disconnected"].until("sessionCompleted")
  await session("disposed").dispose()
  const open = {
    "in a turn": outcome(() => session("in a turn").sendText("Think about it")),
    connecting: outcome(() => session("connecting").connect()),
    switching: outcome(() => session("switching").switchMode("avatar")),
  }
  await all["in a turn"].until("transcript", ({ text }) => text.startsWith("I think"))
  return { all, open }
}

/** The outcomes of the sessions of phases, by the phase. */
export async function aftermath({ all, open }) {
  const result = {}
  for (const [name, talk] of Object.entries(all)) {
    const call = open[name] ? await within(open[name]) : ""
    const { threadId, state } = talk.session
    result[name] = { thread: threadId ?? "", state, call, ends: talk.ends, completions: talk.completions }
  }
  return result
}
