// Shows a recorded conversation: its picture with captions, its words, its turns, and its events.
import { SILENT_OPENING_LABEL } from "/js/dist/index.js"
import { openRecording } from "/js/dist/replay.js"
import { $, make, status } from "../shared/dom.js"
import { showTimings } from "./charts.js"
import { showSaid } from "./lines.js"

export { openRecording }

// Events that come many times a second and say little.
const levels = ["localMicLevel"]

/** A recording in the places of a session; `log` and `turns` are the page's lists. */
export class ShownRecording {
  #player

  constructor(recording, log, turns) {
    const { entries, files, started } = recording
    const events = entries.filter(({ event }) => event)
    const first = files.find(isOfAgent)
    this.captions = recording.captions(first?.begin)
    this.#player = first && new Player(recording)
    const from = (t) => (first ? [this.#button(t)] : [])
    log.fill(events.filter(({ event }) => !levels.includes(event)).map(({ t, event, data }) => [new Date(started.getTime() + t), event, JSON.stringify(data) ?? ""]))
    turns.clear()
    const { data: timings = {} } = events.findLast(({ event }) => event === "connectTimings") ?? {}
    showTimings(timings)
    for (const { t, event, data } of events) turns.add(event, data, ...from(t - (data?.durationMs ?? 0)))
    const said = recording.turns.filter(({ text }) => text !== SILENT_OPENING_LABEL)
    showSaid(said.map(({ by, text, startMs, interrupted }) => ({ who: by === "visitor" ? "You" : "Agent", text, interrupted, more: from(startMs) })))
    $("widgets").replaceChildren()
    $("stage").dataset.state = "idle"
    status(first ? "" : "The recording has no sound or picture of the agent.")
  }

  close() {
    this.#player?.close()
  }

  #button(t) {
    const button = make("button", { type: "button", className: "from", title: "Play from here" }, clock(t))
    button.addEventListener("click", () => this.#player.play(t))
    return button
  }
}

const isOfAgent = ({ name }) => name.startsWith("agent")

const clock = (ms) => {
  const seconds = Math.max(0, Math.round(ms / 1000))
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`
}

/** Plays the files of the agent one after the other, each with its captions. */
class Player {
  #video = $("recorded")
  #recording
  #files
  #shown
  #addresses = []
  #listeners = new AbortController()

  constructor(recording) {
    this.#recording = recording
    this.#files = recording.files.filter(isOfAgent)
    const { signal } = this.#listeners
    this.#video.addEventListener("ended", () => this.#next(), { signal })
    this.#video.addEventListener("error", () => status(`This browser can't play ${this.#shown?.name}; the words, turns and events are below.`, true), { signal })
    this.#video.hidden = false
    void this.#show(this.#files[0])
  }

  /** Plays from a time, in ms since the beginning of the recording. */
  async play(t) {
    const file = this.#files.findLast(({ begin }) => begin <= t) ?? this.#files[0]
    await this.#show(file)
    this.#video.currentTime = Math.max(0, (t - file.begin) / 1000)
    await this.#video.play().catch(() => {}) // the event says why
  }

  close() {
    this.#listeners.abort()
    this.#video.hidden = true
    this.#video.replaceChildren()
    this.#video.removeAttribute("src")
    this.#video.load()
    for (const address of this.#addresses) URL.revokeObjectURL(address)
  }

  #next() {
    const next = this.#files[this.#files.indexOf(this.#shown) + 1]
    if (next) void this.play(next.begin)
  }

  /** Loads a file, until its length is known: the browser's own recordings don't say it, and their end must be looked for. */
  async #show(file) {
    if (file === this.#shown) return
    this.#shown = file
    const track = make("track", { kind: "captions", label: "Captions", srclang: "en", default: true, src: this.#address(new Blob([this.#recording.captions(file.begin)], { type: "text/vtt" })) })
    this.#video.replaceChildren(track)
    track.track.mode = "showing"
    this.#video.src = this.#address(file.content)
    await this.#event("loadedmetadata")
    if (this.#video.duration !== Infinity) return
    this.#video.currentTime = Number.MAX_SAFE_INTEGER
    await this.#event("seeked")
    this.#video.currentTime = 0
    await this.#event("seeked")
  }

  #address(content) {
    const address = URL.createObjectURL(content)
    this.#addresses.push(address)
    return address
  }

  #event(name) {
    return new Promise((resolve) => this.#video.addEventListener(name, resolve, { once: true, signal: this.#listeners.signal }))
  }
}
