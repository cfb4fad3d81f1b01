// Makes a program of the Go linker ready for a page: smaller (slim.mjs), started
// (start.mjs) and split (split.mjs). README.md describes it for other projects.

import { deriveTables } from "./derive.mjs"
import { Module, Reader, section } from "./module.mjs"
import { shorten } from "./shorten.mjs"
import { slim } from "./slim.mjs"
import { instrument, split } from "./split.mjs"
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
 * Returns a program that is smaller, arrives started, and is split by a profile.
 *
 * @param {Buffer} file as linked, with names (without the flag -s)
 * @param {Parameters<typeof start>[1] & { profile?: Set<string>, restFile?: string, counts?: boolean }} options those of start, and
 * @param [options.profile] the names of the functions of the first part; without it the program is not split
 * @param [options.restFile] the name of the second part's file, with * for its checksum
 * @param [options.counts] the program counts for a profile, see instrument in split.mjs
 * @returns {Promise<{ program: Buffer, rest?: Buffer, restFile?: string, names: Map<number, string> }>}
 * @throws {UntestedVersion} for a program of another version of Go
 */
export async function link(file, { profile, restFile, counts = false, ...options }) {
  const version = versionOf(file)
  if (!testedVersions.some((tested) => version === tested || version.startsWith(`${tested}.`))) throw new UntestedVersion(version)
  const linked = new Module(file)
  const names = linked.names()
  if (!names) throw new Error("the program has no names: link it without -s")
  const program = await start(shorten(slim(linked.withoutCustom("name").encode())), options)
  if (!profile && !counts) return { program: deriveTables(program), names }
  // A program that counts has a second part too, without functions, so that a page shows when it would be there.
  const parts = split(program, { names, hot: counts ? new Set(names.values()) : profile, file: restFile })
  return { program: deriveTables(counts ? instrument(parts.first) : parts.first), rest: parts.rest, restFile: parts.file, names }
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
