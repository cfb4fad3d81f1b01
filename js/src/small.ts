import { requestInit, type AppInitOptions, type AppInitResult } from "./appinit.js"
import type { Program } from "./program.js"
import { program, type LoadOptions, type ProgramFile } from "./runtime.js"

/** The program without media. */
export const small: ProgramFile = {
  program: "chat",
  name: "chat.wasm",
  mark: "chatSession",
  // The literal form is what bundlers look for, to copy the file.
  url: () => new URL("./chat.wasm", import.meta.url),
}

/** A program for what needs no media. */
export const chatProgram = (options?: LoadOptions): Promise<Program> => program("chat", small, options)

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
