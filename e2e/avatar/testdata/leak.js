// What the tests of leak_test.go do in their pages.
import { diagnostics } from "/js/dist/index.js"
import { held, open } from "./talk.js"

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
