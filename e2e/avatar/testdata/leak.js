// What the tests of leak_test.go do in their pages.
import { diagnostics, load } from "/js/dist/index.js"
import { held, open, settled } from "./talk.js"

export async function sessions(cycles) {
  await load()
  const cycle = async (i) => {
    const talk = await open({
      agent: i % 2 ? "silent" : "audio",
      videoEl: i % 2 ? document.createElement("video") : null,
      micStartMode: i % 5 ? "deferred" : "immediate",
    })
    await talk.session.connect()
    if (i % 5 === 0) await talk.until("micStarted")
    talk.session.disconnect()
    await talk.session[Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]()
  }
  const all = async () => ({...held(), ...await diagnostics()})
  const before = await all()
  for (let i = 0; i < cycles; i += 5) await Promise.all([0, 1, 2, 3, 4].map((k) => cycle(i + k)))
  await settled(async () => Object.entries(await all()).every(([name, n]) => n <= before[name]))
  return {before, after: await all()}
}

export async function fiveSessions() {
  const all = globalThis.all = async () => ({...held(), ...await diagnostics()})
  const talks = globalThis.talks = await Promise.all([0, 1, 2, 3, 4].map(() => open({agent: "silent", videoEl: document.createElement("video")})))
  for (const talk of talks) {
    await talk.session.connect()
    await talk.until("mediaReady")
  }
  const before = globalThis.before = await all()
  return {threads: talks.map(({session}) => session.threadId), held: before}
}
