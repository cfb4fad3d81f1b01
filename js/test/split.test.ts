import assert from "node:assert/strict"
import { before, test } from "node:test"
import { makeGlue, type Go } from "agentruntime:glue"
import { wasmExec } from "../glue.mjs"
import { link } from "../../tools/wasm/link/link.mjs"
import { Module } from "../../tools/wasm/link/module.mjs"
import { AgentError } from "../src/core/errors.js"
import { Rest, splitOf } from "../src/core/rest.js"
import { resume, startedIn } from "../src/core/started.js"
import { asPage, build } from "./wasm.js"

// Everything that makes a call hard to leave and to enter again: results that are needed
// at once, timers, goroutines, stacks that grow, maps, panics, the garbage collector.
const source = `package main

import (
	"fmt"
	"runtime"
	"sort"
	"strings"
	"syscall/js"
	"time"
)

type shape interface{ area() float64 }
type square struct{ side float64 }

func (s *square) area() float64 { return s.side * s.side }

func deep(n int) int {
	var room [256]byte
	if n == 0 {
		runtime.GC()
		return len(room)
	}
	return deep(n-1) + int(room[n%256])
}

func report(name string) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprint("recovered ", r)
		}
	}()
	switch name {
	case "deep":
		return fmt.Sprint(deep(2000))
	case "panic":
		var m map[string]int
		m["a"] = 1
	case "sort":
		words := strings.Fields("the quick brown fox jumps over the lazy dog")
		sort.Strings(words)
		return strings.Join(words, ",")
	case "shapes":
		sum := 0.0
		for i := range 100 {
			var s shape = &square{float64(i)}
			sum += s.area()
		}
		return fmt.Sprint(sum)
	case "garbage":
		kept := map[string][]byte{}
		for i := range 20_000 {
			kept[fmt.Sprint(i%100)] = make([]byte, i%1000)
		}
		return fmt.Sprint(len(kept))
	}
	return "unknown"
}

//go:noinline
func late(host js.Value) { host.Set("ran", "late") }

var asked = make(chan [2]js.Value)

func main() {
	host := js.Global().Get("host")
	host.Set("report", js.FuncOf(func(_ js.Value, args []js.Value) any { return report(args[0].String()) }))
	host.Set("later", js.FuncOf(func(_ js.Value, args []js.Value) any { asked <- [2]js.Value{args[0], args[1]}; return nil }))
	var once js.Func
	once = js.FuncOf(func(js.Value, []js.Value) any { once.Release(); return report("shapes") })
	host.Set("once", once)
	host.Set("nested", js.FuncOf(func(_ js.Value, args []js.Value) any { return args[0].Invoke(fmt.Sprintf("%05.1f", 3.14159)) }))
	host.Set("collect", js.FuncOf(func(js.Value, []js.Value) any {
		runtime.GC() // the second has its workers from the first
		go late(host)
		go func() {}() // goes before the other
		runtime.GC()
		return "collected"
	}))
	go func() {
		for ask := range asked {
			go func() {
				time.Sleep(time.Millisecond)
				ask[1].Invoke(report(ask[0].String()))
			}()
		}
	}()
	select {}
}
`

interface Host {
  report(name: string): unknown
  later(name: string, callback: (text: string) => void): unknown
  once(): unknown
  nested(callback: (text: string) => unknown): unknown
  collect(): unknown
  ran?: string
}

const want: Record<string, string> = {
  deep: "256", panic: "recovered assignment to entry in nil map", sort: "brown,dog,fox,jumps,lazy,over,quick,the,the", shapes: "328350", garbage: "100",
}

let linked: Buffer
let first: Buffer
let rest: Buffer
before(async () => {
  linked = build(source)
  const made = await splitBy(new Set()) // everything that can be is in the second module
  first = made.program
  rest = made.rest!
  assert.match(made.restFile!, /^rest-[0-9a-f]{8}\.wasm$/)
})

function splitBy(profile: Set<string>) {
  return link(linked, { wasmExec: wasmExec(), prepare: (global: { host?: object }) => void (global.host = {}), profile, restFile: "rest-*.wasm" })
}

/**
 * A program whose second module arrives when `arrive` is called, and synchronously where a result is needed at once.
 * A request fails with what `failure` returns, if it is something.
 */
async function open(second: Buffer | null = rest, failure: () => AgentError | undefined = () => undefined, program = first) {
  const { Go, ...glue } = makeGlue()
  const go: Go = new Go()
  const module = await WebAssembly.compile(program as BufferSource)
  let arrive = () => {}
  const arrived = new Promise<void>((resolve) => (arrive = resolve))
  const requests = { asynchronous: 0, synchronous: 0 }
  const source = {
    urls: [new URL("https://page.example/none.wasm"), new URL("https://page.example/rest.wasm")],
    fetch: async ({ pathname }: URL) => {
      if (pathname === "/none.wasm") throw new AgentError({ code: "load_failed" })
      requests.asynchronous++
      await arrived
      const failed = failure()
      if (failed) throw failed
      if (!second) throw new AgentError({ code: "load_failed", retryable: true })
      return WebAssembly.compile(second as BufferSource)
    },
  }
  const missing = new Rest(source, splitOf(module)!)
  ;(globalThis as unknown as Record<string, unknown>)["XMLHttpRequest"] = class {
    status = 0
    responseText = ""
    #pathname = ""
    open(_: string, { pathname }: URL) {
      this.#pathname = pathname
    }
    overrideMimeType() {}
    send() {
      if (this.#pathname === "/none.wasm") return
      requests.synchronous++
      if (!second) return
      this.status = 200
      this.responseText = second.toString("latin1")
    }
  }
  let end: (cause: unknown) => void
  const ended = new Promise<unknown>((resolve) => (end = resolve))
  const enter = go._resume
  go._resume = () => {
    try {
      enter.call(go)
    } catch (cause) {
      go.exited = true
      end(cause)
    }
  }
  const instance = await WebAssembly.instantiate(module, { ...go.importObject, ...missing.imports })
  const host = {} as Host
  asPage(glue, host, () => resume(go, instance, startedIn(module)!))
  missing.attach(go, instance)
  return { host, missing, arrive, requests, ended }
}

test("calls that need no result wait for the second module, in their order", async () => {
  const { host, missing, arrive, requests } = await open()
  const answers: string[] = []
  const all = Object.keys(want).map((name) => new Promise<void>((resolve) => host.later(name, (text) => { answers.push(`${name} ${text}`); resolve() })))
  await new Promise((resolve) => setTimeout(resolve, 20))
  assert.deepEqual(answers, [])
  assert.ok(missing.misses > 0)
  arrive()
  await Promise.all(all)
  assert.deepEqual(answers.sort(), Object.entries(want).map(([name, text]) => `${name} ${text}`).sort())
  assert.deepEqual(requests, { asynchronous: 1, synchronous: 0 })
})

for (const name of Object.keys(want)) {
  test(`a call whose result is needed at once loads the module synchronously (${name})`, async () => {
    const { host, missing, requests } = await open()
    assert.equal(missing.callSync(() => host.report(name)), want[name])
    assert.equal(requests.synchronous, 1)
  })
}

test("what a call returns that may wait is a promise", async () => {
  const { host, arrive } = await open()
  const result = host.report("sort")
  assert.ok(result instanceof Promise)
  const second = host.report("shapes") // waits behind the first
  arrive()
  assert.deepEqual([await result, await second], [want["sort"], want["shapes"]])
  assert.equal(host.report("sort"), want["sort"]) // now at once
})

test("a call that needs its result at once ends the wait of others", async () => {
  const { host, missing, requests } = await open()
  const first = host.report("garbage")
  assert.equal(missing.callSync(() => host.report("deep")), want["deep"])
  assert.equal(await first, want["garbage"])
  assert.equal(requests.synchronous, 1)
})

test("an event for a function that was released while it waited is ignored", async (t) => {
  const { host, arrive } = await open()
  const reported = t.mock.method(console, "error", () => {})
  const results = [host.once(), host.once()]
  arrive()
  assert.deepEqual(await Promise.all(results), [want["shapes"], undefined])
  assert.equal(reported.mock.callCount(), 0)
  assert.equal(host.once(), undefined)
  assert.equal(reported.mock.callCount(), 1) // as without a split
})

test("a call within a call loads the module synchronously", async () => {
  const { host, missing, requests } = await open()
  assert.equal(missing.callSync(() => host.nested((text) => `${text} ${String(host.report("sort"))}`)), `003.1 ${want["sort"]}`)
  assert.equal(requests.synchronous, 1)
})

test("the module can be loaded before it is needed", async () => {
  const { host, missing, arrive, requests } = await open()
  const loading = missing.load()
  arrive()
  await loading
  assert.equal(host.report("deep"), want["deep"])
  assert.deepEqual([missing.misses, requests.asynchronous, requests.synchronous], [0, 1, 0])
})

test("without the module the program ends with the error of its download, after more than one try", async (t) => {
  const { host, missing, arrive, requests, ended } = await open(null)
  arrive()
  await assert.rejects(missing.load(), (reason) => reason instanceof AgentError && reason.code === "load_failed" && reason.retryable)
  const now = performance.now.bind(performance)
  let later = 0
  t.mock.method(performance, "now", () => now() + (later += 3000))
  void host.report("sort")
  const end = await ended
  assert.ok(end instanceof WebAssembly.RuntimeError)
  assert.equal((end.cause as AgentError).code, "load_failed")
  assert.ok(requests.asynchronous > 2, `${requests.asynchronous} requests`)
})

test("a download that stalled longer than the program tries is made again", async (t) => {
  const now = performance.now.bind(performance)
  let later = 0
  t.mock.method(performance, "now", () => now() + later)
  const { host, arrive, requests } = await open(rest, () => {
    if (requests.asynchronous > 1) return undefined
    later += 20_000
    return new AgentError({ code: "load_failed", retryable: true })
  })
  const report = host.report("sort")
  arrive()
  assert.equal(await report, want["sort"])
  assert.deepEqual(requests, { asynchronous: 2, synchronous: 0 })
})

test("garbage is collected while goroutines wait in functions that are not there", async () => {
  const late = /^main\.main(\.func\d+\.gowrap\d+)?$|^main\.late$/
  const names = [...new Module(linked).names()!.values()]
  assert.equal(names.filter((name) => late.test(name)).length, 3, names.filter((name) => name.startsWith("main.")).join(" "))
  const made = await splitBy(new Set(names.filter((name) => !late.test(name))))
  const { host, missing, arrive } = await open(made.rest!, undefined, made.program)
  const result = host.collect()
  arrive()
  assert.equal(await result, "collected")
  assert.equal(host.ran, "late")
  assert.ok(missing.misses > 0)
})

test("a module of another build is refused", async () => {
  const other = new Module(rest).withoutCustom("go.split").withCustom("go.split", Buffer.from(JSON.stringify({ id: "other" }))).encode()
  const { missing, arrive } = await open(other)
  arrive()
  await assert.rejects(missing.load(), /not of the same build/)
})
