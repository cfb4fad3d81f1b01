import type { Go } from "agentruntime:glue"
import { AgentError, localError, messageOf } from "./errors.js"

/** What tools/wasm/link/split.mjs writes into a program that was split in two modules. */
interface Split {
  /** The same in both modules of a build. */
  readonly id: string
  /** The name of the second module's file; in the first module only. */
  readonly file?: string
}

/** The exports of the first module. */
interface FirstExports {
  readonly mem: WebAssembly.Memory
  readonly loaded: WebAssembly.Global
  readonly fixed: WebAssembly.Global
  resume(): void
  loop(): void
  getsp(): number
}

/** Where the second module comes from. */
export interface RestSource {
  /** Its addresses, of which one exists, the likeliest first. */
  readonly urls: readonly URL[]
  /** Downloads and compiles the file at an address. Rejects with `load_failed`. */
  fetch(url: URL): Promise<WebAssembly.Module>
}

/** A call from JavaScript that waits until the program can go on. */
interface Waiting {
  /** The event of wasm_exec.js; null for a timer. */
  readonly event: Event | null
  readonly settle: (result: unknown) => void
}

/** A call of a function of the program, as wasm_exec.js makes it. */
interface Event {
  result?: unknown
}

const sectionName = "go.split"

/** How long after a first failure a program that can't go on without the module tries to load it, and the pause after a failure, in ms. */
const persistMs = 10_000
const pauseMs = 500

/** Returns the split that a module is part of, undefined for a whole program. */
export function splitOf(module: WebAssembly.Module): Split | undefined {
  const [section] = WebAssembly.Module.customSections(module, sectionName)
  return section && (JSON.parse(new TextDecoder().decode(section)) as Split)
}

/**
 * The second module of a program. It is loaded when `load` is called, or when the program
 * calls one of its functions. Then the program leaves all its WebAssembly frames, as it
 * does when it waits for an event, and goes on when the module is there; what the page calls
 * meanwhile waits. Only where that is impossible, because the page needs a result at
 * once, the module is loaded synchronously.
 */
export class Rest {
  readonly #source: RestSource
  readonly #id: string
  #go!: Go
  #exports!: FirstExports
  #module: WebAssembly.Module | undefined
  #loading: Promise<void> | undefined
  /** How many calls from JavaScript are under way, one within the other. */
  #depth = 0
  /** The event of the innermost of them. */
  #event: Event | null = null
  /** How many calls need a result at once. */
  #sync = 0
  /** The program waits for the module. */
  #waits = false
  /** The next entry goes on with what waited, instead of handling an event. */
  #goesOn = false
  /** Why the program can't go on: a trap, whose cause is the error for the page. */
  #failure: WebAssembly.RuntimeError | undefined
  /** The event that was not handled yet when the program began to wait. */
  #pending: unknown
  readonly #queue: Waiting[] = []
  /** How often a function was called before the module was there. */
  misses = 0

  constructor(source: RestSource, { id }: Split) {
    this.#source = source
    this.#id = id
  }

  /** What the first module imports. */
  get imports(): WebAssembly.Imports {
    return { rest: { missing: () => this.#missing() } }
  }

  /** @internal Watches the calls between the page and an instance. Its events go through the present go._resume. */
  attach(go: Go, instance: WebAssembly.Instance): void {
    const exports = (this.#exports = instance.exports as unknown as FirstExports)
    this.#go = go
    const enter = go._resume
    // wasm_exec.js reads these three.
    const resume = () => {
      if (this.#failure) throw this.#failure
      const goesOn = this.#goesOn
      this.#goesOn = false
      if (goesOn) exports.loop()
      else exports.resume()
    }
    go._inst = { exports: { mem: exports.mem, getsp: exports.getsp, resume } }
    this.#enter = () => enter.call(go)
    go._resume = () => this.#resume()
    // wasm_exec.js would call the program again and again while a timer is not handled.
    const timers = go._scheduledTimeouts
    const { has } = timers
    timers.has = (id) => !this.#waits && has.call(timers, id)
  }

  #enter: () => void = () => {}

  /** Loads the module, unless it is there. Rejects with `load_failed`; the next call tries again. */
  load(): Promise<void> {
    return (this.#loading ??= this.#download().catch((reason: unknown) => {
      this.#loading = undefined
      throw reason
    }))
  }

  /** Makes a call whose result is needed at once. */
  callSync<T>(call: () => T): T {
    this.#sync++
    try {
      return call()
    } finally {
      this.#sync--
    }
  }

  /** Loads the module, again after failures that pass: the alternative is the end of every session in the page. */
  async #persist(): Promise<void> {
    let end: number | undefined // counted from the first failure: a download that stalls takes longer than that to fail
    for (;;) {
      try {
        return await this.load()
      } catch (reason) {
        const now = performance.now()
        if (!(reason instanceof AgentError && reason.retryable) || now > (end ??= now + persistMs)) throw reason
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }

  async #download(): Promise<void> {
    for (const [i, url] of this.#source.urls.entries()) {
      if (this.#module) break
      try {
        const module = await this.#source.fetch(url)
        this.#module ??= this.#checked(module, url) // unless it was loaded synchronously meanwhile
      } catch (reason) {
        if (i === this.#source.urls.length - 1) throw reason
      }
    }
    if (!this.#waits) this.#install()
  }

  #checked(module: WebAssembly.Module, url: URL): WebAssembly.Module {
    const id = splitOf(module)?.id
    if (id !== this.#id) throw localError("load_failed", `${url.href} is not of the same build as the first part of the program: deploy both together`)
    return module
  }

  /** Puts the functions of the module where the program finds them. */
  #install(): void {
    if (this.#exports.loaded.value || this.#go.exited) return
    new WebAssembly.Instance(this.#module!, { first: this.#exports as unknown as WebAssembly.ModuleImports })
    this.#exports.loaded.value = 1
  }

  /** The program has called a function of the module. Returns 1 if it must wait. */
  #missing(): number {
    if (!this.#module) this.misses++
    if (this.#module || !this.#mayWait()) {
      this.#loadSync()
      return 0
    }
    this.#waits = true
    this.#pending = this.#go._pendingEvent
    this.#persist().then(
      () => this.#goOn(),
      (reason: unknown) => this.#goOn(trapOf(reason)),
    )
    return 1
  }

  /** Whether the program can leave its frames now; the result of the call under way is then a promise. */
  #mayWait(): boolean {
    const event = this.#event
    if (this.#depth !== 1 || this.#exports.fixed.value) return false
    if (!event || "result" in event) return true
    if (this.#sync > 0) return false
    let settle: (result: unknown) => void
    const promise = new Promise((resolve) => (settle = resolve))
    Object.defineProperty(event, "result", { get: () => promise, set: (result) => settle(result), configurable: true })
    return true
  }

  /** Continues after a wait. */
  #goOn(failure?: WebAssembly.RuntimeError): void {
    if (!this.#waits) return
    this.#waits = false
    if (failure) this.#failure = failure
    else this.#install()
    this.#go._pendingEvent = this.#pending
    this.#call(null, true)
    while (this.#queue.length > 0 && !this.#go.exited) {
      const { event, settle } = this.#queue.shift()!
      delete event?.result
      this.#go._pendingEvent = event
      quietly(() => this.#call(event, false))
      settle(event?.result)
    }
  }

  /** An event for the program. */
  #resume(): void {
    const event = this.#go._pendingEvent as Event | null
    if (this.#waits && !this.#go.exited) {
      this.#go._pendingEvent = null
      if (!event || this.#sync === 0) {
        let settle: (result: unknown) => void = () => {}
        if (event) event.result = new Promise((resolve) => (settle = resolve))
        this.#queue.push({ event, settle })
        return
      }
      this.#loadSync()
      this.#goOn()
      if (this.#go.exited) return
      this.#go._pendingEvent = event
    }
    this.#call(event, false)
  }

  #call(event: Event | null, goesOn: boolean): void {
    const before = this.#event
    this.#depth++
    this.#event = event
    this.#goesOn = goesOn
    try {
      this.#enter()
    } finally {
      this.#depth--
      this.#event = before
    }
  }

  #loadSync(): void {
    let failure: unknown
    for (const url of this.#source.urls) {
      if (this.#module) break
      try {
        this.#module = this.#checked(new WebAssembly.Module(readSync(url)), url)
      } catch (cause) {
        failure = cause instanceof AgentError ? cause : localError("load_failed", `${url.href} cannot be fetched: ${messageOf(cause)}`, { cause, retryable: true })
      }
    }
    if (!this.#module) throw (this.#failure = trapOf(failure))
    this.#install()
  }
}

/**
 * Handles an event that has waited. The program may have removed its listener meanwhile;
 * Go then ignores the event, and would report an error that is none.
 */
function quietly(handle: () => void): void {
  const { error } = console
  console.error = (...args: unknown[]) => {
    if (args[0] !== "call to released function") error.apply(console, args)
  }
  try {
    handle()
  } finally {
    console.error = error
  }
}

/** Reads a file while the page waits. */
function readSync(url: URL): Uint8Array<ArrayBuffer> {
  const request = new XMLHttpRequest()
  request.open("GET", url, false)
  request.overrideMimeType("text/plain; charset=x-user-defined") // each character is a byte
  request.send()
  if (request.status !== 200) throw new Error(`HTTP ${request.status}`)
  const { responseText } = request
  const bytes = new Uint8Array(responseText.length) // Uint8Array.from takes seconds for megabytes
  for (let i = 0; i < bytes.length; i++) bytes[i] = responseText.charCodeAt(i)
  return bytes
}

/** An exception that ends a program whose second part is missing. */
function trapOf(reason: unknown): WebAssembly.RuntimeError {
  return Object.assign(new WebAssembly.RuntimeError(messageOf(reason)), { cause: reason })
}
