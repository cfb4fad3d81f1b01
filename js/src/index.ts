/**
 * agentruntime: a live, talking AI agent in a page.
 *
 * Importing this module does nothing yet; it works without a window too, for
 * rendering on a server. A page without an avatar imports `agentruntime/chat`.
 */
export { AvatarSession, type ArgRule, type CallOptions, type Completion, type Device, type ToolAnswer } from "./avatar.js"
export * from "./common.js"
export type * from "./events.js"
export { appInit, load, type LoadOptions } from "./full.js"
export type { AgentAction, AuditEvent, AvatarOptions, AvatarSettings, CapabilityName, CapabilityState, SendInfo, TimeoutName, Token } from "./options.js"
