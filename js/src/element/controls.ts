import { IconButton, make } from "../ui/dom.js"
import { open, type Actions, type Part, type State } from "./state.js"

/** The buttons below the picture. */
export class Controls implements Part {
  readonly root = make("div", { part: "controls", class: "controls", role: "group" })
  /** The button for tap-to-talk; `attachTapToTalk` adds its behaviour. */
  readonly tap = new IconButton("tap", () => {})
  /** The button for the menus of devices, which `Devices` opens. */
  readonly devices = new IconButton("device-menu", () => {})
  readonly #microphone: IconButton
  readonly #sound: IconButton
  readonly #captions: IconButton
  readonly #mode: IconButton
  readonly #end: IconButton

  constructor(actions: Actions) {
    this.#microphone = new IconButton("microphone", actions.toggleMicrophone)
    this.#sound = new IconButton("sound", actions.toggleSound)
    this.#captions = new IconButton("captions", actions.toggleCaptions)
    this.#mode = new IconButton("mode", actions.switchMode)
    this.#end = new IconButton("end", actions.end)
    const all = [this.#microphone, this.tap, this.#sound, this.#captions, this.devices, this.#mode, this.#end]
    this.root.append(...all.map(({ root }) => root), make("slot", { name: "controls" }))
  }

  show(state: State): void {
    const { labels, microphone, tapToTalk, tapping, sound, captions, mode } = state
    const text = mode === "text"
    this.root.hidden = !open(state) || (text && state.modes.length < 2)
    this.root.setAttribute("aria-label", labels.controls)
    const on = microphone === "on"
    const ready = state.phase === "live"
    this.#microphone.show(labels.microphone, on ? "microphone" : "microphoneOff", {
      pressed: on,
      hidden: text || microphone === "none" || tapToTalk,
    })
    this.tap.show(tapping ? labels.tapping : labels.tap, "microphone", { pressed: tapping, hidden: text || microphone === "none" || !tapToTalk, words: true })
    for (const { root } of [this.#microphone, this.tap, this.devices]) root.disabled = !ready
    this.#sound.show(labels.sound, sound ? "sound" : "soundOff", { pressed: sound, hidden: text })
    this.#captions.show(labels.captions, "captions", { pressed: captions, hidden: text })
    this.devices.show(labels.devices, "settings", { hidden: text })
    this.#mode.show(labels.face, "face", { pressed: !text, hidden: state.modes.length < 2 })
    this.#mode.root.disabled = !ready || state.switching
    this.#end.show(labels.end, "end")
  }
}
