import type { ProgramFile } from "./program.js"

/** The message to the worker. */
export interface WarmUp {
  readonly module: WebAssembly.Module
  readonly file: Pick<ProgramFile, "name" | "requiredExport">
}

/** How much later than the program the worker starts on two cores, in ms, unless the page has been idle before. */
const idleMs = 1000

const { userAgentData } = (globalThis.navigator ?? {}) as { userAgentData?: { brands: { brand: string }[] } } // Node.js 20 has none

/** Other browsers compile programs in another way. */
export const isChromium = userAgentData?.brands.some(({ brand }) => brand === "Chromium") ?? false

/**
 * Starts a worker in which a program can start and connect beside the page
 * (warmupworker.ts). Chromium compiles a function at its first call, on the thread
 * that calls it, for all threads that have the module; so the page's own thread does
 * not have to compile what the worker has called before. The page never waits for it.
 *
 * Returns undefined where it would not help: on two cores it competes with the start of
 * the page (see warmUpWhenIdle). Also where workers are not allowed.
 */
export function warmUpWorker(): Worker | undefined {
  return isChromium && navigator.hardwareConcurrency > 2 ? makeWorker() : undefined
}

/** On two cores: has a worker start a program once the page is idle, if no session needs the cores then. */
export function warmUpWhenIdle(message: WarmUp, isIdle: () => boolean): void {
  if (!isChromium || navigator.hardwareConcurrency > 2) return
  globalThis.requestIdleCallback?.( // a worker has none
    () => {
      const worker = isIdle() ? makeWorker() : undefined
      if (worker) warmUp(worker, message)
    },
    { timeout: idleMs },
  )
}

/** Has the worker start a program; it ends by itself. */
export function warmUp(worker: Worker, { module, file: { name, requiredExport } }: WarmUp): void {
  worker.postMessage({ module, file: { name, requiredExport } } satisfies WarmUp)
}

function makeWorker(): Worker | undefined {
  try {
    // The literal form is what bundlers look for, to copy the file.
    const worker = new Worker(new URL("./warmupworker.js", import.meta.url), { type: "module" })
    worker.onerror = (event) => event.preventDefault() // nothing depends on it
    return worker
  } catch {
    return undefined // the modules are of another origin
  }
}
