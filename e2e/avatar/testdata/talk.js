// What the tests of a page have in common: a session whose events are
// remembered, an ear that measures, and an eye that looks.
import { appInit, AvatarSession } from "/js/dist/index.js"

const service = await (await fetch("/service.json")).json()

/** The widget ids by the names of the agents. */
export const agents = Object.fromEntries(service.agents.map(({ name, widgetId }) => [name, widgetId]))

/** Events of which nothing is measured, too many to keep. */
const names = [
  "stateChange", "streamReady", "capacityChanged", "track", "videoMetadata", "mediaReady", "disclosure", "connectTimings",
  "connectivityChanged", "mediaRecovering", "mediaRecovered", "reconnecting", "reconnected", "connectionQuality", "micStarted",
  "userStartedTalking", "responsePending", "responseSettled", "turnStart", "turnEnd", "transcript", "speechChunk",
  "avatarStartTalking", "avatarStopTalking", "interrupted", "toolCall", "toolCallResult", "resumed", "resumeReady",
  "timeExpired", "sessionCompleted", "warning", "error", "ended",
]

/** Makes a session with an agent; options go to the session, init to appInit. */
export async function open({ agent = "receptionist", init = {}, ...options } = {}) {
  const reply = await appInit({ widgetId: agents[agent], ...service.addresses, ...init })
  return new Talk(new AvatarSession({ ...reply, ...service.session, micStartMode: "deferred", ...options }), reply)
}

/** A session with everything that it said. */
class Talk {
  events = []
  #waiting = new Set()

  constructor(session, reply) {
    this.session = session
    this.reply = reply
    for (const name of names) session.on(name, (payload) => this.#note({ name, payload, at: performance.now() }))
  }

  #note(event) {
    this.events.push(event)
    for (const check of this.#waiting) check()
  }

  /** The place behind the last event. */
  get now() {
    return this.events.length
  }

  /** Resolves to the first event with that name that fits, from a place on. */
  until(name, fits = () => true, from = 0) {
    const find = () => this.events.slice(from).find((event) => event.name === name && fits(event.payload))
    return new Promise((resolve) => {
      const check = () => {
        const event = find()
        if (event === undefined) return
        this.#waiting.delete(check)
        resolve(event.payload)
      }
      this.#waiting.add(check)
      check()
    })
  }

  /** The payloads of all events with that name, from a place on. */
  all(name, from = 0) {
    return this.events.slice(from).filter((event) => event.name === name).map((event) => event.payload)
  }

  /** The texts of one type of transcript. */
  texts(type, from = 0) {
    return this.all("transcript", from).filter((t) => t.type === type).map((t) => t.text)
  }

  /** Resolves when the agent has said everything of this turn. */
  async silence(from = 0) {
    await this.until("avatarStopTalking", undefined, from)
  }

  /** An ear at the voice that arrives. */
  async ear() {
    const { track } = await this.until("track", ({ track }) => track.kind === "audio")
    return Ear.at(track)
  }
}

/** Hears a track. */
export class Ear {
  // RMS of a block; speech is about 0.1, comfort noise below 0.001.
  static loud = 0.02

  level = 0
  lastLoud = -Infinity // on the clock of performance.now()
  now = -Infinity // how far it has heard, on the same clock
  #waiting = new Set()
  #offset = Infinity

  static async at(track) {
    const ear = new Ear()
    ear.context = new AudioContext({ latencyHint: "interactive" })
    await ear.context.audioWorklet.addModule("/e2e/avatar/testdata/ear.js")
    await ear.context.resume()
    const stream = new MediaStream([track])
    // Chromium decodes a received track for Web Audio only while an element plays it.
    ear.element = new Audio()
    ear.element.muted = true
    ear.element.srcObject = stream
    ear.element.play()
    const node = new AudioWorkletNode(ear.context, "ear")
    ear.context.createMediaStreamSource(stream).connect(node).connect(ear.context.destination)
    node.port.onmessage = ({ data }) => ear.#block(data)
    return ear
  }

  #block({ at, level }) {
    const arrived = performance.now()
    // Messages may wait for the page; the fastest one tells the clock's offset.
    this.#offset = Math.min(this.#offset, arrived - at * 1000)
    this.level = level
    this.now = at * 1000 + this.#offset
    if (level > Ear.loud) this.lastLoud = this.now
    for (const check of this.#waiting) check()
  }

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

  /** Resolves when something is heard after this call. */
  loud() {
    const since = this.now
    return this.#until(() => this.lastLoud > since)
  }

  /** Resolves when nothing was heard for that long. */
  quiet(ms) {
    const since = this.now
    return this.#until(() => this.now - Math.max(this.lastLoud, since) > ms)
  }

  close() {
    this.element.srcObject = null
    return this.context.close()
  }
}

/** Waits for a frame of a video and tells its size and how much its pixels differ. */
export async function picture(video) {
  await new Promise((resolve) => video.requestVideoFrameCallback(resolve))
  const { videoWidth: width, videoHeight: height } = video
  const canvas = new OffscreenCanvas(width, height)
  const context = canvas.getContext("2d")
  context.drawImage(video, 0, 0)
  const { data } = context.getImageData(0, 0, width, height)
  const colours = new Set()
  for (let i = 0; i < data.length; i += 4) colours.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2])
  return { width, height, colours: colours.size }
}

/** How a promise is rejected, as plain data. */
export function failure(promise) {
  return promise.then(
    (value) => ({ value: value ?? null }),
    (e) => ({ code: e.code, phase: e.phase, status: e.status, retryable: e.retryable, message: e.message, title: e.title }),
  )
}

/** The kinds of the local candidates through which the picture really comes. */
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

/** What the page holds. */
export const held = () => watched.count()

/** Resolves when a condition holds, looking at it with each frame. */
export async function settled(condition, ms = 10_000) {
  const end = performance.now() + ms
  while (!(await condition()) && performance.now() < end) await new Promise((resolve) => requestAnimationFrame(resolve))
}
