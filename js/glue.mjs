// Makes a module of the toolchain's wasm_exec.js.
//
// The original writes Go, fs, process and path into the page, where its process,
// which has no env, misleads other scripts. Here they live in an object of the
// instance; program.ts shows them to the Go program while it starts.

import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"

/** How often wasm_exec.js mentions each of its globals, tests and writes. */
const mentions = { Go: 1, fs: 2, process: 2, path: 2 }

/** esbuild plugin for the import "agentruntime:glue". */
export const glue = {
  name: "glue",
  setup(build) {
    build.onResolve({ filter: /^agentruntime:glue$/ }, () => ({ path: "wasm_exec.js", namespace: "glue" }))
    build.onLoad({ filter: /.*/, namespace: "glue" }, () => {
      const goroot = execFileSync("go", ["env", "GOROOT"], { encoding: "utf8" }).trim()
      return { contents: glueModule(readFileSync(join(goroot, "lib", "wasm", "wasm_exec.js"), "utf8")), loader: "js" }
    })
  },
}

/** Turns the text of wasm_exec.js into that of the module; throws when it has changed. */
export function glueModule(source) {
  for (const [name, times] of Object.entries(mentions)) {
    const found = source.match(new RegExp(`\\bglobalThis\\.${name}\\b`, "g"))?.length ?? 0
    if (found !== times) throw changed(`mentions globalThis.${name} ${found} times, not ${times}`)
  }
  const kept = source
    .replaceAll(/\bglobalThis\.(Go|fs|process|path)\b/g, "glue.$1")
    // The one place that uses a global by its bare name: without it a panic
    // could not print its message.
    .replace(/(\s)fs\.writeSync\(fd, /, "$1glue.fs.writeSync(fd, ")
  const bare = kept.replaceAll(/\/\/.*/g, "").match(/(?<![.\w"'])(fs|process|path)\.\w+/)
  if (bare) throw changed(`uses ${bare[0]}`)
  return `export function makeGlue() {\nconst glue = {};\n${kept}\nreturn glue;\n}\n`
}

const changed = (how) => new Error(`this toolchain's wasm_exec.js is not as glue.mjs expects it: it ${how}`)
