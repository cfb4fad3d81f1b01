import { toWebVTT } from "../ui/webvtt.js"
import type { RecordingEntry } from "./format.js"

/** How long before its sound a speechChunk is emitted, in ms. */
const chunkLeadMs = 400
/** How long the visitor's words are shown, in ms. */
const readingMs = 3000

const speakers = { agent: "Agent", visitor: "Visitor" }

/** The cues of a WebVTT file, as runtime/record makes them. */
export class CaptionFile {
  readonly #cues: { startMs: number; endMs: number; who: keyof typeof speakers; text: string }[] = []

  add({ t, event, data }: RecordingEntry): void {
    const { type, text: said = "", durationMs = 0 } = (data ?? {}) as { type?: string; text?: string; durationMs?: number }
    const text = said.replace(/[\n\r]/g, " ")
    if (event === "speechChunk") this.#cues.push({ startMs: t + chunkLeadMs, endMs: t + chunkLeadMs + durationMs, who: "agent", text })
    else if (event === "transcript" && type === "user") this.#cues.push({ startMs: t, endMs: t + readingMs, who: "visitor", text })
    else if (event === "interrupted") {
      // What was not spoken is not shown.
      for (const cue of this.#cues) if (cue.who === "agent" && cue.endMs > t) cue.endMs = Math.max(t, cue.startMs)
    }
  }

  /** The file, whose time begins at `begin` of the recording, in ms. */
  text(begin: number): string {
    return toWebVTT(this.#cues.filter(({ startMs, endMs }) => endMs > Math.max(startMs, begin)), { speakers, originMs: begin })
  }
}
