// What the tests of lifecycle_test.go do in their pages.
import { held, open } from "./talk.js"

export async function theClockMayJump() {
  const {Date: Real} = globalThis
  let shift = 0
  class Shifted extends Real {
    /** @param {[any?]} args */
    constructor(...args) {
      if (args.length === 0) super(Real.now() + shift)
      else super(args[0])
    }
    static now() { return Real.now() + shift }
  }
  globalThis.Date = /** @type {any} */ (Shifted)
  const talk = await open({agent: "silent", videoEl: document.getElementById("video")})
  const {session} = talk
  await session.connect()
  await talk.until("mediaReady")
  const spoken = []
  const names = ["Ada", "Bob", "Cleo"]
  for (const hours of [12, -12, 0]) {
    shift = hours * 3_600_000
    const from = talk.now
    await session.speak("My name is " + names[spoken.length] + ".")
    spoken.push((await talk.until("avatarStopTalking", ({text}) => text.startsWith("Nice"), from)).text)
  }
  const state = session.state
  const events = talk.events.map(({name}) => name).filter((name) => ["error", "ended", "warning", "reconnecting", "mediaRecovering", "timeExpired"].includes(name))
  shift = 12 * 3_600_000
  session.disconnect()
  const {sent} = await talk.until("sessionCompleted")
  return {state, events, spoken, sent}
}

export async function comesBack() {
  const {session} = talk
  const {from, frozenWith} = /** @type {any} */ (globalThis)
  await globalThis.resumed
  await talk.until("micStarted", undefined, from)
  while (session.state !== "connected") await talk.until("stateChange", ({state}) => state === "connected", from)
  const live = held().microphones
  session.mute() // the fake microphone speaks, and would interrupt the answer
  await session.speak("My name is Ada.")
  const {text: answer} = await talk.until("transcript", ({type, text}) => type === "final" && text.startsWith("Nice"), from)
  return {frozenWith, live, answer, state: session.state}
}
