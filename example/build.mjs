// Bundles the npm packages of the example pages into js/dist/example/, so that the pages
// load nothing from other hosts. js/build.mjs passes its esbuild.
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
