/**
 * agentruntime: a live, talking AI agent in a page.
 *
 * Importing this module does nothing yet; it works without a window too, for
 * rendering on a server.
 */
export { appInit, type AppInitOptions, type AppInitResult, type AvatarPreview } from "./appinit.js"
export { AgentError, type AgentErrorFields } from "./errors.js"
export { dispose, load, type LoadOptions } from "./runtime.js"

/** Version of this package; the WebAssembly file has the same. */
export const version: string = AGENTRUNTIME_VERSION
