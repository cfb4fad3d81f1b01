/** The longer side of a still, in pixels. */
const longestSide = 1600
/** What the service takes at most, in bytes. */
const maxBytes = 500_000
/** From one still to the next, in ms: the service takes one each second, and the agent gets the newest with the next turn. */
const everyMs = 2000
const qualities = [0.8, 0.6, 0.4, 0.2]

/** Sends stills of a screen or a camera, as JPEG, until it is stopped. */
export class Stills {
  readonly #stream: MediaStream
  readonly #canvas = document.createElement("canvas")
  #timer: ReturnType<typeof setTimeout> | undefined
  #stopped = false

  /** `video` shows what is sent; `ended` is called when the browser ends the stream, and when a still could not be sent. */
  constructor(stream: MediaStream, video: HTMLVideoElement, send: (image: ArrayBuffer) => void, ended: (reason?: unknown) => void) {
    this.#stream = stream
    Object.assign(video, { muted: true, playsInline: true, srcObject: stream })
    const stop = (reason?: unknown) => {
      if (this.#stopped) return
      this.stop()
      ended(reason)
    }
    for (const track of stream.getTracks()) track.addEventListener("ended", () => stop())
    const next = async (): Promise<void> => {
      const image = await this.#still(video)
      if (this.#stopped) return
      if (image) send(image)
      this.#timer = setTimeout(() => void next().catch(stop), everyMs)
    }
    video.play().then(next).catch(stop)
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
    for (const track of this.#stream.getTracks()) track.stop()
  }

  /** The present picture; undefined while there is none. */
  async #still(video: HTMLVideoElement): Promise<ArrayBuffer | undefined> {
    const { videoWidth, videoHeight } = video
    if (videoWidth === 0) return undefined
    const scale = Math.min(1, longestSide / Math.max(videoWidth, videoHeight))
    const canvas = Object.assign(this.#canvas, { width: Math.round(videoWidth * scale), height: Math.round(videoHeight * scale) })
    canvas.getContext("2d")?.drawImage(video, 0, 0, canvas.width, canvas.height)
    for (const quality of qualities) {
      const image = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/jpeg", quality))
      if (image && image.size <= maxBytes) return image.arrayBuffer()
    }
    return undefined
  }
}
