// What the content of each widget is made of. The service and the authors of agents have several
// names for the same thing; content.ts and agentruntime/compat read them, each in its own form.
import type { Widget } from "../generated/events.js"
import type { WIDGET_RUNTIMES } from "../ui/widgets.js"

/** A part of the content of a widget, with the names that it may have. */
export type Field =
  | { readonly kind: "text" | "neededText" | "type" | "link" | "webLink" | "seconds" | "number" | "flag" | "any"; readonly names: string[] }
  | { readonly kind: "texts"; readonly names: string[]; /** The names of the text of an item that is an object. */ readonly itemNames: string[] }
  | { readonly kind: "items"; readonly names: string[]; readonly fields: Fields }

export type Fields = Readonly<Record<string, Field>>

const text = (...names: string[]): Field => ({ kind: "text", names })
/** A text that is there even when it is empty. */
const neededText = (...names: string[]): Field => ({ kind: "neededText", names })
/** The address of a link. */
const link = (...names: string[]): Field => ({ kind: "link", names })
/** An absolute address, http or https. */
const webLink = (...names: string[]): Field => ({ kind: "webLink", names })
const texts = (itemNames: string[], ...names: string[]): Field => ({ kind: "texts", names, itemNames })
const items = (fields: Fields, ...names: string[]): Field => ({ kind: "items", names, fields })

const title = text("title")

type Runtime = (typeof WIDGET_RUNTIMES)[number]
type Camel<Name> = Name extends `${infer Head}-${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : Name

/** The property of a widget in which its content is. */
export const propertyOf = <Name extends string>(runtime: Name): Camel<Name> => runtime.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase()) as Camel<Name>

/** The fields of each widget, by its runtime; the options of a graded question are read apart. */
export const fieldsOf: Readonly<Record<string, Fields>> = {
  flashcards: {
    title,
    cards: items({ front: neededText("front", "question", "term"), back: neededText("back", "answer", "definition"), label: text("label") }, "cards", "items", "flashcards"),
  },
  followups: { questions: texts(["text", "question"], "questions", "followups", "items") },
  sources: {
    sources: items({
      title: text("title", "name", "label"), url: link("url", "link", "href"), snippet: text("snippet", "text", "content"),
      score: { kind: "number", names: ["score", "relevance", "similarity"] },
    }, "sources", "items", "citations"),
  },
  summary: { title, summary: neededText("summary", "text", "content", "raw"), bullets: texts(["text"], "bullets", "points", "items") },
  "video-gallery": {
    title,
    videos: items({
      entryId: text("entryId", "entry_id", "id"), title: text("title", "name"), thumbnailUrl: link("thumbnailUrl", "thumbnail", "thumb"),
      url: link("url", "playUrl", "link"), duration: { kind: "seconds", names: ["duration", "length"] }, description: text("description"), alt: text("alt"),
    }, "videos", "entries", "items"),
  },
  "show-link": { url: link("url", "linkUrl", "link", "href", "mediaUrl"), label: text("label", "linkText", "title", "text"), description: text("description") },
  "external-video": {
    url: webLink("url", "videoUrl", "mediaUrl", "src", "embedUrl"), title, provider: text("provider", "source"),
    poster: webLink("poster", "thumbnail", "thumbnailUrl"), description: text("description"),
  },
  "user-properties-form": {
    title,
    fields: items({
      key: neededText("key", "name"), type: { kind: "type", names: ["type"] }, required: { kind: "flag", names: ["required"] },
      label: text("label", "prompt"), description: text("description", "help"), knownValue: { kind: "any", names: ["knownValue", "known_value"] },
    }, "fields", "properties", "items"),
  },
  "content-gallery": {
    title,
    items: items({
      id: text("id", "slideId", "key"), title: text("title", "name", "heading"), description: text("description", "text", "body"),
      imageUrl: link("imageUrl", "image", "thumbnail"), url: link("url", "link", "href"), alt: text("alt"),
    }, "items", "slides", "cards"),
  },
  markdown: { title, text: neededText("markdown", "text", "content", "raw") },
  "graded-question": { title, question: neededText("question", "prompt", "text"), explanation: text("explanation", "rationale") },
} satisfies { readonly [Name in Runtime]: { readonly [Key in keyof NonNullable<Widget[Camel<Name>]>]?: Field } }

const fieldTypes = ["str", "int", "float", "bool", "list", "dict", "email", "phone", "text"]

/** The type of a field of a form; an unknown one is a text. */
export const fieldType = (type: string): string => (fieldTypes.includes(type) ? type : "str")
