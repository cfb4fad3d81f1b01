// What the tests of timings_test.go do in their pages.
import { LevelMeter, open } from "./talk.js"

export async function typedTurn() {
  const watch = await Stopwatch.open()
  const asked = performance.now()
  await watch.session.speak("My name is Ada.")
  const sent = performance.now()
  const compared = await watch.compare()
  return { ...compared, asked: asked - watch.start, sent: sent - watch.start }
}

export async function spokenTurn() {
  const watch = await Stopwatch.open()
  await watch.session.startMic()
  const mic = await LevelMeter.at(watched.microphones[0])
  await watch.talk.until("turnStart")
  const spoke = mic.lastLoud
  watch.session.mute() // the recording begins again
  const compared = await watch.compare()
  await mic.close()
  return { ...compared, spoke: spoke - watch.start }
}

/** A session, and a measurement of its next turn that is not the session's own. */
class Stopwatch {
  /** @type {[number, number]} */
  static #size = [320, 180]
  #frames = []
  #last
  #frame = 0
  #painter = /** @type {OffscreenCanvasRenderingContext2D} */ (new OffscreenCanvas(...Stopwatch.#size).getContext("2d", { willReadFrequently: true }))
  video = document.getElementById("video")
  start = NaN

  constructor(talk, meter) {
    this.talk = talk
    this.session = talk.session
    this.meter = meter
    this.timings = new Promise((resolve) => this.session.on("turnTimings", (payload, at) => resolve({ payload, at })))
    this.#paint()
    this.loud = meter.loud()
  }

  static async open() {
    const talk = await open({ agent: "silent", videoEl: document.getElementById("video") })
    await talk.session.connect()
    const meter = await talk.meter()
    await talk.silence() // of the opening, which is none
    return new Stopwatch(talk, meter)
  }

  /** Records how much each frame that is shown differs from the one before. */
  #paint() {
    this.#frame = this.video.requestVideoFrameCallback((_, { presentationTime }) => {
      this.#painter.drawImage(this.video, 0, 0, ...Stopwatch.#size)
      const { data } = this.#painter.getImageData(0, 0, ...Stopwatch.#size)
      if (this.#last) {
        let sum = 0
        for (let i = 0; i < data.length; i += 4) {
          sum += Math.abs(data[i] + data[i + 1] + data[i + 2] - this.#last[i] - this.#last[i + 1] - this.#last[i + 2])
        }
        this.#frames.push({ at: presentationTime, sum })
      }
      this.#last = data
      this.#paint()
    })
  }

  /** Waits for the end of the turn. Times are in ms from its beginning. */
  async compare() {
    const sound = await this.loud
    const { payload, at } = await this.timings
    this.video.cancelVideoFrameCallback(this.#frame)
    await this.meter.close()
    this.start = at - payload.durationMs
    const calm = Math.max(...this.#frames.filter((f) => f.at < sound - 200 && f.at > sound - 1000).map((f) => f.sum))
    const moved = this.#frames.find((f) => f.at >= sound - 200 && f.sum > 1.5 * calm)
    const near = this.#frames.filter((f) => Math.abs(f.at - sound) < 500)
    const gap = Math.max(...near.slice(1).map((f, i) => f.at - near[i].at)) // of the picture, which a busy page shows less often
    const withSound = this.#frames.find((f) => f.at >= sound)
    const announced = this.start + payload.marks.firstText
    const before = this.#frames.filter((f) => f.at > announced && f.at < sound - 200).length
    const [{ turnId }] = this.talk.all("avatarStartTalking")
    const since = (time) => time - this.start
    return {
      timings: payload, sound: since(sound), frame: moved && since(moved.at), withSound: since(withSound?.at ?? NaN), before, gap, turnID: turnId,
    }
  }
}
