// Draws descriptors with the reference client's class names.
import { renderMarkdown } from "../ui/markdown.js"
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
    if (!markdown) return make("p", name, text)
    const box = make("div", name)
    box.appendChild(typeof markdown === "function" ? markdown(text) : renderMarkdown(text))
    return box
  }
  const draw = Object.hasOwn(drawers, descriptor.kind) ? drawers[descriptor.kind]! : drawers["unknown"]!
  const parts = draw(descriptor.data ?? {}, { act, prose }).filter((part) => part !== undefined)
  if (parts.length === 0) return null
  const root = make("section", "")
  root.className = `kgenui kgenui--${safeText(descriptor.kind, 60).replace(/[^\w-]/g, "-")}`
  root.setAttribute("role", "group")
  const label = typeof descriptor.data?.title === "string" && descriptor.data.title !== "" ? descriptor.data.title : descriptor.kind
  root.setAttribute("aria-label", safeText(label, 200))
  for (const part of parts) root.appendChild(part)
  if (target) {
    if (replace) while (target.firstChild) target.removeChild(target.firstChild)
    target.appendChild(root)
  }
  onMount?.(root, descriptor)
  return root
}

/** Makes an element with one class, a text, and other elements. */
function make<Tag extends keyof HTMLElementTagNameMap>(tag: Tag, name: string, text?: string, ...children: (Node | null | undefined)[]): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag)
  if (name !== "") element.className = `kgenui__${name}`
  if (text) element.textContent = text
  for (const child of children) if (child) element.appendChild(child)
  return element
}

const given = (tag: "h3" | "h4" | "p" | "span", name: string, text: unknown): HTMLElement | undefined =>
  typeof text === "string" && text !== "" ? make(tag, name, text) : undefined

function button(name: string, text: string, pressed: () => unknown): HTMLButtonElement {
  const element = make("button", name, text)
  element.type = "button"
  element.addEventListener("click", () => void pressed())
  return element
}

/** A link that reports that it is opened; undefined for an address that may not be one. */
function link(name: string, url: string, label: string, { act }: Context): HTMLAnchorElement | undefined {
  const element = renderSafeLink({ url, label: label || url })
  if (!element) return undefined
  element.className = `kgenui__${name}`
  element.addEventListener("click", () => void act("open", { url }))
  return element
}

function image(url: string, alt: string): HTMLImageElement | undefined {
  if (!/^(https?:)|^[^:]*$/i.test(url) || safeUrl(url) === "") return undefined
  const element = make("img", "image")
  element.src = url
  element.alt = alt
  element.setAttribute("loading", "lazy")
  element.setAttribute("referrerpolicy", "no-referrer")
  return element
}

function frame(url: string, title: string): HTMLIFrameElement | undefined {
  if (!isEmbeddable(url)) return undefined
  const element = make("iframe", "frame")
  element.setAttribute("sandbox", "allow-scripts allow-same-origin allow-presentation allow-popups")
  element.setAttribute("allow", "autoplay; fullscreen; picture-in-picture; encrypted-media")
  element.setAttribute("referrerpolicy", "strict-origin-when-cross-origin")
  element.setAttribute("loading", "lazy")
  element.title = title
  element.src = url
  return element
}

/** A list with one item for each value that has something to draw. */
function listOf<T>(tag: "ul" | "ol", name: string, values: readonly T[], draw: (value: T, at: number) => (Node | undefined)[]): HTMLElement | undefined {
  const list = make(tag, name)
  values.forEach((value, at) => {
    const parts = draw(value, at)
    if (parts.some(Boolean)) list.appendChild(make("li", "item", undefined, ...parts))
  })
  return list.firstChild ? list : undefined
}

type Drawer = (data: any, context: Context) => (Node | undefined)[]

const drawers: Readonly<Record<string, Drawer>> = {
  flashcards: ({ title, cards = [] }) => {
    const list = listOf("ol", "cards", cards as { front: string; back: string; label?: string }[], ({ front, back, label }) => {
      if (!front && !back) return []
      const answer = make("p", "back", back)
      answer.hidden = true
      const flip = button("flip", front || back, () => {
        answer.hidden = !answer.hidden
        flip.setAttribute("aria-expanded", String(!answer.hidden))
      })
      flip.setAttribute("aria-expanded", "false")
      return [given("span", "label", label), flip, answer]
    })
    return list ? [given("h3", "title", title), list] : []
  },
  followups: ({ questions = [] }, { act }) => [
    listOf("ul", "questions", questions as string[], (question) => [button("question", question, () => act("followup", { question }))]),
  ],
  sources: ({ sources = [] }, context) => [
    listOf("ol", "sources", sources as { title: string; url: string; snippet: string }[], ({ title, url, snippet }) =>
      [link("link", url, title, context) ?? given("span", "source", title), given("p", "snippet", snippet)]),
  ],
  summary: ({ title, summary, bullets = [] }, { prose }) => {
    const list = listOf("ul", "bullets", bullets as string[], (bullet) => [prose(bullet, "bullet")])
    return summary || list ? [given("h3", "title", title), summary ? prose(summary, "text") : undefined, list] : []
  },
  "video-gallery": ({ title, videos = [] }, context) => {
    const list = listOf("ul", "videos", videos as { entryId: string; title: string; thumbnailUrl: string; url: string; embedUrl: string; description: string; alt: string }[],
      ({ entryId, title, thumbnailUrl, url, embedUrl, description, alt }) => {
        const about = [given("h4", "name", title), given("p", "description", description)]
        if (!isEmbeddable(embedUrl) && !url) return [image(thumbnailUrl, alt), ...about]
        const box = make("div", "video")
        const play = button("play", "", () => {
          context.act("play", { entryId, url, embedUrl })
          const player = frame(embedUrl, title)
          if (player) box.replaceChildren(player)
        })
        play.setAttribute("aria-label", title || alt || entryId || url)
        const picture = image(thumbnailUrl, alt)
        if (picture) play.appendChild(picture)
        else play.textContent = title || entryId || url
        box.appendChild(play)
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
  "user-properties-form": ({ title, fields = [] }, { act }) => form(title, fields as Field[], act),
  "content-gallery": ({ title, items = [] }, context) => {
    const list = listOf("ul", "items", items as { title: string; description: string; imageUrl: string; url: string; alt: string }[], ({ title, description, imageUrl, url, alt }) => [
      imageUrl ? image(imageUrl, alt) : undefined, (url ? link("link", url, title, context) : undefined) ?? given("h4", "name", title), given("p", "description", description),
    ])
    return list ? [given("h3", "title", title), list] : []
  },
  error: ({ message }) => [make("p", "error", safeText(message || "This content can't be shown.", 500))],
  unknown: (data) => {
    const text = JSON.stringify(data, null, 2) ?? ""
    return text === "" || text === "{}" ? [] : [make("pre", "data", safeText(text, 8000))]
  },
}

interface Field {
  key: string
  type: string
  label: string
  knownValue: unknown
  required: boolean
  description: string
}

const inputTypes: Readonly<Record<string, string>> = { email: "email", phone: "tel", int: "number", float: "number", bool: "checkbox" }

function form(title: string, fields: readonly Field[], act: Act): (Node | undefined)[] {
  if (fields.length === 0) return []
  const element = make("form", "form")
  const rows: HTMLElement[] = []
  const read: [string, () => string | boolean][] = []
  for (const { key, type, label, knownValue, required, description } of fields) {
    const long = ["text", "list", "dict"].includes(type)
    const input = long ? make("textarea", "input") : make("input", "input")
    if (!long) (input as HTMLInputElement).type = inputTypes[type] ?? "text"
    if (type === "float") input.setAttribute("step", "any")
    input.name = key
    input.required = required && type !== "bool"
    if (type === "bool") (input as HTMLInputElement).checked = knownValue === true
    else if (knownValue != null) input.value = typeof knownValue === "object" ? JSON.stringify(knownValue) : String(knownValue)
    rows.push(make("label", "field", undefined, make("span", "label", label || key), input, given("span", "description", description)))
    read.push([key, () => (type === "bool" ? (input as HTMLInputElement).checked : input.value)])
  }
  const submit = make("button", "submit", "Submit")
  submit.type = "submit"
  element.addEventListener("submit", (event) => {
    event.preventDefault()
    act("submit", { values: Object.fromEntries(read.map(([key, value]) => [key, value()])) })
  })
  // The last call of the form's own methods: a field named like one of them hides it from then on.
  element.append(...rows, submit)
  return [given("h3", "title", title), element]
}
