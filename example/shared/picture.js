import { $ } from "./dom.js"

/** Shows the video in place of the poster as soon as it has a picture, which may never come; `found()` is called each time. */
export function watchPicture(found = () => {}) {
  const video = $("video")
  for (const event of ["resize", "emptied"]) {
    video.addEventListener(event, () => {
      const picture = video.videoWidth > 0
      $("stage").toggleAttribute("data-picture", picture)
      if (picture) found()
    })
  }
}
