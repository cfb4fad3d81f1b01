/** agentruntime/solid: the types of `<agent-avatar>`, `<agent-chat>` and `<agent-launcher>` in TSX of Solid 1 (docs/elements.md). */
import type { JSX } from "solid-js"
import type { AgentAvatarElement, AgentChatElement } from "./element.js"
import type { AgentLauncherElement } from "./launcher.js"
import type { ElementTag, LauncherTag } from "./element/tags.js"

/** The attributes, properties and listeners of a tag in Solid. */
export type AgentTag<Element> = ElementTag<JSX.HTMLAttributes<Element>, "on:">

/** The same of `<agent-launcher>`. */
export type AgentLauncherTag = LauncherTag<JSX.HTMLAttributes<AgentLauncherElement>, "on:">

declare module "solid-js" {
  namespace JSX {
    interface IntrinsicElements {
      "agent-avatar": AgentTag<AgentAvatarElement>
      "agent-chat": AgentTag<AgentChatElement>
      "agent-launcher": AgentLauncherTag
    }
  }
}
