import type { RecordingEntry } from "./format.js"

/** How long before its sound a speechChunk is emitted, in ms. */
const chunkLeadMs = 400
/** How long the visitor's words are shown, in ms. */
const readingMs = 3000

interface Cue {
  from: number
  to: number
  by: "Agent" | "Visitor"
  text: string
}

/** The cues of a WebVTT file, as runtime/record makes them. */
export class CaptionFile {
  readonly #cues: Cue[] = []

  add({ t, event, data }: RecordingEntry): void {
    const { type, text = "", durationMs = 0 } = (data ?? {}) as { type?: string; text?: string; durationMs?: number }
    if (event === "speechChunk") this.#cues.push({ from: t + chunkLeadMs, to: t + chunkLeadMs + durationMs, by: "Agent", text })
    else if (event === "transcript" && type === "user") this.#cues.push({ from: t, to: t + readingMs, by: "Visitor", text })
    else if (event === "interrupted") {
      // What was not spoken is not shown.
      for (const cue of this.#cues) if (cue.by === "Agent" && cue.to > t) cue.to = Math.max(t, cue.from)
    }
  }

  /** The file, whose time begins at `begin` of the recording, in ms. */
  text(begin: number): string {
    const shown = this.#cues.map((cue) => ({ ...cue, from: Math.max(0, cue.from - begin), to: cue.to - begin })).filter(({ from, to, text }) => to > from && text.trim() !== "")
    return "WEBVTT\n" + shown.map(({ from, to, by, text }) => `\n${stamp(from)} --> ${stamp(to)}\n<v ${by}>${escaped(text)}\n`).join("")
  }
}

const escapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "\n": " ", "\r": " " }
const escaped = (text: string) => text.replace(/[&<>\n\r]/g, (char) => escapes[char]!)

function stamp(ms: number): string {
  const digits = (value: number, count: number) => String(Math.floor(value)).padStart(count, "0")
  return `${digits(ms / 3600000, 2)}:${digits((ms / 60000) % 60, 2)}:${digits((ms / 1000) % 60, 2)}.${digits(ms % 1000, 3)}`
}
