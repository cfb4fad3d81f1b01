/** agentruntime/svelte: the types of `<agent-avatar>` and `<agent-chat>` in Svelte 4 or later (docs/elements.md). */
import type { HTMLAttributes } from "svelte/elements"
import type { AgentAvatarElement, AgentChatElement, AgentElementEvents } from "./element.js"
import type { TagAttributes, TagListener, TagProperties } from "./element/tags.js"

type Own = TagAttributes & TagProperties & { [Name in keyof AgentElementEvents as `on${Name}` | `on:${Name}`]?: TagListener<Name> | undefined }

/** The attributes, properties and listeners of a tag in Svelte. */
export type AgentTag<Element extends EventTarget> = Own & Omit<HTMLAttributes<Element>, keyof Own>

declare module "svelte/elements" {
  interface SvelteHTMLElements {
    "agent-avatar": AgentTag<AgentAvatarElement>
    "agent-chat": AgentTag<AgentChatElement>
  }
}
