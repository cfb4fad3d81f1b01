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
export const escape = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll("\0", "")

function stamp(ms: number): string {
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0")
  return `${two(ms / 3_600_000)}:${two((ms / 60_000) % 60)}:${two((ms / 1000) % 60)}.${String(ms % 1000).padStart(3, "0")}`
}
