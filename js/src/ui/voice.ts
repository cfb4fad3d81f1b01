import type { AvatarEvents } from "../generated/events.js"
import { isSilentOpening } from "../session/opening.js"
import { compact, join, splitSentences } from "./lines.js"
import type { Scope, SessionLike } from "./listen.js"

/** The time from a chunk of speech, or from `avatarStartTalking`, until it is heard, in milliseconds. */
const leadMs = 400
/** The period in which the position is computed while the agent speaks, in milliseconds. */
const tickMs = 200
/** The rate of the estimate in characters per second, and the bounds within which it is learnt. */
const firstRate = 11
const [lowestRate, highestRate] = [5, 25]
/** The assumed duration of a chunk without a valid one, in milliseconds. */
const unknownMs = 100
/** How far after its expected place in the text a chunk may be found, in characters: its words may be spelt differently there. */
const searchAhead = 40

/** A sentence of an utterance; `begin` and `end` are its position in the utterance, counted without white space. */
export interface Sentence {
  readonly text: string
  readonly begin: number
  readonly end: number
}

/** One utterance of the agent: its sentences, and how much of them has been heard. */
export class Utterance {
  readonly speechId: string
  readonly sentences: Sentence[] = []
  /** All sentences without white space. */
  letters = ""
  /** All sentences. */
  text = ""
  /** The number of letters up to the one being heard. It never decreases. */
  spoken = 0
  /** Where the next chunk begins. */
  timed = 0
  /** When the estimate began, or undefined. */
  estimatedSince: number | undefined

  constructor(speechId: string) {
    this.speechId = speechId
  }

  add(text: string): void {
    for (const part of splitSentences(text)) {
      const letters = compact(part)
      if (letters === "") continue
      this.text = join(this.text, part)
      this.sentences.push({ text: part.trim(), begin: this.letters.length, end: this.letters.length + letters.length })
      this.letters += letters
    }
  }

  /** The index of the sentence being heard, or -1 before the first. */
  get current(): number {
    let at = this.sentences.length - 1
    while (at >= 0 && this.sentences[at]!.begin >= this.spoken) at--
    return at
  }

  /** The text up to a number of letters, white space not counted. */
  upTo(letters: number): string {
    let left = letters
    for (let at = 0; at < this.text.length; at++) {
      if (left === 0) return this.text.slice(0, at)
      if (!/\s/u.test(this.text[at]!)) left--
    }
    return this.text
  }
}

interface Chunk {
  readonly utterance: Utterance
  readonly begin: number
  readonly end: number
  readonly ms: number
}

/** Receives the progress of the agent's voice. */
export interface VoiceListener {
  /** More of an utterance has been heard. */
  progress(utterance: Utterance): void
  /** An utterance ended; text is what was really spoken, `cut` whether it was interrupted. */
  stopped(utterance: Utterance, text: string, cut: boolean): void
  /** The agent was interrupted, or its connection ended: nothing more of the utterance will be heard. */
  interrupted(utterance: Utterance | undefined): void
}

/**
 * Follows how much of the agent's sentences (`transcript` events with type `final`) has
 * been heard, by the chunks of speech. Without chunks it is estimated.
 */
export class Voice {
  readonly #listener: VoiceListener
  readonly #utterances = new Map<string, Utterance>()
  /** The utterance that was interrupted last, until its spoken text is known. */
  #cut: Utterance | undefined
  readonly #over = new Set<string>()
  #sounding: Utterance | undefined
  #chunk: Chunk | undefined
  #since = 0 // when the chunk began to sound
  #talking = false
  #rate = firstRate
  #announced: AvatarEvents["speechChunk"] | undefined
  readonly #timers = new Set<ReturnType<typeof setTimeout>>()
  #ticker: ReturnType<typeof setInterval> | undefined

  constructor(session: SessionLike, listener: VoiceListener, scope: Scope) {
    this.#listener = listener
    scope.listen(session, "transcript", ({ type, text, speechId }) => {
      if (typeof speechId !== "string" || typeof text !== "string" || this.#over.has(speechId) || isSilentOpening(text)) return
      if (type === "final") this.#sentence(speechId, text)
      else if (type === "partial") this.#timed(speechId, text)
    })
    scope.listen(session, "speechChunk", (chunk) => (this.#announced = chunk))
    scope.listen(session, "avatarStartTalking", () => this.#started())
    scope.listen(session, "avatarStopTalking", (stop) => this.#stopped(stop?.text ?? ""))
    scope.listen(session, "interrupted", () => this.#interrupted())
    scope.listen(session, "reconnecting", ({ cold }) => cold && this.#interrupted())
    // After a lost socket, only this event tells that the session was made again.
    scope.listen(session, "reconnected", ({ recovered }) => !recovered && this.#interrupted())
    scope.listen(session, "ended", () => this.#interrupted())
    // When an agent session leaves its avatar, no further event of it follows.
    scope.listen(session, "transportChanged", () => this.#interrupted())
    scope.onEnd(() => this.#quiet())
  }

  #sentence(speechId: string, text: string): void {
    let utterance = this.#utterances.get(speechId)
    if (utterance === undefined) this.#utterances.set(speechId, (utterance = new Utterance(speechId)))
    utterance.add(text)
    if (this.#talking && this.#sounding === undefined) this.#later(leadMs, () => this.#estimate())
  }

  /** Takes a chunk, which is heard after the lead time. */
  #timed(speechId: string, text: string): void {
    const utterance = this.#utterances.get(speechId)
    const announced = this.#announced
    this.#announced = undefined
    const letters = compact(text)
    if (utterance === undefined || letters === "") return
    const exact = utterance.letters.indexOf(letters, utterance.timed)
    const begin = exact >= 0 && exact <= utterance.timed + searchAhead ? exact : utterance.timed
    utterance.timed = begin + letters.length
    const valid = announced?.speechId === speechId && announced.text === text && announced.durationMs > 0
    const chunk = { utterance, begin, end: utterance.timed, ms: valid ? announced.durationMs : unknownMs }
    utterance.estimatedSince = undefined // the chunks are exact
    this.#later(leadMs, () => {
      this.#sounding = utterance
      this.#chunk = chunk
      this.#since = Date.now()
      this.#advance(chunk.begin + 1)
      this.#tick()
    })
  }

  #started(): void {
    this.#talking = true
    this.#later(leadMs, () => this.#estimate())
  }

  /** Begins to estimate the position in the first utterance that has no chunks. */
  #estimate(): void {
    if (!this.#talking || this.#sounding !== undefined) return
    const utterance = [...this.#utterances.values()].find(({ timed, letters }) => timed === 0 && letters !== "")
    if (utterance === undefined) return
    this.#sounding = utterance
    utterance.estimatedSince = Date.now()
    this.#advance(1)
    this.#tick()
  }

  #tick(): void {
    this.#ticker ??= setInterval(() => {
      const [utterance, chunk] = [this.#sounding, this.#chunk]
      if (utterance === undefined) return
      if (utterance.estimatedSince !== undefined) {
        const share = utterance.letters.length / utterance.text.length // without the spaces
        this.#advance(Math.floor(((Date.now() - utterance.estimatedSince) / 1000) * this.#rate * share))
      } else if (chunk !== undefined) {
        const part = Math.min((Date.now() - this.#since) / chunk.ms, 1)
        this.#advance(Math.ceil(chunk.begin + (chunk.end - chunk.begin) * part))
      }
    }, tickMs)
  }

  #advance(letters: number): void {
    const utterance = this.#sounding
    if (utterance === undefined) return
    const next = Math.min(letters, utterance.letters.length)
    if (next <= utterance.spoken) return
    utterance.spoken = next
    this.#listener.progress(utterance)
  }

  #stopped(text: string): void {
    if (isSilentOpening(text)) {
      // It has no utterance: one that waits is of the answer that follows.
      this.#talking = false
      if (this.#sounding?.estimatedSince !== undefined) this.#sounding = undefined
      return
    }
    const utterance = this.#sounding ?? this.#cut ?? this.#utterances.values().next().value
    const cut = utterance !== undefined && utterance === this.#cut
    this.#cut = undefined
    if (!cut) {
      // The timers of a busy page may be late: what they have not reached has been spoken too.
      this.#sounding = utterance
      this.#advance(compact(text).length)
      this.#quiet()
      if (utterance?.estimatedSince !== undefined) {
        const rate = utterance.text.length / ((Date.now() - utterance.estimatedSince) / 1000)
        this.#rate = Math.min(Math.max((this.#rate + rate) / 2, lowestRate), highestRate)
      }
      this.#sounding = this.#chunk = undefined
    }
    if (utterance === undefined) return
    this.#utterances.delete(utterance.speechId)
    this.#listener.stopped(utterance, text, cut)
  }

  #interrupted(): void {
    this.#quiet()
    const utterance = this.#sounding ?? this.#utterances.values().next().value
    for (const id of this.#utterances.keys()) this.#drop(id)
    this.#utterances.clear()
    this.#cut = utterance
    this.#sounding = this.#chunk = undefined
    this.#listener.interrupted(utterance)
  }

  /** Ignores later transcripts of an interrupted utterance. */
  #drop(speechId: string): void {
    this.#over.add(speechId)
    if (this.#over.size > 100) this.#over.delete(this.#over.values().next().value!)
  }

  /** Stops all timers: nothing is being spoken. */
  #quiet(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
    clearInterval(this.#ticker)
    this.#ticker = undefined
    this.#talking = false
  }

  #later(ms: number, react: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      react()
    }, ms)
    this.#timers.add(timer)
  }
}
