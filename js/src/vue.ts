/** agentruntime/vue: the types of `<agent-avatar>` and `<agent-chat>` in the templates of Vue 3.3 or later (docs/elements.md). */
import type { HTMLAttributes } from "vue"
import type { AgentElementEvents } from "./element.js"
import type { TagListener, TagProperties, TagValues } from "./element/tags.js"

type Own = TagValues & TagProperties & { [Name in keyof AgentElementEvents as `on${Capitalize<Name>}`]?: TagListener<Name> | undefined }

/** A tag as a component of Vue: its attributes by their names in camel case, its properties and listeners. */
export type AgentTag = new () => { $props: Own & Omit<HTMLAttributes, keyof Own> }

declare module "vue" {
  interface GlobalComponents {
    "agent-avatar": AgentTag
    "agent-chat": AgentTag
  }
}
