// The names of widgets in segments.
import { isObject } from "../segments/plain.js"
import type { WIDGET_RUNTIMES } from "../ui/widgets.js"
import type { SegmentLike } from "./tools.js"

/** The runtimes of the nine widgets, without `-tool`. */
export const RUNTIMES: string[] = [
  "flashcards", "followups", "sources", "summary", "video-gallery", "show-link", "external-video", "user-properties-form", "content-gallery",
] satisfies (typeof WIDGET_RUNTIMES)[number][]

/** The same as on the wire. */
export const GENUI_RUNTIMES: string[] = RUNTIMES.map((runtime) => `${runtime}-tool`)

/** The name of a runtime without `-tool`. */
export const normalizeRuntime = (name: unknown): string => (typeof name === "string" ? name.trim().replace(/-tool$/, "") : "")

/** Whether a runtime is one of the nine, by its name with or without `-tool`. */
export const isKnownRuntime = (name: unknown): boolean => RUNTIMES.includes(normalizeRuntime(name))

/** The property of a segment that the service has in its metadata, or has beside it under one of two names. */
function named(segment: Record<string, unknown>, name: string, other: string): string {
  const { metadata } = segment
  const found = (isObject(metadata) ? metadata[name] : undefined) || segment[name] || segment[other]
  return typeof found === "string" ? found : ""
}

/** The names of the runtime and the widget of a segment, `""` where it has none. */
export function namesOf(segment: SegmentLike): { runtimeName: string; runtime: string; widgetName: string } {
  const values = segment as Record<string, unknown>
  const type = typeof values["type"] === "string" ? values["type"] : ""
  const runtimeName = named(values, "runtimeName", "runtime_name") || (isKnownRuntime(type) ? type : "")
  return { runtimeName, runtime: normalizeRuntime(runtimeName), widgetName: named(values, "widgetName", "widget_name") }
}
