#!/usr/bin/env node
// npx agentruntime compress FOLDER… writes a .br and a .gz beside each file of a site that is worth it, for
// servers that send such a form in place of the file (docs/hosting.md).

import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { brotliCompress, brotliDecompressSync, constants, gunzipSync, gzip } from "node:zlib"

const usage = "usage: npx agentruntime compress FOLDER…\n\nWrites FILE.br and FILE.gz beside each .wasm, .js, .mjs, .css, .html, .json and .svg of the folders.\n"
const types = /\.(wasm|m?js|css|html|json|svg)$/
/** Below this size in bytes, a reply fits in one packet of the network either way. */
const smallest = 1024

const forms = {
  ".br": {
    write: (bytes) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }),
    read: brotliDecompressSync,
  },
  ".gz": { write: (bytes) => promisify(gzip)(bytes, { level: 9 }), read: gunzipSync },
}

/** Writes a form of a file that is not there yet, or is that of other bytes; returns its size. */
async function compress(file, bytes, ending) {
  const { write, read } = forms[ending]
  try {
    const made = readFileSync(file + ending)
    if (read(made).equals(bytes)) return made.length
  } catch {} // there is none, or it is damaged
  const made = await write(bytes)
  writeFileSync(file + ending, made)
  return made.length
}

const [command, ...folders] = process.argv.slice(2)
if (command === "--help" || command === "-h") {
  process.stdout.write(usage)
} else if (command !== "compress" || folders.length === 0) {
  process.stderr.write(usage)
  process.exitCode = 2
} else {
  try {
    const files = folders.flatMap((folder) => {
      if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw new Error(`there is no folder ${folder}: name the folder that your build writes`)
      return readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name)))
    }).map((file) => ({ file, size: types.test(file) ? statSync(file).size : 0 })).filter(({ size }) => size >= smallest)
    if (files.length === 0) throw new Error(`there is nothing to compress in ${folders.join(", ")}: name the folder that your build writes`)
    files.sort((a, b) => b.size - a.size) // so that the slowest begin first
    const one = async () => {
      for (let next = files.shift(); next; next = files.shift()) {
        const bytes = readFileSync(next.file)
        const [br, gz] = await Promise.all(Object.keys(forms).map((ending) => compress(next.file, bytes, ending)))
        console.log(`${next.file}: ${bytes.length} bytes, ${gz} with gzip, ${br} with brotli`)
      }
    }
    await Promise.all(Array.from({ length: Math.min(availableParallelism(), 4) }, one))
  } catch (reason) {
    process.stderr.write(`${reason.message}\n`)
    process.exitCode = 1
  }
}
