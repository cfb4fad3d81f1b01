// Makes a program of the Go linker ready for a page: smaller (slim.mjs) and started
// (start.mjs). README.md describes both for other projects.

import { Module, Reader, section } from "./module.mjs"
import { slim } from "./slim.mjs"
import { start } from "./start.mjs"

/**
 * The versions of Go with which this was tested. For another one, compare with the last:
 * src/runtime/rt0_js_wasm.s, asm_wasm.s, rand.go, symtab.go (moduledata), runtime2.go (m,
 * _func), src/internal/chacha8rand, src/cmd/internal/obj/wasm, src/cmd/link/internal/wasm
 * and lib/wasm/wasm_exec.js; then run the tests of this directory and of whole pages.
 */
export const testedVersions = ["go1.26"]

/** An error for a program of a version of Go that is not in the list. */
export class UntestedVersion extends Error {
  constructor(version) {
    super(`tools/wasm/link was not tested with ${version}, only with ${testedVersions.join(", ")}; link.mjs says what to compare before it is added`)
  }
}

/**
 * Returns a program that is smaller and arrives started. Options are those of start.
 * Throws UntestedVersion for a program of another version of Go.
 */
export async function link(file, options) {
  const version = versionOf(file)
  if (!testedVersions.some((tested) => version === tested || version.startsWith(`${tested}.`))) throw new UntestedVersion(version)
  return start(slim(file), options)
}

/** The version of Go that a file says it was made with. */
export function versionOf(file) {
  for (const { id, body } of new Module(file).sections) {
    if (id !== section.custom) continue
    const read = new Reader(body)
    if (read.text() !== "producers") continue
    const fields = read.list(() => ({ name: read.text(), tools: read.list(() => ({ tool: read.text(), version: read.text() })) }))
    const go = fields.flatMap(({ tools }) => tools).find(({ tool }) => tool === "Go")
    if (go) return go.version.split(" ")[0]
  }
  return "an unknown version of Go"
}
