// npm packs what is beside package.json: the README and the licence of the
// repository are there while it does.

import { copyFileSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const here = dirname(fileURLToPath(import.meta.url))
for (const name of ["README.md", "LICENSE"]) {
  if (process.argv[2] === "clean") rmSync(join(here, name), { force: true })
  else copyFileSync(join(here, "..", name), join(here, name))
}
