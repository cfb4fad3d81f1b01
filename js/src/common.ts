/** What every entry of the package exports. */
export type { AppInitOptions, AppInitResult, AvatarPreview } from "./appinit.js"
export type { ChatOptions, ChatSettings, TurnOptions } from "./chatoptions.js"
export { ChatSession } from "./chatsession.js"
export type * from "./codes.js"
export { converse, converseOnce, type ConverseOnceOptions, type ConverseOptions, type ConverseSettings } from "./converse.js"
export { Emitter, type ListenOptions } from "./emitter.js"
export { AgentError, type AgentErrorFields } from "./errors.js"
export { FATAL_ERROR_CODES, SILENT_OPENING, SILENT_OPENING_LABEL } from "./events.js"
export type * from "./events.js"
export { isSilentOpening } from "./opening.js"
export type {
  AuditEvent,
  Capabilities,
  CapabilityName,
  CapabilityState,
  CompletionSettings,
  Place,
  Region,
  RequestVars,
  ResponseInfo,
  SessionSettings,
  Token,
  TokenKind,
  TurnCredentials,
  Unneeded,
  WithToken,
} from "./options.js"
export type { Holdings } from "./program.js"
export { diagnostics, dispose, type ProgramName } from "./runtime.js"
export type { ArgRule, CallOptions, Completion, DisconnectOptions, Session, ToolAnswer } from "./session.js"
export * from "./visitor.js"

/** Version of this package; the WebAssembly files have the same. */
export const version: string = AGENTRUNTIME_VERSION
