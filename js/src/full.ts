import { requestInit, type AppInitOptions, type AppInitResult } from "./appinit.js"
import { localError } from "./errors.js"
import { chatProgram, program, type LoadOptions as FileOptions, type ProgramFile, type ProgramName } from "./load.js"
import type { Program } from "./program.js"

/** The program that can do everything. */
const full: ProgramFile = {
  program: "full",
  name: "agentruntime.wasm",
  mark: "avatarSession",
  // The literal form is what bundlers look for, to copy the file.
  url: () => new URL("./agentruntime.wasm", import.meta.url),
  globals: ["document", "WebAssembly"], // there is no media in a worker
}

/** The program for what needs media. */
export const fullProgram = (options?: FileOptions): Promise<Program> => program("full", full, options)

/** Options of `load`. */
export interface LoadOptions extends FileOptions {
  /**
   * What the page will need: `"full"` (default) for avatars, `"chat"` for text
   * alone, which is met by the full program too when that is there.
   */
  program?: ProgramName
}

/**
 * Loads the runtime, once per page: further calls wait for the same load, and
 * their options other than `program` and `signal` change nothing. Every other call
 * of this package loads by itself what it needs; calling `load` early saves that
 * time, and is the place for options. After a failure, and after the runtime has
 * ended, the next call loads it anew.
 *
 * Rejects with code `load_failed`, whose message names the address and the cause, or
 * `aborted` by signal or `dispose`.
 */
export async function load({ program = "full", ...options }: LoadOptions = {}): Promise<void> {
  if (program !== "full" && program !== "chat") throw localError("bad_request", `program must be "full" or "chat", got ${String(program)}`)
  await (program === "full" ? fullProgram : chatProgram)(options)
}

/** Asks the service what a session needs to connect. */
export function appInit(options: AppInitOptions): Promise<AppInitResult> {
  return requestInit((wait) => program("chat", full, wait), options)
}
