import { localError, messageOf, untilAborted } from "./errors.js"
import { node, type Node } from "./node.js"
import { start, type Holdings, type Program, type ProgramFile, type ProgramName } from "./program.js"
import { isChromium, warmUp, warmUpWhenIdle, warmUpWorker } from "./warmup.js"

/** Options of `load`. */
export interface LoadOptions {
  /**
   * Where the first part of the program is served, or a `file:` URL in Node.js. Default: next to this module. The second part
   * is looked for beside it, under the name that it has in the package, and then next to this module.
   */
  wasmUrl?: string | URL | undefined
  /** The first part as a compiled module, for pages that fetch or cache it themselves, and for servers without `fs`. */
  wasmModule?: WebAssembly.Module | undefined
  /** Called once when the Go program ends: with 0 after `dispose()`, another code after a crash. */
  onExit?: ((code: number) => void) | undefined
  /** Stops waiting; the load itself continues for other callers. */
  signal?: AbortSignal | undefined
}

/** The program without media. The other is declared in full.ts, so that bundlers don't copy its file for pages without an avatar. */
const chat: ProgramFile = {
  program: "chat",
  name: "chat.wasm",
  requiredExport: "chatSession",
  // The literal form is what bundlers look for, to copy the file.
  url: () => new URL("./chat.wasm", import.meta.url),
  rest: () => new URL("./chat.rest.wasm", import.meta.url), // its name has a checksum, see build.mjs
  globals: ["WebAssembly"], // it runs in a worker and in Node.js too
}

/** Returns a program for calls that need no media. */
export const chatProgram = (options?: LoadOptions): Promise<Program> => program("chat", chat, options)

// One of each for all importers of this module.
const current: Record<ProgramName, Promise<Program> | undefined> = { full: undefined, chat: undefined }

/** How many programs are being downloaded and started. */
let opening = 0

/** Whether a program is being downloaded or started. */
export const isLoading = (): boolean => opening > 0

/** Aborts the downloads in progress. */
let downloads = new AbortController()

/**
 * Returns a program that can do what `need` names; loads file if there is none.
 *
 * Everything in the package follows one rule: AvatarSession and AgentSession need the
 * full program. Calls without media use a program that is loaded or loading, preferably
 * the full one; otherwise they load chat.wasm, except `appInit`, which loads the program
 * of the package entry that it is imported from.
 */
export function program(need: ProgramName, file: ProgramFile, options: LoadOptions = {}): Promise<Program> {
  const existing = current.full ?? (need === "chat" ? current.chat : undefined)
  return untilAborted(existing ?? adopt(open(file, options), file.program, options.onExit), options.signal)
}

/**
 * Ends the runtime and everything in it; pending calls reject with code `aborted`. The
 * promise resolves when it has ended. For hot module replacement:
 * `import.meta.hot?.dispose(dispose)`.
 */
export async function dispose(): Promise<void> {
  const loading = [current.full, current.chat]
  current.full = current.chat = undefined
  downloads.abort(localError("aborted", "the runtime was disposed"))
  downloads = new AbortController()
  await Promise.all(
    loading.map(async (loading) => {
      const program = await loading?.catch(() => undefined)
      program?.dispose()
      await program?.ended
    }),
  )
}

/** Loads the second parts of the programs that are running. */
export function loadRest(): void {
  for (const loading of [current.full, current.chat]) loading?.then((program) => program.loadRest()).catch(() => {})
}

/**
 * Counts what the runtime holds now, for tests and for detecting leaks in a page. All
 * counts are 0 when it is not loaded.
 */
export async function diagnostics(): Promise<Holdings> {
  const sum: Holdings = { sessions: 0, callbacks: 0, goroutines: 0 }
  for (const loading of [current.full, current.chat]) {
    const running = await loading?.catch(() => undefined)
    if (!running || running.end) continue
    const held = running.callSync((go) => go.holds())
    for (const key of ["sessions", "callbacks", "goroutines"] as const) sum[key] += held[key]
  }
  return sum
}

/** Makes a program that is being started the current one of its name. */
export function adopt(loading: Promise<Program>, name: ProgramName, onExit?: (code: number) => void): Promise<Program> {
  current[name] = loading
  const clear = () => {
    if (current[name] === loading) current[name] = undefined
  }
  loading.then(async (program) => {
    const code = await program.ended
    clear()
    onExit?.(code)
  }, clear)
  return loading
}

async function open(file: ProgramFile, { wasmUrl, wasmModule }: LoadOptions): Promise<Program> {
  const missing = file.globals.find((name) => !(name in globalThis))
  if (missing === "WebAssembly") throw localError("unsupported_browser", `${file.name} needs a browser with WebAssembly: ${missing} is not defined`)
  if (missing) throw localError("load_failed", `${file.name} needs a page: ${missing} is not defined. In Node.js and in workers import appInit and ChatSession from agentruntime/chat`)
  const worker = warmUpWorker()
  opening++
  try {
    const url = wasmUrl === undefined ? file.url() : absolute(wasmUrl)
    const module = wasmModule ?? (await compile(url, file.name, downloads.signal))
    if (worker) warmUp(worker, { module, file })
    const end = new AbortController() // dispose() does not abort it: the end of the program may need the second part
    const program = await start(module, file, (name) => ({
      // A page that names the first part has the second beside it, or leaves it to its bundler.
      urls: [...(wasmUrl === undefined ? [] : [new URL(name, url)]), file.rest()],
      fetch: (url) => compile(url, name, end.signal),
    }))
    void program.ended.then(() => end.abort(program.end))
    warmUpWhenIdle({ module, file }, () => !program.end && !program.used)
    // Node.js reads both parts from the disk, and can't wait for one within a call. Other browsers than Chromium call functions
    // that no profile has: in Firefox the viewer of a visitor who left soon was not released.
    if (url.protocol === "file:" || !("XMLHttpRequest" in globalThis) || !isChromium) await program.loadRest()
    return program
  } catch (reason) {
    worker?.terminate()
    throw reason
  } finally {
    opening--
  }
}

function absolute(url: string | URL): URL {
  try {
    return new URL(url, globalThis.document?.baseURI ?? globalThis.location?.href) // Node.js has neither
  } catch (cause) {
    throw localError("load_failed", "wasmUrl must be a URL", { cause })
  }
}

// The longest pause of a download, in ms. A slow network delivers data within it; a
// longer pause seldom ends.
const stallMs = 20_000

/**
 * Fetches and compiles the WebAssembly file at url; messages use name. Rejects with
 * the reason of signal when that is aborted, and when the download stalls.
 */
export async function compile(url: URL, name: string, signal: AbortSignal): Promise<WebAssembly.Module> {
  const files = url.protocol === "file:" ? node("fs") : undefined
  if (files) return compileFile(files, url)
  const download = new AbortController()
  const abort = () => download.abort(signal.reason)
  signal.addEventListener("abort", abort)
  const stalled = () =>
    download.abort(localError("load_failed", `${url.href} stopped coming: nothing for ${stallMs / 1000} seconds`, { retryable: true }))
  let timer = setTimeout(stalled, stallMs)
  /** Restarts the timer at each chunk, and stops it at the end. */
  const watch = async ({ body }: Response) => {
    const reader = body?.getReader()
    while (reader && !(await reader.read()).done) {
      clearTimeout(timer)
      timer = setTimeout(stalled, stallMs)
    }
    clearTimeout(timer)
  }
  // A page may replace fetch by one that ignores signals.
  const aborted = new Promise<never>((_, reject) => download.signal.addEventListener("abort", () => reject(download.signal.reason)))
  try {
    if (signal.aborted) abort()
    return await Promise.race([aborted, fetchModule(url, name, download.signal, watch)])
  } catch (reason) {
    download.abort(reason) // the rest is not needed
    throw reason
  } finally {
    clearTimeout(timer)
    signal.removeEventListener("abort", abort)
  }
}

/** Compiles a file on disk, which fetch of Node.js can't read. */
async function compileFile(files: Node["fs"], url: URL): Promise<WebAssembly.Module> {
  try {
    return await WebAssembly.compile(await files.promises.readFile(node("url")!.fileURLToPath(url.href)))
  } catch (cause) {
    throw localError("load_failed", `${url.href} cannot be read: ${messageOf(cause)}`, { cause })
  }
}

// compileStreaming accepts only this type, without parameters.
const wasmType = "application/wasm"

// Vite's development server moves modules away from the files beside them, and
// answers with the page's HTML for unknown paths.
const advice = 'Set the option wasmUrl to its address; with Vite, set optimizeDeps: { exclude: ["agentruntime"] }'

async function fetchModule(url: URL, name: string, signal: AbortSignal, watch: (copy: Response) => Promise<void>): Promise<WebAssembly.Module> {
  const failed = (what: string, more?: { cause?: unknown; status?: number; retryable?: boolean }) => localError("load_failed", `${url.href} ${what}`, more)
  let response: Response
  try {
    response = await fetch(url, { credentials: "same-origin", signal })
  } catch (cause) {
    throw failed(`cannot be fetched: ${messageOf(cause)}`, { cause, retryable: true })
  }
  const { status } = response
  if (!response.ok) throw failed(`cannot be fetched: HTTP ${status}; is ${name} served there? ${advice}`, { status, retryable: status >= 500 })
  const type = (response.headers.get("content-type") ?? "").trim().toLowerCase()
  // Watch a copy and compile the response itself, because browsers cache compiled code
  // by its URL. An error of the copy is also an error of the response.
  watch(response.clone()).catch(() => {})
  try {
    if (type === wasmType) return await WebAssembly.compileStreaming(response)
    return await WebAssembly.compile(await response.arrayBuffer())
  } catch (cause) {
    const why = messageOf(cause)
    // The messages of engines differ, but all mention the policy.
    if (/content security policy|\bcsp\b|unsafe-eval/i.test(why)) {
      throw localError("load_failed", `the page's Content Security Policy forbids WebAssembly: add 'wasm-unsafe-eval' to script-src (${why})`, { cause })
    }
    if (cause instanceof WebAssembly.CompileError) throw failed(`is not a WebAssembly file (its type is "${type}"): ${why}. ${advice}`, { cause })
    throw failed(`broke off: ${why}`, { cause, retryable: true })
  }
}
