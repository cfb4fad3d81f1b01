/** agentruntime/svelte: the types of `<agent-avatar>`, `<agent-chat>` and `<agent-launcher>` in Svelte 4 or later (docs/elements.md). */
import type { HTMLAttributes } from "svelte/elements"
import type { AgentAvatarElement, AgentChatElement } from "./element.js"
import type { AgentLauncherElement } from "./launcher.js"
import type { ElementTag, LauncherTag } from "./element/tags.js"

/** The attributes, properties and listeners of a tag in Svelte. */
export type AgentTag<Element extends EventTarget> = ElementTag<HTMLAttributes<Element>, "on" | "on:">

/** The same of `<agent-launcher>`. */
export type AgentLauncherTag = LauncherTag<HTMLAttributes<AgentLauncherElement>, "on" | "on:">

declare module "svelte/elements" {
  interface SvelteHTMLElements {
    "agent-avatar": AgentTag<AgentAvatarElement>
    "agent-chat": AgentTag<AgentChatElement>
    "agent-launcher": AgentLauncherTag
  }
}
