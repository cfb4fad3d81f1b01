/**
 * agentruntime/react: sessions as hooks, and the elements as components (docs/react.md).
 * Importing it has no side effects, also on a server.
 */
export { AgentAvatar, AgentChat, type AgentAvatarProps, type AgentChatProps } from "./react/components.js"
export {
  useAgentSession,
  useAvatarSession,
  useChatSession,
  type AgentHook,
  type AgentHookOptions,
  type AvatarHook,
  type AvatarHookOptions,
  type ChatHook,
  type ChatHookOptions,
} from "./react/hooks.js"
export type { AgentTag } from "./jsx.js" // with it, TSX knows the tags
export type { Actions, Place, Snapshot } from "./react/store.js"
export type { Source } from "./source.js"
