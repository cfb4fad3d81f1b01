import type { ProgramFile } from "./load.js"

/** How long a start waits for the worker, in ms. It takes a fifth of that on a desktop. */
const patienceMs = 1_000

/** The message to the worker. */
export interface WarmUp {
  readonly module: WebAssembly.Module
  readonly file: Pick<ProgramFile, "name" | "requiredExport">
}

/**
 * A worker in which a program starts and connects before it does so in the page
 * (warmupworker.ts). Chromium compiles a function at its first call, on the thread
 * that calls it, for all threads that have the module; so the page's own thread does
 * not have to. docs/architecture.md has what that saves.
 */
export class WarmUpWorker {
  readonly #worker: Worker
  /** Resolves when there is nothing more to wait for. */
  readonly #done: Promise<void>

  private constructor(worker: Worker) {
    this.#worker = worker
    this.#done = new Promise((resolve) => {
      worker.onmessage = () => resolve()
      worker.onerror = (event) => {
        event.preventDefault() // the program starts without
        resolve()
      }
    })
  }

  /** Starts a worker; undefined in other browsers, which compile programs in another way, and where workers are not allowed. */
  static start(): WarmUpWorker | undefined {
    const { userAgentData } = (globalThis.navigator ?? {}) as { userAgentData?: { brands: { brand: string }[] } } // Node.js 20 has none
    if (!userAgentData?.brands.some(({ brand }) => brand === "Chromium")) return undefined
    try {
      // The literal form is what bundlers look for, to copy the file.
      return new WarmUpWorker(new Worker(new URL("./warmupworker.js", import.meta.url), { type: "module" }))
    } catch {
      return undefined // the modules are of another origin
    }
  }

  /** Resolves when the program has started in the worker, or can't. */
  async run({ module, file: { name, requiredExport } }: WarmUp): Promise<void> {
    this.#worker.postMessage({ module, file: { name, requiredExport } })
    let timer
    await Promise.race([this.#done, new Promise<void>((resolve) => (timer = setTimeout(resolve, patienceMs)))])
    clearTimeout(timer)
  }

  /** Ends the worker, which otherwise ends by itself. */
  end(): void {
    this.#worker.terminate()
  }
}
