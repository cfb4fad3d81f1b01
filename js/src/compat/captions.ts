import type { SpeechChunk, Transcript, Word } from "../events.js"

// As in the Go runtime (runtime/avatar): the duration that marks a chunk as no caption, and the one
// assumed for a chunk without a valid duration.
const sentinelMs = 1
const unknownMs = 100

/** Spreads the words of a text over the time that it takes. */
export function apportion(text: string, durationMs: number, offset = 0): Word[] {
  const words = text.split(/\s+/).filter(Boolean)
  const duration = Number.isFinite(durationMs) && durationMs > 0 ? durationMs : unknownMs
  return words.map((word, at) => ({ word, startMs: Math.round(offset + (at * duration) / words.length) }))
}

/** Makes timed transcripts from chunks of speech, and drops chunks of other utterances than the current one. */
export class TranscriptTracker {
  #speechId = ""
  #elapsed = 0

  /** Makes an utterance the current one, from its start. */
  beginUtterance(speechId: string): void {
    this.#speechId = speechId
    this.#elapsed = 0
  }

  /** Whether it is the current utterance. */
  isCurrent(speechId: string): boolean {
    return speechId === this.#speechId
  }

  /** Returns the transcript of a chunk, with its words and their times; undefined for a chunk of another utterance, and for one without a text. */
  ingestChunk({ text, durationMs, speechId }: SpeechChunk): Transcript | undefined {
    const id = speechId ?? ""
    if (this.#speechId === "") this.beginUtterance(id)
    if (id !== this.#speechId || text === "" || durationMs === sentinelMs) return undefined
    const words = apportion(text, durationMs, this.#elapsed)
    this.#elapsed += Number.isFinite(durationMs) && durationMs > 0 ? durationMs : unknownMs
    return { type: "partial", text, speechId: id || null, words }
  }

  /** Ends the current utterance; its late chunks are dropped once another begins. */
  finishUtterance(): void {
    this.#elapsed = 0
  }
}
