import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { test } from "node:test"
import { tokenizer, type Token } from "acorn"
import { transformSync } from "esbuild"
import { checkSync } from "recheck"
import { patterns } from "../src/compat/safety.js"

// A text of the service or of the page can be of any length, so the time that a regular
// expression takes must grow no faster than the text.

const sources = new URL("../../src/", import.meta.url) // seen from the bundled test

// Growth is told by the number of characters that are read. By default recheck also calls an
// expression slow that takes 0.25 or 1 s, which on a busy machine a fast one does.
const options = { timeout: 120_000, incubationTimeout: null, attackTimeout: null }

/** What makes an expression slow, undefined if nothing does. */
function attackOn({ source, flags }: Pick<RegExp, "source" | "flags">): string | undefined {
  const found = checkSync(source, flags, options)
  if (found.status === "safe") return undefined
  return found.status === "vulnerable" ? `${found.complexity.type} growth for ${found.attack.pattern}` : `not checked: ${found.error.kind}`
}

/** The regular expressions of a module, and the number of those that are made at run time. */
function expressionsOf(typescript: string): { literals: { source: string; flags: string }[]; made: number } {
  const { code } = transformSync(typescript, { loader: "ts", target: "esnext" })
  const tokens = [...tokenizer(code, { ecmaVersion: "latest", sourceType: "module" })] as (Token & { value: unknown })[]
  const literals = tokens.filter(({ type }) => type.label === "regexp").map(({ value }) => value as { pattern: string; flags: string }).map(({ pattern, flags }) => ({ source: pattern, flags }))
  return { literals, made: tokens.filter(({ value }, i) => value === "RegExp" && tokens[i + 1]?.type.label === "(").length }
}

test("no regular expression of the sources takes more than linear time", () => {
  const places = new Map<string, [pattern: Pick<RegExp, "source" | "flags">, place: string]>() // those that are written twice are checked once
  const add = (pattern: Pick<RegExp, "source" | "flags">, place: string) => places.set(`/${pattern.source}/${pattern.flags}`, [pattern, place])
  for (const name of readdirSync(sources, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts") && !name.endsWith(".d.ts"))) {
    const { literals, made } = expressionsOf(readFileSync(new URL(name.replaceAll("\\", "/"), sources), "utf8"))
    // Those of safety.ts are added below; captions.ts makes them of the words that a page gives, character by character.
    if (!/(safety|captions)\.ts$/.test(name)) assert.equal(made, 0, `${name} makes a regular expression at run time, which this test does not see: write it as a literal`)
    for (const literal of literals) add(literal, name)
  }
  for (const pattern of patterns) add(pattern, "compat/safety.ts")
  assert.ok(places.size > 80, `${places.size} expressions were found`)
  const slow = [...places].flatMap(([expression, [pattern, place]]) => {
    const attack = attackOn(pattern)
    return attack ? [`${place}: ${expression}: ${attack}`] : []
  })
  assert.deepEqual(slow, [])
})

test("the check finds expressions that grow faster", () => {
  const { literals, made } = expressionsOf("const end: RegExp = /[*\\s]+$/; text.replace(/(a+)+$/u, ''); new RegExp(end)")
  assert.deepEqual(literals.map((literal) => attackOn(literal)?.split(" ")[0]), ["polynomial", "exponential"])
  assert.equal(made, 1)
})
