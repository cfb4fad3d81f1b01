import { overStates } from "../core/overstates.js"
import { controlEvents, sharedActivity, type ActivitySession, type AgentActivity } from "./activity.js"
import { DeviceSelect, type DeviceSession } from "./deviceselect.js"
import { icon, IconButton, make, makeButton, type Texts } from "./dom.js"
import { Scope } from "./listen.js"
import { partLabels } from "./ownlabels.js"
import type { PartLabels } from "./partlabels.js"
import { attachTapToTalk, type TapToTalkSession } from "./taptotalk.js"
import { eachTransport, transportOf } from "./transports.js"
import { toggleMicrophone, toggleSound, type VoiceControls } from "./voicecontrols.js"

/** What {@link ControlBar} uses of a session of any kind, or of a fake of a test. */
export interface ControlSession extends ActivitySession, DeviceSession, VoiceControls {
  connect?(): Promise<unknown>
  disconnect?(): void
  startTapToTalk?(): void
  endTapToTalk?(): void
  readonly audioOutputVolume?: number
  startPlayback?(): Promise<unknown>
  setAudioOutputVolume?(volume: number): void
}

/** A control of a {@link ControlBar}. */
export type ControlName = "start" | "microphone" | "volume" | "devices" | "end"

const all: readonly ControlName[] = ["start", "microphone", "volume", "devices", "end"]

/** Options of {@link ControlBar}. */
export interface ControlBarOptions {
  /** Which controls there are. Default: all of them. */
  controls?: readonly ControlName[] | undefined
  /** Texts in place of the English ones. */
  labels?: Texts<PartLabels> | undefined
  /**
   * Starts a conversation; it may return a promise. Default: connects the session, which can be done once, so that there is no
   * button to start after its end.
   */
  onStart?: (() => unknown) | undefined
  /** Ends the conversation. Default: disconnects the session. */
  onEnd?: (() => void) | undefined
  /** Called with the error when an action has failed, such as one of the microphone. */
  onError?: ((error: unknown) => void) | undefined
}

/**
 * The buttons of a conversation: to start and to end it, for the microphone (to mute it, or to hold to talk where the agent
 * requires that), the volume (or to turn on the sound that the browser has blocked), and the devices. Those without a function in
 * a session are hidden, as the microphone of a `ChatSession`.
 */
export class ControlBar {
  readonly root: HTMLElement
  readonly #options: ControlBarOptions
  readonly #labels: PartLabels
  readonly #words = make("span")
  readonly #start: HTMLButtonElement
  readonly #microphone: IconButton
  readonly #tap = new IconButton("tap", () => {})
  readonly #sound: IconButton
  readonly #volume = make("input", { type: "range", min: 0, max: 1, step: 0.05, part: "volume" })
  readonly #loudness: HTMLElement
  readonly #devices: IconButton
  readonly #end: IconButton
  readonly #bar = make("div", { role: "group", class: "agent-controls", part: "controls" })
  readonly #endTap: () => void
  #session: ControlSession | undefined
  #activity: AgentActivity | undefined
  #leave: (() => void) | undefined
  #menus: DeviceSelect | undefined
  #starting = false
  #destroyed = false

  /** Without a session there is the button that starts, which needs `onStart`. Throws a `TypeError` for an unknown control. */
  constructor(session: ControlSession | undefined, options: ControlBarOptions = {}) {
    const controls = options.controls ?? all
    for (const name of controls) if (!all.includes(name)) throw new TypeError(`the control must be one of ${all.join(", ")}, and is ${JSON.stringify(name)}`)
    this.#options = options
    const labels = (this.#labels = partLabels(options.labels))
    this.#start = makeButton({ part: "button start", class: "main" }, () => void this.#begin(), icon("play"), this.#words)
    this.#microphone = new IconButton("microphone", () => this.#attempt(toggleMicrophone))
    this.#sound = new IconButton("sound", () => this.#attempt((face) => (face.playbackBlocked ? face.startPlayback?.() : toggleSound(face))))
    this.#devices = new IconButton("device-menu", () => (this.#menus ? this.#closeMenus() : this.#openMenus()))
    this.#end = new IconButton("end", () => this.#finish())
    this.#loudness = make("span", { class: "volume" }, this.#sound.root, this.#volume)
    this.#volume.setAttribute("aria-label", labels.volume)
    this.#volume.addEventListener("input", () =>
      this.#attempt((face) => {
        face.setAudioOutputVolume?.(this.#volume.valueAsNumber)
        if (face.audioOutputMuted) face.unmuteAudioOutput?.()
      }),
    )
    const elements: Record<ControlName, HTMLElement[]> = {
      start: [this.#start],
      microphone: [this.#microphone.root, this.#tap.root],
      volume: [this.#loudness],
      devices: [this.#devices.root],
      end: [this.#end.root],
    }
    this.#bar.setAttribute("aria-label", labels.controls)
    this.#bar.append(...controls.flatMap((name) => elements[name]))
    this.root = make("div", { class: "agent-control-bar", part: "control-bar" }, this.#bar)
    this.root.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.#menus) return
      event.stopPropagation() // it would interrupt the agent
      event.preventDefault() // or close a dialog around the bar
      this.#closeMenus()
      this.#devices.root.focus()
    })
    this.#endTap = attachTapToTalk(this.#tap.root, () => this.#face as TapToTalkSession | undefined, (reason) => this.#failed(reason))
    this.follow(session)
  }

  /** Is for another session from now on, or for none. */
  follow(session: ControlSession | undefined): void {
    const leaveLast = this.#leave // afterwards, so that the same session keeps its activity
    this.#leave = this.#activity = undefined
    this.#session = session
    if (session) {
      const show = () => this.#show()
      const [activity, leave] = sharedActivity(session)
      const own = new Scope()
      own.listen(session, "stateChange", show) // which an agent session emits after its transport
      own.onEnd(activity.onChange(show))
      const unbind = eachTransport(session, (carrier, scope) => {
        for (const event of controlEvents) scope.listen(carrier, event, show)
      })
      this.#activity = activity
      this.#leave = () => (own.end(), unbind(), leave())
    }
    leaveLast?.()
    this.#menus?.follow(session)
    this.#show()
  }

  /** Reads again a session that has not the event `controlsChanged`, such as a fake of a test. */
  update(): void {
    this.#activity?.update()
    this.#show()
  }

  /** Removes the listeners and the element. */
  destroy(): void {
    this.#destroyed = true
    this.#closeMenus()
    this.#endTap()
    this.#leave?.()
    this.root.remove()
  }

  /** The session that carries the voice. */
  get #face(): ControlSession | undefined {
    const carrier = this.#session && transportOf(this.#session)
    return carrier?.startMic ? carrier : undefined
  }

  #show(): void {
    if (this.#destroyed) return
    const labels = this.#labels
    const state = this.#session?.state
    const over = state === "disconnecting" || overStates.includes(state ?? "")
    const idle = state === undefined || state === "idle" || state === "preparing" || over
    const [face, live] = [this.#face, !idle && state !== "connecting"]
    const focused = this.root.contains(document.activeElement)
    this.#words.textContent = over ? labels.again : labels.start
    this.#start.hidden = !idle || (!this.#options.onStart && (over || !this.#session?.connect))
    this.#start.setAttribute("aria-disabled", String(this.#starting)) // a button that is disabled would lose the focus
    this.#end.show(labels.end, "end", { hidden: idle && !this.#starting })
    const tap = face?.capabilities?.tapToTalk === true
    const on = face?.micStarted === true && face.micEnabled === true
    const tapping = face?.tapToTalkActive === true
    this.#microphone.show(labels.microphone, on ? "microphone" : "microphoneOff", { pressed: on, hidden: !face || idle || tap })
    this.#tap.show(tapping ? labels.tapping : labels.tap, "microphone", { pressed: tapping, hidden: !face || idle || !tap, words: true })
    for (const { root } of [this.#microphone, this.#tap, this.#devices]) root.disabled = !live
    const sound = face?.audioOutputMuted !== true
    const blocked = Boolean(face?.playbackBlocked)
    if (blocked) this.#sound.show(labels.unlock, "soundOff", { words: true })
    else this.#sound.show(labels.sound, sound ? "sound" : "soundOff", { pressed: sound })
    this.#volume.hidden = blocked
    this.#loudness.hidden = !face || idle
    const volume = sound ? (face?.audioOutputVolume ?? 1) : 0
    if (this.#volume.valueAsNumber !== volume) this.#volume.value = String(volume)
    this.#devices.show(labels.devices, "settings", { hidden: !face || idle })
    if (!face || idle) this.#closeMenus()
    this.#devices.root.setAttribute("aria-expanded", String(this.#menus !== undefined))
    // A control that had the focus may be hidden now.
    if (focused && (!this.root.contains(document.activeElement) || document.activeElement!.closest("[hidden]"))) this.#passFocus()
  }

  #passFocus(): void {
    const visible = (element: HTMLElement) => !element.closest("[hidden]")
    ;[...this.#bar.querySelectorAll<HTMLButtonElement>("button")].find((button) => visible(button) && !button.disabled)?.focus()
  }

  async #begin(): Promise<void> {
    if (this.#starting) return
    this.#starting = true
    this.#show()
    try {
      await (this.#options.onStart ?? (() => this.#session?.connect?.()))()
    } catch (reason) {
      this.#failed(reason)
    }
    this.#starting = false
    this.#show()
  }

  #finish(): void {
    if (this.#options.onEnd) this.#options.onEnd()
    else this.#session?.disconnect?.()
    this.update()
  }

  /** Does something with the session of the voice, if there is one. */
  async #attempt(act: (face: ControlSession) => unknown): Promise<void> {
    const face = this.#face
    try {
      if (face) await act(face)
    } catch (reason) {
      this.#failed(reason)
    }
    this.update()
  }

  #failed(reason: unknown): void {
    if (!this.#destroyed) this.#options.onError?.(reason)
  }

  #openMenus(): void {
    this.#menus = new DeviceSelect(this.#session, { labels: this.#labels, onError: (reason) => this.#failed(reason) })
    this.root.append(this.#menus.root)
    this.#devices.root.setAttribute("aria-expanded", "true")
  }

  #closeMenus(): void {
    this.#menus?.destroy()
    this.#menus = undefined
    this.#devices.root.setAttribute("aria-expanded", "false")
  }
}
