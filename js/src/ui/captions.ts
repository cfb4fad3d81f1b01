import { breakLines, columns, directionOf } from "./lines.js"
import { Listeners, Scope, type SessionLike } from "./listen.js"
import { eachTransport } from "./transports.js"
import { Voice, type Sentence, type Utterance } from "./voice.js"

/** Options of {@link Captions}. */
export interface CaptionOptions {
  /** Texts to show in place of whole words, whose case is ignored. Default: none. */
  replacements?: Readonly<Record<string, string>> | undefined
  /** Changes the text of a sentence before it is shown; an empty result hides it. Default: none. */
  filter?: ((text: string) => string) | undefined
  /** How long the last caption stays after the end of the speech, in milliseconds. Default 2000. */
  holdAfterEndMs?: number | undefined
  /** Columns of a line; a Chinese, Japanese or Korean character takes two. Default 47. */
  maxCharsPerLine?: number | undefined
  /** Lines of a caption. Default 2. */
  maxLines?: number | undefined
}

/** What is shown now. */
export interface Caption {
  /** The lines, with a line break between them; empty when the caption is cleared. */
  readonly text: string
  /** Whether the caption is to be removed. */
  readonly clear: boolean
  readonly lines: readonly string[]
  /** The direction of the sentence: a single line may begin with a word of another script. */
  readonly dir: "ltr" | "rtl"
}

/** A text with its start and end, in milliseconds since the `Captions` were made. */
export interface Cue {
  readonly startMs: number
  readonly endMs: number
  readonly text: string
}

/** How many cues are kept; there are about 20 in a minute of speech. */
const maxCues = 10_000

/**
 * Captions of the agent's voice, in time with the sound. They are made of the sentences of
 * `transcript` events with type `final`, and timed by the service's chunks of speech;
 * without chunks, by an estimate that begins at 11 characters per second and is corrected
 * after each utterance. A caption never has text of two sentences.
 * `interrupted` and `userStartedTalking` clear it at once.
 *
 * It draws nothing: see `onCaption`, {@link drawCaptions} and {@link attachTextTrack}.
 */
export class Captions {
  readonly #options: { filter: ((text: string) => string) | undefined; holdMs: number; width: number; lines: number }
  readonly #scope = new Scope()
  readonly #listeners = new Listeners<[caption: Caption]>()
  readonly #began = Date.now()
  readonly #cues: { startMs: number; endMs: number; text: string }[] = []
  #pieces = new WeakMap<Sentence, readonly Caption[]>()
  #replacements: readonly [pattern: RegExp, replacement: string][] = []
  #shown: Caption | undefined
  #dismissed: Caption | undefined
  #hold: ReturnType<typeof setTimeout> | undefined

  /** Throws a `TypeError` for options of another type, and a `RangeError` for numbers out of range. */
  constructor(session: SessionLike, options: CaptionOptions = {}) {
    const { replacements, filter, holdAfterEndMs, maxCharsPerLine, maxLines } = options
    if (typeof session?.on !== "function") throw new TypeError("captions need a session")
    if (filter !== undefined && typeof filter !== "function") throw new TypeError("filter must be a function")
    this.#options = {
      filter,
      holdMs: whole("holdAfterEndMs", holdAfterEndMs, 2000, 0),
      width: whole("maxCharsPerLine", maxCharsPerLine, 47, 4),
      lines: whole("maxLines", maxLines, 2, 1),
    }
    if (replacements !== undefined) this.setReplacements(replacements)
    const voice = {
      progress: (utterance: Utterance) => this.#progress(utterance),
      stopped: (utterance: Utterance, text: string, cut: boolean) => this.#stopped(utterance, text, cut),
      interrupted: () => this.#clear(),
    }
    new Voice(session, voice, this.#scope)
    // An agent session does not forward `userStartedTalking`.
    this.#scope.onEnd(eachTransport(session, (carrier, scope) => scope.listen(carrier, "userStartedTalking", () => this.#dismiss())))
  }

  /** What is shown now, or undefined. */
  get current(): Caption | undefined {
    return this.#shown
  }

  /** What was shown, in milliseconds since the captions were made; the last 10,000. See {@link toWebVTT}. */
  get cues(): readonly Cue[] {
    return this.#cues
  }

  /** Adds a function that is called at every change, and returns the one that removes it. */
  onCaption(listener: (caption: Caption) => void): () => void {
    return this.#listeners.add(listener)
  }

  /** Sets new replacements. Throws a `TypeError` when a word is empty, or a replacement is not a string. */
  setReplacements(replacements: Readonly<Record<string, string>>): void {
    this.#replacements = Object.entries(replacements).map(([word, replacement]) => {
      if (word === "" || typeof replacement !== "string") throw new TypeError("a replacement must be a text for a word")
      const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
      const [before, after] = [/^[\p{L}\p{N}]/u.test(word) ? "(?<![\\p{L}\\p{N}])" : "", /[\p{L}\p{N}]$/u.test(word) ? "(?![\\p{L}\\p{N}])" : ""]
      // In a script without spaces, words have no visible ends.
      return [columns(word) > word.length ? new RegExp(escaped, "giu") : new RegExp(before + escaped + after, "giu"), replacement]
    })
    this.#pieces = new WeakMap()
  }

  /** Clears the caption and removes all listeners. */
  destroy(): void {
    this.#scope.end()
    this.#clear()
    this.#listeners.clear()
  }

  #progress(utterance: Utterance): void {
    const sentence = utterance.sentences[utterance.current]
    if (sentence === undefined) return
    const pieces = this.#piecesOf(sentence)
    const share = (utterance.spoken - sentence.begin) / (sentence.end - sentence.begin)
    // What is shown may have more or fewer letters than what is said.
    const letters = pieces.reduce((sum, { text }) => sum + text.length, 0)
    let left = share * letters
    const piece = pieces.find(({ text }) => (left -= text.length) <= 0) ?? pieces.at(-1)
    if (piece !== undefined && piece !== this.#shown && piece !== this.#dismissed) this.#show(piece)
    else clearTimeout(this.#hold)
  }

  #piecesOf(sentence: Sentence): readonly Caption[] {
    const known = this.#pieces.get(sentence)
    if (known !== undefined) return known
    let { text } = sentence
    for (const [pattern, replacement] of this.#replacements) text = text.replace(pattern, () => replacement)
    if (this.#options.filter) text = String(this.#options.filter(text) ?? "")
    const lines = breakLines(text, this.#options.width)
    const dir = directionOf(text)
    const pieces: Caption[] = []
    for (let at = 0; at < lines.length; at += this.#options.lines) {
      const group = lines.slice(at, at + this.#options.lines)
      pieces.push({ text: group.join("\n"), clear: false, lines: group, dir })
    }
    this.#pieces.set(sentence, pieces)
    return pieces
  }

  #stopped(utterance: Utterance, _text: string, cut: boolean): void {
    if (cut) return // cleared when it was interrupted
    clearTimeout(this.#hold)
    if (this.#shown === undefined || utterance.spoken === 0) return this.#clear()
    this.#hold = setTimeout(() => this.#clear(), this.#options.holdMs)
  }

  #show(caption: Caption): void {
    clearTimeout(this.#hold)
    const now = this.#endCue()
    this.#shown = caption
    this.#cues.push({ startMs: now, endMs: now, text: caption.text })
    if (this.#cues.length > maxCues) this.#cues.shift()
    this.#listeners.call(caption)
  }

  /** Clears the caption because the visitor talks; while the agent goes on, it is not shown again. */
  #dismiss(): void {
    this.#dismissed = this.#shown
    this.#clear()
  }

  #clear(): void {
    clearTimeout(this.#hold)
    if (this.#shown === undefined) return
    this.#endCue()
    this.#shown = undefined
    this.#listeners.call({ text: "", clear: true, lines: [], dir: "ltr" })
  }

  /** Ends the cue that is shown, and returns the time. */
  #endCue(): number {
    const now = Date.now() - this.#began
    const last = this.#cues.at(-1)
    if (this.#shown !== undefined && last !== undefined) last.endMs = now
    return now
  }
}

/** Shows captions in an element, as text and never as markup, and returns the function that stops it. */
export function drawCaptions(captions: Captions, element: HTMLElement): () => void {
  const draw = ({ text, dir }: Caption) => {
    element.textContent = text
    element.dir = dir
  }
  if (captions.current) draw(captions.current)
  const end = captions.onCaption(draw)
  return () => {
    end()
    element.textContent = ""
  }
}

function whole(name: string, value: number | undefined, standard: number, least: number): number {
  if (value === undefined) return standard
  if (typeof value !== "number") throw new TypeError(`${name} must be a number`)
  if (!Number.isInteger(value) || value < least) throw new RangeError(`${name} must be a whole number of at least ${least}`)
  return value
}
