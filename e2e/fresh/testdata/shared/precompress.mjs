// Copies the compressed forms of the package's programs beside what a build has made of
// them: node precompress.mjs dist
import { copyFileSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

const dist = "node_modules/agentruntime/dist"
const folder = process.argv[2]
const programs = readdirSync(dist).filter((name) => name.endsWith(".wasm")).map((name) => [join(dist, name), readFileSync(join(dist, name))])
for (const name of readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".wasm"))) {
  const made = readFileSync(join(folder, name))
  const [program] = programs.find(([, bytes]) => bytes.equals(made)) ?? []
  for (const form of program ? [".br", ".gz"] : []) copyFileSync(program + form, join(folder, name) + form)
}
