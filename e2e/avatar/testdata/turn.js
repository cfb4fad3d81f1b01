// What the tests of turn_test.go do in their pages.
import { attachTextTrack, Captions, SpokenTranscript } from "/js/dist/ui.js"
import { arrive, open, settled } from "./talk.js"

export async function typedTurnIsAnsweredWithCaptionsInOrder() {
  const talk = await open({agent: "silent", videoEl: document.getElementById("video")})
  await talk.session.connect()
  const meter = await talk.meter()
  await talk.silence() // of the opening, which is none
  const from = talk.now
  const sent = await talk.session.speak("My name is Ada.")
  await meter.loud()
  await talk.silence(from)
  await meter.close()
  const shown = talk.events.slice(from)
  return {
    sent,
    user: talk.texts("user", from),
    final: talk.texts("final", from).join(" "),
    partial: talk.texts("partial", from).join(" "),
    order: shown.map(({name, payload}) => name === "transcript" ? payload.type : name)
      .filter((name) => ["responsePending", "user", "responseSettled", "avatarStartTalking", "final", "partial", "avatarStopTalking"].includes(name))
      .filter((name, i, all) => name !== all[i - 1]),
    speech: new Set(talk.all("transcript", from).filter((t) => t.type === "partial").map((t) => t.speechId)).size,
  }
}

export async function interruptSilencesAtOnce() {
  const video = document.getElementById("video")
  const talk = await open({agent: "silent", videoEl: video})
  const {session} = talk
  const shown = new Captions(session)
  const transcript = new SpokenTranscript(session)
  attachTextTrack(video, shown)
  await session.connect()
  const meter = await talk.meter()
  const from = talk.now
  const delay = await talk.story(meter)
  await talk.until("transcript", ({type}) => type === "partial", from)
  await settled(() => transcript.entries.at(-1)?.text.includes(". ")) // the second sentence is heard
  session.interrupt()
  await talk.until("interrupted")
  const captions = talk.texts("partial").length
  const caption = shown.current?.text ?? ""
  await meter.quiet(1000)
  const [track] = video.textTracks
  const {text, interrupted} = transcript.entries.at(-1) ?? {}
  const result = {
    ms: meter.lastLoud - talk.when("interrupted"),
    delay,
    captions: talk.texts("partial").length - captions,
    spoke: talk.all("avatarStopTalking", from).map(({text}) => text).join(),
    said: talk.all("avatarStopTalking", from).at(-1)?.text,
    settled: !session.responsePending && !session.speaking,
    shown: text, interrupted, caption, cues: track.cues?.length, active: track.activeCues?.length,
  }
  await meter.close()
  return result
}

export async function pauseIsQuiet() {
  globalThis.talk = await open({agent: "silent", videoEl: document.getElementById("video")})
  const {session} = talk
  await session.connect()
  const meter = globalThis.meter = await talk.meter()
  await session.speak("Tell me a long story.")
  await meter.loud()
  session.pause()
  await meter.quiet(500)
  if (!session.paused) throw Error("not paused")
}

export async function firstCalls() {
  const {session} = await open({agent: "silent", videoEl: document.getElementById("video")})
  const {ks} = await arrive("silent")
  await session.connect()
  session.setToken(ks)
  session.mute()
  session.unmute()
  session.muteAudioOutput()
  session.unmuteAudioOutput()
  session.setAudioOutputVolume(0.5)
  session.updateRequestVars({page: "größe"})
  session.setDynamicPrompt({page: {title: "Größen 😀"}})
  session.interrupt()
  session.pause()
  session.resume()
}
