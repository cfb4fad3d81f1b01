// Puts what the example pages take from npm into js/dist/example/, so that they
// load nothing from elsewhere. js/build.mjs calls it with its own esbuild.
import { fileURLToPath } from "node:url"

export async function bundleExample(build) {
  await build({
    absWorkingDir: fileURLToPath(new URL("../js/", import.meta.url)), // where npm installs
    entryPoints: ["markdown-it"],
    outdir: "dist/example",
    bundle: true,
    format: "esm",
    target: "es2022",
    minify: true,
    logLevel: "warning",
  })
}
