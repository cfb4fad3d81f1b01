import type { Device } from "../session/avatar.js"
import type { CallOptions } from "../core/signals.js"
import { overStates } from "../core/overstates.js"
import { make, type Texts } from "./dom.js"
import type { Scope, SessionLike } from "./listen.js"
import { partLabels } from "./ownlabels.js"
import type { PartLabels } from "./partlabels.js"
import { eachTransport } from "./transports.js"

/** What {@link DeviceSelect} uses of a session: an `AvatarSession`, an `AgentSession`, or a fake of a test. */
export interface DeviceSession extends SessionLike {
  readonly state?: string
  readonly transport?: unknown
  listDevices?(options?: CallOptions): Promise<{ mics: Device[]; speakers: Device[] }>
  switchMic?(deviceId: string): Promise<unknown>
  setAudioOutput?(deviceId: string): Promise<unknown>
}

/** Options of {@link DeviceSelect}. */
export interface DeviceSelectOptions {
  /** Texts in place of the English ones: `microphone`, `speaker`, `level`. */
  labels?: Texts<PartLabels> | undefined
  /** Called with the error when the devices can't be listed or a device can't be used. */
  onError?: ((error: unknown) => void) | undefined
}

/**
 * Menus of microphones and speakers, and the level of the microphone. The menus follow the devices of the computer; the one of
 * speakers is hidden where the browser offers no choice, and everything is while a session has no voice, as after its end.
 */
export class DeviceSelect {
  readonly root = make("div", { class: "agent-devices", part: "devices" })
  readonly #microphone = make("select")
  readonly #speaker = make("select")
  readonly #level = make("meter", { min: 0, max: 1, low: 0.02, value: 0 })
  readonly #names = { microphone: make("span"), speaker: make("span"), level: make("span") }
  readonly #speakers = make("label", {}, this.#names.speaker, this.#speaker)
  readonly #failed: (error: unknown) => void
  /** The device that each menu shows unless another is being changed to. */
  readonly #used = new Map<HTMLSelectElement, string>()
  #labels!: PartLabels
  #carrier: DeviceSession | undefined
  #leave: (() => void) | undefined

  /** Without a session the menus are empty until {@link follow} is called with one. */
  constructor(session: DeviceSession | undefined, { labels, onError = () => {} }: DeviceSelectOptions = {}) {
    this.#failed = onError
    this.root.append(make("label", {}, this.#names.microphone, this.#microphone), make("label", {}, this.#names.level, this.#level), this.#speakers)
    this.#microphone.addEventListener("change", () => this.#choose(this.#microphone, (carrier, id) => carrier.switchMic?.(id)))
    this.#speaker.addEventListener("change", () => this.#choose(this.#speaker, (carrier, id) => carrier.setAudioOutput?.(id)))
    this.name(partLabels(labels))
    this.follow(session)
  }

  /** Shows the devices of another session, or stops; the choice is kept. */
  follow(session: DeviceSession | undefined): void {
    this.#leave?.()
    this.#leave = this.#carrier = undefined
    if (session) this.#leave = eachTransport(session, (carrier, scope) => this.#bind(carrier, scope))
  }

  /** Shows other texts. */
  name(labels: PartLabels): void {
    this.#labels = labels
    for (const [name, element] of Object.entries(this.#names)) element.textContent = labels[name as "level"]
  }

  /** Removes the listeners and the element. */
  destroy(): void {
    this.follow(undefined)
    this.root.remove()
  }

  #bind(carrier: DeviceSession, scope: Scope): void {
    const voice = carrier.listDevices !== undefined
    const show = () => (this.root.hidden = !voice || overStates.includes(carrier.state ?? ""))
    show()
    this.#carrier = carrier
    this.#level.value = 0
    if (!voice) return
    const ended = new AbortController()
    scope.onEnd(() => ended.abort())
    const list = () => void this.#list(carrier, ended.signal)
    scope.listen(carrier, "localMicLevel", ({ level }) => (this.#level.value = level))
    scope.listen(carrier, "stateChange", show)
    scope.listen(carrier, "ended", () => (this.#level.value = 0))
    scope.listen(carrier, "devicesChanged", list)
    scope.listen(carrier, "micStarted", list) // the names are known from then on
    list()
  }

  async #list(carrier: DeviceSession, signal: AbortSignal): Promise<void> {
    try {
      const { mics, speakers } = await carrier.listDevices!({ signal })
      if (signal.aborted) return
      this.#fill(this.#microphone, mics, this.#labels.microphone)
      this.#fill(this.#speaker, speakers, this.#labels.speaker)
      this.#speakers.hidden = speakers.length === 0 // some browsers offer no choice of speakers
    } catch (reason) {
      if (!signal.aborted) this.#failed(reason)
    }
  }

  /** Changes to the device that was chosen in a menu. If that fails, the menu shows the one that stays in use. */
  async #choose(select: HTMLSelectElement, change: (carrier: DeviceSession, id: string) => unknown): Promise<void> {
    const [carrier, chosen] = [this.#carrier, select.value]
    let changed = true
    try {
      if (carrier) changed = (await change(carrier, chosen)) !== false
    } catch (reason) {
      changed = false
      this.#failed(reason)
    }
    if (changed) this.#used.set(select, chosen)
    else if (select.value === chosen) select.value = this.#used.get(select) ?? ""
  }

  /** Lists devices in a menu and keeps its selection. */
  #fill(select: HTMLSelectElement, devices: Device[], name: string): void {
    const { value } = select
    select.replaceChildren(...devices.map(({ deviceId, label }, i) => new Option(label || `${name} ${i + 1}`, deviceId)))
    if (devices.some(({ deviceId }) => deviceId === value)) select.value = value
    else this.#used.set(select, select.value)
  }
}
