// What the tests of tabs_test.go do in their pages.
import { chatOf } from "./hostile.js"

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
