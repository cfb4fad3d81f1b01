// Makes the profile by which programs are split (split.mjs) of what pages have called:
//
//	node profile.mjs DIST CALLS OUT
//
// DIST has the names of the functions of the programs that counted, CALLS the indexes of
// the called functions in files of each program, and OUT gets one list of names for each
// program, sorted, so that a change of the code changes few lines.

import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const [dist, calls, out] = process.argv.slice(2)
for (const file of readdirSync(dist).filter((name) => name.endsWith(".names.json"))) {
  const program = file.replace(".names.json", "")
  const names = new Map(JSON.parse(readFileSync(join(dist, file), "utf8")))
  const lists = readdirSync(calls).filter((name) => name.startsWith(`${program}.wasm-`))
  if (lists.length === 0) throw new Error(`no page has called ${program}.wasm`)
  const called = new Set(lists.flatMap((name) => JSON.parse(readFileSync(join(calls, name), "utf8"))).map((index) => names.get(index)))
  writeFileSync(join(out, `${program}.txt`), [...called].sort().join("\n") + "\n")
  console.log(`${program}: ${called.size} of ${names.size} functions`)
}
