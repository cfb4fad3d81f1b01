/**
 * agentruntime/chroma: the agent without the background of its picture
 * (docs/parts.md#chroma-key). WebGL 2 draws each frame into a canvas, in which what has the
 * colour of the background is transparent.
 */
import { FATAL_ERROR_CODES } from "./generated/events.js"
import { ChromaKey, type ChromaKeyOptions } from "./chroma/key.js"
import { localError } from "./core/errors.js"
import { checkFunction } from "./core/part.js"
import { Scope, type SessionLike } from "./ui/listen.js"

export { ChromaKey, type ChromaKeyOptions, type KeyColor } from "./chroma/key.js"

/** What shows the picture in place of the element of the session. */
export interface ChromaKeyPlayer {
  /** Removes it; the session's element shows the picture again. */
  destroy(): void
}

/** A class of another library that shows a picture without its background. */
export type ChromaKeyVideoClass = new (video: HTMLVideoElement, options: object) => { destroy?(): void; stop?(): void }

/** Options of {@link attachChromaKey}. */
export interface AttachChromaKeyOptions {
  session: SessionLike & { readonly videoEl: HTMLMediaElement | null }
  /** The element that the session plays the picture in. */
  videoEl: HTMLVideoElement
  /** Where the canvas is added. Default: after `videoEl`. */
  container?: HTMLElement | null | undefined
  /** How the background is found. */
  options?: ChromaKeyOptions | undefined
  /** Does the work instead: it is made with the element and `{ container, ...options }`. Default: {@link ChromaKey}. */
  ChromaKeyVideo?: ChromaKeyVideoClass | undefined
}

const attached = new WeakSet<object>()

/**
 * Shows the picture of a session without its background, until `destroy()` or until the session
 * ends, fails for good or is disconnected. Throws `bad_request` when the element is not that of
 * the session, `invalid_state` for a session that has one already, and `unsupported_browser`
 * without WebGL 2.
 */
export function attachChromaKey({ session, videoEl, container, options, ChromaKeyVideo }: AttachChromaKeyOptions): ChromaKeyPlayer {
  if (typeof session?.on !== "function") throw localError("bad_request", "a chroma key needs a session")
  if (!videoEl || session.videoEl !== videoEl) throw localError("bad_request", "videoEl must be the element of the session")
  checkFunction("ChromaKeyVideo", ChromaKeyVideo)
  if (attached.has(session)) throw localError("invalid_state", "the session has a chroma key already; destroy it first")
  let end: () => void
  if (ChromaKeyVideo) {
    const player = new ChromaKeyVideo(videoEl, { container, ...options })
    end = () => (player.destroy ?? player.stop)?.call(player)
  } else {
    const key = new ChromaKey(videoEl, options)
    const { opacity } = videoEl.style
    if (container) container.append(key.canvas)
    else videoEl.after(key.canvas)
    videoEl.style.opacity = "0" // it still has to be painted
    end = () => {
      key.destroy()
      key.canvas.remove()
      videoEl.style.opacity = opacity
    }
  }
  attached.add(session)
  const scope = new Scope()
  const destroy = () => {
    if (!attached.delete(session)) return
    scope.end()
    end()
  }
  scope.listen(session, "ended", destroy)
  scope.listen(session, "error", (error) => {
    if ("code" in error && (FATAL_ERROR_CODES as readonly string[]).includes(error.code)) destroy()
  })
  scope.listen(session, "stateChange", ({ state }) => {
    if (state === "disconnected") destroy()
  })
  return { destroy }
}
