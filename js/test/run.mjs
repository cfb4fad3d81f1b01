// Runs the tests in this directory with node's own runner, which cannot read
// TypeScript: each is bundled first. What they import from dist/ stays as built.

import { spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { glue } from "../glue.mjs"

const here = dirname(fileURLToPath(import.meta.url))
// Beside the sources, so that relative imports of dist/ resolve in the same way; a new
// directory, so that parallel runs don't interfere.
const out = mkdtempSync(join(here, ".built-"))
const tests = readdirSync(here).filter((name) => name.endsWith(".test.ts") && (process.argv.length < 3 || process.argv.includes(name)))

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
  external: ["../../dist/*"],
  packages: "external", // jsdom reads files beside its modules
  define: { AGENTRUNTIME_VERSION: '"test"' },
  plugins: [glue],
  loader: { ".css": "text" },
  logLevel: "warning",
})
const files = tests.map((name) => join(out, name.replace(/\.ts$/, ".mjs")))
const run = spawnSync(process.execPath, ["--enable-source-maps", "--test", "--test-reporter=tap", ...files], { stdio: "inherit" })
process.exitCode = run.status ?? 1
