import { requestInit, type AppInitOptions, type AppInitResult } from "./appinit.js"
import { localError } from "../core/errors.js"
import { chatProgram, program, type LoadOptions as FileOptions } from "../core/load.js"
import type { Program, ProgramFile, ProgramName } from "../core/program.js"

/** The program with media. */
const full: ProgramFile = {
  program: "full",
  name: "agentruntime.wasm",
  requiredExport: "avatarSession",
  // The literal form is what bundlers look for, to copy the file.
  url: () => new URL("./agentruntime.wasm", import.meta.url),
  rest: () => new URL("./agentruntime.rest.wasm", import.meta.url), // its name has a checksum, see build.mjs
  globals: ["document", "WebAssembly"], // media needs a page, not a worker
}

/** The program for what needs media. */
export const fullProgram = (options?: FileOptions): Promise<Program> => program("full", full, options)

/** Options of `load`. */
export interface LoadOptions extends FileOptions {
  /**
   * `"full"` (default) for avatars, `"chat"` for text alone. The full program serves
   * both once it is loaded.
   */
  program?: ProgramName | undefined
}

/**
 * Loads the runtime, once per page: further calls wait for the same load and ignore
 * options other than `program` and `signal`. Other calls of this package load what
 * they need by themselves; call `load` to load early or to set options. After a
 * failure, and after the runtime has ended, the next call loads again.
 *
 * In Chromium, with more than two cores, the program also starts and connects in a worker
 * beside the page, without a network, so that the page's own thread need not compile what
 * the worker has called before.
 *
 * Rejects with code `load_failed`, whose message names the address and the cause,
 * `unsupported_browser` without WebAssembly, or `aborted` by signal or `dispose`.
 */
export async function load({ program = "full", ...options }: LoadOptions = {}): Promise<void> {
  if (program !== "full" && program !== "chat") throw localError("bad_request", `program must be "full" or "chat", got ${String(program)}`)
  if (program === "chat") return void (await chatProgram(options))
  await fullProgram(options)
}

/** Requests from the service what a session needs to connect. */
export function appInit(options: AppInitOptions): Promise<AppInitResult> {
  return requestInit((wait) => program("chat", full, wait), options)
}
