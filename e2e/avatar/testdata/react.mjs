// Bundles react.jsx for a page, with the package as it is built and React's development
// build, whose StrictMode mounts twice. Prints the module.
import { createRequire } from "node:module"
import { fileURLToPath } from "node:url"

const js = new URL("../../../js/", import.meta.url)
const { build } = createRequire(new URL("package.json", js))("esbuild")
const at = (path) => fileURLToPath(new URL(path, js))
const { outputFiles } = await build({
  entryPoints: [fileURLToPath(new URL("react.jsx", import.meta.url))],
  bundle: true,
  write: false,
  format: "esm",
  jsx: "automatic",
  nodePaths: [at("node_modules")],
  alias: { "agentruntime/react": at("dist/react.js"), agentruntime: at("dist/index.js") },
  define: { "process.env.NODE_ENV": '"development"' },
  minifySyntax: true,
  minifyWhitespace: true,
  logLevel: "error",
})
process.stdout.write(outputFiles[0].text)
