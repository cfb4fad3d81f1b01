// What the tests of faces_test.go do in their pages.
import { open } from "./talk.js"

/** The face of an agent, and how long its opening line is. */
export async function face(widgetId) {
  const talk = await open({agent: "receptionist", init: {widgetId}, videoEl: document.getElementById("video")})
  const {session} = talk
  await session.connect()
  await talk.silence()
  const video = session.videoEl
  await new Promise((resolve) => video.requestVideoFrameCallback(resolve))
  const draw = (width, height) => {
    const canvas = new OffscreenCanvas(width, height)
    const context = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext("2d"))
    context.drawImage(video, 0, 0, width, height)
    return {canvas, pixels: [...context.getImageData(0, 0, width, height).data]}
  }
  const blob = await draw(video.videoWidth, video.videoHeight).canvas.convertToBlob()
  const png = btoa(String.fromCharCode(...new Uint8Array(await blob.arrayBuffer())))
  const {pixels} = draw(32, 18)
  const duration = talk.all("speechChunk").reduce((sum, {durationMs}) => sum + durationMs, 0)
  session.disconnect()
  return {png, pixels, duration}
}
