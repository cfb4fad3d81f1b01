// What the tests of lifecycle_test.go do in their pages.
import { open } from "./talk.js"

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
