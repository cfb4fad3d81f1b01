import { localError } from "./errors.js"

// Browsers stream only this type, without parameters.
const wasmType = "application/wasm"

// How long a download may bring nothing, in ms. A bad network brings a piece now
// and then; one that brings none for so long seldom goes on.
const stallMs = 20_000

/**
 * Fetches and compiles the WebAssembly file at url, which messages call name.
 * Fails with the reason of signal when that is aborted, and when nothing comes.
 */
export async function compile(url: URL, name: string, signal: AbortSignal): Promise<WebAssembly.Module> {
  const download = new AbortController()
  const abort = () => download.abort(signal.reason)
  signal.addEventListener("abort", abort)
  const stall = new Stall(() => download.abort(stalled(url)))
  // A page's own fetch may know nothing of signals.
  const broken = new Promise<never>((_, reject) => download.signal.addEventListener("abort", () => reject(download.signal.reason)))
  try {
    if (signal.aborted) abort()
    return await Promise.race([broken, fetchModule(url, name, download.signal, stall)])
  } catch (reason) {
    download.abort(reason) // nobody reads the rest
    throw reason
  } finally {
    stall.stop()
    signal.removeEventListener("abort", abort)
  }
}

async function fetchModule(url: URL, name: string, signal: AbortSignal, stall: Stall): Promise<WebAssembly.Module> {
  const response = await request(url, name, signal)
  const type = (response.headers.get("content-type") ?? "").trim().toLowerCase()
  // A copy, because the response itself has the address by which browsers keep
  // what they compiled.
  void stall.watch(response.clone())
  try {
    if (type === wasmType) return await WebAssembly.compileStreaming(response)
    return await WebAssembly.compile(await response.arrayBuffer())
  } catch (cause) {
    throw compileError(url, type, cause)
  }
}

async function request(url: URL, name: string, signal: AbortSignal): Promise<Response> {
  let response: Response
  try {
    response = await fetch(url, { credentials: "same-origin", signal })
  } catch (cause) {
    throw localError("load_failed", `${url.href} cannot be fetched: ${text(cause)}`, { cause, retryable: true })
  }
  if (!response.ok) {
    throw localError("load_failed", `${url.href} cannot be fetched: HTTP ${response.status}; is ${name} served there? ${advice}`, {
      status: response.status,
      retryable: response.status >= 500,
    })
  }
  return response
}

/** Notices that a download stands still. */
class Stall {
  readonly #tell: () => void
  #timer: ReturnType<typeof setTimeout>

  constructor(tell: () => void) {
    this.#tell = tell
    this.#timer = setTimeout(tell, stallMs)
  }

  /** Waits anew with every piece, until the last. */
  async watch(copy: Response): Promise<void> {
    try {
      const reader = copy.body?.getReader()
      while (reader && !(await reader.read()).done) {
        this.stop()
        this.#timer = setTimeout(this.#tell, stallMs)
      }
    } catch {
      // Who reads the response itself hears of it.
    }
    this.stop()
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}

function stalled(url: URL): Error {
  return localError("load_failed", `${url.href} stopped coming: nothing for ${stallMs / 1000} seconds`, { retryable: true })
}

// Vite's development server moves modules away from the files beside them, and
// answers with the page where nothing is.
const advice = 'Say where it is with the option wasmUrl; with Vite, set optimizeDeps: { exclude: ["agentruntime"] }'

function compileError(url: URL, type: string, cause: unknown): Error {
  if (isPolicy(cause)) {
    return localError(
      "load_failed",
      `the page's Content Security Policy forbids WebAssembly: add 'wasm-unsafe-eval' to script-src (${text(cause)})`,
      { cause },
    )
  }
  if (cause instanceof WebAssembly.CompileError) {
    return localError("load_failed", `${url.href} is not a WebAssembly file (its type is "${type}"): ${text(cause)}. ${advice}`, { cause })
  }
  return localError("load_failed", `${url.href} broke off: ${text(cause)}`, { cause, retryable: true })
}

/** Each engine has its own words for a policy's refusal, but all name it. */
function isPolicy(cause: unknown): boolean {
  return /content security policy|\bcsp\b|unsafe-eval/i.test(text(cause))
}

/** The message of whatever was thrown. */
export function text(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
