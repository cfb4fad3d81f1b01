import { localError } from "../core/errors.js"
import { checkFunction, handleTool, numberOf, type ToolSession } from "../core/part.js"
import { isObject } from "../core/object.js"
import { spokenTypes } from "../segments/plain.js"
import { parseSlideNumber } from "./slidenumber.js"
import { Scope, type SessionLike } from "../ui/listen.js"

/** A slide. All of it but `content.visual` is sent to the agent, with the names that it has here. */
export interface Slide {
  readonly title: string
  readonly talking_points?: readonly string[] | undefined
  readonly category?: string | undefined
  /** Data of the slide; `visual` is for the page alone and is never sent. */
  readonly content?: Readonly<Record<string, unknown>> | undefined
  /** How the agent should speak about it. */
  readonly narrator_guidance?: string | undefined
}

/** Where the slide is in the deck, both from 1. */
export interface SlidePosition {
  readonly current: number
  readonly total: number
}

/** What is kept between visits. */
export interface PresenterMemory {
  /** Milliseconds since 1970. */
  readonly timestamp: number
  readonly lastSlide: number
  /** The last slide that was reached in order. */
  readonly lastSequential: number
  readonly covered: readonly number[]
  /** The visitor's last four questions. */
  readonly interests: readonly string[]
  readonly [name: string]: unknown
}

/** Where the memory is kept, such as `localStorage`. */
export interface PresenterStorage {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
  removeItem(key: string): void
}

/** What a presenter uses of a session: an `AvatarSession`, or a fake of a test. */
export interface PresenterSession extends SessionLike, ToolSession {
  setDynamicPrompt(data: Record<string, unknown>): void
}

/** Why a slide was shown: the visitor, the agent, or the agent going on after an excursion; a page may have reasons of its own. */
export type SlideReason = "user" | "avatar" | "resume" | (string & {})

/** Options of {@link Presenter}. */
export interface PresenterOptions {
  session: PresenterSession
  /** At least one. */
  slides: readonly Slide[]
  /** Called after the agent was told of another slide. Default: nothing. */
  onSlideChange?: ((current: number, slide: Slide, reason: SlideReason) => void) | undefined
  /** Further data for the agent, the same for every slide. Default: none. */
  context?: Readonly<Record<string, unknown>> | undefined
  /** Further data for the agent for one slide. Default: none. */
  extendContext?: ((slide: Slide, position: SlidePosition) => Record<string, unknown> | null | undefined) | undefined
  /** Replaces what the agent gets as `slide`; `content` is that of the slide without `visual`. Default: the slide itself. */
  slideContext?: ((slide: Slide, position: SlidePosition & { content: Record<string, unknown> | undefined }) => unknown) | undefined
  /** What the agent has to observe for a category. Default: a disclaimer for `financial` and `legal`, and the mention of non-GAAP figures for `financial`. */
  metaFor?: ((category: string | undefined) => Record<string, unknown>) | undefined
  /** The kind of presentation, for the agent. Default `"presentation"`. */
  mode?: string | undefined
  /** The client tool of the agent that turns slides, or false for none. Default `"navigate_to_slide"`. */
  toolCallName?: string | false | undefined
  /** For how long a second call of the tool for the same slide is ignored, in milliseconds. Default 3000. */
  dupSuppressMs?: number | undefined
  /** Whether the agent may turn only one slide in a turn. Default false. */
  oneNavPerTurn?: boolean | undefined
  /** Whether the agent gets the titles of all slides. Default false. */
  deckOutline?: boolean | undefined
  /** Where the memory is kept. Default: nowhere, because it has the visitor's questions. */
  storage?: PresenterStorage | undefined
  /** The key of the memory. Default `"kaltura_presenter_memory"`. */
  memoryKey?: string | undefined
  /** Further data for the memory. Default: none. */
  extraMemory?: ((questions: readonly string[]) => Record<string, unknown>) | undefined
  /** Further data that the agent gets of the memory of an earlier visit. Default: none. */
  restoreMemory?: ((stored: PresenterMemory) => Record<string, unknown>) | undefined
  /** Called for each piece of the agent's text, with the text of the turn until now. Default: nothing. */
  onTurnText?: ((piece: string, turn: string) => void) | undefined
  /** The time in milliseconds. Default `Date.now`. */
  now?: (() => number) | undefined
  /** The older names of `extendContext` and `slideContext`. */
  extendDpp?: PresenterOptions["extendContext"]
  dppSlide?: PresenterOptions["slideContext"]
}

/** The last slide that was turned. */
export interface Navigation {
  readonly target: number
  readonly reason: SlideReason
  /** Milliseconds, of `now`. */
  readonly at: number
}

/** How long a memory is used, in milliseconds. */
const memoryMs = 30 * 24 * 3600_000
const hourMs = 3600_000
/** How many questions a memory has. */
const keptQuestions = 4

/**
 * The companion of a deck. `start()` begins, after the session is connected; `goTo()` is for the
 * page's own buttons. Throws `bad_request` without a session or slides, and for bad options.
 */
export class Presenter {
  readonly #options: PresenterOptions
  readonly #slides: Slide[]
  readonly #scope = new Scope()
  readonly #now: () => number
  readonly #dupMs: number
  #current = 1
  #lastSequential = 1
  #since: number
  #covered = new Set([1])
  #questions: string[] = []
  #lastNav: Navigation | null = null
  /** What the agent is told of the last change. */
  #nav: { from: number; why: SlideReason; resume: number | null } | null = null
  #lastContextSlide: number | null = null
  #toolUsed = false
  #suppressed = false
  #turn = ""
  #stored: PresenterMemory | null
  /** What the agent is still to be told of: a slide that is shown before replaces what is stored. */
  #recalls: PresenterMemory | null
  /** The last call of the tool. */
  #lastTool: { target: number; at: number } | undefined

  constructor(options: PresenterOptions) {
    const { session, slides, toolCallName = "navigate_to_slide", dupSuppressMs, storage, memoryKey, mode, context, now = Date.now } = options ?? {}
    if (typeof session?.on !== "function" || typeof session.setDynamicPrompt !== "function") throw localError("bad_request", "a presenter needs a session")
    if (!Array.isArray(slides) || slides.length === 0) throw localError("bad_request", "slides must be an array with at least one slide")
    slides.forEach(checkSlide)
    for (const name of ["onSlideChange", "extendContext", "slideContext", "extendDpp", "dppSlide", "metaFor", "extraMemory", "restoreMemory", "onTurnText", "now"] as const) checkFunction(name, options[name])
    if (toolCallName !== false && (typeof toolCallName !== "string" || toolCallName.trim() === "")) throw localError("bad_request", "toolCallName must be the name of a tool, or false")
    for (const [name, value] of Object.entries({ memoryKey, mode })) {
      if (value !== undefined && (typeof value !== "string" || value === "")) throw localError("bad_request", `${name} must be a text`)
    }
    if (context !== undefined && !isObject(context)) throw localError("bad_request", "context must be an object")
    if (storage && (typeof storage.getItem !== "function" || typeof storage.setItem !== "function")) throw localError("bad_request", "storage must have getItem and setItem")
    this.#options = options
    this.#slides = [...slides]
    this.#now = now
    this.#dupMs = numberOf("dupSuppressMs", dupSuppressMs, 3000, 0)
    this.#since = now()
    this.#stored = this.#recalls = this.#read()
    this.#listen(session)
    if (toolCallName !== false) this.#scope.onEnd(handleTool(session, toolCallName, (args) => this.#navigate(args), (message) => console.warn(`agentruntime: presenter: ${message}`)))
  }

  // --- What the page reads

  /** The number of the slide that is shown, from 1. */
  get current(): number {
    return this.#current
  }

  get total(): number {
    return this.#slides.length
  }

  get slide(): Slide {
    return this.#slides[this.#current - 1]!
  }

  /** The slides that were shown, in ascending order. */
  get covered(): number[] {
    return [...this.#covered].sort((a, b) => a - b)
  }

  /** The visitor's questions. */
  get questions(): string[] {
    return [...this.#questions]
  }

  get lastNav(): Navigation | null {
    return this.#lastNav
  }

  /** The number of the slide that was last sent to the agent, null before the first. */
  get lastContextSlide(): number | null {
    return this.#lastContextSlide
  }

  /** The older name of {@link Presenter.lastContextSlide}. */
  get lastDppSlide(): number | null {
    return this.#lastContextSlide
  }

  /** Whether a call of the tool was ignored in this turn, with `oneNavPerTurn`. */
  get navSuppressedThisTurn(): boolean {
    return this.#suppressed
  }

  /** Whole seconds. */
  get secondsOnCurrentSlide(): number {
    return Math.round((this.#now() - this.#since) / 1000)
  }

  /** What was stored, null without a storage or a memory. */
  get memory(): PresenterMemory | null {
    return this.#stored
  }

  // --- What the page does

  /** Tells the agent of the current slide. Rejects with `invalid_state` when the session is not connected. */
  async start(): Promise<void> {
    this.#since = this.#now()
    this.refreshContext()
  }

  /**
   * Shows a slide: tells the agent, calls `onSlideChange`, then stores the memory. A number
   * out of range or that of the current slide does nothing. Before the session is connected
   * the slide changes, and `start()` tells the agent.
   */
  goTo(target: number, reason: SlideReason = "user"): void {
    if (!Number.isInteger(target) || target < 1 || target > this.total || target === this.#current) return
    const from = this.#current
    if (target === from + 1) this.#lastSequential = target
    this.#current = target
    this.#since = this.#now()
    this.#covered.add(target)
    this.#lastNav = { target, reason, at: this.#since }
    this.#nav = { from, why: reason, resume: this.#lastSequential === target ? null : this.#lastSequential }
    try {
      this.refreshContext()
    } catch (failure) {
      if ((failure as { code?: unknown }).code !== "invalid_state") throw failure
    }
    this.#options.onSlideChange?.(target, this.slide, reason)
    this.saveMemory()
  }

  /** Tells the agent of the current slide again, after what `context` or `extendContext` return has changed. Throws `invalid_state` when the session is not connected. */
  refreshContext(): void {
    this.#options.session.setDynamicPrompt(this.#payload())
    this.#lastContextSlide = this.#current
    this.#recalls = null
  }

  /** The older name of {@link Presenter.refreshContext}. */
  refreshDpp(): void {
    this.refreshContext()
  }

  /** Adds a slide at the end and returns how many there are. Throws `bad_request` for a slide without a title. */
  appendSlide(slide: Slide): number {
    checkSlide(slide, this.total)
    return this.#slides.push(slide)
  }

  /** Adds a question of the visitor; those that are typed or spoken are added by themselves. */
  recordQuestion(text: string): void {
    const question = typeof text === "string" ? text.trim() : ""
    if (question !== "") this.#questions.push(question)
  }

  /** Stores the memory; false without a storage, and when it refuses. */
  saveMemory(): boolean {
    const { storage, extraMemory } = this.#options
    if (!storage) return false
    const memory: PresenterMemory = {
      timestamp: this.#now(),
      lastSlide: this.#current,
      lastSequential: this.#lastSequential,
      covered: this.covered,
      interests: this.#questions.slice(-keptQuestions),
      ...extraMemory?.(this.questions),
    }
    try {
      storage.setItem(this.#key, JSON.stringify(memory))
    } catch {
      return false
    }
    this.#stored = memory
    return true
  }

  /** Removes the memory. */
  clearMemory(): void {
    this.#stored = this.#recalls = null
    try {
      this.#options.storage?.removeItem(this.#key)
    } catch {
      // A storage that is blocked has nothing.
    }
  }

  /** Removes all listeners and the handler of the tool. The session goes on. */
  destroy(): void {
    this.#scope.end()
  }

  /** The same as {@link Presenter.destroy}. */
  stop(): void {
    this.destroy()
  }

  // --- Internals

  get #key(): string {
    return this.#options.memoryKey ?? "kaltura_presenter_memory"
  }

  #listen(session: PresenterSession): void {
    const scope = this.#scope
    scope.listen(session, "turnStart", ({ isNewTurn } = {} as never) => {
      if (isNewTurn === false) return
      this.#toolUsed = this.#suppressed = false
      this.#turn = ""
    })
    scope.listen(session, "transcript", ({ type, text }) => {
      if (type === "user") this.recordQuestion(text)
    })
    scope.listen(session, "brainSegment", ({ type, content }) => {
      if (!spokenTypes.includes(type) || typeof content !== "string" || content === "") return
      this.#turn += content
      this.#options.onTurnText?.(content, this.#turn)
    })
    const forget = () => (this.#turn = "")
    scope.listen(session, "avatarStopTalking", forget)
    scope.listen(session, "interrupted", forget)
    scope.listen(session, "ended", () => void this.saveMemory())
    scope.listen(session, "reconnected", ({ recovered }) => {
      if (recovered !== false) return
      // The service has forgotten the conversation's context.
      this.#recalls = this.#stored
      this.refreshContext()
    })
  }

  /** A call of the tool. */
  #navigate(args: Record<string, unknown>): object {
    const { reason } = args
    const resumes = typeof reason === "string" && reason.trim().toLowerCase() === "resume"
    const named = args["slide_num"] ?? args["slide_number"] ?? args["slide"] ?? args["page"]
    const target = resumes ? this.#lastSequential : parseSlideNumber(named, this.total)
    if (target === null) return { error: `there is no such slide; the slides are 1 to ${this.total}` }
    const now = this.#now()
    const last = this.#lastTool
    if (last?.target === target && now - last.at < this.#dupMs) return this.#shown()
    if (this.#options.oneNavPerTurn && this.#toolUsed && target !== this.#current) {
      this.#suppressed = true
      return { error: "only one slide can be shown in a turn", ...this.#shown() }
    }
    this.#lastTool = { target, at: now }
    this.#toolUsed = true
    this.goTo(target, resumes ? "resume" : "avatar")
    return this.#shown()
  }

  #shown(): { slide_num: number; title: string } {
    return { slide_num: this.#current, title: this.slide.title }
  }

  #payload(): Record<string, unknown> {
    const { context, mode = "presentation", deckOutline, metaFor = standardMeta } = this.#options
    const extend = this.#options.extendContext ?? this.#options.extendDpp
    const replace = this.#options.slideContext ?? this.#options.dppSlide
    const { slide } = this
    const position = { current: this.#current, total: this.total }
    const content = withoutVisual(slide.content)
    const { title, talking_points, category, narrator_guidance } = slide
    return {
      v: "3",
      mode,
      current_slide: position.current,
      total_slides: position.total,
      slide: replace ? replace(slide, { ...position, content }) : { title, talking_points, category, content, narrator_guidance },
      nav: this.#nav,
      ...context,
      ...extend?.(slide, position),
      meta: metaFor(category),
      memory: this.#recalled(),
      ...(deckOutline && { outline: this.#outline() }),
    }
  }

  #outline(): { slide_num: number; title: string }[] {
    const titles = this.#slides.map(({ title }) => title)
    return this.#slides.map(({ title, talking_points }, i) => {
      const unique = titles.indexOf(title) === titles.lastIndexOf(title)
      return { slide_num: i + 1, title: unique ? title : `${title} (${talking_points?.[0] ?? i + 1})` }
    })
  }

  /** What the agent is told of an earlier visit. */
  #recalled(): Record<string, unknown> | null {
    const stored = this.#recalls
    if (!stored) return null
    const { lastSequential, covered, interests, timestamp } = stored
    return {
      ...(lastSequential > 1 && { resume: lastSequential }),
      ...(covered?.length && { covered }),
      ...(interests?.length && { interests }),
      ...(typeof timestamp === "number" && { hours_ago: Math.round((this.#now() - timestamp) / hourMs) }),
      ...this.#options.restoreMemory?.(stored),
    }
  }

  #read(): PresenterMemory | null {
    try {
      const memory: unknown = JSON.parse(this.#options.storage?.getItem(this.#key) ?? "null")
      if (!isObject(memory) || typeof memory["timestamp"] !== "number" || this.#now() - memory["timestamp"] > memoryMs) return null
      return memory as unknown as PresenterMemory
    } catch {
      return null // blocked, or not ours
    }
  }
}

function checkSlide(slide: unknown, at: number): void {
  if (!isObject(slide) || typeof slide["title"] !== "string") throw localError("bad_request", `slide ${at + 1} must be an object with a title`)
  if (slide["talking_points"] !== undefined && !Array.isArray(slide["talking_points"])) throw localError("bad_request", `talking_points of slide ${at + 1} must be an array of texts`)
  if (slide["content"] != null && !isObject(slide["content"])) throw localError("bad_request", `content of slide ${at + 1} must be an object`)
}

function withoutVisual(content: Slide["content"]): Record<string, unknown> | undefined {
  if (content == null) return undefined
  const { visual: _, ...rest } = content
  return rest
}

const standardMeta = (category: string | undefined) => ({
  disclaimer_required: category === "financial" || category === "legal",
  non_gaap_cited: category === "financial",
})
