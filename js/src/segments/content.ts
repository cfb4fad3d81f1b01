// Parses the content of widgets like runtime/converse/body.go, for agentruntime/compat and the
// fakes of agentruntime/testing. Both are tested with the same test data.
import type { Widget } from "../generated/events.js"
import { fieldsOf, fieldType, propertyOf, type Field, type Fields } from "./fields.js"
import { isObject, plainCopy, printable } from "./plain.js"

type Values = Record<string, unknown>

/** The parsed content of a widget. */
export interface Content {
  /** Undefined when the text has no structure. */
  readonly values: Values | undefined
  /** "" when the content was an object or an array. */
  readonly text: string
  /** For values parsed from lines: the texts of the items of each list, by its key. */
  readonly items?: ReadonlyMap<string, readonly string[]>
}

/** Reads the content of a widget: an object as it is, an array as its `items`, a text as JSON or as lines. */
export function parseContent(content: unknown): Content {
  if (typeof content !== "string") return { values: valuesOf(content), text: "" }
  const plain = withoutFence(content.trim())
  const values = looksLikeJson(plain) ? parsed(plain) : undefined
  if (values) return { values, text: content }
  const lines = new LineParser()
  const structured = plain.split("\n").every((line) => line.trim() === "" || lines.take(line)) && lines.values.size > 0
  return structured ? { values: valuesOf(lines.result()), items: lines.items, text: content } : { values: undefined, text: content }
}

/** Whether it begins like JSON, but can't be parsed. */
export const isBroken = ({ values, text }: Content): boolean => values === undefined && looksLikeJson(text)

const looksLikeJson = (text: string): boolean => /^[{[]/.test(withoutFence(text.trim()))

function valuesOf(value: unknown): Values | undefined {
  const clean = plainCopy(value)
  return Array.isArray(clean) ? { items: clean } : isObject(clean) ? clean : undefined
}

function parsed(text: string): Values | undefined {
  try {
    return valuesOf(JSON.parse(text))
  } catch {
    return undefined
  }
}

function withoutFence(text: string): string {
  if (!text.startsWith("```")) return text
  const end = text.indexOf("\n") // behind the name of the language
  return end < 0 ? "" : text.slice(end + 1).trim().replace(/```$/, "").trim()
}

/** Reads "key: value" lines with one level of lists, whose items are values or such lines. */
class LineParser {
  readonly values = new Map<string, unknown>()
  readonly items = new Map<string, string[]>()
  #key = "" // the key whose list may follow
  #dash = 0 // the indentation of that list
  #item: Map<string, unknown> | undefined

  take(line: string): boolean {
    const text = line.trim()
    const indent = line.length - line.replace(/^[ \t]+/, "").length
    const item = /^-(?:[ \t]+(.*))?$/s.exec(text)
    if (item) return this.#listItem(indent, (item[1] ?? "").trim())
    const pair = pairOf(text)
    if (!pair) return false
    const [key, value] = pair
    if (this.#item && indent > this.#dash) {
      this.#item.set(key, scalar(value))
      return true
    }
    this.values.set(key, scalar(value))
    this.#key = value === "" ? key : ""
    this.#item = undefined
    return true
  }

  #listItem(indent: number, text: string): boolean {
    if (this.#key === "") {
      if (this.values.size > 0) return false // a list below a key that already has a value
      this.#key = "items"
    }
    let list = this.values.get(this.#key) as unknown[]
    if (!Array.isArray(list)) {
      this.#dash = indent
      this.values.set(this.#key, (list = []))
      this.items.set(this.#key, [])
    }
    if (indent !== this.#dash) return false // a list in a list
    const pair = pairOf(text)
    this.#item = pair && new Map([[pair[0], scalar(pair[1])]])
    list.push(this.#item ?? scalar(text))
    this.items.get(this.#key)!.push(text)
    return true
  }

  /** The values; an item that has lines of its own is an object. */
  result(): Values {
    const item = (value: unknown) => (value instanceof Map ? Object.fromEntries(value) : value)
    return Object.fromEntries(Array.from(this.values, ([key, value]) => [key, Array.isArray(value) ? value.map(item) : value]))
  }
}

/** Splits "key: value". A key is a single word, so that an address or a sentence with a colon is not taken for a pair. */
function pairOf(text: string): [key: string, value: string] | undefined {
  const [, key, value] = /^(\w[\w-]*):(|[ \t].*)$/s.exec(text) ?? []
  return key === undefined ? undefined : [key, value!.trim()]
}

/** Converts a text to the value that it denotes; a number with too many digits to be exact stays a text, as an id. */
function scalar(text: string): unknown {
  if (text === "true" || text === "false") return text === "true"
  if (text === "null") return null
  const quoted = /^(["'])(.*)\1$/s.exec(text)
  if (quoted) return quoted[2]
  return /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text) && text.replace(/\D/g, "").length <= 15 ? Number(text) : text
}

/** Reads values by alternative key names; `hit` records whether any of the keys was present. */
class Body {
  hit = false
  readonly #values: Values
  readonly #items: Content["items"]

  constructor(values: Values, items?: Content["items"]) {
    this.#values = values
    this.#items = items
  }

  get(...keys: string[]): unknown {
    for (const key of keys) {
      if (!Object.hasOwn(this.#values, key)) continue
      this.hit = true
      if (this.#values[key] != null) return this.#values[key]
    }
    return undefined
  }

  text = (...keys: string[]): string => keys.map((key) => textOf(this.get(key))).find((text) => text !== "") ?? ""

  list(...keys: string[]): unknown[] {
    const value = this.get(...keys)
    return value === undefined ? [] : Array.isArray(value) ? value : [value]
  }

  /** The text of the line of an item of a list that was read from lines. */
  line = (at: number, ...keys: string[]): string => this.#items?.get(keys.find((key) => this.#values[key] != null) ?? "")?.[at] ?? ""

  texts(fields: string[], ...keys: string[]): string[] {
    return this.list(...keys).map((item, at) => {
      if (!isObject(item)) return textOf(item)
      const object = new Body(item)
      const text = object.text(...fields)
      return object.hit ? text : this.line(at, ...keys)
    }).filter((text) => text !== "")
  }

  /** What the fields of the items are. */
  items(fields: Fields, ...keys: string[]): object[] {
    return this.list(...keys).filter(isObject).flatMap((values) => {
      const item = new Body(values)
      const made = item.read(fields)
      return item.hit ? [made] : []
    })
  }

  /** The first address that is safe as a link; with `web` it must be absolute, http or https. */
  link(web: boolean, ...keys: string[]): string {
    return keys.map((key) => this.get(key)).map((value) => (typeof value === "string" ? value.trim() : "")).find((text) => {
      if (text === "" || printable(text) !== text || /[\t\n\r]/.test(text)) return false
      const scheme = /^([a-z][a-z\d+.-]*):/i.exec(text)?.[1]?.toLowerCase()
      if (web ? !/^https?$/.test(scheme ?? "") : scheme !== undefined && !["http", "https", "mailto", "tel"].includes(scheme)) return false
      return URL.canParse(text, "https://a.example")
    }) ?? ""
  }

  number(...keys: string[]): number | undefined {
    return keys.map((key) => this.get(key)).map((value) => (typeof value === "string" ? scalar(value) : value)).find((value) => typeof value === "number")
  }

  seconds(...keys: string[]): number {
    const number = this.number(...keys)
    if (number !== undefined) return Math.max(number, 0)
    const parts = this.text(...keys).split(":")
    return parts.every((part) => /^\d{1,5}$/.test(part)) ? parts.reduce((total, part) => total * 60 + Number(part), 0) : 0
  }

  /** The fields that have a value. */
  read(fields: Fields): object {
    return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, this.#field(field)]).filter(([, value]) => value !== undefined))
  }

  #field(field: Field): unknown {
    const { kind, names } = field
    switch (kind) {
      case "text": return this.text(...names) || undefined
      case "neededText": return this.text(...names)
      case "type": return fieldType(this.text(...names))
      case "link": return this.link(false, ...names) || undefined
      case "webLink": return this.link(true, ...names) || undefined
      case "seconds": return this.seconds(...names) || undefined
      case "number": return this.number(...names)
      case "flag": return this.get(...names) === true
      case "any": return this.get(...names)
      case "texts": return this.texts(field.itemNames, ...names)
      case "items": return this.items(field.fields, ...names)
    }
  }
}

const textOf = (value: unknown): string =>
  typeof value === "string" ? printable(value.trim()) : typeof value === "number" || typeof value === "boolean" ? String(value) : ""

type GradedOption = NonNullable<Widget["gradedQuestion"]>["options"][number]

function gradedOptions(b: Body): GradedOption[] {
  const keys = ["options", "choices", "answers", "items"]
  const options = b.list(...keys).map((value, at) => {
    if (!isObject(value)) return { text: textOf(value), correct: false }
    const item = new Body(value)
    const feedback = item.text("feedback", "explanation")
    const option = { text: item.text("text", "label", "option", "answer"), correct: item.get("correct", "isCorrect", "is_correct") === true, ...(feedback !== "" && { feedback }) }
    return item.hit ? option : { ...option, text: b.line(at, ...keys) }
  }).filter(({ text }) => text !== "")
  // The correct ones may be named beside the list, by their texts or by their places from 0.
  const correct = new Set(b.list("correct", "correctAnswers", "correct_answers", "correctAnswer", "correct_answer", "answer").map((value) => {
    const named = options.findIndex(({ text }) => text.toLowerCase() === textOf(value).toLowerCase())
    return named < 0 ? value : named
  }))
  return options.map((option, at) => (correct.has(at) ? { ...option, correct: true } : option))
}

/** Makes a widget of its content; `runtime` is the name of the runtime without `-tool`. */
export function widgetOf(runtime: string, content: Content, more: Pick<Widget, "widgetName" | "speechId"> = {}): Widget {
  const widget = { runtime, ...more } as Widget
  const fields = Object.hasOwn(fieldsOf, runtime) ? fieldsOf[runtime] : undefined
  // A Markdown text may have lines like those of a structure.
  if (content.values && !(content.items && runtime === "markdown")) {
    const body = new Body(content.values, content.items)
    const made = fields && { ...body.read(fields), ...(runtime === "graded-question" && { options: gradedOptions(body) }) }
    if (body.hit) return { ...widget, [propertyOf(runtime)]: made }
    if (!content.items || !fields) return { ...widget, body: content.values } // otherwise the values are a sentence with a colon
  }
  if (runtime === "summary") return { ...widget, summary: { summary: content.text.trim(), bullets: [] } } as Widget
  if (runtime === "markdown") return { ...widget, markdown: { text: content.text.trim() } }
  return { ...widget, raw: content.text }
}
