/**
 * agentruntime/jsx: the types of `<agent-avatar>`, `<agent-chat>` and `<agent-launcher>` in TSX of React 18 or
 * later (docs/react.md). `agentruntime/react` has them too.
 */
import type { DetailedHTMLProps, HTMLAttributes } from "react"
import type { AgentAvatarElement, AgentChatElement, AgentElementEvents } from "./element.js"
import type { AgentLauncherElement, AgentLauncherEvents } from "./launcher.js"
import type { LauncherTag, TagAttributes, TagListeners, TagProperties } from "./element/tags.js"

type OwnOf<Events> = TagAttributes & TagProperties & TagListeners<Events> & { class?: string | undefined }
type Own = OwnOf<AgentElementEvents>
type OwnOfLauncher = OwnOf<AgentLauncherEvents> & LauncherTag

/** The attributes and properties of a tag in TSX. React 19 sets properties, and listens to an event `x` with `onx`; React 18 sets attributes only. */
export type AgentTag<Element extends EventTarget> = Own & Omit<DetailedHTMLProps<HTMLAttributes<Element>, Element>, keyof Own>

/** The same of `<agent-launcher>`. */
export type AgentLauncherTag = OwnOfLauncher & Omit<DetailedHTMLProps<HTMLAttributes<AgentLauncherElement>, AgentLauncherElement>, keyof OwnOfLauncher>

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "agent-avatar": AgentTag<AgentAvatarElement>
      "agent-chat": AgentTag<AgentChatElement>
      "agent-launcher": AgentLauncherTag
    }
  }
}
