// What the test of a recording does in the page of the playground.
import { appInit, AvatarSession } from "/js/dist/index.js"
import { agents, service } from "/e2e/pagetest/page/tools.js"

const drop = (blob) => {
  const dataTransfer = new DataTransfer()
  dataTransfer.items.add(new File([blob], "conversation.zip"))
  document.body.dispatchEvent(new DragEvent("drop", {dataTransfer, bubbles: true, cancelable: true}))
}

export const dropText = (text) => drop(new Blob([text]))

export async function recordAndDrop() {
  const session = new AvatarSession({...(await appInit({widgetId: agents.silent, ...service.addresses})), ...service.session, videoEl: document.createElement("video"), micStartMode: "deferred"})
  const recording = await session.record()
  const say = async (text) => {
    const over = new Promise((/** @type {(value?: unknown) => void} */ resolve) => session.on("turnTimings", ({from}) => from === "typed" && resolve()))
    await session.speak(text)
    await over
  }
  await session.connect()
  await say("My name is Ada.")
  await say("What is my name?")
  session.disconnect()
  drop(await recording.finished)
}

/**
 * Resolves when a condition of the video is true.
 * @returns {Promise<void>}
 */
const until = (video, condition) => new Promise((resolve) => {
  const over = new AbortController()
  const look = () => {
    if (!condition()) return
    over.abort()
    resolve()
  }
  for (const event of ["durationchange", "seeked", "timeupdate", "playing", "load"]) video.addEventListener(event, look, {capture: true, signal: over.signal})
  look()
})

const recorded = () => /** @type {HTMLVideoElement} */ (document.getElementById("recorded"))

export async function shown() {
  const video = recorded()
  await until(video, () => video.videoWidth > 0 && video.duration > 1 && video.duration < 60 && !video.seeking && video.currentTime === 0)
  await until(video, () => [.../** @type {Iterable<any>} */ (video.textTracks[0].cues ?? [])].some(({text}) => text.includes("What is my name?")))
}

export async function playsFromATurn() {
  const video = recorded()
  document.querySelectorAll("#turns .from")[0].dispatchEvent(new MouseEvent("click", {bubbles: true}))
  await until(video, () => video.currentTime > 1 && !video.paused)
  video.pause()
}
