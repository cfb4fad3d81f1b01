// What the tests of microphone_test.go do in their pages.
import { failure, held, open, settled } from "./talk.js"

export async function speechCutsTheAgentAndIsAnswered() {
  const talk = await open({agent: "silent", micStartMode: "deferred", videoEl: document.getElementById("video")})
  const {session} = talk
  await session.connect()
  const meter = await talk.meter()
  const delay = await talk.story(meter)
  const from = talk.now
  await session.startMic()
  await talk.until("interrupted", undefined, from)
  await meter.quiet(200)
  const ms = meter.lastLoud - talk.when("interrupted", from)
  const {text: user} = await talk.until("transcript", ({type}) => type === "user", from)
  const {text: spoke} = await talk.until("transcript", ({type, text}) => type === "final" && text.includes("nine"), from)
  await meter.close()
  return {ms, delay, user, spoke, microphones: held().microphones}
}

export async function deferredMicrophoneIsAskedForLater() {
  const talk = globalThis.talk = await open({agent: "silent", videoEl: document.getElementById("video")})
  const {session} = talk
  await session.connect()
  const before = held().microphones
  await Promise.all([session.startMic(), session.startMic()])
  const after = held().microphones
  await talk.until("micStarted")
  await talk.until("userStartedTalking")
  const {text: heard} = await talk.until("transcript", ({type}) => type === "user")
  const {mics} = await session.listDevices()
  const wanted = mics.find(({deviceId}) => deviceId !== "default" && deviceId !== watched.microphones[0].getSettings().deviceId).deviceId
  const unknown = await failure(session.switchMic("nobody"))
  await session.switchMic(wanted)
  const used = watched.microphones.filter(({readyState}) => readyState === "live")
  const {text: heardThen} = await talk.until("transcript", ({type}) => type === "user", talk.now)
  await talk.until("avatarStartTalking", undefined, talk.now) // what is typed before it would continue the turn
  return {before, after, heard, mics: mics.length, wanted, used: used[0].getSettings().deviceId, live: used.length, unknown: unknown.code, heardThen}
}

export async function unpluggedMicrophoneIsReported() {
  const {session} = talk
  let changes = 0
  session.on("devicesChanged", () => changes++)
  const unplugged = talk.now
  // What a browser does when a device is unplugged: a page can't.
  const track = /** @type {MediaStreamTrack} */ (watched.microphones.find(({readyState}) => readyState === "live"))
  track.stop()
  track.dispatchEvent(new Event("ended"))
  navigator.mediaDevices.dispatchEvent(new Event("devicechange"))
  const {code: warning, message: sentence} = await talk.until("warning", undefined, unplugged)
  const started = session.micStarted
  const error = session.micError?.code
  await session.speak("My name is Ada.")
  const {text: answer} = await talk.until("avatarStopTalking", ({text}) => text.startsWith("Nice"))
  const from = talk.now
  await session.startMic()
  await talk.until("micStarted", undefined, from)
  const {text: heard} = await talk.until("transcript", ({type}) => type === "user", from)
  const got = {warning, sentence, error, started, changes, answer, heard, state: session.state, again: session.micStarted, cleared: session.micError === null, live: held().microphones}
  session.disconnect()
  await settled(() => held().microphones === 0)
  return {...got, over: held().microphones}
}
