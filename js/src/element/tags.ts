import type { attributes, AttributeValues, ElementProperties } from "./attributes.js"
import type { AgentLauncherEvents } from "./launcherelement.js"
import type { AgentElementEvents } from "./session.js"
import type { Mode } from "./state.js"

// What the tags take in the templates of a framework. jsx.ts, solid.ts, svelte.ts and vue.ts declare them there.

/** The values of attributes in a template, by the names of the properties. An array of modes would become the text "face,text" while the element is not defined. */
export type TagValues = { [Name in keyof AttributeValues]?: (Name extends "modes" ? Exclude<AttributeValues["modes"], readonly Mode[]> : AttributeValues[Name]) | undefined }

/** The same by the names of the attributes. */
export type TagAttributes = { [Name in keyof TagValues as (typeof attributes)[Name]]?: TagValues[Name] }

/** The properties without an attribute. A token as text is not among them: a page that is rendered on a server would have it in its HTML. */
export type TagProperties = { [Name in keyof ElementProperties]?: (Name extends "token" ? Exclude<ElementProperties[Name], string> : ElementProperties[Name]) | undefined }

/** What `<agent-launcher>` takes besides, as attributes and as properties. */
export interface LauncherProperties {
  open?: boolean | undefined
  position?: "end" | "start" | undefined
  greet?: string | undefined
}

/** The listeners for the events of an element, by the names that the template has for them. */
export type TagListeners<Events, Prefix extends string = "on"> = { [Name in keyof Events & string as `${Prefix}${Name}`]?: ((event: CustomEvent<Events[Name]>) => void) | undefined }

/** A tag with what is its own, and with what the framework gives every element besides. */
export type Tag<Own, Rest> = Own & Omit<Rest, keyof Own>

/** `<agent-avatar>` or `<agent-chat>` in a template that has attributes and listeners by the names of HTML. */
export type ElementTag<Rest, Prefix extends string = "on"> = Tag<TagAttributes & TagProperties & TagListeners<AgentElementEvents, Prefix>, Rest>

/** The same of `<agent-launcher>`. */
export type LauncherTag<Rest, Prefix extends string = "on"> = Tag<TagAttributes & TagProperties & TagListeners<AgentLauncherEvents, Prefix> & LauncherProperties, Rest>
