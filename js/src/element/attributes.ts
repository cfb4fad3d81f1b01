import { localError } from "../core/errors.js"
import type { Mode } from "./state.js"

/** The attributes that are an option of the session, by the option's name. */
export const sessionAttributes = {
  kickoff: "kickoff",
  threadId: "thread-id",
  contextId: "context-id",
  contextType: "context-type",
  region: "region",
  genieUrl: "genie-url",
} as const

/** The attributes of an element, by the name of the property that reflects each. */
export const attributes = {
  widgetId: "widget-id",
  modes: "modes",
  preload: "preload",
  poster: "poster",
  microphone: "microphone",
  captions: "captions",
  muted: "muted",
  background: "background",
  disclosure: "disclosure",
  agentName: "agent-name",
  greeting: "greeting",
  agenticUrl: "agentic-url",
  ovpUrl: "ovp-url",
  ...sessionAttributes,
} as const

/** The values of attributes that have only a few. */
const values = {
  preload: ["none", "hover", "visible", "auto"],
  microphone: ["start", "click", "none"],
  captions: ["on", "off"],
  background: ["opaque", "transparent"],
} as const
const modes: readonly string[] = ["face", "text"] satisfies Mode[]

/** The modes of an element: one, or both with the one to begin with first. */
export type Modes = Mode | "face text" | "text face" | readonly Mode[]

/** The types of the attributes' values, by the names of the properties. */
export type AttributeValues = {
  [Name in keyof typeof attributes]: Name extends keyof typeof values ? (typeof values)[Name][number] : Name extends "modes" ? Modes : Name extends "muted" ? boolean : string
}

/** The properties that reflect attributes: their text, or null. Setting null removes the attribute. */
export type AttributeProperties = { [Name in Exclude<keyof typeof attributes, "muted" | "modes">]: AttributeValues[Name] | null } & {
  muted: boolean
  get modes(): string | null
  /** An array is joined to a text. */
  set modes(modes: Modes | null)
}

/** Throws `bad_request` for an attribute with a value that it can't have. An empty one is as none: so Preact takes back what it has set. */
export function checkAttributes(element: HTMLElement): void {
  for (const [name, allowed] of Object.entries<readonly string[]>(values)) {
    const value = element.getAttribute(name)
    if (value && !allowed.includes(value)) throw wrong(name, `one of ${allowed.join(", ")}`, value)
  }
  const named = words(element.getAttribute("modes") || null)
  if (named && (named.length === 0 || !named.every((mode) => modes.includes(mode)))) throw wrong("modes", "face, text, or both", named.join(" "))
}

const wrong = (name: string, allowed: string, value: string) => localError("bad_request", `the attribute ${name} must be ${allowed}, and is ${JSON.stringify(value)}`)

/** The words of an attribute, without repetitions. */
export const words = (text: string | null): string[] | undefined => (text === null ? undefined : [...new Set(text.split(/\s+/).filter(Boolean))])

/** The language of an element: that of the nearest `lang`, its own first, also around a shadow tree. */
export function languageOf(element: Element): string {
  const near = element.closest<HTMLElement>("[lang]")
  if (near) return near.lang
  const { host } = element.getRootNode() as Partial<ShadowRoot>
  return host ? languageOf(host) : ""
}

/** The text of an attribute's value. */
export const textOf = (value: unknown): string => (Array.isArray(value) ? value.join(" ") : String(value))

/** Adds the properties of attributes to a class. */
export function reflect(prototype: HTMLElement, names: Readonly<Record<string, string>> = attributes): void {
  for (const [name, attribute] of Object.entries(names)) {
    Object.defineProperty(prototype, name, {
      configurable: true,
      enumerable: true,
      get(this: HTMLElement) {
        return name === "muted" ? this.hasAttribute(attribute) : this.getAttribute(attribute)
      },
      set(this: HTMLElement, value: unknown) {
        // React sets the property of an element that is defined to the text of the attribute.
        if (name === "muted") this.toggleAttribute(attribute, value === "" || Boolean(value))
        else if (value == null) this.removeAttribute(attribute)
        else this.setAttribute(attribute, textOf(value))
      },
    })
  }
}

/** Sets again the properties that a page set before the element was defined, when they became plain fields. */
export function upgrade(element: HTMLElement, names: readonly string[]): void {
  const fields = element as unknown as Record<string, unknown>
  for (const name of names) {
    if (!Object.hasOwn(fields, name)) continue
    const value = fields[name]
    delete fields[name]
    fields[name] = value
  }
}
