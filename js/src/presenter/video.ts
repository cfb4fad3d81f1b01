import { localError } from "../core/errors.js"
import type { Presenter } from "./presenter.js"

/** Options of {@link followVideo}. */
export interface FollowVideoOptions {
  /** When each slide begins, in seconds, in ascending order: one for each slide. */
  starts: readonly number[]
}

/**
 * Presents a video: its chapters are the slides. The slide follows the video's position, and
 * {@link Presenter.goTo}, also by the agent, is followed by the video: call the returned
 * `seek()` in `onSlideChange`. `stop()` ends it. Throws `bad_request` when the starts don't fit the slides.
 */
export function followVideo(presenter: Presenter, video: HTMLMediaElement, { starts }: FollowVideoOptions): { seek(): void; stop(): void } {
  if (typeof video?.addEventListener !== "function") throw localError("bad_request", "video must be a video element")
  const rises = Array.isArray(starts) && starts.every((start, i) => Number.isFinite(start) && start >= 0 && (i === 0 || start > starts[i - 1]!))
  if (!rises || starts.length !== presenter.total) throw localError("bad_request", `starts must have one ascending time in seconds for each of the ${presenter.total} slides`)
  const chapter = () => Math.max(1, starts.filter((start) => start <= video.currentTime).length)
  const follow = () => presenter.goTo(chapter(), "video")
  for (const event of ["timeupdate", "seeked"]) video.addEventListener(event, follow)
  return {
    seek: () => {
      const start = starts[presenter.current - 1] // a slide that was appended later has none
      if (start !== undefined && chapter() !== presenter.current) video.currentTime = start
    },
    stop: () => {
      for (const event of ["timeupdate", "seeked"]) video.removeEventListener(event, follow)
    },
  }
}
