/** agentruntime/svelte: the types of `<agent-avatar>`, `<agent-chat>` and `<agent-launcher>` in Svelte 4 or later (docs/elements.md). */
import type { HTMLAttributes } from "svelte/elements"
import type { AgentAvatarElement, AgentChatElement, AgentElementEvents } from "./element.js"
import type { AgentLauncherElement, AgentLauncherEvents } from "./launcher.js"
import type { LauncherTag, TagAttributes, TagListeners, TagProperties } from "./element/tags.js"

type OwnOf<Events> = TagAttributes & TagProperties & TagListeners<Events, "on" | "on:">
type Own = OwnOf<AgentElementEvents>
type OwnOfLauncher = OwnOf<AgentLauncherEvents> & LauncherTag

/** The attributes, properties and listeners of a tag in Svelte. */
export type AgentTag<Element extends EventTarget> = Own & Omit<HTMLAttributes<Element>, keyof Own>

/** The same of `<agent-launcher>`. */
export type AgentLauncherTag = OwnOfLauncher & Omit<HTMLAttributes<AgentLauncherElement>, keyof OwnOfLauncher>

declare module "svelte/elements" {
  interface SvelteHTMLElements {
    "agent-avatar": AgentTag<AgentAvatarElement>
    "agent-chat": AgentTag<AgentChatElement>
    "agent-launcher": AgentLauncherTag
  }
}
