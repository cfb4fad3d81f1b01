// What the tests of activity_test.go do in their pages.
import { find, place, seen, until } from "./element.js"

export async function theStateIsTrue() {
  await place("agent-avatar", {agent: "tools", microphone: "click"})
  globalThis.samples = []
  const on = {talking: false, heard: false, loud: 0, pending: false, answering: false, blocked: false}
  globalThis.on = on
  element.addEventListener("sessionCreated", ({detail: {session}}) => {
    session.onToolCall("save_note", () => "saved")
    const set = (event, change) => session.on(event, () => Object.assign(on, change))
    set("avatarStartTalking", {talking: true, heard: false})
    for (const event of ["avatarStopTalking", "interrupted", "reconnecting"]) set(event, {talking: false})
    set("responsePending", {pending: true})
    set("responseSettled", {pending: false})
    set("turnStart", {answering: true})
    set("turnEnd", {answering: false})
    set("userStartedTalking", {user: performance.now()})
  })
  element.addEventListener("track", ({detail: {track}}) => {
    if (track.kind !== "audio") return
    const context = new AudioContext()
    const analyser = new AnalyserNode(context, {fftSize: 2048})
    context.createMediaStreamSource(new MediaStream([track])).connect(analyser)
    const buffer = new Float32Array(2048)
    globalThis.level = () => {
      analyser.getFloatTimeDomainData(buffer)
      return Math.sqrt(buffer.reduce((sum, sample) => sum + sample * sample, 0) / buffer.length)
    }
  })
  setInterval(() => {
    if (element.phase === "idle") return
    if ((globalThis.level?.() ?? 0) > 0.004) on.heard = true
    const {state, micStarted, micEnabled} = element.session ?? {}
    samples.push({...on, at: Math.round(performance.now()), phase: element.phase, state, microphone: micStarted && micEnabled, says: seen("[part=activity]") ? find("[part=activity]").dataset.is : "", text: seen("[part=activity]") ? find("[part=activity]").innerText : ""})
  }, 100)
}

/** Resolves when the element says that, after what it said before. */
export async function says(activity) {
  const from = globalThis.said ?? 0
  await until(() => (globalThis.said = samples.findIndex(({says}, i) => i >= from && says === activity)) >= 0)
}

export async function activityIsTrue() {
  await until(() => element.phase === "ended")
  const wrong = (s) => {
    if (s.says === "speaking") return !s.talking || !s.heard
    if (s.says === "thinking") return !s.pending && !s.answering && !s.talking
    if (s.says === "listening") return !s.microphone || s.pending || (s.talking && s.heard)
    if (s.says === "muted") return s.microphone || s.pending || (s.talking && s.heard)
    if (s.says === "hearing") return !s.microphone || s.user === undefined
    return s.says !== "" && s.says !== "paused" && s.says !== "reconnecting"
  }
  const seen_ = {}
  for (const {says} of samples) seen_[says] = (seen_[says] ?? 0) + 1
  return {wrong: samples.filter((s, i) => wrong(s) && samples[i + 1]?.says === s.says && wrong(samples[i + 1])), seen: seen_, count: samples.length}
}
