import type { ContentGallery, ExternalVideo, Flashcards, Followups, GalleryItem, GradedQuestion, Markdown, ShowLink, Sources, Summary, UserPropertiesForm, Video, VideoGallery, Widget } from "../generated/events.js"
import { hostOf, icon, make, makeButton, safeLink, safeUrl, withTexts, type Texts } from "./dom.js"
import { formInput } from "./forminput.js"
import { fillIn, WIDGET_LABELS, type WidgetLabels } from "./labels.js"
import { Scope, type SessionLike } from "./listen.js"
import { allowed, EMBED_HOSTS, externalEmbedUrl, playerEmbedUrl, playerFrame, thumbnailUrl } from "./media.js"
import { transportOf } from "./transports.js"
import { warnUnknown } from "./unknownlabels.js"

export { EMBED_HOSTS, externalEmbedUrl, playerEmbedUrl, thumbnailUrl } from "./media.js"

/** The names of the widgets, as `widget.runtime` has them. */
export const WIDGET_RUNTIMES = [
  "flashcards", "followups", "sources", "summary", "video-gallery", "show-link", "external-video", "user-properties-form", "content-gallery",
  "markdown", "graded-question",
] as const

/** The values of a form, by the keys of its fields. */
export type FormValues = Record<string, string | number | boolean | null>

/** What the visitor does with a widget. */
export type WidgetAction =
  | { readonly kind: "followup"; readonly widget: Widget; readonly text: string }
  | { readonly kind: "open"; readonly widget: Widget; readonly url: string }
  | { readonly kind: "play"; readonly widget: Widget; readonly url: string }
  | { readonly kind: "submit"; readonly widget: Widget; readonly values: FormValues }
  /** `correct` is undefined when the question says of no answer that it is right. */
  | { readonly kind: "answer"; readonly widget: Widget; readonly answers: readonly string[]; readonly correct: boolean | undefined }

/** Options of {@link drawWidget}. */
export interface WidgetOptions {
  /**
   * Called for each action of the visitor. For `open` and `play`, returning false prevents
   * the action. For `submit`, the text that it returns or resolves to is shown; when it
   * throws or rejects, the form is reported as not sent. Default: nothing happens.
   */
  onAction?: ((action: WidgetAction) => unknown) | undefined
  /**
   * Draws the Markdown of texts; `renderMarkdown` of `agentruntime/markdown`, which is not
   * part of this for its size. Default: the text is shown as it is.
   */
  markdown?: ((text: string) => Node) | undefined
  /** Words in place of the English ones. Default {@link WIDGET_LABELS}. */
  labels?: Texts<WidgetLabels> | undefined
  /** The hosts of videos that may play in the page. Default {@link EMBED_HOSTS}; with an empty list all videos are links. */
  embedHosts?: readonly string[] | undefined
  /**
   * The account of the service's own videos: with it, a video that has only an entry id
   * gets a picture, and plays in the page. Default: none for `drawWidget`, that of the session
   * for a {@link WidgetList}.
   */
  partnerId?: string | number | undefined
  /** The player of the account for those videos. Default: the service chooses. */
  uiConfId?: string | number | undefined
}

interface Context {
  readonly widget: Widget
  readonly labels: WidgetLabels
  readonly embedHosts: readonly string[]
  readonly account: Pick<WidgetOptions, "partnerId" | "uiConfId">
  readonly act: (action: WidgetAction) => unknown
  readonly prose: (text: string) => HTMLElement
}

/**
 * Returns the element of a widget; one of another kind is shown as its data, collapsed,
 * and one that can't be read as an error. Texts are never markup, links are http or https and open in a new tab, and
 * except for pictures nothing is loaded from other hosts before the visitor asks for it.
 */
export function drawWidget(widget: Widget, options: WidgetOptions = {}): HTMLElement {
  const { onAction = () => undefined, embedHosts = EMBED_HOSTS } = options
  warnUnknown(options.labels, Object.keys(WIDGET_LABELS))
  const context: Context = { widget, embedHosts, account: options, labels: withTexts(WIDGET_LABELS, options.labels), act: onAction, prose: (text) => prose(text, options.markdown) }
  let element: HTMLElement
  try {
    element = elementOf(context)
  } catch { // a widget that the page has made itself may lack what it must have
    element = unreadable(context)
  }
  element.classList.add("agent-widget")
  element.addEventListener("click", (event) => {
    const link = (event.target as Element | null)?.closest?.("a")
    if (link && context.act({ kind: "open", widget, url: link.href }) === false) event.preventDefault()
  })
  return element
}

/** The properties of a widget of which one has its content. */
type ContentName = Exclude<keyof Widget, "runtime" | "widgetName" | "speechId" | "body" | "raw" | "error">

/** How each kind of content is drawn. */
const drawings: { readonly [Name in ContentName]: (content: NonNullable<Widget[Name]>, context: Context) => HTMLElement } = {
  flashcards, followups, sources, summary, videoGallery, showLink, externalVideo, userPropertiesForm: form, contentGallery, markdown, gradedQuestion,
}

function elementOf(context: Context): HTMLElement {
  const { widget } = context
  if (widget.error) return unreadable(context)
  for (const name of Object.keys(drawings) as ContentName[]) {
    const draw = drawings[name] as (content: unknown, context: Context) => HTMLElement
    if (widget[name]) return draw(widget[name], context)
  }
  return make("details", {}, make("summary", {}, widget.runtime || context.labels.unknown), data(widget))
}

/** What is known of a widget that can't be drawn. */
const data = (widget: Widget): HTMLElement => make("pre", { tabindex: 0 }, widget.raw ?? JSON.stringify(widget.body ?? widget, null, 2) ?? "")

/** A widget that can't be read: its text is there for those who look for the reason. */
function unreadable({ widget, labels }: Context): HTMLElement {
  const title = widget.runtime ? `${labels.broken} (${widget.runtime})` : labels.broken
  return make("div", { class: "error", role: "note", "aria-label": title }, make("p", {}, title), make("details", {}, make("summary", {}, labels.details), data(widget)))
}

/** A frame with a title. */
function frame(kind: string, title: string, ...content: (Node | string | undefined)[]): HTMLElement {
  return make("section", { class: kind, "aria-label": title }, make("h3", {}, title), ...content)
}

/** A text of the service if there is one, otherwise the standard one. */
const or = (text: string | undefined, standard: string): string => (typeof text === "string" && text.trim() !== "" ? text : standard)

/** Shows one card at a time, its question first. */
function flashcards({ title, cards }: Flashcards, { labels }: Context): HTMLElement {
  const heading = or(title, labels.flashcards)
  if (cards.length === 0) return frame("flashcards", heading, make("p", {}, labels.noCards))
  const side = make("p", { class: "side" })
  const words = make("p", { class: "words" })
  const card = make("div", { class: "card", "aria-live": "polite" }, side, words)
  const place = make("span", { class: "place" })
  let at = 0
  let back = false
  const flip = () => {
    back = !back
    show()
  }
  const go = (step: number) => () => {
    at = (at + step + cards.length) % cards.length
    back = false
    show()
  }
  const turn = makeButton({}, flip)
  const show = () => {
    const { front, back: answer, label } = cards[at]!
    side.textContent = back ? labels.answer : or(label, labels.question)
    words.textContent = back ? answer : front
    card.dataset["side"] = back ? "back" : "front"
    turn.textContent = back ? labels.showQuestion : labels.showAnswer
    place.textContent = fillIn(labels.place, { at: at + 1, count: cards.length })
  }
  card.addEventListener("click", flip)
  show()
  return frame("flashcards", heading, card,
    make("div", { class: "row" }, makeButton({}, go(-1), labels.previous), place, makeButton({}, go(1), labels.next), turn),
  )
}

function followups({ questions }: Followups, { widget, labels, act }: Context): HTMLElement {
  const list = make("ul", { "aria-label": labels.askNext }, ...questions.map((text) =>
    make("li", {}, makeButton({ class: "chip", dir: "auto" }, () => void act({ kind: "followup", widget, text }), text)),
  ))
  return make("div", { class: "followups" }, make("p", { "aria-hidden": "true" }, labels.askNext), list)
}

function sources({ sources }: Sources, { labels }: Context): HTMLElement {
  const list = make("ol", { dir: "auto" }, ...sources.map(({ title, url, snippet }) =>
    make("li", {}, safeLink(url, {}, or(title, hostOf(url) ?? labels.untitled)), snippet ? make("p", {}, snippet) : undefined),
  ))
  const count = sources.length === 1 ? labels.source : fillIn(labels.sources, { count: sources.length })
  return make("details", { class: "sources" }, make("summary", {}, count), list)
}

function summary({ title, summary, bullets }: Summary, { labels, prose }: Context): HTMLElement {
  const points = bullets.length > 0 ? make("ul", { dir: "auto" }, ...bullets.map((text) => make("li", {}, text))) : undefined
  return frame("summary", or(title, labels.summary), prose(summary), points)
}

function markdown({ title, text }: Markdown, { labels, prose }: Context): HTMLElement {
  return title ? frame("markdown", title, prose(text)) : make("section", { class: "markdown", "aria-label": labels.markdown }, prose(text))
}

/** A text with Markdown, drawn by `render`, or as it is. */
function prose(text: string, render?: (text: string) => Node): HTMLElement {
  return make("div", { class: "agent-markdown", dir: "auto" }, render?.(text) ?? make("p", { class: "agent-plain" }, text))
}

let questions = 0

/** A question whose answer is compared with the right one once the visitor has chosen. */
function gradedQuestion({ title, question, options, explanation }: GradedQuestion, { widget, labels, act, prose }: Context): HTMLElement {
  const right = options.filter(({ correct }) => correct)
  const name = `agent-question-${++questions}`
  const rows = options.map(({ text }, at) => {
    const input = make("input", { type: right.length > 1 ? "checkbox" : "radio", name, id: `${name}-${at}` })
    const mark = make("span", { class: "mark" })
    return { input, mark, row: make("div", { class: "option" }, input, make("label", { for: input.id }, text), mark) }
  })
  const fields = make("fieldset", {}, make("legend", {}, question), ...rows.map(({ row }) => row))
  const outcome = make("div", { role: "status" })
  const element = make("form", {}, fields)
  const check = make("button", { class: "main" }, right.length > 0 ? labels.check : labels.send)
  const again = makeButton({ hidden: true }, () => {
    element.reset()
    outcome.replaceChildren()
    fields.disabled = false
    check.hidden = false
    again.hidden = true
    for (const { row, mark } of rows) {
      delete row.dataset["is"]
      mark.textContent = ""
    }
    rows[0]?.input.focus()
  }, labels.tryAgain)
  markUnsent(element, outcome)
  element.addEventListener("submit", (event) => {
    event.preventDefault()
    const chosen = options.filter((_, at) => rows[at]!.input.checked)
    if (chosen.length === 0) return void outcome.replaceChildren(make("p", {}, labels.choose))
    const graded = right.length > 0
    const correct = chosen.length === right.length && chosen.every((option) => option.correct)
    delete outcome.dataset["unsent"]
    fields.disabled = true
    check.hidden = true
    again.hidden = !graded || correct
    rows.forEach(({ input, row, mark }, at) => {
      if (!graded || (!input.checked && !options[at]!.correct)) return
      row.dataset["is"] = options[at]!.correct ? "right" : "wrong"
      mark.textContent = options[at]!.correct ? labels.right : labels.wrong // not by its colour alone
    })
    const verdict = !graded ? labels.sent : correct ? labels.allRight : labels.notRight
    const words = [...chosen.flatMap(({ feedback }) => feedback || []), explanation || []].flat()
    outcome.replaceChildren(make("p", {}, make("strong", {}, verdict)), ...words.map((text) => prose(text)))
    act({ kind: "answer", widget, answers: chosen.map(({ text }) => text), correct: graded ? correct : undefined })
  })
  element.append(outcome, make("div", { class: "row" }, check, again))
  return frame("graded-question", or(title, labels.gradedQuestion), element)
}

function showLink({ url, label, description }: ShowLink, { labels }: Context): HTMLElement {
  return tile("link", url, or(label, hostOf(url) ?? labels.link), { description })
}

interface TileParts {
  description?: string | undefined
  image?: HTMLElement | undefined
  /** The last line. Default: the host of the address. */
  foot?: string | undefined
}

/** A tile with a title, which is a link as a whole. */
function tile(kind: string, url: string | undefined, title: string, { description, image, foot = hostOf(url) }: TileParts): HTMLElement {
  return safeLink(url, { class: `tile ${kind}` }, ...tileParts(title, { description, image, foot }, icon("away")))
}

function tileParts(title: string, { description, image, foot }: TileParts, mark?: Node): (Node | undefined)[] {
  const words = make("span", { class: "words" },
    make("strong", {}, title),
    description ? make("span", {}, description) : undefined,
    foot ? make("small", {}, foot, mark && " ", mark) : undefined,
  )
  return [image, words]
}

function externalVideo({ url, title, provider, poster, description }: ExternalVideo, { widget, labels, embedHosts, act }: Context): HTMLElement {
  const name = or(title, labels.video)
  const foot = provider ? fillIn(labels.watchOn, { provider }) : undefined
  const embed = externalEmbedUrl(url, embedHosts)
  if (embed === undefined) return tile("video", url, name, { description, image: picture(poster, "", icon("play")), foot })
  // Nothing of the host is loaded before the visitor asks for it.
  const box = make("div", { class: "player" })
  const button = makeButton({ class: "play", "aria-label": `${labels.play}: ${name}` }, () => {
    if (act({ kind: "play", widget, url: embed }) !== false) play(box, embed, name)
  }, picture(poster, "", icon("play")))
  box.append(button)
  return frame("external-video", name, box, description ? make("p", {}, description) : undefined,
    make("p", {}, safeLink(url, {}, foot ?? hostOf(url), " ", icon("away"))))
}

/** Plays a video in a box. */
function play(box: HTMLElement, embed: string, name: string): void {
  const player = make("iframe", { src: embed, title: name, ...playerFrame })
  box.replaceChildren(player)
  box.hidden = false
  player.focus()
}

/** A row of tiles that scrolls sideways. */
function gallery(title: string, tiles: HTMLElement[], above?: HTMLElement): HTMLElement {
  const list = make("ul", { class: "tiles", tabindex: 0, "aria-label": title }, ...tiles.map((tile) => make("li", {}, tile)))
  return frame("gallery", title, above, list)
}

/** The pixels in which the service makes the picture of a video: twice a tile, for dense screens. */
const thumbnailWidth = 480

/** A row of videos. The service's own play above it, in the page. */
function videoGallery({ title, videos }: VideoGallery, { widget, labels, embedHosts, account, act }: Context): HTMLElement {
  const { partnerId, uiConfId } = account
  const box = make("div", { class: "player", hidden: true })
  return gallery(or(title, labels.videos), videos.map(({ entryId, title, thumbnailUrl: thumbnail, url, duration, description, alt }: Video) => {
    const name = or(title, labels.video)
    const image = picture(thumbnail ?? thumbnailUrl(entryId, partnerId, { width: thumbnailWidth }), alt, icon("play"))
    const embed = allowed(playerEmbedUrl(entryId, partnerId, { uiConfId }), embedHosts)
    const parts = { description, image, foot: duration ? time(duration) : undefined }
    if (embed === undefined) return tile("video", url, name, parts)
    return makeButton({ class: "tile video", "aria-label": `${labels.play}: ${name}` }, () => {
      if (act({ kind: "play", widget, url: embed }) !== false) play(box, embed, name)
    }, ...tileParts(name, parts))
  }), box)
}

function contentGallery({ title, items }: ContentGallery, { labels }: Context): HTMLElement {
  return gallery(or(title, labels.gallery), items.map(({ title, description, imageUrl, url, alt }: GalleryItem) =>
    tile("item", url, or(title, labels.untitled), { description, image: imageUrl ? picture(imageUrl, alt) : undefined }),
  ))
}

/** A picture with something over it, which is shown alone when the picture can't be loaded. */
function picture(address: string | undefined, alt: string | undefined, over?: Node): HTMLElement {
  const box = make("span", { class: "picture" }, over)
  const src = safeUrl(address)
  if (src !== undefined) {
    const image = make("img", { alt: alt ?? "", loading: "lazy", referrerpolicy: "no-referrer", src })
    image.addEventListener("error", () => image.remove())
    box.prepend(image)
  }
  return box
}

let forms = 0

function form({ title, fields }: UserPropertiesForm, { widget, labels, act }: Context): HTMLElement {
  const number = ++forms
  const element = make("form", { class: "fields" })
  const boxes = new Map<string, [type: string, input: HTMLInputElement | HTMLTextAreaElement]>()
  const rows = fields.map((field, at) => {
    const { key, type, label, required, description } = field
    const id = `agent-form-${number}-${at}`
    const about = description ? make("small", { id: `${id}-about` }, description) : undefined
    const input = formInput(field, { id, "aria-describedby": about?.id })
    const caption = make("label", { for: id }, or(label, key), required ? undefined : make("span", { class: "soft" }, ` ${labels.optional}`))
    boxes.set(key, [type, input])
    return make("div", { class: "field" }, caption, input, about)
  })
  const outcome = make("p", { role: "status" })
  markUnsent(element, outcome)
  element.addEventListener("submit", async (event) => {
    event.preventDefault()
    const values = Object.fromEntries([...boxes].map(([key, [type, input]]) => [key, valueOf(type, input)]))
    try {
      const answer = await act({ kind: "submit", widget, values })
      outcome.textContent = typeof answer === "string" ? answer : labels.sent
      delete outcome.dataset["unsent"]
    } catch (exception) {
      outcome.textContent = labels.notSent
      reportError(exception)
    }
  })
  // The last call of the form's own methods: a field named like one of them, such as
  // "append", hides it from then on.
  element.append(...rows, make("div", { class: "row" }, make("button", { class: "main" }, labels.send), outcome))
  return frame("form", or(title, labels.form), element)
}

function valueOf(type: string, input: HTMLInputElement | HTMLTextAreaElement): string | number | boolean | null {
  if (type === "bool") return (input as HTMLInputElement).checked
  if (input.value === "") return null
  return input.type === "number" ? (input as HTMLInputElement).valueAsNumber : input.value
}

function time(seconds: number): string {
  const whole = Math.round(seconds)
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`
}

/** Marks a form while the visitor has entered something that was not sent. The mark is at its outcome: a field named `dataset` would hide that of the form. */
const markUnsent = (form: HTMLFormElement, outcome: HTMLElement): void => form.addEventListener("input", () => (outcome.dataset["unsent"] = ""))

/** Removes the widgets in an element; one that the visitor is filling in stays, because what was entered would be lost. */
export function clearWidgets(element: HTMLElement): void {
  for (const widget of Array.from(element.children)) if (!widget.querySelector("[data-unsent]")) widget.remove()
}

/** Options of {@link WidgetList}. */
export interface WidgetListOptions extends WidgetOptions {
  /** Whether the widgets of the previous turn are removed when a new turn begins, except one that the visitor is filling in. Default true. */
  clearOnTurnStart?: boolean | undefined
  /** How many of the latest widgets are kept. Default 100. */
  maxRendered?: number | undefined
}

/** The methods of a session for the actions of widgets, where it has them. */
interface Actor {
  sendText?(text: string): unknown
  speak?(text: string): unknown
  updateRequestVars?(values: FormValues): void
}

/**
 * Draws the widgets of a session in an element. Without `onAction`, a follow-up question
 * is sent as a turn, as is the answer to a question without a right one, and the values of a
 * form become variables of the prompt.
 */
export class WidgetList {
  readonly #element: HTMLElement
  readonly #options: WidgetListOptions
  readonly #account: () => string | undefined
  readonly #scope = new Scope()

  /** Throws a `TypeError` without a session or an element. */
  constructor(session: SessionLike, element: HTMLElement, options: WidgetListOptions = {}) {
    if (typeof session?.on !== "function") throw new TypeError("a list of widgets needs a session")
    if (typeof element?.append !== "function") throw new TypeError("a list of widgets needs an element")
    this.#element = element
    const actor: SessionLike & Actor = session
    // The session emits an event for a turn that fails.
    const send = (text: string) => Promise.resolve(actor.sendText ? actor.sendText(text) : actor.speak?.(text)).catch(() => {})
    this.#options = { onAction: (action) => act(actor, action, send), ...options }
    this.#account = () => accountOf(session)
    this.#scope.listen(session, "widget", (widget) => void this.add(widget))
    this.#scope.listen(session, "turnStart", ({ isNewTurn }) => {
      if (isNewTurn && (this.#options.clearOnTurnStart ?? true)) clearWidgets(this.#element)
    })
  }

  /** Adds a widget and returns its element. */
  add(widget: Widget): HTMLElement {
    const element = drawWidget(widget, this.#options.partnerId === undefined ? { ...this.#options, partnerId: this.#account() } : this.#options)
    this.#element.append(element)
    while (this.#element.children.length > (this.#options.maxRendered ?? 100)) this.#element.firstElementChild!.remove()
    return element
  }

  /** Removes all widgets. */
  clear(): void {
    this.#element.replaceChildren()
  }

  /** Removes all widgets and the listeners. */
  destroy(): void {
    this.#scope.end()
    this.clear()
  }
}

/** The account of a session, where it has one; an `AgentSession` has that of its transport. */
export const accountOf = (session: object): string | undefined => (transportOf(session) as { partnerId?: string }).partnerId || undefined

/** Performs an action with a session; `send` sends a text as a turn. */
export function act(session: Actor, action: WidgetAction, send: (text: string) => unknown): unknown {
  if (action.kind === "submit") return session.updateRequestVars?.(action.values)
  if (action.kind === "followup") return send(action.text)
  // An answer that the page can't grade is for the agent.
  return action.kind === "answer" && action.correct === undefined ? send(action.answers.join(", ")) : undefined
}
