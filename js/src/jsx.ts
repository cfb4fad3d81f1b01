/**
 * agentruntime/jsx: the types of `<agent-avatar>`, `<agent-chat>` and `<agent-launcher>` in TSX of React 18 or
 * later (docs/react.md). `agentruntime/react` has them too.
 */
import type { DetailedHTMLProps, HTMLAttributes } from "react"
import type { AgentAvatarElement, AgentChatElement } from "./element.js"
import type { AgentLauncherElement } from "./launcher.js"
import type { ElementTag, LauncherTag } from "./element/tags.js"

type Rest<Element extends EventTarget> = DetailedHTMLProps<HTMLAttributes<Element>, Element> & { class?: string | undefined }

/** The attributes and properties of a tag in TSX. React 19 sets properties, and listens to an event `x` with `onx`; React 18 sets attributes only. */
export type AgentTag<Element extends EventTarget> = ElementTag<Rest<Element>>

/** The same of `<agent-launcher>`. */
export type AgentLauncherTag = LauncherTag<Rest<AgentLauncherElement>>

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "agent-avatar": AgentTag<AgentAvatarElement>
      "agent-chat": AgentTag<AgentChatElement>
      "agent-launcher": AgentLauncherTag
    }
  }
}
