/**
 * agentruntime/chat: the part of the package for pages without an avatar. It loads
 * chat.wasm, and never agentruntime.wasm.
 *
 * In a page that also imports `agentruntime`, both have the same classes and the same
 * running program.
 */
import { requestInit, type AppInitOptions, type AppInitResult } from "./session/appinit.js"
import { chatProgram, type LoadOptions } from "./core/load.js"

export type { Answer } from "./session/ask.js"
export type { AppInitOptions, AppInitResult, AvatarPreview } from "./session/appinit.js"
export type { ChatOptions, ChatSettings, TurnOptions } from "./session/chatoptions.js"
export { ChatSession } from "./session/chatsession.js"
export type * from "./generated/codes.js"
export { converse, converseOnce, type ConverseOnceOptions, type ConverseOptions, type ConverseSettings } from "./session/converse.js"
export { Emitter, type ListenOptions } from "./core/emitter.js"
export { AgentError, type AgentErrorFields } from "./core/errors.js"
export { FATAL_ERROR_CODES, MIC_ERROR_CODES, SILENT_OPENING, SILENT_OPENING_LABEL } from "./generated/events.js"
export type * from "./generated/events.js"
export type {
  AuditActor,
  AuditEvent,
  Capabilities,
  CapabilityName,
  CapabilityState,
  CompletionSettings,
  Injected,
  Region,
  RequestVars,
  ResponseInfo,
  SessionSettings,
  Token,
  TokenKind,
  TurnCredentials,
  WithToken,
} from "./core/options.js"
export { diagnostics, dispose, type LoadOptions } from "./core/load.js"
export type { ProgramName } from "./core/program.js"
export { isSilentOpening } from "./session/opening.js"
export type { Holdings } from "./core/program.js"
export type { CallOptions } from "./core/signals.js"
export type { ArgRule, ArgsSchema, Completion, DisconnectOptions, Session, ToolAnswer, ToolArgs } from "./session/session.js"
export * from "./session/visitor.js"

/** Version of this package; the WebAssembly files have the same. */
export const version: string = AGENTRUNTIME_VERSION

/**
 * Loads chat.wasm, once per page, unless the page has loaded the full runtime.
 * Further calls wait for the same load and ignore options other than `signal`. Other
 * calls load by themselves; call `load` to load early or to set options. After a
 * failure, and after the runtime has ended, the next call loads again.
 *
 * Rejects with code `load_failed`, whose message names the address and the cause,
 * `unsupported_browser` without WebAssembly, or `aborted` by signal or `dispose`.
 */
export async function load(options: LoadOptions = {}): Promise<void> {
  await chatProgram(options)
}

/** Requests from the service what a session needs to connect. */
export function appInit(options: AppInitOptions): Promise<AppInitResult> {
  return requestInit(chatProgram, options)
}
