// The widgets of an answer, in the reference client's form.
import { localError } from "../core/errors.js"
import { isBroken, parseContent as read } from "../segments/content.js"
import { fieldsOf, fieldType, type Field, type Fields } from "../segments/fields.js"
import { isObject } from "../segments/plain.js"
import { Scope, type SessionLike } from "../ui/listen.js"
import { externalEmbedUrl, playerEmbedUrl, thumbnailUrl } from "./media.js"
import { mountWidget, type Descriptor, type MountOptions } from "./mount.js"
import { isKnownRuntime, namesOf, normalizeRuntime, RUNTIMES } from "./runtimes.js"
import { clampInbound, safeText, safeUrl, sanitizeJson, type SafeUrlOptions } from "./safety.js"
import type { SegmentLike } from "./tools.js"

export { GENUI_RUNTIMES, isKnownRuntime, normalizeRuntime, RUNTIMES } from "./runtimes.js"

/** The name of the service's widgets on the wire. */
export const GENUI_WIDGET_NAME = "unisphere.widget.genie"

/** The kinds of descriptors. */
export const WIDGET_KINDS: string[] = [...RUNTIMES, "unknown", "error"]

/** The parsed content of a widget, by key. */
export type Model = Record<string, unknown>

/** Reads the content of a widget: an object as it is, an array as `items`, a text as JSON or as lines, any other text as `raw`. */
export function parseContent(content: unknown): Model {
  if (content == null) return {}
  if (typeof content !== "string" && typeof content !== "object") return { raw: String(content) }
  if (typeof content === "object") return (Array.isArray(content) ? { items: sanitizeJson(content) } : sanitizeJson(content)) as Model
  const { values } = read(content)
  return values ?? (content.trim() === "" ? {} : { raw: content })
}

/** A widget that arrived. */
export interface ParsedWidget {
  widgetName: string
  /** As the service sends it. */
  runtimeName: string
  /** Without `-tool`. */
  runtime: string
  model: Model
}

/** Reads the widget of a segment that has a complete one. */
export function parseWidget(segment: SegmentLike | null | undefined): ParsedWidget {
  const values = (isObject(segment) ? segment : {}) as Record<string, unknown>
  const { runtimeName, runtime, widgetName } = namesOf(values)
  return { widgetName, runtimeName, runtime, model: parseContent(values["content"] ?? values["model"] ?? values["data"]) }
}

/** What {@link SegmentAssembler} reports. */
export interface AssemblerOptions {
  onWidget?: ((widget: ParsedWidget & { speechId: string | null }) => void) | undefined
  /** Called for a widget whose text is cut off by another widget. */
  onMalformed?: ((malformed: { runtime: string; runtimeName: string; speechId: string | null; reason: string; message: string }) => void) | undefined
}

/** How many characters of a widget's text are kept. */
const maxText = 1 << 20

/** Puts widgets together from the segments in which they arrive. */
export class SegmentAssembler {
  readonly #options: AssemblerOptions
  #open: { widgetName: string; runtimeName: string; runtime: string; speechId: string | null; content: unknown } | undefined

  constructor(options: AssemblerOptions = {}) {
    this.#options = options ?? {}
  }

  /** Whether a widget has begun and not ended. */
  get pending(): boolean {
    return this.#open !== undefined
  }

  /** Takes any segment; returns whether it belongs to a widget. */
  ingest(segment: SegmentLike | null | undefined): boolean {
    const values = (isObject(segment) ? segment : {}) as Record<string, unknown>
    const names = namesOf(values)
    if (values["type"] !== "unisphere-tool" && !isKnownRuntime(values["type"])) return false
    const speechId = typeof values["speechId"] === "string" ? values["speechId"] : null
    if (names.runtime === "" && !this.#open) return false // a further piece of a widget that was never begun
    if (this.#open && names.runtime !== "" && (names.runtime !== this.#open.runtime || speechId !== this.#open.speechId)) this.flush("boundary")
    this.#open ??= { ...names, speechId, content: undefined }
    const open = this.#open
    const content = values["content"] ?? values["model"] ?? values["data"]
    if (typeof content === "string") {
      const before = typeof open.content === "string" ? open.content : ""
      if (typeof open.content !== "object" && before.length + content.length <= maxText) open.content = before + content
    } else if (typeof content === "object" && content !== null) open.content = content
    return true
  }

  /** Ends the widget that is open; returns whether one was reported. */
  flush(reason = "flush"): boolean {
    const open = this.#open
    this.#open = undefined
    if (!open || open.content === undefined || (typeof open.content === "string" && open.content.trim() === "")) return false
    const { content, ...about } = open
    if (reason === "boundary" && isBroken(read(content))) {
      const { runtime, runtimeName, speechId } = about
      this.#options.onMalformed?.({ runtime, runtimeName, speechId, reason, message: `the content of ${runtimeName || runtime} ended before it was complete` })
      return false
    }
    const { speechId, ...names } = about
    this.#options.onWidget?.({ ...names, model: parseContent(content), speechId })
    return true
  }

  /** Ends the widget of a turn that is over; returns whether one was reported. */
  onTurnEnd(speechId?: string | null): boolean {
    if (speechId && this.#open?.speechId && speechId !== this.#open.speechId) return false
    return this.flush("turnEnd")
  }

  /** Drops the widget that is open. */
  reset(): void {
    this.#open = undefined
  }
}

/** What a renderer gets besides the content. */
export interface RenderContext {
  /** Returns an address that may be used, or `""`. */
  urlPolicy: (url: unknown) => string
  /** The name of the runtime, without `-tool`. */
  runtime: string
  partnerId?: string | number | undefined
  uiConfId?: string | number | undefined
}

/** Makes what is drawn of the content of a widget. */
export type WidgetRenderer = (model: Model, context: RenderContext) => { kind: string; data: unknown }

/** The first value of an object under one of several keys. */
function first(of: unknown, ...keys: string[]): unknown {
  if (!isObject(of)) return undefined
  for (const key of keys) if (Object.hasOwn(of, key) && of[key] != null && of[key] !== "") return of[key]
  return undefined
}

const isScalar = (value: unknown): boolean => ["string", "number", "boolean"].includes(typeof value)
const text = (of: unknown, ...keys: string[]): string => {
  const value = keys.length === 0 ? of : first(of, ...keys)
  return isScalar(value) ? safeText(value, 8000).trim() : ""
}
const list = (of: unknown, ...keys: string[]): unknown[] => {
  const value = first(of, ...keys)
  return Array.isArray(value) ? value : value === undefined ? [] : [value]
}

/** An address of another site: http or https, and allowed by the policy. */
const webUrl = (url: unknown, policy: RenderContext["urlPolicy"]): string => {
  const allowed = policy(url)
  return /^https?:\/\//i.test(allowed) ? allowed : ""
}

/** The fields of a widget, or of an item of one. */
const dataOf = (of: Model, fields: Fields, policy: RenderContext["urlPolicy"]): Model =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, valueOf(of, field, policy)]).filter(([, value]) => value !== undefined))

function valueOf(of: Model, field: Field, policy: RenderContext["urlPolicy"]): unknown {
  const { kind, names } = field
  switch (kind) {
    case "text": case "neededText": return text(of, ...names)
    case "type": return fieldType(text(of, ...names))
    case "link": return policy(first(of, ...names))
    case "webLink": return webUrl(first(of, ...names), policy)
    case "seconds": case "any": return first(of, ...names) ?? null
    case "flag": return first(of, ...names) === true
    case "number": {
      const number = first(of, ...names)
      return Number.isFinite(number) ? number : undefined
    }
    case "texts": return list(of, ...names).map((item) => (isObject(item) ? text(item, ...field.itemNames) : text(item))).filter((item) => item !== "")
    case "items": return list(of, ...names).filter(isObject).map((item) => dataOf(item, field.fields, policy))
  }
}

/** What a widget has besides its fields. */
const additions: Readonly<Record<string, (data: any, context: RenderContext) => object>> = {
  "video-gallery": ({ videos }, { partnerId, uiConfId }) => ({
    videos: videos.map((video: Record<string, string>) => ({
      ...video, thumbnailUrl: video["thumbnailUrl"] || thumbnailUrl(video["entryId"], partnerId, { width: 480 }),
      embedUrl: playerEmbedUrl(video["entryId"], partnerId, { uiConfId }), alt: video["alt"] || video["title"],
    })),
  }),
  "show-link": ({ url }) => ({ safe: url !== "" }),
  "external-video": ({ url, provider: named }) => {
    const { embedUrl, provider } = externalEmbedUrl(url)
    return { embedUrl, provider: named || provider, safe: url !== "" }
  },
  "user-properties-form": ({ fields }) => ({ fields: fields.filter(({ key }: Model) => key !== "").map((field: Model) => ({ ...field, label: field["label"] || field["key"] })) }),
  "content-gallery": ({ items }) => ({ items: items.map((item: Model) => ({ ...item, alt: item["alt"] || item["title"] })) }),
}

/** The renderer of each of the nine widgets, by its runtime. */
export const DEFAULT_RENDERERS: Readonly<Record<string, WidgetRenderer>> = Object.fromEntries(RUNTIMES.map((runtime) => [runtime, (model: Model, context: RenderContext) => {
  const inner = runtime === "summary" ? model["summary"] : undefined
  const data = dataOf(isObject(inner) ? { ...model, summary: undefined, ...inner } : model, fieldsOf[runtime]!, context.urlPolicy)
  return { kind: runtime, data: { ...data, ...additions[runtime]?.(data, context) } }
}]))

/** Options of {@link ExperienceRenderer}. */
export interface ExperienceRendererOptions extends Pick<MountOptions, "onAction" | "onMount" | "markdown" | "replace"> {
  /** Any emitter with the events of a session. */
  session: SessionLike
  /** A function that is called with each descriptor, or the element in which widgets are drawn. */
  mount?: Element | ((descriptor: Descriptor) => unknown) | undefined
  /** The element in which widgets are drawn, unless `mount` is given. */
  target?: Element | undefined
  /** Renderers in place of those of this package, or besides them, by runtime. */
  renderers?: Readonly<Record<string, WidgetRenderer>> | undefined
  /** Whether a new turn clears the list of descriptors; what is drawn stays. Default true. */
  clearOnTurnStart?: boolean | undefined
  /** How many descriptors are kept. Default 100. */
  maxRendered?: number | undefined
  /** Called for a widget whose runtime has no renderer. */
  onUnhandled?: ((widget: { runtime: string; runtimeName: string; widget: ParsedWidget }) => void) | undefined
  /** Which addresses may be used: options of `safeUrl`, or a function that returns an address or `""`. Default: those of `safeUrl`. */
  urlPolicy?: SafeUrlOptions | ((url: unknown) => unknown) | undefined
  /** The account of videos that have an entry id. */
  partnerId?: string | number | undefined
  /** The player of such videos. */
  uiConfId?: string | number | undefined
}

/** Makes descriptors of the widgets of a session from `start()` to `stop()`, and draws them. */
export class ExperienceRenderer {
  /** The descriptors of the present turn, oldest first. */
  rendered: Descriptor[] = []
  readonly #options: ExperienceRendererOptions
  readonly #renderers: Map<string, WidgetRenderer>
  readonly #mount: (descriptor: Descriptor) => unknown
  readonly #urlPolicy: (url: unknown) => string
  readonly #assembler = new SegmentAssembler({ onWidget: (widget) => void this.#render(widget) })
  #scope: Scope | undefined

  /** Throws `bad_request` without a session, and for a `mount` that is neither a function nor an element. */
  constructor(options: ExperienceRendererOptions) {
    const { session, target, mount = target, renderers, urlPolicy, onAction, onMount, markdown, replace } = options ?? {}
    if (typeof session?.on !== "function") throw localError("bad_request", "session must be a session")
    const element = mount as Element | undefined
    if (typeof mount !== "function" && typeof element?.appendChild !== "function") throw localError("bad_request", "mount must be a function or an element")
    this.#options = options
    this.#renderers = new Map(Object.entries(DEFAULT_RENDERERS))
    for (const [runtime, renderer] of Object.entries(renderers ?? {})) this.register(runtime, renderer)
    this.#mount = typeof mount === "function" ? mount : (descriptor) => mountWidget(descriptor, element!, { onAction, onMount, markdown, replace })
    this.#urlPolicy = typeof urlPolicy === "function" ? (url) => safeUrl(urlPolicy(url)) : (url) => safeUrl(url, urlPolicy)
  }

  /** The last descriptor, null without one. */
  get last(): Descriptor | null {
    return this.rendered.at(-1) ?? null
  }

  /** The runtimes that have a renderer, sorted. */
  get runtimes(): string[] {
    return [...this.#renderers.keys()].sort()
  }

  /** Sets the renderer of a runtime. Throws `bad_request` for a blank name, or something else than a function. */
  register(runtime: string, renderer: WidgetRenderer): this {
    const name = normalizeRuntime(runtime)
    if (name === "" || typeof renderer !== "function") throw localError("bad_request", "a renderer needs the name of a runtime and a function")
    this.#renderers.set(name, renderer)
    return this
  }

  /** Whether a runtime has a renderer. */
  has(runtime: string): boolean {
    return this.#renderers.has(normalizeRuntime(runtime))
  }

  /** Draws the widgets that the session emits from now on. */
  start(): this {
    if (this.#scope) return this
    const { session, clearOnTurnStart = true } = this.#options
    const assembler = this.#assembler
    const scope = (this.#scope = new Scope())
    scope.listen(session, "brainSegment", (segment) => void assembler.ingest(segment))
    scope.listen(session, "turnEnd", (turn) => void assembler.onTurnEnd(turn?.speechId))
    scope.listen(session, "avatarStopTalking", () => void assembler.flush())
    scope.listen(session, "interrupted", () => assembler.reset())
    scope.listen(session, "turnStart", (turn) => {
      if (!turn?.isNewTurn) return
      assembler.reset()
      if (clearOnTurnStart) this.clear()
    })
    return this
  }

  /** Stops drawing; what is drawn stays, and a widget that is not complete is drawn. */
  stop(): this {
    if (this.#scope) this.#assembler.flush()
    this.#scope?.end()
    this.#scope = undefined
    return this
  }

  /** Draws a widget, from a segment, or from the name of its runtime and its content. */
  render(segment: SegmentLike): Descriptor
  render(runtimeName: string, widget?: unknown): Descriptor
  render(from: string | SegmentLike, widget?: unknown): Descriptor {
    if (typeof from !== "string") return this.#render(parseWidget(from))
    const given = isObject(widget) && isObject(widget["model"]) ? widget["model"] : widget
    const widgetName = isObject(widget) && typeof widget["widgetName"] === "string" ? widget["widgetName"] : ""
    return this.#render({ widgetName, runtimeName: from, runtime: normalizeRuntime(from), model: parseContent(given) })
  }

  /** Forgets the descriptors; what is drawn stays. */
  clear(): void {
    this.rendered = []
  }

  #render(widget: ParsedWidget): Descriptor {
    const { runtime, runtimeName, model } = widget
    const { partnerId, uiConfId, maxRendered = 100, onUnhandled } = this.#options
    const renderer = this.#renderers.get(runtime)
    const descriptor: Descriptor = { kind: "unknown", data: model, runtime, runtimeName, _meta: { known: renderer !== undefined, firstClass: isKnownRuntime(runtime) } }
    if (renderer) {
      try {
        const { kind, data } = renderer(model, { urlPolicy: this.#urlPolicy, runtime, partnerId, uiConfId })
        Object.assign(descriptor, { kind, data })
      } catch (reason) {
        Object.assign(descriptor, { kind: "error", data: { message: clampInbound(reason instanceof Error ? reason.message : String(reason), 500) } })
      }
    } else onUnhandled?.({ runtime, runtimeName, widget })
    this.rendered.push(descriptor)
    if (this.rendered.length > maxRendered) this.rendered.splice(0, this.rendered.length - maxRendered)
    this.#mount(descriptor)
    return descriptor
  }
}
