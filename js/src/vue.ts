/** agentruntime/vue: the types of `<agent-avatar>`, `<agent-chat>` and `<agent-launcher>` in the templates of Vue 3.3 or later (docs/elements.md). */
import type { HTMLAttributes } from "vue"
import type { AgentElementEvents } from "./element.js"
import type { AgentLauncherEvents } from "./launcher.js"
import type { LauncherTag, TagListener, TagProperties, TagValues } from "./element/tags.js"

type Own = TagValues & TagProperties & { [Name in keyof AgentElementEvents as `on${Capitalize<Name>}`]?: TagListener<Name> | undefined }

type OwnOfLauncher = TagValues &
  TagProperties &
  LauncherTag & { [Name in keyof AgentLauncherEvents as `on${Capitalize<Name>}`]?: ((event: CustomEvent<AgentLauncherEvents[Name]>) => void) | undefined }

/** A tag as a component of Vue: its attributes by their names in camel case, its properties and listeners. */
export type AgentTag = new () => { $props: Own & Omit<HTMLAttributes, keyof Own> }

/** The same of `<agent-launcher>`. */
export type AgentLauncherTag = new () => { $props: OwnOfLauncher & Omit<HTMLAttributes, keyof OwnOfLauncher> }

declare module "vue" {
  interface GlobalComponents {
    "agent-avatar": AgentTag
    "agent-chat": AgentTag
    "agent-launcher": AgentLauncherTag
  }
}
