import type { Caption, Captions } from "./captions.js"

/** A text with its time, as {@link Captions} and {@link SpokenTranscript} keep them. */
export interface TimedText {
  /** In milliseconds. */
  readonly startMs: number
  /** In milliseconds. */
  readonly endMs: number
  readonly text: string
  /** Who said it. */
  readonly who?: string | undefined
}

/** Options of {@link toWebVTT}. */
export interface WebVTTOptions {
  /** The name of each speaker, by `who`; a speaker without one is not named. Default: no names. */
  speakers?: Readonly<Record<string, string>> | undefined
  /** Subtracted from all times, in milliseconds. Default 0. */
  originMs?: number | undefined
}

/**
 * Writes texts as a WebVTT file. A text without content is left out, and an end that is
 * not after the start is set to one millisecond after it.
 */
export function toWebVTT(texts: Iterable<TimedText>, options: WebVTTOptions = {}): string {
  const { speakers = {}, originMs = 0 } = options
  const blocks = ["WEBVTT"]
  for (const { startMs, endMs, text, who } of texts) {
    const body = text.split(/\r\n?|\n/u).map((line) => line.trim()).filter(Boolean).map(escape).join("\n")
    if (body === "") continue
    const start = Math.max(0, Math.round(startMs - originMs))
    const end = Math.max(start + 1, Math.round(endMs - originMs))
    const name = who !== undefined && Object.hasOwn(speakers, who) ? escape(speakers[who]!.replace(/\s+/gu, " ")) : ""
    blocks.push(`${stamp(start)} --> ${stamp(end)}\n${name === "" ? "" : `<v ${name}>`}${body}`)
  }
  return blocks.join("\n\n") + "\n"
}

/** Escapes the characters that have a meaning in the text of a cue. */
const escape = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll("\0", "")

function stamp(ms: number): string {
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0")
  return `${two(ms / 3_600_000)}:${two((ms / 60_000) % 60)}:${two((ms / 1000) % 60)}.${String(ms % 1000).padStart(3, "0")}`
}

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
    // In a stream the time of the video may not have changed since.
    shown.endTime = Math.max(video.currentTime, shown.startTime)
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
