// What the tests of transcript_test.go do in their pages.
import { attachTextTrack, Captions, SpokenTranscript } from "/js/dist/ui.js"
import { open } from "./talk.js"

export async function transcriptAsSpoken() {
  const video = document.getElementById("video")
  const talk = await open({videoEl: video})
  const liveRegion = document.createElement("div")
  const captions = new Captions(talk.session)
  const transcript = new SpokenTranscript(talk.session, {liveRegion})
  attachTextTrack(video, captions)
  // The sentences whose first chunk has been announced, 400 ms before it sounds.
  let announced = ""
  const ahead = []
  talk.session.on("speechChunk", ({text}) => (announced += text.replace(/\s/g, "")))
  transcript.onChange(({entry}) => {
    if (entry.who !== "agent" || entry.interrupted) return
    const sentences = entry.text.split(/(?<=[.!?])\s+/)
    for (const sentence of sentences) {
      if (!announced.includes(sentence.replace(/\s/g, "").slice(0, 3))) ahead.push(sentence)
    }
  })
  await talk.session.connect()
  await talk.until("avatarStopTalking")
  const from = talk.now
  await talk.session.speak("Tell me a long story.")
  await new Promise((/** @type {(value?: unknown) => void} */ resolve) => transcript.onChange(({entry}) => entry.who === "agent" && entry.text.split(". ").length > 2 && resolve()))
  const known = talk.texts("final", from).length
  const [track] = video.textTracks
  const cues = track.cues?.length
  talk.session.interrupt()
  await talk.until("interrupted", undefined, from)
  const caption = captions.current?.text ?? ""
  const {text} = await talk.until("avatarStopTalking", undefined, from)
  const entry = transcript.entries.at(-1)
  await talk.session.disconnect()
  return {
    Spoken: text, Shown: entry?.text, Ahead: ahead, Interrupted: entry?.interrupted, Caption: caption,
    Cues: cues, Active: track.activeCues?.length, Known: known, Region: liveRegion.textContent,
  }
}
