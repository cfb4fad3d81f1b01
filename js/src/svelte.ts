/** agentruntime/svelte: the types of `<agent-avatar>`, `<agent-chat>` and `<agent-launcher>` in Svelte 4 or later (docs/elements.md). */
import type { HTMLAttributes } from "svelte/elements"
import type { AgentAvatarElement, AgentChatElement, AgentElementEvents } from "./element.js"
import type { AgentLauncherElement, AgentLauncherEvents } from "./launcher.js"
import type { LauncherTag, TagAttributes, TagListener, TagProperties } from "./element/tags.js"

type Own = TagAttributes & TagProperties & { [Name in keyof AgentElementEvents as `on${Name}` | `on:${Name}`]?: TagListener<Name> | undefined }

type OwnOfLauncher = TagAttributes &
  TagProperties &
  LauncherTag & { [Name in keyof AgentLauncherEvents as `on${Name}` | `on:${Name}`]?: ((event: CustomEvent<AgentLauncherEvents[Name]>) => void) | undefined }

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
