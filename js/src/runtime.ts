import { untilAborted } from "./abort.js"
import { compile } from "./compile.js"
import { localError } from "./errors.js"
import { start, type Holdings, type Program } from "./program.js"

/** Options of `load`. */
export interface LoadOptions {
  /** Where agentruntime.wasm is served. Default: next to this module. */
  wasmUrl?: string | URL
  /** A compiled module, for pages that fetch it themselves or keep it over a reload. */
  wasmModule?: WebAssembly.Module
  /** Called once when the Go program ends; 0 after `dispose()`, else it crashed. */
  onExit?: (code: number) => void
  /** Ends the waiting; the loading itself goes on for others. */
  signal?: AbortSignal | undefined
}

// One program for everybody who uses this copy of the package.
let current: Promise<Program> | undefined

/**
 * Loads the runtime, once per page: further calls wait for the same load, and
 * their options other than `signal` change nothing. Every other call of this
 * package loads it by itself; calling `load` early saves that time, and is the
 * place for options. After a failure, and after the runtime has ended, the next
 * call loads it anew.
 *
 * Rejects with code `load_failed`; the message names the address and the cause.
 */
export async function load(options: LoadOptions = {}): Promise<void> {
  await program(options)
}

/** The running program, loaded if need be. */
export function program(options: LoadOptions = {}): Promise<Program> {
  const loading = current ?? boot(options)
  return untilAborted(loading, options.signal)
}

/**
 * Ends the runtime with everything that it holds; open calls reject with code
 * `aborted`. The promise resolves when it is gone. For a module that is replaced
 * while the page stays: `import.meta.hot?.dispose(dispose)`.
 */
export async function dispose(): Promise<void> {
  const loading = current
  current = undefined
  const program = await loading?.catch(() => undefined)
  program?.dispose()
  await program?.ended
}

/**
 * What the runtime holds now: for tests, and for a page that wants to see that
 * nothing stays behind. Nothing at all when it is not loaded.
 */
export async function diagnostics(): Promise<Holdings> {
  const running = await current?.catch(() => undefined)
  if (!running || running.end) return { sessions: 0, callbacks: 0, goroutines: 0 }
  return running.now((go) => go.holds())
}

function boot(options: LoadOptions): Promise<Program> {
  return adopt(open(options), options.onExit)
}

/** Takes a program that is being started as the one of this copy of the package. */
export function adopt(loading: Promise<Program>, onExit?: (code: number) => void): Promise<Program> {
  current = loading
  const forget = () => {
    if (current === loading) current = undefined
  }
  loading.then(async (program) => {
    const code = await program.ended
    forget()
    onExit?.(code)
  }, forget)
  return loading
}

async function open(options: LoadOptions): Promise<Program> {
  if (typeof window === "undefined" || typeof WebAssembly === "undefined") {
    throw localError("load_failed", "the runtime needs a page of a browser with WebAssembly: there is no window here")
  }
  return start(options.wasmModule ?? (await compile(wasmURL(options.wasmUrl))))
}

function wasmURL(given: string | URL | undefined): URL {
  // The literal form is what bundlers look for, to copy the file.
  if (given === undefined) return new URL("./agentruntime.wasm", import.meta.url)
  try {
    return new URL(given, document.baseURI)
  } catch (cause) {
    throw localError("load_failed", "wasmUrl is not a URL", { cause })
  }
}
