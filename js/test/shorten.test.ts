import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { Module, call, code, decode, number, noResult, op, section, signed, type, unsigned, vector } from "../../tools/wasm/link/module.mjs"
import { goType, shorten, tableBase } from "../../tools/wasm/link/shorten.mjs"
import { directory, root } from "./wasm.js"

// Shortened programs also run in split.test.ts, and in every page. Here is the form of what
// is shortened, and what is left as it is.

const [place, sp, register] = [0, 1, 2]
const [get, set] = [op.get, op.set]
const i64 = (value: number) => code(op.i64, signed(value))
const plus = (offset: number) => code(get, sp, op.extend, i64(offset), op.add64, op.wrap)
const load = (offset: number) => code(0x29, 3, unsigned(offset))
const store = (offset: number) => code(op.store64, 3, unsigned(offset))
const begin = code(op.globalGet, 0, set, sp, op.block, noResult, op.loop, noResult, op.block, noResult, op.block, noResult, op.block, noResult, get, place, op.branchTable, 3, 0, 1, 2, 2)
const unwind = code(op.end, op.end, op.end, number(1), op.end)

/** The instructions of the first function of a file that has only this one, shortened. */
function shortened(...instructions: (number | Buffer)[]): { text: string; variables: number[] } {
  const body = code(vector([[unsigned(1), Buffer.from([type.i32])], [unsigned(1), Buffer.from([type.i64])]]), ...instructions)
  const file = new Module(Buffer.from("0061736d01000000", "hex"))
    .withSections({
      [section.type]: vector([Buffer.from(goType, "hex")]),
      [section.function]: vector([unsigned(0)]),
      [section.code]: vector([[unsigned(body.length), body]]),
    })
    .encode()
  const found = decode(new Module(shorten(file)).functions()[0]!.body)
  return { text: Buffer.concat(found.instructions.map(({ bytes }) => bytes)).toString("hex"), variables: found.variables }
}

const hex = (...parts: (number | Buffer)[]) => code(...parts).toString("hex")

test("the address of a variable becomes the offset of what takes it", () => {
  const { text } = shortened(begin, op.end, plus(16), plus(24), load(0), store(8), op.end, unwind)
  assert.ok(text.includes(hex(get, sp, get, sp, load(24), store(24))), text)
})

test("an address that is a value stays", () => {
  const passed = code(plus(16), set, place)
  const { text } = shortened(begin, op.end, passed, op.end, unwind)
  assert.ok(text.includes(hex(passed)), text)
})

test("a jump to a later place leaves the blocks up to it", () => {
  const { text } = shortened(begin, op.end, get, register, op.wrap, op.if, noResult, number(2), set, place, op.branch, 3, op.end, op.end, number(2), set, place, op.branch, 1, unwind)
  assert.ok(text.includes(hex(op.end, get, register, op.wrap, op.branchIf, 1, op.end, op.branch, 0)), text)
})

test("a jump to an earlier place goes through the table", () => {
  const back = code(number(0), set, place, op.branch, 1)
  const { text } = shortened(begin, op.end, op.end, back, unwind)
  assert.ok(text.includes(hex(back)), text)
})

test("jumps of a function that reads the place for something else stay", () => {
  const jump = code(number(2), set, place, op.branch, 2)
  const { text } = shortened(begin, op.end, get, place, op.drop, jump, op.end, unwind)
  assert.ok(text.includes(hex(jump)), text)
})

test("a call stores its place with a variable, and its end returns at once", () => {
  const stored = (index: number) => code(get, sp, i64(tableBase * 65536 + index), store(0), number(0), call(0))
  const { text, variables } = shortened(begin, op.end, stored(0), op.branchIf, 3, stored(1), op.branchIf, 3, get, register, set, register, op.end, unwind)
  const leaves = code(op.if, noResult, number(1), op.return, op.end)
  const first = code(get, sp, get, 2, store(0), number(0), call(0), leaves)
  const second = code(get, sp, get, 2, i64(1), op.or64, store(0), number(0), call(0), leaves)
  assert.ok(text.startsWith(hex(i64(tableBase * 65536), set, 2, begin)), text)
  assert.ok(text.includes(hex(first, second, get, register + 1, set, register + 1)), text)
  assert.deepEqual(variables, [type.i32, type.i64, type.i64])
})

test("a branch to the end of a block that is not the last stays", () => {
  const first = code(op.block, noResult, number(1), op.branchIf, 0, op.end)
  const { text } = shortened(op.globalGet, 0, set, sp, first, op.block, noResult, op.end, number(1), op.end)
  assert.ok(text.includes(hex(first)), text)
})

test("a function of assembly stays", () => {
  const body = code(plus(8), load(0), op.drop, number(0), op.end)
  assert.equal(shortened(body).text, hex(body))
})

test("tests of Go's own packages pass with shortened programs", () => {
  const go = (...args: string[]) => execFileSync(fileURLToPath(new URL("tools/wasm/env", root)), ["go", ...args], { encoding: "utf8" }).trim()
  const goroot = go("env", "GOROOT")
  for (const name of ["sort", "strconv"]) {
    const file = join(directory, `${name}.test.wasm`)
    go("test", "-c", "-o", file, name)
    writeFileSync(file, shorten(readFileSync(file)))
    const output = execFileSync(process.execPath, ["--stack-size=8192", join(goroot, "lib/wasm/wasm_exec_node.js"), file, "-test.short"], { cwd: join(goroot, "src", name), encoding: "utf8" })
    assert.match(output, /^PASS$/m)
  }
})
