/**
 * agentruntime: a live, talking AI agent in a page.
 *
 * Importing this module has no side effects and works without a window, for rendering
 * on a server. A page without an avatar imports `agentruntime/chat`.
 */
export type { AgentOptions, AgentSettings } from "./agentoptions.js"
export { AgentSession, type AgentSessionEvents, type SendOptions, type TransportChange } from "./agentsession.js"
export { AvatarSession, type Device } from "./avatar.js"
export type { AgentAction, AvatarOptions, AvatarSettings, SendInfo, TimeoutName } from "./avataroptions.js"
export * from "./chat.js"
export { appInit, load, type LoadOptions } from "./full.js"
