// Measures the sound that a page would play and the picture that it would show.

/** Measures how loud a track is. */
export class LevelMeter {
  // RMS of a block; speech is about 0.1, comfort noise below 0.001.
  static loud = 0.02

  level = 0
  loudBlocks = 0
  lastLoud = -Infinity // on the clock of performance.now()
  now = -Infinity // the time of the last block, on the same clock
  context = new AudioContext({ latencyHint: "interactive" })
  element = new Audio()
  #waiting = new Set()
  #offsets = [] // ms, of the blocks of the last second
  #clock = Date.now() - performance.now()

  static async at(track) {
    const meter = new LevelMeter()
    await meter.context.audioWorklet.addModule("/e2e/pagetest/page/meter.js")
    await meter.context.resume()
    const stream = new MediaStream([track])
    // Chromium decodes a received track for Web Audio only while an element plays it.
    meter.element.muted = true
    meter.element.srcObject = stream
    meter.element.play()
    const node = new AudioWorkletNode(meter.context, "meter")
    meter.context.createMediaStreamSource(stream).connect(node).connect(meter.context.destination)
    node.port.onmessage = ({ data }) => meter.#block(data)
    return meter
  }

  #block({ at, wall, level }) {
    // Blocks may be processed late, and the context's clock falls behind when the browser loses some. The fastest one of
    // the last second determines the clock's offset; messages, which a busy page delays, do not matter.
    this.#offsets.push(wall - this.#clock - at * 1000)
    if (this.#offsets.length > this.context.sampleRate / 128) this.#offsets.shift()
    this.level = level
    this.now = at * 1000 + Math.min(...this.#offsets)
    if (level > LevelMeter.loud) {
      this.lastLoud = this.now
      this.loudBlocks++
    }
    for (const check of this.#waiting) check()
  }

  /** @returns {Promise<void>} */
  #until(condition) {
    return new Promise((resolve) => {
      const check = () => {
        if (!condition()) return
        this.#waiting.delete(check)
        resolve()
      }
      this.#waiting.add(check)
      check()
    })
  }

  /** Resolves to the time of the first loud block after this call. */
  async loud() {
    const since = this.now
    await this.#until(() => this.lastLoud > since)
    return this.lastLoud
  }

  /** Resolves when that many milliseconds of loud sound have followed this call. */
  speech(ms) {
    const block = (128 / this.context.sampleRate) * 1000 // ms
    const since = this.loudBlocks
    return this.#until(() => (this.loudBlocks - since) * block >= ms)
  }

  /** Resolves when no block was loud for that many milliseconds. */
  quiet(ms) {
    const since = this.now
    return this.#until(() => this.now - Math.max(this.lastLoud, since) > ms)
  }

  close() {
    this.element.srcObject = null
    return this.context.close()
  }
}

/** Waits for a frame of a video and returns its size and its number of colours. */
export async function picture(video) {
  await new Promise((resolve) => video.requestVideoFrameCallback(resolve))
  const { videoWidth: width, videoHeight: height } = video
  const canvas = new OffscreenCanvas(width, height)
  const context = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext("2d"))
  context.drawImage(video, 0, 0)
  const { data } = context.getImageData(0, 0, width, height)
  const colours = new Set()
  for (let i = 0; i < data.length; i += 4) colours.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2])
  return { width, height, colours: colours.size }
}

/** The types of the local candidates over which the picture is actually received. */
export async function relayed() {
  const kinds = []
  for (const peer of watched.peers.filter((peer) => peer.getReceivers().some(({ track }) => track.kind === "video"))) {
    const stats = [...(await peer.getStats()).values()]
    for (const pair of stats.filter(({ type, nominated, state }) => type === "candidate-pair" && nominated && state === "succeeded")) {
      kinds.push(stats.find(({ id }) => id === pair.localCandidateId).candidateType)
    }
  }
  return kinds
}
