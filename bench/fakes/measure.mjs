// Measures what a test file of a page would take longer if the sessions of agentruntime/testing ran the real program
// over stand-ins for the service (js/src/core/standin.ts), instead of the scripted one in js/src/testing.
//
// Each file of files.mjs is a process of its own, as in a test runner: it loads its modules, makes a session, connects it, with
// text sends one turn, and ends it. The two ways take turns, first one file at a time, then as many at
// the same time as there are processors, as runners do. It prints medians, the difference and the ratio.
//
// Usage, after the npm package was built: node bench/fakes/measure.mjs [runs]
//
// The result is in docs/performance.md.

import { spawn } from "node:child_process"
import { rm } from "node:fs/promises"
import { availableParallelism } from "node:os"
import { fileURLToPath } from "node:url"
import { build } from "../../js/node_modules/esbuild/lib/main.js"

const runs = Number(process.argv[2] ?? 9)
const limitMs = 300
const kinds = ["chat", "avatar"]
const ways = ["scripted", "real"]
const out = fileURLToPath(new URL("built.mjs", import.meta.url))

await build({
  entryPoints: [fileURLToPath(new URL("files.mjs", import.meta.url))],
  outfile: out,
  bundle: true,
  platform: "node",
  format: "esm",
  logLevel: "warning",
})
try {
  const atOnce = availableParallelism()
  for (const many of new Set([1, atOnce])) {
    console.log(`${many} at the same time, medians of ${runs}`)
    for (const kind of kinds) {
      const taken = { scripted: [], real: [] }
      for (let i = 0; i < runs; i++) for (const way of ways) taken[way].push(...(await Promise.all(Array.from({ length: many }, () => one(kind, way)))))
      const [scripted, real] = ways.map((way) => ({ wall: median(taken[way].map(({ wall }) => wall)), processor: median(taken[way].map(({ processor }) => processor)) }))
      for (const what of ["wall", "processor"]) {
        const longer = real[what] - scripted[what]
        const verdict = what === "wall" ? (longer > limitMs ? `, over the limit of ${limitMs}` : `, within the limit of ${limitMs}`) : ""
        console.log(`  ${kind}, ${what} time: scripted ${scripted[what]} ms, real ${real[what]} ms: ${longer} ms longer, ratio ${(real[what] / scripted[what]).toFixed(1)}${verdict}`)
      }
    }
  }
} finally {
  await rm(out)
}

/** Runs one file; returns the time until its process has ended, and that of the processor, in ms. */
function one(kind, way) {
  return new Promise((resolve, reject) => {
    const began = performance.now()
    const child = spawn(process.execPath, [out, kind, way], { stdio: ["ignore", "pipe", "inherit"] })
    let text = ""
    child.stdout.on("data", (data) => (text += data))
    child.on("error", reject)
    child.on("close", (code) => {
      const wall = performance.now() - began
      if (code !== 0) reject(new Error(`${way} ${kind}: exit code ${code}`))
      else resolve({ wall, processor: Number(text) })
    })
  })
}

function median(values) {
  return Math.round(values.toSorted((a, b) => a - b)[values.length >> 1])
}
