/** What every entry of the package exports. */
export type { AppInitOptions, AppInitResult, AvatarPreview } from "./appinit.js"
export { Emitter, type ListenOptions } from "./emitter.js"
export { AgentError, type AgentErrorFields } from "./errors.js"
export { FATAL_ERROR_CODES, SILENT_OPENING, SILENT_OPENING_LABEL } from "./events.js"
export { isSilentOpening } from "./opening.js"
export type { Holdings } from "./program.js"
export { diagnostics, dispose, type ProgramName } from "./runtime.js"

/** Version of this package; the WebAssembly files have the same. */
export const version: string = AGENTRUNTIME_VERSION
