/**
 * agentruntime: a live, talking AI agent in a page.
 *
 * Importing this module does nothing yet; it works without a window too, for
 * rendering on a server. A page without an avatar imports `agentruntime/chat`.
 */
export type { AgentOptions, AgentSettings } from "./agentoptions.js"
export { AgentSession, type AgentSessionEvents, type TransportChange } from "./agentsession.js"
export { AvatarSession, type Device } from "./avatar.js"
export type { AgentAction, AvatarOptions, AvatarSettings, SendInfo, TimeoutName } from "./avataroptions.js"
export * from "./chat.js"
export { appInit, load, type LoadOptions } from "./full.js"
