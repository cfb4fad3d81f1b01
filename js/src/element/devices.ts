import type { AvatarSession, Device } from "../avatar.js"
import { make } from "../ui/dom.js"
import type { Part, State } from "./state.js"

/** The menus of microphones and speakers, and the level of the microphone. */
export class Devices implements Part {
  readonly root = make("div", { part: "devices", class: "devices", hidden: true })
  readonly #button: HTMLButtonElement
  readonly #microphone = make("select")
  readonly #speaker = make("select")
  readonly #level = make("meter", { min: 0, max: 1, low: 0.02, value: 0 })
  readonly #names = { microphone: make("span"), speaker: make("span"), level: make("span") }
  readonly #speakers = make("label", {}, this.#names.speaker, this.#speaker)
  readonly #session: () => AvatarSession | undefined
  readonly #failed: (reason: unknown) => void
  #opened: AbortController | undefined
  #state: State | undefined

  /** `button` opens and closes the menus. */
  constructor(button: HTMLButtonElement, session: () => AvatarSession | undefined, failed: (reason: unknown) => void) {
    this.#button = button
    this.#session = session
    this.#failed = failed
    button.addEventListener("click", () => (this.#opened ? this.close() : this.#open()))
    this.root.append(
      make("label", {}, this.#names.microphone, this.#microphone),
      make("label", {}, this.#names.level, this.#level),
      this.#speakers,
    )
    this.#microphone.addEventListener("change", () => this.#choose((session) => session.switchMic(this.#microphone.value)))
    this.#speaker.addEventListener("change", () => this.#choose((session) => session.setAudioOutput(this.#speaker.value)))
    this.root.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return
      event.stopPropagation() // it would interrupt the agent
      event.preventDefault() // or close a dialog around the element
      this.close()
      this.#button.focus()
    })
  }

  show(state: State): void {
    this.#state = state
    const { labels } = state
    if (this.#opened && (state.phase === "ended" || state.phase === "error" || state.mode === "text")) this.close()
    this.#button.setAttribute("aria-expanded", String(this.#opened !== undefined))
    this.#names.microphone.textContent = labels.microphone
    this.#names.speaker.textContent = labels.speaker
    this.#names.level.textContent = labels.level
  }

  close(): void {
    this.#opened?.abort()
    this.#opened = undefined
    this.root.hidden = true
    this.#button.setAttribute("aria-expanded", "false")
  }

  #open(): void {
    const session = this.#session()
    if (!session) return
    this.#opened = new AbortController()
    const { signal } = this.#opened
    this.root.hidden = false
    this.#button.setAttribute("aria-expanded", "true")
    session.on("localMicLevel", ({ level }) => (this.#level.value = level), { signal })
    const list = () => this.#list(session, signal)
    session.on("devicesChanged", list, { signal })
    session.on("micStarted", list, { signal }) // the names are known from then on
    list()
  }

  async #list(session: AvatarSession, signal: AbortSignal): Promise<void> {
    try {
      const { mics, speakers } = await session.listDevices({ signal })
      const labels = this.#state!.labels
      fill(this.#microphone, mics, labels.microphone)
      fill(this.#speaker, speakers, labels.speaker)
      this.#speakers.hidden = speakers.length === 0 // some browsers offer no choice of speakers
    } catch (reason) {
      if (!signal.aborted) this.#failed(reason)
    }
  }

  async #choose(change: (session: AvatarSession) => Promise<unknown>): Promise<void> {
    const session = this.#session()
    try {
      if (session) await change(session)
    } catch (reason) {
      this.#failed(reason)
    }
  }
}

/** Lists devices in a menu and keeps its selection. */
function fill(select: HTMLSelectElement, devices: Device[], name: string): void {
  const { value } = select
  select.replaceChildren(...devices.map(({ deviceId, label }, i) => new Option(label || `${name} ${i + 1}`, deviceId)))
  if (devices.some(({ deviceId }) => deviceId === value)) select.value = value
}
