import { make, type Texts } from "./dom.js"
import type { SessionLike } from "./listen.js"
import { partLabels } from "./ownlabels.js"
import type { PartLabels } from "./partlabels.js"
import { SpokenTranscript, type TranscriptChange, type TranscriptEntry } from "./transcript.js"

/** Shows a text that grows: `GrowingMarkdown`, or a class of the page. */
export interface GrowingText {
  /** Shows the text up to now. */
  set(text: string): void
  /** Shows all of it; nothing follows. */
  end(): void
}

/** Options of {@link Transcript}. */
export interface TranscriptOptions {
  /** Texts in place of the English ones: `agent`, `you`, `log`, `unconfirmed`. */
  labels?: Texts<PartLabels> | undefined
  /** The name of the agent. Default: `labels.agent`. */
  agentName?: string | null | undefined
  /** Draws the agent's texts: `GrowingMarkdown`. Default: they are shown as they are. */
  markdown?: (new (element: HTMLElement) => GrowingText) | undefined
  /** Converts a text for screen readers: `plainMarkdown`. Default: unchanged. */
  plain?: ((text: string) => string) | undefined
  /** What was said. Default: an own one; `spoken` has it. */
  spoken?: SpokenTranscript | undefined
  /** Where it is drawn. Default: a new element that scrolls. */
  root?: HTMLElement | undefined
  /** Whether what was said is drawn; otherwise only what the page appends is shown. Default true. */
  entries?: boolean | undefined
}

/** The elements of an entry; `note` is there if the entry is unconfirmed. */
interface Drawn {
  readonly root: HTMLElement
  readonly name: HTMLElement
  readonly body: HTMLElement
  readonly text: GrowingText | undefined
  note?: HTMLElement
}

/** A visitor who scrolls to within this distance of the end is at the end, in CSS pixels. */
const followPx = 60

/** The space above an element whose beginning is shown, in CSS pixels. */
const gapPx = 8

/**
 * Draws what was said as a conversation, with the name of who said it, and keeps the end in view, also when its size changes, unless the visitor has scrolled away.
 * Screen readers are told each sentence as it is spoken, by a live region of its own.
 */
export class Transcript {
  readonly root: HTMLElement
  /** What was said, such as for a file of it. */
  readonly spoken: SpokenTranscript
  readonly #own: boolean
  /** What screen readers are told; undefined if the page has given what was said. */
  readonly #region: HTMLElement | undefined
  readonly #markdown: TranscriptOptions["markdown"]
  readonly #entries = new Map<TranscriptEntry, Drawn>()
  readonly #unlisten: () => void
  #labels: PartLabels
  #agentName: string | null | undefined
  /** What stays at the end, in this order. */
  readonly #last: (HTMLElement | undefined)[] = []
  /** The page's element that was added last; of one that is higher than the view, the beginning is shown. */
  #newest: HTMLElement | undefined
  /** True until the visitor scrolls away, however much was added since the last scroll. */
  #atEnd = true
  /** The position after the last scroll. */
  #scrollTop = 0
  /** Documents without layout, as in tests, have no such class. */
  readonly #sizes = globalThis.ResizeObserver && new ResizeObserver(() => this.#follow())

  /** Throws a `TypeError` without a session. */
  constructor(session: SessionLike, { labels, agentName, markdown, plain, spoken, root, entries = true }: TranscriptOptions = {}) {
    this.#labels = partLabels(labels)
    this.#agentName = agentName
    this.#markdown = markdown
    this.#own = root === undefined
    this.#region = spoken ? undefined : make("div", { class: "agent-hidden" })
    this.spoken = spoken ?? new SpokenTranscript(session, { liveRegion: this.#region, plain })
    // The log changes too often to be announced itself, and can be scrolled by keyboard only if it can have the focus.
    this.root = root ?? make("div", { class: "agent-transcript", part: "log", role: "log", "aria-live": "off", "aria-label": this.#labels.log, tabindex: 0 })
    if (this.#region) this.root.append(this.#region)
    this.root.addEventListener("scroll", this.#scrolled, { passive: true })
    this.#sizes?.observe(this.root)
    this.#unlisten = entries ? this.spoken.onChange((change) => this.#said(change)) : () => {}
    if (entries) for (const entry of this.spoken.entries) this.#said({ entry, kind: "added" })
  }

  /** What is drawn, the oldest first. */
  get entries(): readonly TranscriptEntry[] {
    return [...this.#entries.keys()]
  }

  /** Draws an entry of before this session, such as one of a thread that goes on. */
  add(entry: TranscriptEntry): void {
    this.#said({ entry, kind: "added" })
  }

  /** Adds an element of the page, such as a widget, at the end, and keeps it in view: of one that is higher than the transcript, the beginning. */
  append(element: HTMLElement): void {
    if (!this.#last.includes(element)) this.#newest = element
    this.#add(element)
  }

  /** Keeps elements at the end, whatever is added later: those of them that are in the transcript. */
  keepLast(...elements: (HTMLElement | undefined)[]): void {
    this.#last.splice(0, Infinity, ...elements)
  }

  /** Shows other names. */
  rename(labels?: Texts<PartLabels>, agentName = this.#agentName): void {
    this.#labels = partLabels(labels)
    this.#agentName = agentName
    if (this.#own) this.root.ariaLabel = this.#labels.log
    for (const [entry, { root, name, note }] of this.#entries) {
      root.ariaLabel = name.textContent = this.#name(entry)
      if (note) note.textContent = this.#labels.unconfirmed
    }
  }

  /** The element of an entry, to add to it; call {@link keepEndInView} afterwards. */
  elementOf(entry: TranscriptEntry): HTMLElement | undefined {
    return this.#entries.get(entry)?.root
  }

  /** Scrolls to the end after a change by the page, unless the visitor has scrolled away. */
  keepEndInView(): void {
    this.#follow()
  }

  /** Removes the listeners; what was said and the element too, unless the page gave them. */
  destroy(): void {
    this.#unlisten()
    this.root.removeEventListener("scroll", this.#scrolled)
    this.#sizes?.disconnect()
    if (this.#region) this.spoken.destroy()
    this.#region?.remove()
    if (this.#own) this.root.remove()
  }

  #name({ who }: TranscriptEntry): string {
    return who === "user" ? this.#labels.you : (this.#agentName ?? this.#labels.agent)
  }

  #said({ entry, kind }: TranscriptChange): void {
    const shown = this.#entries.get(entry)
    if (kind === "removed") {
      shown?.root.remove()
      this.#entries.delete(entry)
      return
    }
    const drawn = shown ?? this.#make(entry)
    const { root, body, text } = drawn
    root.toggleAttribute("data-cut", entry.interrupted)
    if (text) {
      text.set(entry.text)
      if (!entry.open) text.end()
      else globalThis.requestAnimationFrame?.(() => this.#follow()) // a text that grows may be drawn only in the next frame
    } else body.textContent = entry.text
    if (entry.unconfirmed && !drawn.note) {
      root.append((drawn.note = make("p", { class: "unconfirmed" }, this.#labels.unconfirmed)))
      this.spoken.announce(this.#labels.unconfirmed)
    }
    this.#follow()
  }

  #add(element: HTMLElement): void {
    this.root.append(element)
    for (const last of this.#last) if (last && last !== element && last.isConnected) this.root.append(last)
    this.#follow(element.classList.contains("user"))
  }

  #make(entry: TranscriptEntry): Drawn {
    const Text = entry.who === "agent" ? this.#markdown : undefined
    const body = make("div", { class: `text${Text ? " agent-markdown" : ""}`, dir: "auto" })
    const name = make("p", { class: "who" }, this.#name(entry))
    const root = make("article", { class: `agent-turn ${entry.who}`, part: `turn ${entry.who}`, "aria-label": this.#name(entry) }, name, body)
    const added: Drawn = { root, name, body, text: Text && new Text(body) }
    this.#entries.set(entry, added)
    // What the agent says of its widget comes after it.
    if (entry.who === "user" || (this.#newest?.offsetHeight ?? 0) <= this.root.clientHeight) this.#newest = undefined
    this.#add(root)
    return added
  }

  // Setting scrollTop causes this event too, and content may have grown before it arrives.
  readonly #scrolled = (): void => {
    const { scrollHeight, scrollTop, clientHeight } = this.root
    if (scrollHeight - scrollTop - clientHeight < followPx) this.#atEnd = true
    else if (scrollTop < this.#scrollTop || (this.#newest && scrollTop > this.#scrollTop)) this.#atEnd = false
    this.#scrollTop = scrollTop
  }

  /** Scrolls to the end, or to the beginning of the newest element, unless the visitor has scrolled away. */
  #follow(always = false): void {
    if (always) this.#atEnd = true
    if (!this.#atEnd) return
    const top = this.#newest?.getClientRects()[0]?.top // none if the page has removed or hidden it
    const above = top === undefined ? Infinity : top - this.root.getBoundingClientRect().top - gapPx
    this.root.scrollTop = Math.min(this.root.scrollHeight, this.root.scrollTop + above)
    this.#scrollTop = this.root.scrollTop
  }
}
