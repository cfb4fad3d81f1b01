// Draws descriptors with the reference client's class names.
import type { Flashcard, FormField, GalleryItem, Source, Video } from "../generated/events.js"
import { make, makeButton } from "../ui/dom.js"
import { formInput } from "../ui/forminput.js"
import { renderMarkdown } from "../ui/markdown.js"
import { playerFrame } from "../ui/media.js"
import { isEmbeddable } from "./media.js"
import { renderSafeLink, safeText, safeUrl } from "./safety.js"

/** What {@link mountWidget} draws. */
export interface Descriptor {
  kind: string
  data: any
  runtime: string
  runtimeName: string
  _meta: {
    /** Whether the runtime has a renderer. */
    known: boolean
    /** Whether the runtime is one of the nine. */
    firstClass: boolean
  }
}

/** What the visitor does with a widget. */
export interface WidgetActions {
  followup: { question: string }
  open: { url: string }
  play: { entryId?: string; url: string; embedUrl: string }
  /** The values of a form, by the keys of its fields. */
  submit: { values: Record<string, string | boolean> }
}

/** Options of {@link mountWidget}. */
export interface MountOptions {
  /** Whether the present content of the target is removed. Default false. */
  replace?: boolean | undefined
  /** Called for each action of the visitor. */
  onAction?: (<Type extends keyof WidgetActions>(type: Type, payload: WidgetActions[Type]) => unknown) | undefined
  /** Called after the element was added to the target. */
  onMount?: ((root: HTMLElement, descriptor: Descriptor) => void) | undefined
  /** Whether the texts of summaries are Markdown, or what makes nodes of such a text. Default false. */
  markdown?: boolean | ((text: string) => Node) | undefined
}

type Act = NonNullable<MountOptions["onAction"]>

interface Context {
  act: Act
  /** The paragraphs of a text. */
  prose: (text: string, name: string) => HTMLElement
}

/**
 * Draws a descriptor in an element and returns its root, a `section` with the classes
 * `kgenui` and `kgenui--KIND`; null without a DOM, and when there is nothing to draw.
 * Texts never become markup. A frame is loaded only from the hosts in `EMBED_HOSTS`.
 */
export function mountWidget(descriptor: Descriptor | null | undefined, target?: Element | null, { replace = false, onAction, onMount, markdown = false }: MountOptions = {}): HTMLElement | null {
  if (typeof document === "undefined" || !descriptor) return null
  const act: Act = (type, payload) => onAction?.(type, payload)
  const prose = (text: string, name: string) => {
    if (!markdown) return part("p", name, text || undefined)
    return part("div", name, typeof markdown === "function" ? markdown(text) : renderMarkdown(text))
  }
  const draw = Object.hasOwn(drawers, descriptor.kind) ? drawers[descriptor.kind]! : drawers["unknown"]!
  const parts = draw(descriptor.data ?? {}, { act, prose }).filter((part) => part !== undefined)
  if (parts.length === 0) return null
  const kind = safeText(descriptor.kind, 60).replace(/[^\w-]/g, "-")
  const label = typeof descriptor.data?.title === "string" && descriptor.data.title !== "" ? descriptor.data.title : descriptor.kind
  const root = make("section", { class: `kgenui kgenui--${kind}`, role: "group", "aria-label": safeText(label, 200) }, ...parts)
  if (replace) target?.replaceChildren()
  target?.append(root)
  onMount?.(root, descriptor)
  return root
}

/** The class of a part of a widget. */
const named = (name: string) => ({ class: `kgenui__${name}` })

/** Makes an element with one class. */
const part = <Tag extends keyof HTMLElementTagNameMap>(tag: Tag, name: string, ...children: (Node | string | undefined)[]): HTMLElementTagNameMap[Tag] => make(tag, named(name), ...children)

const given = (tag: "h3" | "h4" | "p" | "span", name: string, text: unknown): HTMLElement | undefined =>
  typeof text === "string" && text !== "" ? part(tag, name, text) : undefined

/** A link that reports that it is opened; undefined for an address that may not be one. */
function link(name: string, url: string, label: string, { act }: Context): HTMLAnchorElement | undefined {
  const element = renderSafeLink({ url, label: label || url })
  if (!element) return undefined
  element.className = named(name).class
  element.addEventListener("click", () => void act("open", { url }))
  return element
}

const image = (url: string, alt: string): HTMLImageElement | undefined =>
  /^(https?:)|^[^:]*$/i.test(url) && safeUrl(url) !== "" ? make("img", { ...named("image"), alt, loading: "lazy", referrerpolicy: "no-referrer", src: url }) : undefined

const frame = (url: string, title: string): HTMLIFrameElement | undefined =>
  isEmbeddable(url) ? make("iframe", { ...named("frame"), ...playerFrame, loading: "lazy", title, src: url }) : undefined

/** A list with one item for each value that has something to draw. */
function listOf<T>(tag: "ul" | "ol", name: string, values: readonly T[], draw: (value: T, at: number) => (Node | undefined)[]): HTMLElement | undefined {
  const list = part(tag, name)
  values.forEach((value, at) => {
    const parts = draw(value, at)
    if (parts.some(Boolean)) list.append(part("li", "item", ...parts))
  })
  return list.firstChild ? list : undefined
}

type Drawer = (data: any, context: Context) => (Node | undefined)[]

const drawers: Readonly<Record<string, Drawer>> = {
  flashcards: ({ title, cards = [] }) => {
    const list = listOf("ol", "cards", cards as Flashcard[], ({ front, back, label }) => {
      if (!front && !back) return []
      const answer = part("p", "back", back || undefined)
      answer.hidden = true
      const flip = makeButton({ ...named("flip"), "aria-expanded": "false" }, () => {
        answer.hidden = !answer.hidden
        flip.setAttribute("aria-expanded", String(!answer.hidden))
      }, front || back)
      return [given("span", "label", label), flip, answer]
    })
    return list ? [given("h3", "title", title), list] : []
  },
  followups: ({ questions = [] }, { act }) => [
    listOf("ul", "questions", questions as string[], (question) => [makeButton(named("question"), () => void act("followup", { question }), question)]),
  ],
  sources: ({ sources = [] }, context) => [
    listOf("ol", "sources", sources as Required<Source>[], ({ title, url, snippet }) =>
      [link("link", url, title, context) ?? given("span", "source", title), given("p", "snippet", snippet)]),
  ],
  summary: ({ title, summary, bullets = [] }, { prose }) => {
    const list = listOf("ul", "bullets", bullets as string[], (bullet) => [prose(bullet, "bullet")])
    return summary || list ? [given("h3", "title", title), summary ? prose(summary, "text") : undefined, list] : []
  },
  "video-gallery": ({ title, videos = [] }, context) => {
    const list = listOf("ul", "videos", videos as (Required<Video> & { embedUrl: string })[],
      ({ entryId, title, thumbnailUrl, url, embedUrl, description, alt }) => {
        const about = [given("h4", "name", title), given("p", "description", description)]
        if (!isEmbeddable(embedUrl) && !url) return [image(thumbnailUrl, alt), ...about]
        const box = part("div", "video")
        box.append(makeButton({ ...named("play"), "aria-label": title || alt || entryId || url }, () => {
          context.act("play", { entryId, url, embedUrl })
          const player = frame(embedUrl, title)
          if (player) box.replaceChildren(player)
        }, image(thumbnailUrl, alt) ?? (title || entryId || url)))
        return [box, ...about, url ? link("link", url, title, context) : undefined]
      })
    return list ? [given("h3", "title", title), list] : []
  },
  "show-link": ({ url, label, description }, context) => {
    const anchor = link("link", url ?? "", label ?? "", context) ?? given("span", "label", label)
    return anchor ? [anchor, given("p", "description", description)] : []
  },
  "external-video": ({ url, embedUrl, title, provider, poster, description }, context) => {
    const player = frame(embedUrl ?? "", title || provider || "Video")
    const parts = [player ?? (poster ? image(poster, title ?? "") : undefined), url ? link("link", url, title || provider || "", context) : undefined]
    return parts.some(Boolean) ? [given("h3", "title", title), ...parts, given("p", "description", description)] : []
  },
  "user-properties-form": ({ title, fields = [] }, { act }) => form(title, fields as FormField[], act),
  "content-gallery": ({ title, items = [] }, context) => {
    const list = listOf("ul", "items", items as Required<GalleryItem>[], ({ title, description, imageUrl, url, alt }) => [
      imageUrl ? image(imageUrl, alt) : undefined, (url ? link("link", url, title, context) : undefined) ?? given("h4", "name", title), given("p", "description", description),
    ])
    return list ? [given("h3", "title", title), list] : []
  },
  error: ({ message }) => [part("p", "error", safeText(message || "This content can't be shown.", 500))],
  unknown: (data) => {
    const text = JSON.stringify(data, null, 2) ?? ""
    return text === "" || text === "{}" ? [] : [part("pre", "data", safeText(text, 8000))]
  },
}

function form(title: string, fields: readonly FormField[], act: Act): (Node | undefined)[] {
  if (fields.length === 0) return []
  const element = part("form", "form")
  const rows: HTMLElement[] = []
  const read: [string, () => string | boolean][] = []
  for (const field of fields) {
    const { key, type, label, description } = field
    const input = formInput(field, named("input"))
    rows.push(part("label", "field", part("span", "label", label || key), input, given("span", "description", description)))
    read.push([key, () => (type === "bool" ? (input as HTMLInputElement).checked : input.value)])
  }
  element.addEventListener("submit", (event) => {
    event.preventDefault()
    act("submit", { values: Object.fromEntries(read.map(([key, value]) => [key, value()])) })
  })
  // The last call of the form's own methods: a field named like one of them hides it from then on.
  element.append(...rows, make("button", { ...named("submit"), type: "submit" }, "Submit"))
  return [given("h3", "title", title), element]
}
