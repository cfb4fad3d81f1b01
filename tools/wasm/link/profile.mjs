// Makes the profile by which programs are split (split.mjs) of what pages have called:
//
//	node profile.mjs DIST CALLS OUT
//
// DIST has the names of the functions of the programs that counted, CALLS the indexes of
// the called functions in files of each program, and OUT gets one list of names for each
// program, sorted, so that a change of the code changes few lines.
//
// Which functions of the standard library are called depends on chance too: on the order of
// maps that are sorted, and on when garbage is collected. So a list keeps those that it had.

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const [dist, calls, out] = process.argv.slice(2)
for (const file of readdirSync(dist).filter((name) => name.endsWith(".names.json"))) {
  const program = file.replace(".names.json", "")
  const names = new Map(JSON.parse(readFileSync(join(dist, file), "utf8")))
  const lists = readdirSync(calls).filter((name) => name.startsWith(`${program}.wasm-`))
  if (lists.length === 0) throw new Error(`no page has called ${program}.wasm`)
  const called = new Set(lists.flatMap((name) => JSON.parse(readFileSync(join(calls, name), "utf8"))).map((index) => names.get(index)))
  const list = join(out, `${program}.txt`)
  const present = new Set(names.values())
  for (const name of existsSync(list) ? readFileSync(list, "utf8").split("\n") : []) {
    if (!name.startsWith("github.com_") && present.has(name)) called.add(name)
  }
  writeFileSync(list, [...called].sort().join("\n") + "\n")
  console.log(`${program}: ${called.size} of ${names.size} functions`)
}
