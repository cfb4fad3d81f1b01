import assert from "node:assert/strict"
import { homedir, hostname } from "node:os"
import { before, test } from "node:test"
import { makeGlue, type Go } from "agentruntime:glue"
import { wasmExec } from "../glue.mjs"
import { link, UntestedVersion, versionOf } from "../../tools/wasm/link/link.mjs"
import { Module } from "../../tools/wasm/link/module.mjs"
import { start } from "../../tools/wasm/link/start.mjs"
import { resume, rewind, startedIn } from "../src/core/started.js"
import { asPage, build, directory } from "./wasm.js"

/** A program with functions of all kinds, a map and goroutines made at its start; `more` is executed in main. */
const source = (more: string) => `package main

import (
	crypto "crypto/rand"
	"encoding/hex"
	"math/rand/v2"
	"runtime"
	"syscall"
	"syscall/js"
	"time"
)

var (
	_       = crypto.Read
	_       = time.Now
	_       = syscall.Getenv
	numbers = map[string]int{}
	asked   = make(chan js.Value)
	object  = js.Global().Get("Object")
)

func main() {
	for i, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"} {
		numbers[name] = i
	}
	count := 0
	go func() {
		for callback := range asked {
			time.Sleep(time.Millisecond)
			callback.Invoke("later")
		}
	}()
	export := func(name string, f func(args []js.Value) any) {
		js.Global().Get("host").Set(name, js.FuncOf(func(_ js.Value, args []js.Value) any { return f(args) }))
	}
	export("count", func([]js.Value) any { count++; return count })
	export("number", func(args []js.Value) any { return numbers[args[0].String()] })
	export("random", func([]js.Value) any {
		key := make([]byte, 16)
		if _, err := crypto.Read(key); err != nil {
			panic(err)
		}
		text := hex.EncodeToString(key)
		for range 100 { // more than what is kept ready
			text += " " + hex.EncodeToString([]byte{byte(rand.Uint64())})
		}
		return text
	})
	export("mapOrder", func([]js.Value) any {
		text := ""
		for range 20 {
			for name := range numbers {
				text += name
			}
		}
		return text
	})
	export("later", func(args []js.Value) any { asked <- args[0]; return nil })
	export("collect", func([]js.Value) any { runtime.GC(); runtime.GC(); return len(numbers) })
	export("env", func([]js.Value) any { name, _ := syscall.Getenv("NAME"); return name })
	export("make", func([]js.Value) any { return object.New() })
	${more}
	select {}
}
`

const options = { wasmExec: wasmExec(), env: { NAME: "baked" }, prepare: (global: { host?: object }) => void (global.host = {}) }

interface Host {
  count(): number
  number(name: string): number
  random(): string
  mapOrder(): string
  later(callback: (text: string) => void): void
  collect(): number
  env(): string
  make(): object
}

/** A program that is instantiated in a page. */
async function instantiate(file: Buffer) {
  const { Go, ...glue } = makeGlue()
  const module = await WebAssembly.compile(file as BufferSource)
  const go: Go = new Go()
  return { glue, go, started: startedIn(module)!, instance: await WebAssembly.instantiate(module, go.importObject) }
}

/** Runs a program as a page does. */
async function open(file: Buffer, how: "resume" | "rewind"): Promise<Host> {
  const { glue, go, started, instance } = await instantiate(file)
  const host = {} as Host
  asPage(glue, host, () => {
    if (how === "resume") return resume(go, instance, started)
    rewind(instance, started)
    go.env = { NAME: "of the page" }
    void go.run(instance)
  })
  return host
}

let linked: Buffer
let file: Buffer
before(async () => {
  linked = build(source(""))
  file = (await link(linked, options)).program
})

for (const how of ["resume", "rewind"] as const) {
  test(`a started program works (${how})`, async () => {
    const host = await open(file, how)
    assert.deepEqual([host.count(), host.count()], [1, 2])
    assert.equal(host.number("k"), 10)
    assert.equal(host.collect(), 11)
    assert.equal(await new Promise((resolve) => host.later(resolve)), "later")
    assert.equal(host.env(), how === "resume" ? "baked" : "of the page")
    assert.deepEqual(host.make(), {})
    for (let i = 0; i < 200; i++) host.make()
    assert.equal(host.collect(), 11)
    assert.equal(host.count(), 3)
  })
}

test("two pages have nothing random in common", async () => {
  const [a, b] = [await open(file, "resume"), await open(file, "resume")]
  const [one, two] = [a.random().split(" "), b.random().split(" ")]
  assert.equal(one.length, 101)
  assert.notEqual(one[0], two[0])
  // Of a hundred random bytes, a few are equal.
  const same = one.filter((byte, i) => byte === two[i]).length
  assert.ok(same < 10, `${same} of 100 bytes are equal`)
  assert.notEqual(a.mapOrder(), b.mapOrder())
})

test("the file is reproducible, and has nothing of the machine that made it", async () => {
  assert.ok((await link(linked, options)).program.equals(file))
  for (const own of [homedir(), directory, hostname(), process.cwd()]) assert.ok(own.length < 4 || !file.includes(own), own)
})

test("a page in which a call has another result is refused before the program is called", async () => {
  const { glue, go, started, instance } = await instantiate(file)
  asPage(glue, {}, () => assert.throws(() => resume(go, instance, started), /has the result null here/), { Uint8Array: undefined })
})

test("a start that is not the same in every page fails the build, and says why", async () => {
  const wrong: Record<string, RegExp> = {
    'js.Global().Get("navigator")': /reads syscall\/js\.valueGet of "navigator"/,
    'js.Global().Get("Math").Get("PI")': /of "PI", which may differ/,
    'js.Global().Get("Date").New().Call("getTimezoneOffset")': /getTimezoneOffset/,
    'js.Global().Get("Object").Call("keys", js.Global()).Length()': /calls syscall\/js\.valueLength/,
    "crypto.Read(make([]byte, 8))": /reads random data/,
    "time.AfterFunc(time.Second, func() {})": /calls runtime\.scheduleTimeoutEvent/,
    "_ = time.Now().String()": /calls runtime\.walltime/,
    "syscall.Exit(3)": /ended with exit code 3/,
    "return": /ended with exit code 0/,
  }
  let n = 0
  for (const [more, message] of Object.entries(wrong)) await assert.rejects(start(build(source(more), `wrong${n++}`), options), message, more)
})

test("a program of an untested version of Go is refused", async () => {
  assert.match(versionOf(linked), /^go1\.\d+/)
  const other = new Module(linked)
  const producers = other.sections.find(({ body }: { body: Buffer }) => body.includes("producers"))!
  producers.body = Buffer.from(producers.body.toString("latin1").replaceAll("go1.26", "go1.99"), "latin1")
  await assert.rejects(link(other.encode(), options), (reason) => reason instanceof UntestedVersion && /go1\.99.*only with go1\.26/.test(reason.message))
})
