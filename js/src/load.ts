import { localError, messageOf, untilAborted } from "./errors.js"
import { start, type Exports, type Holdings, type Program } from "./program.js"

/**
 * The package has two programs. `full` is agentruntime.wasm and can do
 * everything; `chat` is chat.wasm, smaller, without media and the control socket.
 */
export type ProgramName = "full" | "chat"

/** Options of `load`. */
export interface LoadOptions {
  /** Where the program's file is served. Default: next to this module. */
  wasmUrl?: string | URL
  /** A compiled module, for pages that fetch it themselves or keep it over a reload. */
  wasmModule?: WebAssembly.Module
  /** Called once when the Go program ends; 0 after `dispose()`, else it crashed. */
  onExit?: (code: number) => void
  /** Ends the waiting; the loading itself goes on for others. */
  signal?: AbortSignal | undefined
}

/** The file of a program. */
export interface ProgramFile {
  readonly program: ProgramName
  /** The file's name, for messages. */
  readonly name: string
  /** Where it is unless the page says otherwise. */
  readonly url: () => URL
  /** An export by which the file is recognized. */
  readonly mark: keyof Exports
  /** Global variables that the program needs. */
  readonly globals: readonly string[]
}

/** The program without media. That of the rest is in full.ts, so that pages without an avatar don't have its address. */
const chat: ProgramFile = {
  program: "chat",
  name: "chat.wasm",
  mark: "chatSession",
  // The literal form is what bundlers look for, to copy the file.
  url: () => new URL("./chat.wasm", import.meta.url),
  globals: ["location", "WebAssembly"], // it runs in a worker too
}

/** A program for what needs no media. */
export const chatProgram = (options?: LoadOptions): Promise<Program> => program("chat", chat, options)

// One of each for all users of this copy of the package.
const current: Record<ProgramName, Promise<Program> | undefined> = { full: undefined, chat: undefined }

/** Ends the downloads under way. */
let downloads = new AbortController()

/**
 * A program that can do what `need` names, running or being loaded; file is
 * loaded if there is none.
 *
 * The rule for the whole package: what needs the full program (AvatarSession,
 * AgentSession) runs in that one. What needs no media runs in whichever is there
 * already, in the full one if both are; if none is, what belongs to texts loads
 * chat.wasm. `appInit` loads the program of its entry of the package.
 */
export function program(need: ProgramName, file: ProgramFile, options: LoadOptions = {}): Promise<Program> {
  const there = current.full ?? (need === "chat" ? current.chat : undefined)
  return untilAborted(there ?? adopt(open(file, options), file.program, options.onExit), options.signal)
}

/**
 * Ends the runtime with everything that it holds; open calls reject with code
 * `aborted`. The promise resolves when it is gone. For a module that is replaced
 * while the page stays: `import.meta.hot?.dispose(dispose)`.
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

/**
 * What the runtime holds now: for tests, and for a page that checks that nothing
 * stays behind. All counts are 0 when it is not loaded.
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

/** Takes a program that is being started as the one of its name. */
export function adopt(loading: Promise<Program>, name: ProgramName, onExit?: (code: number) => void): Promise<Program> {
  current[name] = loading
  const forget = () => {
    if (current[name] === loading) current[name] = undefined
  }
  loading.then(async (program) => {
    const code = await program.ended
    forget()
    onExit?.(code)
  }, forget)
  return loading
}

async function open(file: ProgramFile, { wasmUrl, wasmModule }: LoadOptions): Promise<Program> {
  const missing = file.globals.find((name) => !(name in globalThis))
  if (missing) throw localError("load_failed", `${file.name} needs a page of a browser with WebAssembly: there is no ${missing} here`)
  return start(wasmModule ?? (await compile(wasmUrl === undefined ? file.url() : absolute(wasmUrl), file.name, downloads.signal)), file)
}

function absolute(url: string | URL): URL {
  try {
    return new URL(url, typeof document === "undefined" ? location.href : document.baseURI)
  } catch (cause) {
    throw localError("load_failed", "wasmUrl is not a URL", { cause })
  }
}

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
  const stalled = () =>
    download.abort(localError("load_failed", `${url.href} stopped coming: nothing for ${stallMs / 1000} seconds`, { retryable: true }))
  let timer = setTimeout(stalled, stallMs)
  /** Starts the timer anew with each piece, and stops it after the last. */
  const watch = async ({ body }: Response) => {
    const reader = body?.getReader()
    while (reader && !(await reader.read()).done) {
      clearTimeout(timer)
      timer = setTimeout(stalled, stallMs)
    }
    clearTimeout(timer)
  }
  // A page's own fetch may ignore signals.
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

// Browsers stream only this type, without parameters.
const wasmType = "application/wasm"

// Vite's development server moves modules away from the files beside them, and
// answers with the page where nothing is.
const advice = 'Say where it is with the option wasmUrl; with Vite, set optimizeDeps: { exclude: ["agentruntime"] }'

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
  // A copy, because the response itself has the address by which browsers keep
  // what they compiled. An error of the copy is one of the response too.
  watch(response.clone()).catch(() => {})
  try {
    if (type === wasmType) return await WebAssembly.compileStreaming(response)
    return await WebAssembly.compile(await response.arrayBuffer())
  } catch (cause) {
    const why = messageOf(cause)
    // Each engine has its own words for a policy's refusal, but all name it.
    if (/content security policy|\bcsp\b|unsafe-eval/i.test(why)) {
      throw localError("load_failed", `the page's Content Security Policy forbids WebAssembly: add 'wasm-unsafe-eval' to script-src (${why})`, { cause })
    }
    if (cause instanceof WebAssembly.CompileError) throw failed(`is not a WebAssembly file (its type is "${type}"): ${why}. ${advice}`, { cause })
    throw failed(`broke off: ${why}`, { cause, retryable: true })
  }
}
