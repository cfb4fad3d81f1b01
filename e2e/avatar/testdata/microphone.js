// What the tests of microphone_test.go do in their pages.
import { held, open } from "./talk.js"

export async function unpluggedMicrophoneIsReported() {
  const talk = await open({agent: "silent", videoEl: document.getElementById("video")})
  const {session} = talk
  let changes = 0
  session.on("devicesChanged", () => changes++)
  await session.connect()
  await session.startMic()
  await talk.until("micStarted")
  // What a browser does when a device is unplugged: a page can't.
  const track = /** @type {MediaStreamTrack} */ (watched.microphones.at(-1))
  track.stop()
  track.dispatchEvent(new Event("ended"))
  navigator.mediaDevices.dispatchEvent(new Event("devicechange"))
  const {code: warning, message: sentence} = await talk.until("warning")
  const started = session.micStarted
  const error = session.micError?.code
  await session.speak("My name is Ada.")
  const {text: answer} = await talk.until("avatarStopTalking", ({text}) => text.startsWith("Nice"))
  const from = talk.now
  await session.startMic()
  await talk.until("micStarted", undefined, from)
  const {text: heard} = await talk.until("transcript", ({type}) => type === "user", from)
  return {warning, sentence, error, started, changes, answer, heard, state: session.state, again: session.micStarted, cleared: session.micError === null, live: held().microphones}
}
