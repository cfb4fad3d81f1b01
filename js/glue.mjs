// Turns the toolchain's wasm_exec.js into a module.
//
// The original defines the globals Go, fs, process and path; its process, which has no
// env, breaks scripts that detect Node.js. Here they are properties of an object;
// program.ts makes them global only while the Go program starts.

import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"

/** The number of references to each global in wasm_exec.js. */
const references = { Go: 1, fs: 2, process: 2, path: 2 }

/** esbuild plugin for the import "agentruntime:glue". */
export const glue = {
  name: "glue",
  setup(build) {
    build.onResolve({ filter: /^agentruntime:glue$/ }, () => ({ path: "wasm_exec.js", namespace: "glue" }))
    build.onLoad({ filter: /.*/, namespace: "glue" }, () => ({ contents: glueModule(wasmExec()), loader: "js" }))
  },
}

/** The text of the toolchain's wasm_exec.js. */
export function wasmExec() {
  const goroot = execFileSync("go", ["env", "GOROOT"], { encoding: "utf8" }).trim()
  return readFileSync(join(goroot, "lib", "wasm", "wasm_exec.js"), "utf8")
}

/** Turns the text of wasm_exec.js into that of the module; throws when it has changed. */
export function glueModule(source) {
  for (const [name, times] of Object.entries(references)) {
    const found = source.match(new RegExp(`\\bglobalThis\\.${name}\\b`, "g"))?.length ?? 0
    if (found !== times) throw changed(`refers to globalThis.${name} ${found} times, not ${times}`)
  }
  const kept = source
    .replaceAll(/\bglobalThis\.(Go|fs|process|path)\b/g, "glue.$1")
    // The only use of a global without globalThis; it prints the messages of panics.
    .replace(/(\s)fs\.writeSync\(fd, /, "$1glue.fs.writeSync(fd, ")
  const bare = kept.replaceAll(/\/\/.*/g, "").match(/(?<![.\w"'])(fs|process|path)\.\w+/)
  if (bare) throw changed(`uses ${bare[0]}`)
  return `export function makeGlue() {\nconst glue = {};\n${kept}\nreturn glue;\n}\n`
}

const changed = (how) => new Error(`glue.mjs must be adapted to this toolchain's wasm_exec.js: it ${how}`)
