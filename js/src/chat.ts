/**
 * agentruntime/chat: the part of the package for pages without an avatar. It loads
 * chat.wasm, and never agentruntime.wasm.
 *
 * What it has in common with `agentruntime` is the same: classes, and the running
 * program, when a page imports both.
 */
import { requestInit, type AppInitOptions, type AppInitResult } from "./appinit.js"
import { chatProgram, type LoadOptions } from "./load.js"

export type { AppInitOptions, AppInitResult, AvatarPreview } from "./appinit.js"
export type { ChatOptions, ChatSettings, TurnOptions } from "./chatoptions.js"
export { ChatSession } from "./chatsession.js"
export type * from "./codes.js"
export { converse, converseOnce, type ConverseOnceOptions, type ConverseOptions, type ConverseSettings } from "./converse.js"
export { Emitter, type ListenOptions } from "./emitter.js"
export { AgentError, type AgentErrorFields } from "./errors.js"
export { FATAL_ERROR_CODES, SILENT_OPENING, SILENT_OPENING_LABEL } from "./events.js"
export type * from "./events.js"
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
export { diagnostics, dispose, type LoadOptions, type ProgramName } from "./load.js"
export type { Holdings } from "./program.js"
export { isSilentOpening, type ArgRule, type CallOptions, type Completion, type DisconnectOptions, type Session, type ToolAnswer } from "./session.js"
export * from "./visitor.js"

/** Version of this package; the WebAssembly files have the same. */
export const version: string = AGENTRUNTIME_VERSION

/**
 * Loads what this entry of the package needs, once per page: chat.wasm, unless the
 * page has the full runtime already. Further calls wait for the same load, and
 * their options other than `signal` change nothing. Every other call loads by
 * itself; calling `load` early saves that time, and is the place for options.
 * After a failure, and after the runtime has ended, the next call loads anew.
 *
 * Rejects with code `load_failed`, whose message names the address and the cause, or
 * `aborted` by signal or `dispose`.
 */
export async function load(options: LoadOptions = {}): Promise<void> {
  await chatProgram(options)
}

/** Asks the service what a session needs to connect. */
export function appInit(options: AppInitOptions): Promise<AppInitResult> {
  return requestInit(chatProgram, options)
}
