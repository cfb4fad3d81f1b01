// What the tests of record_test.go do in their pages.
import { open } from "./talk.js"

export async function recordingIsLikeANativeOne() {
  const talk = await open({agent: "silent", videoEl: document.getElementById("video"), micStartMode: "immediate"})
  talk.session.mute() // the browser's microphone beeps, which would interrupt the agent
  const states = []
  const recording = await talk.session.record({onChange: ({state}) => states.push(state)})
  await talk.session.connect()
  await talk.until("mediaReady")
  await talk.until("micStarted")
  await talk.silence() // of the opening, which is none
  for (const text of ["My name is Ada.", "What is my name?"]) {
    const from = talk.now
    await talk.session.speak(text)
    await talk.silence(from)
  }
  talk.session.disconnect()
  const blob = await recording.finished
  const again = await recording.stop()
  const bytes = new Uint8Array(await blob.arrayBuffer())
  let binary = ""
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return {zip: btoa(binary), disclosure: recording.disclosure, states, same: again === blob, error: recording.error?.message ?? null}
}
