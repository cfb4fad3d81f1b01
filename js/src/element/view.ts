import { icon, make, makeButton, nameButton } from "../ui/dom.js"
import type { Part, State } from "./state.js"
import { toolLabels } from "./toollabels.js"

/** Buttons over the picture, where the browser has what they do: full screen, and picture in picture. */
export class View implements Part {
  readonly root = make("div", { part: "view", class: "view", hidden: true })
  readonly #full: HTMLButtonElement
  readonly #small: HTMLButtonElement

  constructor(frame: HTMLElement, video: HTMLVideoElement) {
    const { documentElement } = document
    const pressed = (button: HTMLButtonElement, is: boolean) => button.setAttribute("aria-pressed", String(is))
    this.#full = makeButton({ part: "button full-screen", class: "icon over-picture", "aria-pressed": "false" }, () => {
      // A refusal, as of a frame that may not, leaves everything as it is.
      if (isFull(frame)) document.exitFullscreen().catch(() => {})
      else frame.requestFullscreen().catch(() => {})
    }, icon("fullScreen"))
    this.#small = makeButton({ part: "button picture-in-picture", class: "icon over-picture", "aria-pressed": "false" }, () => {
      if (isSmall(video)) document.exitPictureInPicture().catch(() => {})
      else video.requestPictureInPicture().catch(() => {}) // a video without a picture yet
    }, icon("pictureInPicture"))
    this.#full.hidden = !document.fullscreenEnabled || !documentElement.requestFullscreen
    this.#small.hidden = !document.pictureInPictureEnabled || !video.requestPictureInPicture
    frame.addEventListener("fullscreenchange", () => pressed(this.#full, isFull(frame)))
    for (const event of ["enterpictureinpicture", "leavepictureinpicture"]) video.addEventListener(event, () => pressed(this.#small, isSmall(video)))
    this.root.append(this.#small, this.#full)
  }

  show(state: State): void {
    const labels = toolLabels(state.labels.tools)
    nameButton(this.#full, labels.fullScreen)
    nameButton(this.#small, labels.pictureInPicture)
    this.root.hidden = state.mode === "text" || state.phase !== "live" || !state.picture || state.gated
  }
}

const isFull = (frame: HTMLElement) => (frame.getRootNode() as ShadowRoot).fullscreenElement === frame
const isSmall = (video: HTMLVideoElement) => (video.getRootNode() as ShadowRoot).pictureInPictureElement === video
