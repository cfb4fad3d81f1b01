// npm packs only files beside package.json: this copies the repository's licence and its
// README, with absolute links, there before packing, and removes them afterwards. It
// refuses programs that were only linked (see build.mjs).

import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { isStarted } from "../tools/wasm/link/start.mjs"
import { absoluteLinks } from "./links.mjs"

const here = dirname(fileURLToPath(import.meta.url))
const clean = process.argv[2] === "clean"
const only = clean ? [] : ["agentruntime.wasm", "chat.wasm"].filter((name) => !isStarted(readFileSync(join(here, "dist", name))))
if (only.length > 0) throw new Error(`${only.join(" and ")} must be built with a version of Go that tools/wasm/link was tested with`)
for (const name of ["README.md", "LICENSE"]) {
  if (clean) rmSync(join(here, name), { force: true })
  else writeFileSync(join(here, name), absoluteLinks(readFileSync(join(here, "..", name), "utf8")))
}
