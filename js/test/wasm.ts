import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after } from "node:test"
import { fileURLToPath } from "node:url"
import type { makeGlue } from "agentruntime:glue"

export const root = new URL("../../../", import.meta.url) // of the repository, seen from the bundled test

/** A directory that is removed when the tests have ended. */
export const directory = mkdtempSync(join(tmpdir(), "wasm-"))
after(() => rmSync(directory, { recursive: true }))

/** Builds a program for pages; its file stays in the directory. */
export function build(source: string, name = "main", ...flags: string[]): Buffer {
  const file = join(directory, `${name}.go`)
  const out = join(directory, `${name}.wasm`)
  writeFileSync(file, source)
  execFileSync(fileURLToPath(new URL("tools/wasm/env", root)), ["go", "build", ...flags, "-o", out, file])
  return readFileSync(out)
}

/** Runs a function with the globals that a program looks at while it starts; `host` is where it puts its exports. */
export function asPage<T>({ fs, process, path }: Omit<ReturnType<typeof makeGlue>, "Go">, host: object, run: () => T, more: Record<string, unknown> = {}): T {
  const globals = globalThis as unknown as Record<string, unknown>
  const before = Object.fromEntries(["process", ...Object.keys(more)].map((name) => [name, globals[name]]))
  Object.assign(globals, { fs, process, path, host }, more)
  try {
    return run()
  } finally {
    Object.assign(globals, before)
    for (const name of ["fs", "path", "host"]) delete globals[name]
  }
}
