import type { Token } from "../core/inputs.js"
import type { AppInitResult } from "../session/appinit.js"
import type { Source } from "../session/source.js"
import type { Texts } from "../ui/dom.js"
import type { Labels } from "./labels.js"
import type { SessionOptions } from "./session.js"
import type { Mode, Said } from "./state.js"

/** The attributes that are an option of the session, by the option's name. */
export const sessionAttributes = {
  kickoff: "kickoff",
  threadId: "thread-id",
  contextId: "context-id",
  contextType: "context-type",
  region: "region",
  genieUrl: "genie-url",
  idleTimeoutMs: "idle-timeout-ms",
} as const

/** Those whose option is a number; the attribute has its digits. */
export type NumberName = { [Name in keyof typeof sessionAttributes]: SessionOptions[Name] extends number | undefined ? Name : never }[keyof typeof sessionAttributes]

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
export const values = {
  preload: ["none", "hover", "visible", "auto"],
  microphone: ["start", "click", "none"],
  captions: ["on", "off"],
  background: ["opaque", "transparent"],
} as const

/** The modes of an element: one, or both with the one to begin with first. */
export type Modes = Mode | "face text" | "text face" | readonly Mode[]

/** The types of the attributes' values, by the names of the properties. */
export type AttributeValues = {
  [Name in keyof typeof attributes]: Name extends keyof typeof values ? (typeof values)[Name][number] : Name extends "modes" ? Modes : Name extends "muted" ? boolean : Name extends NumberName ? `${number}` : string
}

/** The properties that reflect attributes: their text, or null. Setting null removes the attribute. */
export type AttributeProperties = { [Name in Exclude<keyof typeof attributes, "muted" | "modes">]: AttributeValues[Name] | null } & {
  muted: boolean
  get modes(): string | null
  /** An array is joined to a text. */
  set modes(modes: Modes | null)
}

/** The properties of an element without an attribute. */
export interface ElementProperties {
  /** The token for `appInit`, when the page has one of its own for the visitor. */
  get token(): Source<Token> | undefined
  set token(token: Source<Token> | undefined)
  /** The reply of `appInit`, when the page's server has requested it. */
  get init(): Source<AppInitResult> | undefined
  set init(init: Source<AppInitResult> | undefined)
  /** Further options of the session (docs/options.md), for the next start. They take precedence over attributes. */
  get options(): SessionOptions
  set options(options: SessionOptions | undefined)
  /** Texts that replace those of the page's language; those of a launcher itself are in `launcher`. */
  get labels(): Texts<Labels>
  set labels(labels: Texts<Labels> | undefined)
  /** Questions that are offered before the first message; one that is chosen is sent. */
  get suggestions(): readonly string[]
  set suggestions(suggestions: readonly string[] | undefined)
  /** What was said in the thread before, oldest first: it is in the log from the next start on. */
  get history(): readonly Said[]
  set history(history: readonly Said[] | undefined)
}

/** Their values until the page sets one, or when it takes one back. */
const unset = (): ElementProperties => ({ token: undefined, init: undefined, options: {}, labels: {}, suggestions: [], history: [] })
/** The names of the properties without an attribute. */
export const properties = Object.keys(unset()) as (keyof ElementProperties)[]

/** The words of an attribute, without repetitions. */
export const words = (text: string | null): string[] | undefined => (text === null ? undefined : [...new Set(text.split(/\s+/).filter(Boolean))])

/** The language of an element: that of the nearest `lang`, its own first, also around a shadow tree. */
export function languageOf(element: Element): string {
  const near = element.closest<HTMLElement>("[lang]")
  if (near) return near.lang
  const { host } = element.getRootNode() as Partial<ShadowRoot>
  return host ? languageOf(host) : ""
}

/** The text of an attribute's value; that of an array has its words. */
export const textOf = (value: unknown): string => [value].flat().join(" ")

/** Sets again the properties that a page set before the element was defined, when they became plain fields: those of all elements, and others. */
export function upgrade(element: HTMLElement, others: readonly string[] = []): void {
  const fields = element as unknown as Record<string, unknown>
  for (const name of [...Object.keys(attributes), ...properties, ...others]) {
    if (!Object.hasOwn(fields, name)) continue
    const value = fields[name]
    delete fields[name]
    fields[name] = value
  }
}

/** An element with the attributes as properties, and with the properties without an attribute. */
export interface WithProperties extends HTMLElement, AttributeProperties, ElementProperties {
  /** @internal Called after the page has set a property without an attribute. */
  onProperty(name: keyof ElementProperties, before: unknown, set: unknown): void
}

/** Adds the properties of all elements to a class, and those of more attributes. */
export function withProperties(Base: typeof HTMLElement, more: Readonly<Record<string, string>> = {}): new () => WithProperties {
  abstract class Element extends Base {
    readonly #properties = unset()

    static {
      for (const [name, attribute] of Object.entries({ ...attributes, ...more })) {
        Object.defineProperty(this.prototype, name, {
          configurable: true,
          enumerable: true,
          get(this: Element) {
            return name === "muted" ? this.hasAttribute(attribute) : this.getAttribute(attribute)
          },
          set(this: Element, value: unknown) {
            // React sets the property of an element that is defined to the text of the attribute.
            if (name === "muted") this.toggleAttribute(attribute, value === "" || Boolean(value))
            else if (value == null) this.removeAttribute(attribute)
            else this.setAttribute(attribute, textOf(value))
          },
        })
      }
      for (const name of properties) {
        Object.defineProperty(this.prototype, name, {
          configurable: true,
          get(this: Element) {
            return this.#properties[name]
          },
          set(this: Element, value: never) {
            const before = this.#properties[name]
            this.#properties[name] = value || unset()[name] // an empty text is how Preact takes a property back
            this.onProperty(name, before, value)
          },
        })
      }
    }

    abstract onProperty(name: keyof ElementProperties, before: unknown, set: unknown): void
  }
  return Element as never
}
