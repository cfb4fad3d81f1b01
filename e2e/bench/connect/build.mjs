// Bundles the plain client into build/bench/, and adds the compressed file that the local
// service sends, as js/build.mjs does for the modules of the package.
import { readFileSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { fileURLToPath } from "node:url"
import { brotliCompressSync } from "node:zlib"

const root = new URL("../../../", import.meta.url)
const { build } = createRequire(new URL("js/", root))("esbuild")
const outfile = fileURLToPath(new URL("build/bench/plain.js", root))

await build({
  entryPoints: [fileURLToPath(new URL("plain.js", import.meta.url))],
  outfile,
  nodePaths: [fileURLToPath(new URL("js/node_modules", root))],
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  logLevel: "warning",
})
writeFileSync(outfile + ".br", brotliCompressSync(readFileSync(outfile)))
