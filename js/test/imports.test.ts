import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"

const src = fileURLToPath(new URL("../../src", import.meta.url)) // seen from the bundled test

/** What each file imports, also types: a circle of types is one that a reader has to follow too. */
function imports(): Map<string, string[]> {
  const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts") && !file.endsWith(".d.ts"))
  const named = /(?:\bfrom|\bimport)\s*\(?\s*"(\.[^"]+)\.js"/g
  return new Map(files.map((file) => [file, [...readFileSync(join(src, file), "utf8").matchAll(named)].map(([, name]) => `${join(dirname(file), name!)}.ts`)]))
}

/** The files from which file is reached and which it reaches, with itself. */
function circleOf(graph: Map<string, string[]>, file: string): string[] {
  const reached = (from: string) => {
    const seen = new Set<string>()
    const follow = (at: string) => {
      for (const next of graph.get(at) ?? []) {
        if (seen.has(next)) continue
        seen.add(next)
        follow(next)
      }
    }
    follow(from)
    return seen
  }
  return [...reached(file)].filter((other) => reached(other).has(file))
}

test("no file imports itself through others", () => {
  const graph = imports()
  assert.ok(graph.size > 100, `${graph.size} files were read`)
  const circles = new Set([...graph.keys()].map((file) => circleOf(graph, file).sort().join(" ")).filter((circle) => circle !== ""))
  assert.deepEqual([...circles], [])
})

test("what loads and calls a program, and what is generated, is below the sessions", () => {
  for (const [file, imported] of imports()) {
    if (!/^(core|generated)\//.test(file)) continue
    assert.deepEqual(imported.filter((other) => !/^(core|generated)\//.test(other)), [], file)
  }
})
