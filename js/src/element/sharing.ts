import type { AvatarSession } from "../session/avatar.js"
import { IconButton, make } from "../ui/dom.js"
import type { AnswerActions } from "../ui/answers.js"
import { open, type Part, type State } from "./state.js"
import { Stills } from "./stills.js"
import { toolLabels, type ToolLabels } from "./toollabels.js"

/** What can be shown: how the browser gets it, what lets the agent take it, and how it is sent. */
const sources = {
  camera: { get: "getUserMedia", capability: "cameraAnalysis", send: "sendCameraShot", share: "shareCamera", sees: "seesCamera" },
  screen: { get: "getDisplayMedia", capability: "screenShare", send: "sendScreenShot", share: "shareScreen", sees: "seesScreen" },
} as const

type Source = keyof typeof sources

/** Buttons in the field for messages that show the agent the visitor's screen or camera, where the agent and the browser can; one at a time. */
export class Sharing implements Part {
  readonly root = make("div", { part: "sharing", class: "sharing" })
  /** What the agent sees, over its picture. */
  readonly preview = make("div", { part: "preview", class: "preview", hidden: true })
  readonly #buttons: readonly (readonly [Source, IconButton])[]
  readonly #face: () => AvatarSession | undefined
  readonly #tell: AnswerActions["tell"]
  #labels: ToolLabels = toolLabels({})
  #state: State | undefined
  #shared: { source: Source; stills: Stills } | undefined
  /** The browser asks the visitor. */
  #asking = false

  constructor(face: () => AvatarSession | undefined, tell: AnswerActions["tell"]) {
    this.#face = face
    this.#tell = tell
    this.#buttons = (Object.keys(sources) as Source[]).map((name) => [name, new IconButton(`share-${name}`, () => void this.#toggle(name))])
    this.root.append(...this.#buttons.map(([, { root }]) => root))
  }

  show(state: State): void {
    this.#state = state
    this.#labels = toolLabels(state.labels.tools)
    if (this.#shared && !this.#can(this.#shared.source)) this.#stop()
    this.#draw()
  }

  /** Whether the agent takes it, and the browser has it. */
  #can(source: Source): boolean {
    const state = this.#state
    const capabilities = state && open(state) && state.mode === "face" ? this.#face()?.capabilities : undefined
    const devices = globalThis.navigator?.mediaDevices as Partial<MediaDevices> | undefined // undefined in a page without encryption
    const { get, capability } = sources[source]
    return capabilities?.[capability] === true && devices?.[get] !== undefined
  }

  #draw(): void {
    const source = this.#shared?.source
    const ready = this.#state?.phase === "live"
    for (const [name, button] of this.#buttons) {
      button.show(this.#labels[sources[name].share], name, { pressed: source === name, hidden: !this.#can(name) })
      button.root.disabled = !ready && !source
    }
    this.preview.hidden = !source
    if (source) this.preview.firstElementChild?.setAttribute("aria-label", this.#labels[sources[source].sees])
  }

  async #toggle(source: Source): Promise<void> {
    if (this.#asking) return
    const was = this.#shared?.source
    if (was) this.#stop()
    if (was === source) return this.#told(this.#labels.unshared)
    this.#asking = true
    try {
      this.#start(source, await navigator.mediaDevices[sources[source].get]({ video: true }))
    } catch {
      if (this.#can(source)) this.#told(this.#labels.notShared, true) // the visitor may have changed their mind, which browsers do not tell from a refusal
    } finally {
      this.#asking = false
    }
  }

  #start(source: Source, stream: MediaStream): void {
    if (!this.#can(source)) return void stream.getTracks().forEach((track) => track.stop()) // the conversation ended meanwhile
    const video = make("video")
    this.preview.replaceChildren(video)
    const { send: method, sees } = sources[source]
    let sent = false
    const send = (image: ArrayBuffer) => {
      const face = this.#face()
      if (face?.state !== "connected") return // it goes on after a repair
      face[method](image)
      if (!sent) this.#told(this.#labels[sees])
      sent = true
    }
    const stills = new Stills(stream, video, send, (reason) => {
      this.#stop()
      this.#told(reason === undefined ? this.#labels.unshared : this.#labels.notShared, reason !== undefined)
    })
    this.#shared = { source, stills }
    this.#draw()
  }

  #told(text: string, problem = false): void {
    this.#draw()
    this.#tell(text, problem)
  }

  #stop(): void {
    this.#shared?.stills.stop()
    this.#shared = undefined
    this.preview.replaceChildren()
  }
}
