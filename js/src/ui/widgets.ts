import type { AvatarEvents, ContentGallery, ExternalVideo, Flashcards, Followups, FormField, GalleryItem, ShowLink, Sources, Summary, UserPropertiesForm, Video, VideoGallery, Widget } from "../events.js"
import { hostOf, icon, make, makeButton, safeLink, safeUrl } from "./dom.js"
import { fillIn, WIDGET_LABELS, type WidgetLabels } from "./labels.js"
import { Scope, type SessionLike } from "./listen.js"

/** The names of the nine widgets, as `widget.runtime` has them. */
export const WIDGET_RUNTIMES = [
  "flashcards", "followups", "sources", "summary", "video-gallery", "show-link", "external-video", "user-properties-form", "content-gallery",
] as const

/** The hosts whose videos {@link drawWidget} plays in the page, once the visitor asks for it. Videos of other hosts become links. */
export const EMBED_HOSTS: readonly string[] = ["www.youtube-nocookie.com", "player.vimeo.com"]

/** The values of a form, by the keys of its fields. */
export type FormValues = Record<string, string | number | boolean | null>

/** What the visitor does with a widget. */
export type WidgetAction =
  | { readonly kind: "followup"; readonly widget: Widget; readonly text: string }
  | { readonly kind: "open"; readonly widget: Widget; readonly url: string }
  | { readonly kind: "play"; readonly widget: Widget; readonly url: string }
  | { readonly kind: "submit"; readonly widget: Widget; readonly values: FormValues }

/** Options of {@link drawWidget}. */
export interface WidgetOptions {
  /**
   * Called for each action of the visitor. For `open` and `play`, returning false prevents
   * the action. For `submit`, the text that it returns or resolves to is shown; when it
   * throws or rejects, the form is reported as not sent. Default: nothing happens.
   */
  onAction?: ((action: WidgetAction) => unknown) | undefined
  /** Words in place of the English ones. Default {@link WIDGET_LABELS}. */
  labels?: Partial<WidgetLabels> | undefined
  /** The hosts of videos that may play in the page. Default {@link EMBED_HOSTS}; with an empty list all videos are links. */
  embedHosts?: readonly string[] | undefined
}

interface Context {
  readonly widget: Widget
  readonly labels: WidgetLabels
  readonly embedHosts: readonly string[]
  readonly act: (action: WidgetAction) => unknown
}

/**
 * Returns the element of a widget; one that is none of the nine is shown as its data,
 * collapsed. Texts are never markup, links are http or https and open in a new tab, and
 * except for pictures nothing is loaded from other hosts before the visitor asks for it.
 */
export function drawWidget(widget: Widget, options: WidgetOptions = {}): HTMLElement {
  const { onAction = () => undefined, embedHosts = EMBED_HOSTS } = options
  const context: Context = { widget, embedHosts, labels: { ...WIDGET_LABELS, ...options.labels }, act: onAction }
  const element = elementOf(context)
  element.classList.add("agent-widget")
  element.addEventListener("click", (event) => {
    const link = (event.target as Element | null)?.closest?.("a")
    if (link && context.act({ kind: "open", widget, url: link.href }) === false) event.preventDefault()
  })
  return element
}

function elementOf(context: Context): HTMLElement {
  const { widget } = context
  if (widget.flashcards) return flashcards(widget.flashcards, context)
  if (widget.followups) return followups(widget.followups, context)
  if (widget.sources) return sources(widget.sources, context)
  if (widget.summary) return summary(widget.summary, context)
  if (widget.videoGallery) return videoGallery(widget.videoGallery, context)
  if (widget.showLink) return showLink(widget.showLink, context)
  if (widget.externalVideo) return externalVideo(widget.externalVideo, context)
  if (widget.userPropertiesForm) return form(widget.userPropertiesForm, context)
  if (widget.contentGallery) return contentGallery(widget.contentGallery, context)
  const text = widget.raw ?? JSON.stringify(widget.body, null, 2) ?? ""
  return make("details", {}, make("summary", {}, widget.runtime || context.labels.unknown), make("pre", { tabindex: 0 }, text))
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
    make("li", {}, makeButton({ class: "chip" }, () => void act({ kind: "followup", widget, text }), text)),
  ))
  return make("div", { class: "followups" }, make("p", { "aria-hidden": "true" }, labels.askNext), list)
}

function sources({ sources }: Sources, { labels }: Context): HTMLElement {
  const list = make("ol", {}, ...sources.map(({ title, url, snippet }) =>
    make("li", {}, safeLink(url, {}, or(title, hostOf(url) ?? labels.untitled)), snippet ? make("p", {}, snippet) : undefined),
  ))
  const count = sources.length === 1 ? labels.source : fillIn(labels.sources, { count: sources.length })
  return make("details", { class: "sources" }, make("summary", {}, count), list)
}

function summary({ title, summary, bullets }: Summary, { labels }: Context): HTMLElement {
  const points = bullets.length > 0 ? make("ul", {}, ...bullets.map((text) => make("li", {}, text))) : undefined
  return frame("summary", or(title, labels.summary), make("p", {}, summary), points)
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
  return safeLink(url, { class: `tile ${kind}` }, image,
    make("span", { class: "words" },
      make("strong", {}, title),
      description ? make("span", {}, description) : undefined,
      foot ? make("small", {}, foot, " ", icon("away")) : undefined,
    ),
  )
}

function externalVideo({ url, title, provider, poster, description }: ExternalVideo, { widget, labels, embedHosts, act }: Context): HTMLElement {
  const name = or(title, labels.video)
  const foot = provider ? fillIn(labels.watchOn, { provider }) : undefined
  const embed = externalEmbedUrl(url, embedHosts)
  if (embed === undefined) return tile("video", url, name, { description, image: picture(poster, "", icon("play")), foot })
  // Nothing of the host is loaded before the visitor asks for it.
  const box = make("div", { class: "player" })
  const button = makeButton({ class: "play", "aria-label": `${labels.play}: ${name}` }, () => {
    if (act({ kind: "play", widget, url: embed }) === false) return
    const player = make("iframe", {
      src: embed, title: name, allow: "autoplay; fullscreen; picture-in-picture; encrypted-media",
      referrerpolicy: "strict-origin-when-cross-origin", sandbox: "allow-scripts allow-same-origin allow-presentation allow-popups",
    })
    box.replaceChildren(player)
    player.focus()
  }, picture(poster, "", icon("play")))
  box.append(button)
  return frame("external-video", name, box, description ? make("p", {}, description) : undefined,
    make("p", {}, safeLink(url, {}, foot ?? hostOf(url), " ", icon("away"))))
}

/**
 * Returns the address at which a video of YouTube or Vimeo plays inside a page; undefined
 * for other videos, and when the host of that address is not in `hosts`.
 */
export function externalEmbedUrl(value: unknown, hosts: readonly string[] = EMBED_HOSTS): string | undefined {
  const href = safeUrl(value)
  if (href === undefined) return undefined
  const { host, pathname, searchParams } = new URL(href)
  const name = host.replace(/^(www|m)\./u, "")
  let embed: string | undefined
  const path = pathname.split("/").filter(Boolean)
  if (["youtube.com", "youtube-nocookie.com", "youtu.be"].includes(name)) {
    const id = name === "youtu.be" ? path[0] : path[0] === "watch" ? searchParams.get("v") : ["embed", "shorts", "live"].includes(path[0] ?? "") ? path[1] : undefined
    if (/^[\w-]{6,20}$/u.test(id ?? "")) embed = `https://www.youtube-nocookie.com/embed/${id}`
  } else if (["vimeo.com", "player.vimeo.com"].includes(name)) {
    const id = path[0] === "video" ? path[1] : path[0]
    if (/^\d+$/u.test(id ?? "")) embed = `https://player.vimeo.com/video/${id}`
  }
  return embed !== undefined && hosts.includes(new URL(embed).host) ? embed : undefined
}

/** A row of tiles that scrolls sideways. */
function gallery(title: string, tiles: HTMLElement[]): HTMLElement {
  const list = make("ul", { class: "tiles", tabindex: 0, "aria-label": title }, ...tiles.map((tile) => make("li", {}, tile)))
  return frame("gallery", title, list)
}

function videoGallery({ title, videos }: VideoGallery, { labels }: Context): HTMLElement {
  return gallery(or(title, labels.videos), videos.map(({ title, thumbnailUrl, url, duration, description, alt }: Video) =>
    tile("video", url, or(title, labels.video), { description, image: picture(thumbnailUrl, alt, icon("play")), foot: duration ? time(duration) : undefined }),
  ))
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

/** Attributes of the input elements, by the type of the field. */
const inputs: Record<string, Record<string, string>> = {
  email: { type: "email", autocomplete: "email" },
  phone: { type: "tel", autocomplete: "tel" },
  int: { type: "number", step: "1" },
  float: { type: "number", step: "any" },
  bool: { type: "checkbox" },
}
const long = ["text", "list", "dict"]

let forms = 0

function form({ title, fields }: UserPropertiesForm, { widget, labels, act }: Context): HTMLElement {
  const number = ++forms
  const element = make("form", { class: "fields" })
  const boxes = new Map<string, [type: string, input: HTMLInputElement | HTMLTextAreaElement]>()
  const rows = fields.map(({ key, type, label, knownValue, required, description }: FormField, at) => {
    const id = `agent-form-${number}-${at}`
    const about = description ? make("small", { id: `${id}-about` }, description) : undefined
    const common = { id, name: key, required: required && type !== "bool", "aria-describedby": about?.id }
    const input = long.includes(type) ? make("textarea", { rows: 2, ...common }) : make("input", { type: "text", ...inputs[type], ...common })
    if (type === "bool") (input as HTMLInputElement).checked = knownValue === true
    else if (knownValue !== undefined && knownValue !== null) input.value = typeof knownValue === "object" ? JSON.stringify(knownValue) : String(knownValue)
    const caption = make("label", { for: id }, or(label, key), required ? undefined : make("span", { class: "soft" }, ` ${labels.optional}`))
    boxes.set(key, [type, input])
    return make("div", { class: "field" }, caption, input, about)
  })
  const outcome = make("p", { role: "status" })
  element.addEventListener("submit", async (event) => {
    event.preventDefault()
    const values = Object.fromEntries([...boxes].map(([key, [type, input]]) => [key, valueOf(type, input)]))
    try {
      const answer = await act({ kind: "submit", widget, values })
      outcome.textContent = typeof answer === "string" ? answer : labels.sent
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

/** Options of {@link WidgetList}. */
export interface WidgetListOptions extends WidgetOptions {
  /** Whether the widgets of the previous turn are removed when a new turn begins. Default true. */
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
 * is sent as a turn, and the values of a form become variables of the prompt.
 */
export class WidgetList {
  readonly #element: HTMLElement
  readonly #options: WidgetListOptions
  readonly #scope = new Scope()

  /** Throws a `TypeError` without a session or an element. */
  constructor(session: SessionLike, element: HTMLElement, options: WidgetListOptions = {}) {
    if (typeof session?.on !== "function") throw new TypeError("a list of widgets needs a session")
    if (typeof element?.append !== "function") throw new TypeError("a list of widgets needs an element")
    this.#element = element
    this.#options = { onAction: (action) => act(session as SessionLike & Actor, action), ...options }
    this.#scope.listen<AvatarEvents, "widget">(session, "widget", (widget) => void this.add(widget))
    this.#scope.listen<AvatarEvents, "turnStart">(session, "turnStart", ({ isNewTurn }) => {
      if (isNewTurn && (this.#options.clearOnTurnStart ?? true)) this.clear()
    })
  }

  /** Adds a widget and returns its element. */
  add(widget: Widget): HTMLElement {
    const element = drawWidget(widget, this.#options)
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

/** Performs an action with a session. */
function act(session: Actor, action: WidgetAction): unknown {
  if (action.kind === "submit") return session.updateRequestVars?.(action.values)
  if (action.kind !== "followup") return undefined
  // The session emits an event for a turn that fails.
  return Promise.resolve(session.sendText ? session.sendText(action.text) : session.speak?.(action.text)).catch(() => {})
}
