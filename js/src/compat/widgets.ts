import { localError } from "../errors.js"
import type { AvatarEvents, MalformedWidget, Segment, Widget } from "../events.js"
import { Scope, type SessionLike } from "../ui/listen.js"
import { drawWidget, WIDGET_RUNTIMES, type WidgetAction, type WidgetOptions } from "../ui/widgets.js"
import { isBlank, isBroken, parseContent, widgetOf } from "./content.js"

export { parseContent, type Content } from "./content.js"

/** The names of the nine widgets. */
export const WIDGET_KINDS = WIDGET_RUNTIMES

/** The names of the widgets' runtimes on the wire, by the service's name of each widget. */
export const RUNTIMES = {
  flashcards: "flashcards-tool",
  followups: "followups-tool",
  sources: "sources-tool",
  summarization: "summary-tool",
  video_gallery: "video-gallery-tool",
  show_link: "show-link-tool",
  external_video: "external-video-tool",
  user_properties_form: "user-properties-form-tool",
  gallery_slides: "content-gallery-tool",
} as const

/** The name of a runtime as `widget.runtime` has it: without `-tool`. */
export const normalizeRuntime = (name: string): string => name.replace(/-tool$/, "")

/** Whether a runtime is one of the nine, by its name on the wire or without `-tool`. */
export const isKnownRuntime = (name: string): boolean => (WIDGET_KINDS as readonly string[]).includes(normalizeRuntime(name))

/** Reads the content of a widget: an object, or its text. */
export const parseWidget = (runtime: string, content: unknown): Widget => widgetOf(normalizeRuntime(runtime), parseContent(content))

/** How many characters of a widget's text are kept. */
const maxWidget = 1 << 20

/** Puts widgets together from the segments in which they arrive. */
export class SegmentAssembler {
  readonly #onWidget: (widget: Widget) => void
  readonly #onMalformed: (malformed: MalformedWidget) => void
  #open: { readonly runtime: string; readonly more: Pick<Widget, "widgetName" | "speechId">; content: unknown; ended: boolean } | undefined

  constructor(onWidget: (widget: Widget) => void, onMalformed: (malformed: MalformedWidget) => void = () => {}) {
    this.#onWidget = onWidget
    this.#onMalformed = onMalformed
  }

  /** Takes any segment. */
  add(segment: Segment): void {
    if (segment.type === "user-interruption") return this.discard()
    const runtime = runtimeOf(segment)
    if (runtime === undefined) return
    const { speechId, content, segmentStart, segmentEnd } = segment
    const open = this.#open
    if (!open) this.#begin(runtime, segment)
    else if (runtime !== "" && (runtime !== open.runtime || speechId !== open.more.speechId || (open.ended && segmentStart))) {
      this.#flush(true)
      this.#begin(runtime, segment)
    }
    const now = this.#open!
    if (typeof content === "string") {
      const text = typeof now.content === "string" ? now.content : ""
      if (typeof now.content !== "object" && text.length + content.length <= maxWidget) now.content = text + content
    } else if (typeof content === "object" && content !== null) now.content = content
    if (!segmentEnd || now.ended) return
    now.ended = true
    const whole = parseContent(now.content ?? "")
    if (!isBroken(whole) && !isBlank(whole)) this.#flush(false)
  }

  /** Ends the turn, and with it the widget that is still open. */
  end(): void {
    this.#flush(false)
  }

  /** Drops the widget that is open: the turn was interrupted. */
  discard(): void {
    this.#open = undefined
  }

  #begin(runtime: string, { speechId, metadata }: Segment): void {
    const widgetName = metadata?.widgetName
    this.#open = { runtime, more: { ...(widgetName && { widgetName }), ...(speechId && { speechId }) }, content: undefined, ended: false }
  }

  #flush(cut: boolean): void {
    const open = this.#open
    if (!open) return
    this.#open = undefined
    const content = parseContent(open.content ?? "")
    if (isBlank(content)) return // announced, but no content arrived
    if (cut && isBroken(content)) this.#onMalformed({ runtime: open.runtime, ...open.more, raw: content.text } as MalformedWidget)
    else this.#onWidget(widgetOf(open.runtime, content, open.more))
  }
}

/** The runtime of the widget that a segment belongs to, "" for a further piece of the open widget, undefined for any other segment. */
function runtimeOf({ type, metadata }: Segment): string | undefined {
  if (type === "unisphere-tool") return normalizeRuntime(metadata?.runtimeName ?? "")
  return isKnownRuntime(type) ? normalizeRuntime(type) : undefined
}

/** Draws a widget. */
export type WidgetRenderer = (widget: Widget, options: WidgetOptions) => HTMLElement

/** The renderer of each of the nine widgets. */
export const DEFAULT_RENDERERS: Readonly<Record<string, WidgetRenderer>> = Object.fromEntries(WIDGET_KINDS.map((kind) => [kind, drawWidget]))

/** Options of {@link mountWidget}. */
export interface MountOptions {
  /** Whether the present content of the target is removed. Default false. */
  replace?: boolean | undefined
  /** Called for each action of the visitor. */
  onAction?: ((action: WidgetAction) => unknown) | undefined
  /** Called after the element was added to the target. */
  onMount?: ((element: HTMLElement, widget: Widget) => void) | undefined
}

/** Draws a widget in an element. */
export function mountWidget(widget: Widget, target: Element, options: MountOptions = {}): HTMLElement {
  refuse(options, "markdown")
  const { replace = false, onAction, onMount } = options
  const element = drawWidget(widget, { onAction })
  if (replace) target.replaceChildren(element)
  else target.append(element)
  onMount?.(element, widget)
  return element
}

/** Options of {@link ExperienceRenderer}. */
export interface ExperienceRendererOptions {
  /** Any session. */
  session: SessionLike
  /** The element to which widgets are added, or a function that puts a widget's element in its place. */
  mount?: Element | ((element: HTMLElement, widget: Widget) => void) | undefined
  /** The element to which widgets are added, unless `mount` is a function. */
  target?: Element | undefined
  /** Called for each action of the visitor. */
  onAction?: ((action: WidgetAction) => unknown) | undefined
  /** Renderers in place of those of this package, by the name of the runtime without `-tool`. */
  renderers?: Readonly<Record<string, WidgetRenderer>> | undefined
  /** Whether a widget replaces the previous ones. Default false. */
  replace?: boolean | undefined
  /** Whether a new turn removes the widgets. Default true. */
  clearOnTurnStart?: boolean | undefined
  /** How many widgets are kept. Default 100. */
  maxRendered?: number | undefined
  /** Called for a widget whose runtime has no renderer. Default: it is not shown. */
  onUnhandled?: ((widget: Widget) => void) | undefined
}

/** Draws the widgets of a session from `start()` to `stop()`. */
export class ExperienceRenderer {
  /** The widgets that are shown, oldest first. */
  readonly rendered: { readonly widget: Widget; readonly element: HTMLElement }[] = []
  readonly #options: ExperienceRendererOptions
  readonly #renderers: Map<string, WidgetRenderer>
  readonly #place: (element: HTMLElement, widget: Widget) => void
  #scope: Scope | undefined

  constructor(options: ExperienceRendererOptions) {
    refuse(options, "urlPolicy", "partnerId", "uiConfId")
    const { session, mount, target = mount, renderers } = options
    if (typeof session?.on !== "function") throw localError("bad_request", "session must be a session")
    const place = typeof mount === "function" ? mount : target
    if (typeof place !== "function" && typeof (place as Element | undefined)?.append !== "function") throw localError("bad_request", "mount must be an element or a function")
    this.#place = typeof place === "function" ? place : (element) => (place as Element).append(element)
    this.#options = options
    this.#renderers = new Map(Object.entries({ ...DEFAULT_RENDERERS, ...renderers }))
  }

  /** The last widget that was drawn. */
  get last(): Widget | undefined {
    return this.rendered.at(-1)?.widget
  }

  /** Sets the renderer of a runtime. */
  register(runtime: string, renderer: WidgetRenderer): void {
    this.#renderers.set(normalizeRuntime(runtime), renderer)
  }

  /** Whether a runtime has a renderer. */
  has(runtime: string): boolean {
    return this.#renderers.has(normalizeRuntime(runtime))
  }

  /** Draws the widgets that the session emits from now on. */
  start(): void {
    if (this.#scope) return
    const { session, clearOnTurnStart = true } = this.#options
    this.#scope = new Scope()
    this.#scope.listen<AvatarEvents, "widget">(session, "widget", (widget) => void this.render(widget))
    this.#scope.listen<AvatarEvents, "turnStart">(session, "turnStart", ({ isNewTurn }) => {
      if (isNewTurn && clearOnTurnStart) this.clear()
    })
  }

  /** Stops drawing; the widgets that are shown stay. */
  stop(): void {
    this.#scope?.end()
    this.#scope = undefined
  }

  /** Draws a widget; returns undefined when its runtime has no renderer. */
  render(widget: Widget): HTMLElement | undefined {
    const { onAction, replace, maxRendered = 100, onUnhandled } = this.#options
    const renderer = this.#renderers.get(widget.runtime)
    if (!renderer) return void onUnhandled?.(widget)
    if (replace) this.clear()
    const element = renderer(widget, { onAction })
    this.rendered.push({ widget, element })
    this.#place(element, widget)
    while (this.rendered.length > maxRendered) this.rendered.shift()!.element.remove()
    return element
  }

  /** Removes the widgets. */
  clear(): void {
    for (const { element } of this.rendered.splice(0)) element.remove()
  }
}

/** Throws `bad_request` for options of the reference client that can't work here. */
function refuse(options: object, ...names: string[]): void {
  const given = names.filter((name) => (options as Record<string, unknown>)[name] != null)
  if (given.length > 0) throw localError("bad_request", `remove ${given.join(", ")}: texts of widgets stay texts, links are http or https, and videos are links`)
}
