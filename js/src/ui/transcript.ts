import { isSilentOpening } from "../session/opening.js"
import { compact, join, unspaced } from "./lines.js"
import { Listeners, Scope, type SessionLike } from "./listen.js"
import { make } from "./dom.js"
import { Voice, type Utterance } from "./voice.js"

/** One side's turn in a {@link SpokenTranscript}. */
export interface TranscriptEntry {
  /** Counted from 1. */
  readonly id: number
  readonly who: "user" | "agent"
  /** What was said so far; for an agent's text without a voice, what was received so far. */
  readonly text: string
  /** The id of the agent's utterance; null for the visitor's entries and for text without a voice. */
  readonly speechId: string | null
  /** Whether more text may follow. */
  readonly open: boolean
  /** Whether the agent was interrupted. */
  readonly interrupted: boolean
  /** Whether the service may not have received it; only of what the visitor typed. */
  readonly unconfirmed?: boolean
  /** In milliseconds since the transcript was made. */
  readonly startMs: number
  /** In milliseconds since the transcript was made. */
  readonly endMs: number
}

/** Options of {@link SpokenTranscript}. */
export interface SpokenTranscriptOptions {
  /**
   * An element that becomes a polite live region: what the agent says is added to it as
   * it is said, a text without a voice when it is complete.
   */
  liveRegion?: HTMLElement | undefined
  /** Converts a text for the live region, e.g. removes its Markdown. Default: unchanged. */
  plain?: ((text: string) => string) | undefined
}

/** What changed: `removed` is an entry of which nothing was said. */
export interface TranscriptChange {
  readonly entry: TranscriptEntry
  readonly kind: "added" | "changed" | "removed"
}

type Entry = { -readonly [Name in keyof TranscriptEntry]: TranscriptEntry[Name] }

/** The utterance being spoken, its entry, the text that the entry had before, and how many sentences have begun. */
interface Spoken {
  readonly utterance: Utterance
  readonly entry: Entry
  readonly before: string
  sentences: number
}

/** How many texts a live region keeps. */
const maxAnnounced = 20

/**
 * What was said, as it was said. A sentence of the agent is added when its sound begins,
 * never earlier, and after an interruption the entry has the text of `avatarStopTalking`,
 * which is what the visitor has heard. Texts of a conversation without a voice are added
 * as they arrive.
 */
export class SpokenTranscript {
  readonly #entries: Entry[] = []
  readonly #scope = new Scope()
  readonly #listeners = new Listeners<[change: TranscriptChange]>()
  readonly #began = Date.now()
  readonly #region: HTMLElement | undefined
  readonly #plain: (text: string) => string
  #spoken: Spoken | undefined
  #typed: Entry | undefined // of a conversation without a voice
  #id = 0
  readonly #told = new WeakSet<Entry>()

  /** Throws a `TypeError` without a session. */
  constructor(session: SessionLike, options: SpokenTranscriptOptions = {}) {
    if (typeof session?.on !== "function") throw new TypeError("a transcript needs a session")
    this.#region = options.liveRegion
    this.#plain = options.plain ?? ((text) => text)
    this.#region?.setAttribute("aria-live", "polite")
    this.#region?.setAttribute("aria-relevant", "additions")
    const voice = {
      progress: (utterance: Utterance) => this.#progress(utterance),
      stopped: (utterance: Utterance, text: string, cut: boolean) => this.#stopped(utterance, text, cut),
      interrupted: (utterance: Utterance | undefined) => this.#interrupted(utterance),
    }
    new Voice(session, voice, this.#scope)
    this.#scope.listen(session, "transcript", ({ type, text, speechId }) => {
      if (typeof text !== "string" || isSilentOpening(text)) return
      if (type === "user") this.#add({ who: "user", text, speechId: null, open: false })
      else if (type === "final" && typeof speechId !== "string") this.#piece(text)
    })
    this.#scope.listen(session, "turnUnconfirmed", ({ typed, repeated }) => typed && this.#unconfirmed(typed, repeated))
    this.#scope.listen(session, "turnStart", ({ isNewTurn }) => isNewTurn && this.#endTyped())
    this.#scope.listen(session, "turnEnd", () => this.#endTyped())
    this.#scope.listen(session, "ended", () => this.#endTyped())
  }

  /** All entries, the oldest first. */
  get entries(): readonly TranscriptEntry[] {
    return this.#entries
  }

  /** Adds a function that is called at every change, and returns the one that removes it. */
  onChange(listener: (change: TranscriptChange) => void): () => void {
    return this.#listeners.add(listener)
  }

  /** Removes all entries and empties the live region; what is being said begins a new entry. */
  clear(): void {
    this.#entries.length = 0
    this.#spoken = this.#typed = undefined
    this.#region?.replaceChildren()
  }

  /** Adds a text to the live region. */
  announce(text: string): void {
    const region = this.#region
    const plain = this.#plain(text).trim()
    if (region === undefined || plain === "") return
    region.append(make("p", {}, plain))
    while (region.children.length > maxAnnounced) region.firstElementChild!.remove()
  }

  /** Removes all listeners. The entries stay. */
  destroy(): void {
    this.#scope.end()
    this.#listeners.clear()
  }

  #progress(utterance: Utterance): void {
    const last = utterance.current
    if (last < 0) return
    const spoken = (this.#spoken = this.#spoken?.utterance === utterance ? this.#spoken : this.#begin(utterance))
    if (last < spoken.sentences) return
    const news = utterance.sentences.slice(spoken.sentences, last + 1)
    spoken.sentences = last + 1
    this.#change(spoken.entry, join(spoken.before, utterance.upTo(utterance.sentences[last]!.end)))
    for (const { text } of news) this.announce(text)
  }

  #begin(utterance: Utterance): Spoken {
    // The voice may pause within an answer, and go on under the same id.
    const last = this.#entries.at(-1)
    if (last?.who === "agent" && last.speechId === utterance.speechId && !last.interrupted) {
      last.open = true
      return { utterance, entry: last, before: last.text, sentences: 0 }
    }
    const entry = this.#add({ who: "agent", text: "", speechId: utterance.speechId, open: true }, false)
    return { utterance, entry, before: "", sentences: 0 }
  }

  #stopped(utterance: Utterance, text: string, cut: boolean): void {
    const known = this.#spoken?.utterance === utterance ? this.#spoken : undefined
    this.#spoken = undefined
    const spoken = known ?? (text.trim() === "" ? undefined : this.#begin(utterance))
    if (spoken === undefined) return
    const { entry, before } = spoken
    entry.open = false
    entry.interrupted = cut
    // The service may write the same text with other spaces.
    const same = !cut && (compact(text) === utterance.letters || text.trim() === "")
    this.#change(entry, join(before, same ? utterance.text : text))
    if (entry.text.trim() === "") this.#remove(entry)
    else if (!cut) for (const { text } of utterance.sentences.slice(spoken.sentences)) this.announce(text)
  }

  #interrupted(utterance: Utterance | undefined): void {
    this.#endTyped()
    const spoken = this.#spoken
    if (spoken === undefined || spoken.utterance !== utterance) return
    // What was heard according to the chunks' times, until the service reports the exact text.
    const heard = utterance.upTo(utterance.spoken)
    const next = utterance.text[heard.length] ?? " "
    const whole = /\s/u.test(next) || unspaced.test(next)
    spoken.entry.open = false
    spoken.entry.interrupted = true
    this.#change(spoken.entry, join(spoken.before, whole ? heard : heard.slice(0, Math.max(0, heard.search(/\s\S*$/u))).trimEnd()))
  }

  /** The visitor's text may be lost, also if a transcript has it. */
  #unconfirmed(text: string, repeated: boolean): void {
    const known = repeated && this.#entries.filter((entry) => entry.who === "user" && entry.text.includes(text)).at(-1)
    const entry = known || this.#add({ who: "user", text, speechId: null, open: false }, false)
    entry.unconfirmed = true
    this.#change(entry, entry.text)
  }

  /** A piece of an answer without a voice. */
  #piece(text: string): void {
    this.#typed ??= this.#add({ who: "agent", text: "", speechId: null, open: true }, false)
    this.#change(this.#typed, this.#typed.text + text)
  }

  #endTyped(): void {
    const entry = this.#typed
    this.#typed = undefined
    if (entry === undefined) return
    entry.open = false
    this.#change(entry, entry.text)
    this.announce(entry.text)
  }

  #add(entry: Pick<Entry, "who" | "text" | "speechId" | "open">, tell = true): Entry {
    const now = Date.now() - this.#began
    const added: Entry = { id: ++this.#id, interrupted: false, startMs: now, endMs: now, ...entry }
    this.#entries.push(added)
    if (tell) this.#change(added, entry.text)
    return added
  }

  #change(entry: Entry, text: string): void {
    const kind = this.#told.has(entry) ? "changed" : "added"
    this.#told.add(entry)
    entry.text = text
    entry.endMs = Date.now() - this.#began
    this.#listeners.call({ entry, kind })
  }

  #remove(entry: Entry): void {
    const at = this.#entries.indexOf(entry)
    if (at >= 0) this.#entries.splice(at, 1)
    this.#listeners.call({ entry, kind: "removed" })
  }
}
