import { $, make } from "./dom.js"

/**
 * Draws the agent in the stage: the video, with a poster in its place until it has a picture,
 * which may never come, and a line for captions; `found()` is called each time there is one.
 */
export function showPicture(found = () => {}) {
  const video = make("video", { id: "video", playsInline: true, ariaHidden: "true" })
  const poster = make("div", { id: "poster", ariaHidden: "true" }, make("img", { src: "../avatar/icon.svg", alt: "" }))
  const stage = $("stage")
  stage.prepend(video, poster, make("p", { id: "caption", className: "agent-captions", ariaHidden: "true" }))
  for (const event of ["resize", "emptied"]) {
    video.addEventListener(event, () => {
      const picture = video.videoWidth > 0
      stage.toggleAttribute("data-picture", picture)
      if (picture) found()
    })
  }
}
