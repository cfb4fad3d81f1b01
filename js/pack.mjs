// npm packs only files beside package.json: this copies the repository's licence and its
// README, with absolute links, there before packing, and removes them afterwards.

import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { absoluteLinks } from "./links.mjs"

const here = dirname(fileURLToPath(import.meta.url))
for (const name of ["README.md", "LICENSE"]) {
  if (process.argv[2] === "clean") rmSync(join(here, name), { force: true })
  else writeFileSync(join(here, name), absoluteLinks(readFileSync(join(here, "..", name), "utf8")))
}
