import type { AvatarSession } from "../session/avatar.js"
import { make } from "../ui/dom.js"
import { DeviceSelect } from "../ui/deviceselect.js"
import { open, type Part, type State } from "./state.js"

/** The menus of microphones and speakers and the volume, which a button opens and closes. */
export class Devices implements Part {
  readonly root = make("div", { part: "devices", class: "devices", hidden: true })
  readonly #button: HTMLButtonElement
  readonly #menus: DeviceSelect
  readonly #volume = make("input", { type: "range", min: 0, max: 1, step: 0.05 })
  readonly #name = make("span")
  readonly #session: () => AvatarSession | undefined

  /** `button` opens and closes the menus. */
  constructor(button: HTMLButtonElement, session: () => AvatarSession | undefined, failed: (reason: unknown) => void) {
    this.#button = button
    this.#session = session
    this.#menus = new DeviceSelect(undefined, { onError: failed })
    this.#menus.root.append(make("label", {}, this.#name, this.#volume))
    this.#volume.addEventListener("input", () => this.#session()?.setAudioOutputVolume(this.#volume.valueAsNumber))
    this.root.append(this.#menus.root)
    button.addEventListener("click", () => (this.root.hidden ? this.#open() : this.close()))
    const escape = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || this.root.hidden) return
      event.stopPropagation() // it would interrupt the agent
      event.preventDefault() // or close a dialog around the element
      this.close()
      button.focus()
    }
    this.root.addEventListener("keydown", escape)
    button.addEventListener("keydown", escape) // it keeps the focus when it has opened them
  }

  show(state: State): void {
    if (!this.root.hidden && (!open(state) || state.mode === "text")) this.close()
    this.#button.setAttribute("aria-expanded", String(!this.root.hidden))
    this.#menus.name(state.labels)
    this.#name.textContent = state.labels.volume
  }

  close(): void {
    this.#menus.follow(undefined)
    this.root.hidden = true
    this.#button.setAttribute("aria-expanded", "false")
  }

  #open(): void {
    const session = this.#session()
    if (!session) return
    this.root.hidden = false
    this.#button.setAttribute("aria-expanded", "true")
    this.#volume.valueAsNumber = session.audioOutputVolume
    this.#menus.follow(session)
  }
}
