// Runs the tests in this directory with node's own runner, which cannot read
// TypeScript: each is bundled first. What they import from dist/ stays as built.

import { spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { availableParallelism } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { glue } from "../glue.mjs"

const here = dirname(fileURLToPath(import.meta.url))
// Beside the sources, so that relative imports of dist/ resolve in the same way; a new
// directory, so that parallel runs don't interfere.
const out = mkdtempSync(join(here, ".built-"))
const all = readdirSync(here).filter((name) => name.endsWith(".test.ts"))
const named = process.argv.slice(2)
const unknown = named.filter((name) => !all.includes(name))
if (unknown.length > 0) throw new Error(`there is no ${unknown.join(", ")}; a test is one of ${all.join(", ")}`)
const tests = named.length > 0 ? named : all

process.on("exit", () => rmSync(out, { recursive: true, force: true }))
await build({
  absWorkingDir: here,
  entryPoints: tests,
  outdir: out,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  sourcemap: "inline",
  external: [join(here, "../dist/*")],
  packages: "external", // jsdom reads files beside its modules
  define: { AGENTRUNTIME_VERSION: '"test"' },
  plugins: [glue],
  loader: { ".css": "text" },
  logLevel: "warning",
})
const files = tests.map((name) => join(out, name.replace(/\.ts$/, ".mjs")))
// Most of them wait for timers and processes most of the time. Node.js runs one file fewer at once than there are cores.
const run = spawnSync(process.execPath, ["--enable-source-maps", "--test", "--test-reporter=tap", `--test-concurrency=${availableParallelism() + 1}`, ...files], { stdio: "inherit" })
process.exitCode = run.status ?? 1
