import type { Caption, Captions } from "./captions.js"
import { escape } from "./webvtt.js"

/** Options of {@link attachTextTrack}. */
export interface TextTrackOptions {
  /** Shown in the browser's menu. Default `"Captions"`. */
  label?: string | undefined
  /** The language of the agent's voice, as in `"en"`. Default: none. */
  language?: string | undefined
  /** Default `"showing"`. */
  mode?: TextTrackMode | undefined
}

/** The end of a cue that is shown, in seconds: later than any conversation ends. */
const open = 1e6

/**
 * Adds a track of captions to a video, which the browser draws, also in full screen and
 * in picture-in-picture. Returns the function that ends this: the track is then empty and
 * disabled, because a page can't remove one.
 */
export function attachTextTrack(video: HTMLMediaElement, captions: Captions, options: TextTrackOptions = {}): () => void {
  const track = video.addTextTrack("captions", options.label ?? "Captions", options.language ?? "")
  track.mode = options.mode ?? "showing"
  let shown: VTTCue | undefined
  const close = () => {
    if (shown === undefined) return
    // Chromium goes on showing a cue that ends now. In a stream the time of the video may not have changed since.
    const end = video.currentTime - 0.1
    if (end > shown.startTime) shown.endTime = end
    else track.removeCue(shown)
    shown = undefined
  }
  const show = ({ text, clear }: Caption) => {
    close()
    if (clear) return
    shown = new VTTCue(video.currentTime, open, escape(text)) // the text of a cue is markup
    track.addCue(shown)
  }
  if (captions.current) show(captions.current)
  const end = captions.onCaption(show)
  return () => {
    end()
    shown = undefined
    for (const cue of Array.from(track.cues ?? [])) track.removeCue(cue)
    track.mode = "disabled"
  }
}
