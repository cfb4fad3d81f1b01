// Captions and timed words in the reference client's form.
import type { Word } from "../generated/events.js"
import { Scope, type SessionLike } from "../ui/listen.js"
import { localError } from "../core/errors.js"

// The duration that marks a chunk as no caption, and the one assumed for a chunk without one (runtime/avatar).
const sentinelMs = 1
const unknownMs = 100

const durationOf = (durationMs: unknown): number => (Number.isFinite(durationMs) && (durationMs as number) > 0 ? (durationMs as number) : unknownMs)

/** Spreads the words of a text evenly over the time that it takes. */
export function apportion(text: unknown, durationMs?: number, offsetMs = 0): Word[] {
  const words = String(text ?? "").split(/\s+/).filter(Boolean)
  return words.map((word, at) => ({ word, startMs: Math.round(offsetMs + (at * durationOf(durationMs)) / words.length) }))
}

/** A chunk of speech, as in the event `speechChunk`. */
export interface ChunkLike {
  text?: string | null | undefined
  durationMs?: number | null | undefined
  speechId?: string | null | undefined
}

/** Makes timed transcripts of chunks of speech, and drops chunks of other utterances than the current one. */
export class TranscriptTracker {
  /** The current utterance; null before the first. */
  latestSpeechId: string | null = null
  #elapsed = 0

  /** Makes an utterance the current one, from its start. */
  beginUtterance(speechId: string | null | undefined): void {
    this.latestSpeechId = speechId || null
    this.#elapsed = 0
  }

  /** Whether an utterance is the current one, or none is named. */
  isCurrent(speechId: string | null | undefined): boolean {
    return !speechId || speechId === this.latestSpeechId
  }

  /** The transcript of a chunk, with its words and their times; null for a chunk of another utterance, and for one without a text. */
  ingestChunk({ text, durationMs, speechId }: ChunkLike): { text: string; type: "partial"; speechId: string | null; words: Word[] } | null {
    if (this.latestSpeechId === null && speechId) this.beginUtterance(speechId)
    if (typeof text !== "string" || text.trim() === "" || durationMs === sentinelMs || !this.isCurrent(speechId)) return null
    const duration = durationOf(durationMs)
    const words = apportion(text, duration, this.#elapsed)
    this.#elapsed += duration
    return { text, type: "partial", speechId: speechId || this.latestSpeechId, words }
  }

  /** Begins the times of the words again. */
  finishUtterance(): void {
    this.#elapsed = 0
  }
}

/** What is shown now, or that nothing is. */
export interface Caption {
  text: string
  clear: boolean
}

/** Texts to show in place of others. */
export type Replacements = Readonly<Record<string, string>> | ReadonlyMap<string, string>

/** Options of {@link CaptionService}. */
export interface CaptionOptions {
  /** Texts to show in place of others, in any case, the longest first. Default: none. */
  replacements?: Replacements | null | undefined
  /** Changes a text after the replacements; its result is used only if it is a text. Default: none. */
  filter?: ((text: string) => unknown) | null | undefined
  /** How long the last caption stays after the end of the speech, in milliseconds. Default 2000. */
  holdAfterEndMs?: number | undefined
  /** Characters of a line. Default 47. */
  maxCharsPerLine?: number | undefined
  /** Lines of a caption, into which the page breaks its text. Default 2. */
  maxLines?: number | undefined
}

interface Segment {
  text: string
  ms: number
}

// How fast a voice is taken to speak at first, in characters per second, and which rates are believed.
const firstRate = 11
const slowest = 1
const fastest = 50
const tickMs = 200
const remembered = 10

/**
 * Captions of the agent's voice: each is at most `maxCharsPerLine * maxLines` characters
 * long, and ends at a sentence, a clause or a word. They are timed by the service's chunks
 * of speech; without chunks, by an estimate that is corrected after each utterance.
 * `interrupted`, `userStartedTalking` and the loss of the session clear them at once. It draws nothing.
 */
export class CaptionService {
  readonly #scope = new Scope()
  readonly #listeners = new Set<(caption: Caption) => void>()
  readonly #filter: ((text: string) => unknown) | undefined
  readonly #holdMs: number
  readonly #limit: number
  #replacements: readonly [RegExp, string][] = []
  /** The utterances that are over: late chunks of theirs are dropped. */
  #over: string[] = []
  #current: string | null = null
  #queue: Segment[] = []
  #showing = false
  /** Shows the next caption. */
  #turning: ReturnType<typeof setTimeout> | undefined
  /** Clears the last caption. */
  #holding: ReturnType<typeof setTimeout> | undefined
  /** Sentences whose sound has not begun, without chunks to time them. */
  #waiting: string[] = []
  #talking = false
  /** The service times the present utterance by its chunks. */
  #timed = false
  #ended = false
  #began = 0
  #rate = firstRate
  #observed = 0

  /** Throws `bad_request` for a session without events. */
  constructor(session: SessionLike, { replacements, filter, holdAfterEndMs = 2000, maxCharsPerLine = 47, maxLines = 2 }: CaptionOptions = {}) {
    if (typeof session?.on !== "function") throw localError("bad_request", "captions need a session")
    this.#filter = typeof filter === "function" ? filter : undefined
    this.#holdMs = Number.isFinite(holdAfterEndMs) ? Math.max(holdAfterEndMs, 0) : 2000
    this.#limit = Math.max(Math.trunc(maxCharsPerLine * maxLines) || 94, 1)
    this.setReplacements(replacements ?? null)
    this.#scope.listen(session, "speechChunk", (chunk) => this.#chunk(chunk))
    this.#scope.listen(session, "transcript", ({ type, text, speechId }) => {
      if (type === "final") this.#sentence(text, speechId)
    })
    this.#scope.listen(session, "avatarStartTalking", () => this.#start())
    this.#scope.listen(session, "avatarStopTalking", (stopped) => this.#stop(stopped?.text))
    this.#scope.listen(session, "interrupted", () => this.#cut())
    this.#scope.listen(session, "userStartedTalking", () => this.#cut())
    // No further event of the utterance comes from a session that is made again, or has ended.
    this.#scope.listen(session, "reconnecting", ({ cold }) => cold && this.#lose())
    this.#scope.listen(session, "reconnected", ({ recovered }) => !recovered && this.#lose())
    this.#scope.listen(session, "ended", () => this.#lose())
  }

  /** Adds a function that is called at every change, and returns the one that removes it. */
  onCaption(listener: (caption: Caption) => void): () => void {
    if (typeof listener !== "function") throw localError("bad_request", "the listener of captions must be a function")
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Sets new replacements; null removes them. */
  setReplacements(replacements: Replacements | null | undefined): void {
    const entries = replacements instanceof Map ? [...(replacements as ReadonlyMap<string, string>)] : Object.entries(replacements ?? {})
    this.#replacements = entries
      .filter(([from, to]) => typeof from === "string" && from !== "" && typeof to === "string")
      .sort(([a], [b]) => b.length - a.length)
      .map(([from, to]) => {
        const before = /^[\p{L}\p{N}_]/u.test(from) ? "(?<![\\p{L}\\p{N}_])" : ""
        const after = /[\p{L}\p{N}_]$/u.test(from) ? "(?![\\p{L}\\p{N}_])" : ""
        return [new RegExp(before + from.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + after, "giu"), to]
      })
  }

  /** Removes all listeners and stops the timers. */
  destroy(): void {
    this.#scope.end()
    this.#listeners.clear()
    this.#drop()
    this.#waiting = []
  }

  // --- What is said

  #chunk({ text, durationMs, speechId }: ChunkLike): void {
    if (typeof text !== "string" || text.trim() === "" || durationMs === sentinelMs || this.#isOver(speechId)) return
    if (speechId && speechId !== this.#current) this.#begin(speechId)
    if (!this.#timed) {
      this.#timed = true
      this.#waiting = []
      this.#drop()
    }
    this.#put(text, durationOf(durationMs))
  }

  #sentence(text: string, speechId: string | null | undefined): void {
    if (this.#timed && (!speechId || speechId === this.#current)) return // the chunks say the same in time
    if (this.#isOver(speechId) || this.#clean(text) === "") return
    if (speechId && speechId !== this.#current) this.#begin(speechId)
    if (this.#talking) this.#estimate(text)
    else this.#waiting.push(text)
  }

  #start(): void {
    this.#talking = true
    this.#ended = false
    this.#began = Date.now()
    const waiting = this.#waiting
    this.#waiting = []
    for (const text of waiting) this.#estimate(text)
  }

  #stop(spoken: string | undefined): void {
    if (this.#talking && spoken) this.#learn(spoken.length, Date.now() - this.#began)
    this.#talking = false
    this.#ended = true
    this.#waiting = []
    this.#finish()
    if (this.#timed && this.#queue.length > 0) return // what the service has timed is still to be shown
    this.#queue = []
    this.#hold()
  }

  #cut(): void {
    this.#finish()
    this.#waiting = []
    this.#drop()
    this.#clear()
  }

  #lose(): void {
    this.#talking = false
    this.#cut()
  }

  #begin(speechId: string): void {
    this.#finish()
    this.#current = speechId
    this.#ended = false
  }

  /** Ends the present utterance; what is queued of it stays. */
  #finish(): void {
    if (this.#current) this.#over = [...this.#over.filter((id) => id !== this.#current), this.#current].slice(-remembered)
    this.#current = null
    // A queue that is still shown keeps its times.
    if (this.#queue.length === 0) this.#timed = false
  }

  #isOver = (speechId: string | null | undefined): boolean => !!speechId && this.#over.includes(speechId)

  #learn(characters: number, ms: number): void {
    const rate = ms > 0 ? (characters * 1000) / ms : 0
    if (rate < slowest || rate > fastest) return
    const weight = this.#observed++ < 2 ? 0.5 : 0.3
    this.#rate = this.#rate * (1 - weight) + rate * weight
  }

  // --- What is shown

  #estimate(text: string): void {
    this.#put(text, Math.max(Math.ceil((text.length * 1000) / this.#rate / tickMs) * tickMs, tickMs))
  }

  #put(text: string, ms: number): void {
    const shown = this.#clean(text)
    if (shown === "") return
    const pieces = split(shown, this.#limit)
    const total = pieces.reduce((sum, { length }) => sum + length, 0)
    for (const piece of pieces) this.#queue.push({ text: piece, ms: (ms * piece.length) / total })
    if (this.#turning === undefined) this.#next()
  }

  #next(): void {
    this.#stopTimers()
    const segment = this.#queue.shift()
    if (segment) {
      this.#showing = true
      this.#emit({ text: segment.text, clear: false })
      this.#turning = setTimeout(() => this.#next(), segment.ms)
      return
    }
    if (this.#current === null) this.#timed = false
    if (this.#ended || !this.#talking) this.#hold()
  }

  #hold(): void {
    this.#stopTimers()
    if (this.#showing) this.#holding = setTimeout(() => this.#clear(), this.#holdMs)
  }

  #clear(): void {
    if (!this.#showing) return
    this.#showing = false
    this.#emit({ text: "", clear: true })
  }

  #drop(): void {
    this.#stopTimers()
    this.#queue = []
  }

  #stopTimers(): void {
    clearTimeout(this.#turning)
    clearTimeout(this.#holding)
    this.#turning = undefined
  }

  #clean(text: string): string {
    let shown = text.replace(/<[^<>]{0,200}>/g, " ")
    for (const [pattern, to] of this.#replacements) shown = shown.replace(pattern, () => to)
    shown = shown.replace(/\s+/g, " ").replace(/ ([,.;:!?…])/g, "$1").trim()
    if (!this.#filter) return shown
    try {
      const changed = this.#filter(shown)
      return typeof changed === "string" ? changed.trim() : shown
    } catch {
      return shown
    }
  }

  #emit(caption: Caption): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener({ ...caption })
      } catch {
        // One page's exception must not keep the others from being called.
      }
    }
  }
}

/** Splits a text into pieces of at most `limit` characters, which end at a sentence, else at a clause, else at a word. */
function split(text: string, limit: number): string[] {
  const pieces: string[] = []
  let rest = text.trim()
  while (rest.length > limit) {
    const head = rest.slice(0, limit + 1)
    const end = lastEnd(head, /[.!?…。！？]["')\]»”]*(?=\s)|[。！？]/g) ?? lastEnd(head, /[,;:–—、，；：](?=\s)|[、，；：]/g) ?? lastEnd(head, /\S(?=\s)/g) ?? limit
    pieces.push(rest.slice(0, end).trim())
    rest = rest.slice(end).trim()
  }
  if (rest !== "") pieces.push(rest)
  return pieces
}

/** Where the last match in a text ends; undefined without one, and for the whole text. */
function lastEnd(text: string, pattern: RegExp): number | undefined {
  let end: number | undefined
  for (const match of text.matchAll(pattern)) if (match.index + match[0].length < text.length) end = match.index + match[0].length
  return end
}
