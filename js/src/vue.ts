/** agentruntime/vue: the types of `<agent-avatar>`, `<agent-chat>` and `<agent-launcher>` in the templates of Vue 3.3 or later (docs/elements.md). */
import type { HTMLAttributes } from "vue"
import type { AgentElementEvents } from "./element.js"
import type { AgentLauncherEvents } from "./launcher.js"
import type { LauncherProperties, Tag, TagListeners, TagProperties, TagValues } from "./element/tags.js"

type Own<Events> = TagValues & TagProperties & TagListeners<{ [Name in keyof Events & string as Capitalize<Name>]: Events[Name] }>

/** A tag as a component of Vue: its attributes by their names in camel case, its properties and listeners. */
export type AgentTag = new () => { $props: Tag<Own<AgentElementEvents>, HTMLAttributes> }

/** The same of `<agent-launcher>`. */
export type AgentLauncherTag = new () => { $props: Tag<Own<AgentLauncherEvents> & LauncherProperties, HTMLAttributes> }

declare module "vue" {
  interface GlobalComponents {
    "agent-avatar": AgentTag
    "agent-chat": AgentTag
    "agent-launcher": AgentLauncherTag
  }
}
