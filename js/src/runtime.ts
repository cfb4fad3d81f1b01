import { untilAborted } from "./abort.js"
import { compile } from "./compile.js"
import { localError } from "./errors.js"
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
  /** Its name, for messages. */
  readonly name: string
  /** Where it is unless the page says otherwise. */
  readonly url: () => URL
  /** An export by which the file is known. */
  readonly mark: keyof Exports
}

// One of each for everybody who uses this copy of the package.
const current: Record<ProgramName, Promise<Program> | undefined> = { full: undefined, chat: undefined }

/** Ends the downloads under way. */
let downloads = new AbortController()

/**
 * A program that can do what `need` names, running or being loaded; file is
 * loaded if there is none.
 *
 * The rule for the whole package: what needs the full program (AvatarSession,
 * AgentSession) runs in that one. What the small one can do runs in whichever is
 * there already, in the full one if both are; if none is, what belongs to texts
 * loads chat.wasm. `appInit` is for either: it loads what its entry of the
 * package is about.
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
 * What the runtime holds now: for tests, and for a page that wants to see that
 * nothing stays behind. Nothing at all when it is not loaded.
 */
export async function diagnostics(): Promise<Holdings> {
  const sum: Holdings = { sessions: 0, callbacks: 0, goroutines: 0 }
  for (const loading of [current.full, current.chat]) {
    const running = await loading?.catch(() => undefined)
    if (!running || running.end) continue
    const held = running.now((go) => go.holds())
    for (const key of ["sessions", "callbacks", "goroutines"] as const) sum[key] += held[key]
  }
  return sum
}

/** Takes a program that is being started as the one of its kind. */
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

// Texts can be worked on in a worker; media can't.
const needs: Record<ProgramName, string[]> = { full: ["document", "WebAssembly"], chat: ["location", "WebAssembly"] }

async function open(file: ProgramFile, options: LoadOptions): Promise<Program> {
  const missing = needs[file.program].find((name) => !(name in globalThis))
  if (missing) throw localError("load_failed", `${file.name} needs a page of a browser with WebAssembly: there is no ${missing} here`)
  return start(options.wasmModule ?? (await compile(wasmURL(file, options.wasmUrl), file.name, downloads.signal)), file)
}

function wasmURL(file: ProgramFile, given: string | URL | undefined): URL {
  if (given === undefined) return file.url()
  try {
    return new URL(given, typeof document === "undefined" ? location.href : document.baseURI)
  } catch (cause) {
    throw localError("load_failed", "wasmUrl is not a URL", { cause })
  }
}
