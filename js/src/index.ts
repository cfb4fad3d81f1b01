/**
 * agentruntime: a live, talking AI agent in a page.
 *
 * Importing this module does nothing yet; it works without a window too, for
 * rendering on a server.
 */
export { appInit, type AppInitOptions, type AppInitResult, type AvatarPreview } from "./appinit.js"
export { AvatarSession, type ArgRule, type CallOptions, type Completion, type Device, type ToolAnswer } from "./avatar.js"
export { Emitter, type ListenOptions } from "./emitter.js"
export { AgentError, type AgentErrorFields } from "./errors.js"
export { FATAL_ERROR_CODES, SILENT_OPENING, SILENT_OPENING_LABEL } from "./events.js"
export type * from "./events.js"
export { isSilentOpening } from "./opening.js"
export type { AgentAction, AuditEvent, AvatarOptions, AvatarSettings, CapabilityName, CapabilityState, SendInfo, TimeoutName, Token } from "./options.js"
export type { Holdings } from "./program.js"
export { diagnostics, dispose, load, type LoadOptions } from "./runtime.js"

/** Version of this package; the WebAssembly file has the same. */
export const version: string = AGENTRUNTIME_VERSION
