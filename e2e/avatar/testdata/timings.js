// What the tests of timings_test.go do in their pages.
import { open } from "./talk.js"

export async function turnTimingsAgreeWithAStopwatch() {
  const video = document.getElementById("video")
  const talk = await open({agent: "silent", videoEl: video})
  const {session} = talk
  const timings = new Promise((resolve) => session.on("turnTimings", (payload, at) => resolve({payload, at})))
  await session.connect()
  const meter = await talk.meter()
  await talk.silence() // of the opening, which is none
  const frames = []
  const size = [320, 180]
  const painter = new OffscreenCanvas(...size).getContext("2d", {willReadFrequently: true})
  let last, over = false
  const shown = (_, {presentationTime}) => {
    painter.drawImage(video, 0, 0, ...size)
    const {data} = painter.getImageData(0, 0, ...size)
    if (last) {
      let sum = 0
      for (let i = 0; i < data.length; i += 4) sum += Math.abs(data[i] + data[i + 1] + data[i + 2] - last[i] - last[i + 1] - last[i + 2])
      frames.push({at: presentationTime, sum})
    }
    last = data
    if (!over) video.requestVideoFrameCallback(shown)
  }
  video.requestVideoFrameCallback(shown)
  const loud = meter.loud()
  const asked = performance.now()
  await session.speak("My name is Ada.")
  const sound = await loud
  const {payload, at} = await timings
  over = true
  await meter.close()
  const calm = Math.max(...frames.filter((f) => f.at < sound - 200 && f.at > sound - 1000).map((f) => f.sum))
  const moved = frames.find((f) => f.at >= sound - 200 && f.sum > 1.5 * calm)
  const start = at - payload.durationMs
  const [{turnId}] = talk.all("avatarStartTalking")
  return {timings: payload, sound: sound - start, frame: (moved?.at ?? 0) - start, asked: asked - start, turnID: turnId}
}
