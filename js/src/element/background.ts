import { ChromaKey } from "../chroma/key.js"
import { messageOf } from "../core/errors.js"

/** Shows the picture of a video without its background, in a canvas after it, until signal is aborted. Throws where the browser can't; the console then says why. */
export function removeBackground(video: HTMLVideoElement, signal: AbortSignal): void {
  if (signal.aborted) return
  try {
    const key = new ChromaKey(video)
    key.canvas.setAttribute("part", "picture")
    video.after(key.canvas)
    signal.addEventListener("abort", () => {
      key.destroy()
      key.canvas.remove()
    })
  } catch (cause) {
    console.warn(`agentruntime: the background of the picture stays: ${messageOf(cause)}`)
    throw cause
  }
}
