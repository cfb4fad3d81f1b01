/**
 * agentruntime/jsx: the types of `<agent-avatar>` and `<agent-chat>` in TSX of React 18 or
 * later (docs/react.md). `agentruntime/react` has them too.
 */
import type { DetailedHTMLProps, HTMLAttributes } from "react"
import type { AgentAvatarElement, AgentChatElement, AgentElementEvents } from "./element.js"
import type { TagAttributes, TagListener, TagProperties } from "./element/tags.js"

type Own = TagAttributes & TagProperties & { [Name in keyof AgentElementEvents as `on${Name}`]?: TagListener<Name> | undefined } & { class?: string | undefined }

/** The attributes and properties of a tag in TSX. React 19 sets properties, and listens to an event `x` with `onx`; React 18 sets attributes only. */
export type AgentTag<Element> = Own & Omit<DetailedHTMLProps<HTMLAttributes<Element>, Element>, keyof Own>

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "agent-avatar": AgentTag<AgentAvatarElement>
      "agent-chat": AgentTag<AgentChatElement>
    }
  }
}
