import type { ProgramFile } from "./load.js"

/** The message to the worker. */
export interface WarmUp {
  readonly module: WebAssembly.Module
  readonly file: Pick<ProgramFile, "name" | "requiredExport">
}

/**
 * Starts a worker in which a program can start and connect beside the page
 * (warmupworker.ts). Chromium compiles a function at its first call, on the thread
 * that calls it, for all threads that have the module; so the page's own thread does
 * not have to compile what the worker has called before. The page never waits for it.
 *
 * Returns undefined where it would not help: with two cores it competes with the page,
 * and other browsers compile programs in another way. Also where workers are not allowed.
 */
export function warmUpWorker(): Worker | undefined {
  const { userAgentData, hardwareConcurrency = 1 } = (globalThis.navigator ?? {}) as {
    userAgentData?: { brands: { brand: string }[] }
    hardwareConcurrency?: number
  } // Node.js 20 has none
  if (hardwareConcurrency <= 2 || !userAgentData?.brands.some(({ brand }) => brand === "Chromium")) return undefined
  try {
    // The literal form is what bundlers look for, to copy the file.
    const worker = new Worker(new URL("./warmupworker.js", import.meta.url), { type: "module" })
    worker.onerror = (event) => event.preventDefault() // nothing depends on it
    return worker
  } catch {
    return undefined // the modules are of another origin
  }
}

/** Has the worker start a program; it ends by itself. */
export function warmUp(worker: Worker, { module, file: { name, requiredExport } }: WarmUp): void {
  worker.postMessage({ module, file: { name, requiredExport } } satisfies WarmUp)
}
