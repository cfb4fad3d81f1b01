/** agentruntime/solid: the types of `<agent-avatar>`, `<agent-chat>` and `<agent-launcher>` in TSX of Solid 1 (docs/elements.md). */
import type { JSX } from "solid-js"
import type { AgentAvatarElement, AgentChatElement, AgentElementEvents } from "./element.js"
import type { AgentLauncherElement, AgentLauncherEvents } from "./launcher.js"
import type { LauncherTag, TagAttributes, TagListeners, TagProperties } from "./element/tags.js"

type OwnOf<Events> = TagAttributes & TagProperties & TagListeners<Events, "on:">
type Own = OwnOf<AgentElementEvents>
type OwnOfLauncher = OwnOf<AgentLauncherEvents> & LauncherTag

/** The attributes, properties and listeners of a tag in Solid. */
export type AgentTag<Element> = Own & Omit<JSX.HTMLAttributes<Element>, keyof Own>

/** The same of `<agent-launcher>`. */
export type AgentLauncherTag = OwnOfLauncher & Omit<JSX.HTMLAttributes<AgentLauncherElement>, keyof OwnOfLauncher>

declare module "solid-js" {
  namespace JSX {
    interface IntrinsicElements {
      "agent-avatar": AgentTag<AgentAvatarElement>
      "agent-chat": AgentTag<AgentChatElement>
      "agent-launcher": AgentLauncherTag
    }
  }
}
