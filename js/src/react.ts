/**
 * agentruntime/react: sessions as hooks, the elements as components, and the parts that are composed around a session (docs/react.md).
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
export { AgentState, type AgentStateProps } from "./react/parts/agentstate.js"
export { Composer, type ComposerProps } from "./react/parts/composer.js"
export { ControlBar, type ControlBarProps } from "./react/parts/controlbar.js"
export { DeviceSelect, type DeviceSelectProps } from "./react/parts/deviceselect.js"
export { Transcript, type TranscriptProps } from "./react/parts/transcriptview.js"
export { VoiceBars, type VoiceBarsProps } from "./react/parts/voicebars.js"
export type { AgentTag } from "./jsx.js" // with it, TSX has the types of the tags
export type { Actions, AgentSource, Snapshot } from "./react/store.js"
export type { Source } from "./session/source.js"
