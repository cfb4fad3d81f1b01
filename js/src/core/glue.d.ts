/** The toolchain's wasm_exec.js, made into a module by build.mjs. */
declare module "agentruntime:glue" {
  interface Go {
    argv: string[]
    env: Record<string, string>
    importObject: WebAssembly.Imports
    exit: (code: number) => void
    exited: boolean
    run(instance: WebAssembly.Instance): Promise<void>
    _inst: unknown
    _resume: () => void
    _pendingEvent: unknown
    _values: unknown[]
    _scheduledTimeouts: Map<number, ReturnType<typeof setTimeout>>
  }

  /** Evaluates wasm_exec.js, and returns what it would define as globals in one object. */
  export function makeGlue(): { Go: new () => Go; fs: object; process: object; path: object }
}

/** Version of the package, set by build.mjs. */
declare const AGENTRUNTIME_VERSION: string

/** A style sheet as its text, read by build.mjs and the tests. */
declare module "*.css" {
  const text: string
  export default text
}
