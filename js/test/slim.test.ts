import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { before, test } from "node:test"
import { brotliCompressSync, constants } from "node:zlib"
import { slim } from "../../tools/wasm/link/slim.mjs"
import { build, directory, root } from "./wasm.js"

// A program that uses what the tables are for: stacks that grow and are searched
// by the collector, panics that are recovered, and names of functions.
const program = `package main

import (
	"fmt"
	"runtime"
	"strings"
)

func deep(n int) int {
	var room [512]byte
	if n == 0 {
		runtime.GC()
		return len(room)
	}
	return deep(n-1) + int(room[n%512])
}

func main() {
	func() {
		defer func() { fmt.Println("recovered", recover()) }()
		var m map[string]int
		m["a"] = 1
	}()
	fmt.Println(deep(1000), strings.Repeat("ok ", 2))
	pc, _, _, _ := runtime.Caller(0)
	fmt.Println(runtime.FuncForPC(pc).Name())
	runtime.SetFinalizer(new([64]byte), func(*[64]byte) {}) // starts a goroutine of the runtime's own
	fmt.Println(runtime.NumGoroutine())
}
`

let built: Buffer
let once: Buffer
before(() => {
  built = build(program, "main", "-ldflags", "-s -w")
  once = slim(built)
})

/** Runs a program as its toolchain does, and returns what it printed. */
function run(file: string): string {
  const goroot = execFileSync("go", ["env", "GOROOT"], { encoding: "utf8" }).trim()
  return execFileSync(process.execPath, [join(goroot, "lib/wasm/wasm_exec_node.js"), file], { encoding: "utf8", cwd: root })
}

test("a slim program does what it did, in fewer bytes", () => {
  const file = join(directory, "slim.wasm")
  writeFileSync(file, once)
  const said = run(file)
  assert.match(said, /^recovered assignment to entry in nil map\n512 ok ok \nmain\.main\n/)
  assert.equal(said, run(join(directory, "main.wasm")))
  // Well below what the compression alone makes of it.
  const compressed = (file: Buffer) => brotliCompressSync(file, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }).length
  const ratio = compressed(once) / compressed(built)
  assert.ok(ratio < 0.9, `brotli is ${ratio.toFixed(2)} of what it was`)
})

test("slimming twice changes nothing more", () => assert.ok(slim(once).equals(once)))

test("what is no WebAssembly file is refused", () => {
  assert.throws(() => slim(Buffer.from("<!doctype html>")), /not a WebAssembly file/)
})

test("a file without data stays as it is", () => {
  const empty = Buffer.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0])
  assert.ok(slim(empty).equals(empty))
})
