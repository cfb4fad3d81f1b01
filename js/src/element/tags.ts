import type { AppInitResult } from "../session/appinit.js"
import type { Token } from "../core/options.js"
import type { Source } from "../session/source.js"
import type { attributes, AttributeValues } from "./attributes.js"
import type { Texts } from "../ui/dom.js"
import type { Labels } from "./labels.js"
import type { SessionOptions } from "./session.js"
import type { Mode, Said } from "./state.js"

// What the tags take in the templates of a framework. jsx.ts, solid.ts, svelte.ts and vue.ts declare them there.

/** The values of attributes in a template, by the names of the properties. An array of modes would become the text "face,text" while the element is not defined. */
export type TagValues = { [Name in keyof AttributeValues]?: (Name extends "modes" ? Exclude<AttributeValues["modes"], readonly Mode[]> : AttributeValues[Name]) | undefined }

/** The same by the names of the attributes. */
export type TagAttributes = { [Name in keyof TagValues as (typeof attributes)[Name]]?: TagValues[Name] }

/** The properties without an attribute. A token as text is not among them: a page that is rendered on a server would have it in its HTML. */
export interface TagProperties {
  /** A function that returns a token for this visitor, or a promise of it. */
  token?: Exclude<Source<Token>, string> | undefined
  /** The reply of `appInit`, when a server has requested it. */
  init?: Source<AppInitResult> | undefined
  /** Further options of the session, for the next start. */
  options?: SessionOptions | undefined
  /** Texts that replace those of the page's language. */
  labels?: Texts<Labels> | undefined
  /** Questions that are offered before the first message. */
  suggestions?: readonly string[] | undefined
  /** What was said in the thread before, oldest first. */
  history?: readonly Said[] | undefined
}

/** What `<agent-launcher>` takes besides, as attributes and as properties. */
export interface LauncherTag {
  open?: boolean | undefined
  position?: "end" | "start" | undefined
  greet?: string | undefined
}

/** The listeners for the events of an element, by the names that the template has for them. */
export type TagListeners<Events, Prefix extends string = "on"> = { [Name in keyof Events & string as `${Prefix}${Name}`]?: ((event: CustomEvent<Events[Name]>) => void) | undefined }
