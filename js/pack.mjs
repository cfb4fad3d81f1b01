// npm packs only files beside package.json: this copies the repository's README and
// licence there before packing, and removes them afterwards.

import { copyFileSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const here = dirname(fileURLToPath(import.meta.url))
for (const name of ["README.md", "LICENSE"]) {
  if (process.argv[2] === "clean") rmSync(join(here, name), { force: true })
  else copyFileSync(join(here, "..", name), join(here, name))
}
