/**
 * agentruntime: a live, talking AI agent in a page.
 *
 * Importing this module has no side effects and works without a window, for rendering
 * on a server. A page without an avatar imports `agentruntime/chat`.
 */
export type { AgentOptions, AgentSettings } from "./session/agentoptions.js"
export { AgentSession, type AgentSessionEvents, type SendOptions, type TransportChange } from "./session/agentsession.js"
export { AvatarSession, type Device } from "./session/avatar.js"
export type { AgentAction, AvatarOptions, AvatarSettings, SendInfo, TimeoutName } from "./session/avataroptions.js"
export * from "./chat.js"
export { appInit, load, type LoadOptions } from "./session/full.js"
