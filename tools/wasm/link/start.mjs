// Lets a Go program arrive started: runs it once, here, until it waits for JavaScript,
// and returns a module whose memory and global variables are those of that moment. A
// page then needs no time for Go's initialisation. Wizer does the same for WASI.
//
// Go refers to JavaScript values by their index in a table of wasm_exec.js. The page makes
// that table again by the calls that made it here, which a custom section lists (see
// Started). So a start may only do what has the same result in every JavaScript engine:
// look up functions, bind them, make objects and strings. Anything else is an error here.

import { runInContext, createContext } from "node:vm"
import { Module, Reader, constant, kind, pageSize, section, signed, text, type, unsigned, vector } from "./module.mjs"

/** The custom section of a started program, which the page reads (js/src/core/started.ts). */
export const sectionName = "go.started"

/**
 * @typedef {number | [number] | null} Operand a reference, a number, or undefined
 *
 * @typedef {object} Started what a page needs besides memory
 * @property {unknown[][]} calls the calls from Go that have made the table of values: what, operands, result
 * @property {string} types of the values of the table, from index 7 on: (f)unction, (o)bject, (s)tring
 * @property {number[]} counts of Go's references to these values
 * @property {[number, number][]} random the state of Go's random numbers, which each page replaces: address, length
 * @property {number} end of the memory before the start; what follows was zero
 * @property {[number, string][]} before what the start has changed below end: address, bytes in base64
 */

/** The first index of the table for values of the program; wasm_exec.js fills those before. */
const firstValue = 7

// Deterministic, so that the same program gives the same file. Each page replaces what is
// made of it.
const patterns = [0x55, 0xa6]

// When the program starts, in ns since 1970: earlier than the clock of any page.
const began = 1_000_000_000

/**
 * Returns a started program.
 *
 * @param {Uint8Array} file as linked
 * @param {object} options
 * @param {string} options.wasmExec the text of the toolchain's wasm_exec.js
 * @param {Record<string, string>} [options.env] the environment of the program, also in the page
 * @param {(global: object) => void} [options.prepare] sets the global variables that the start reads
 */
export async function start(file, options) {
  const program = new Module(file)
  const [run, other] = [await observe(program, { ...options, pattern: patterns[0] }), await observe(program, { ...options, pattern: patterns[1] })]
  const image = program.image()
  const started = {
    calls: run.calls,
    types: run.types,
    counts: run.counts,
    random: randomState(run.memory, other.memory),
    end: image.length,
    before: differences(image, run.memory).map(([at, end]) => [at, image.subarray(at, end).toString("base64")]),
  }
  return program
    .with({
      [section.memory]: Buffer.concat([Buffer.from([1, 0]), unsigned(run.memory.length / pageSize)]),
      [section.global]: vector(program.globals().map((global, i) => [Buffer.from([global.type, 1]), constant(global.type, run.globals[i])])),
    })
    .withImage(run.memory)
    .withCustom(sectionName, Buffer.from(JSON.stringify(started)))
    .encode()
}

/** Whether start has made a file. */
export function isStarted(file) {
  return new Module(file).sections.some(({ id, body }) => id === section.custom && new Reader(body).text() === sectionName)
}

/** Runs a program until it waits, and returns what it has made. */
async function observe(program, { wasmExec, env = {}, prepare = () => {}, pattern }) {
  // A global object of its own, with the functions that both Node.js and browsers have.
  const functions = Object.getOwnPropertyNames(globalThis).filter((name) => typeof globalThis[name] === "function" && !/^(eval|require)$/.test(name))
  const context = createContext({ console, crypto, performance, ...Object.fromEntries(functions.map((name) => [name, globalThis[name]])) })
  runInContext(builtIn.map((name) => `globalThis.${name} = ${name}`).join("\n"), context) // the context's own again
  runInContext(wasmExec, context, { filename: "wasm_exec.js" })
  const global = runInContext("globalThis", context)
  prepare(global)
  const go = new global.Go()
  go.env = env
  go.exit = (code) => {
    throw new Error(`the program ended with exit code ${code}; it must wait after its start`)
  }
  const globals = program.globals()
  const instrumented = withExportedGlobals(program, globals)
  const recording = record(go, pattern)
  const { instance } = await global.WebAssembly.instantiate(instrumented.encode(), go.importObject)
  recording.begin(instance)
  // Returns when the program waits; the promise settles at its end only.
  let failure
  go.run(instance).catch((reason) => (failure = reason))
  await new Promise((resolve) => setImmediate(resolve))
  if (failure) throw failure
  const values = go._values.slice(firstValue)
  return {
    calls: recording.calls,
    memory: Buffer.from(new Uint8Array(instance.exports.mem.buffer)),
    globals: globals.map((_, i) => instance.exports[globalName(i)].value),
    types: values.map((value) => (typeof value)[0]).join(""),
    counts: go._goRefCounts.slice(firstValue),
  }
}

/** What is part of the language, and so belongs to the context. */
const builtIn = ["Object", "Function", "Array", "ArrayBuffer", "DataView", "Date", "Error", "JSON", "Map", "Number", "Promise", "Reflect", "Set", "String", "Symbol", "Uint8Array", "Uint8ClampedArray", "WebAssembly", "WeakMap", "WeakRef"]

const globalName = (i) => `global ${i}`

/** The program with its global variables exported. */
function withExportedGlobals(program, globals) {
  const exports = program.exports().map(({ name, kind, index }) => [text(name), Buffer.from([kind]), unsigned(index)])
  const more = globals.map((_, i) => [text(globalName(i)), Buffer.from([kind.global]), unsigned(i)])
  return program.with({ [section.export]: vector([...exports, ...more]) })
}

/** Watches the calls of a program, which fail if their result may differ from page to page. */
function record(go, pattern) {
  const calls = []
  const imports = go.importObject.gojs
  let memory, instance
  const view = () => (memory?.buffer === instance.exports.mem.buffer ? memory : (memory = new DataView(instance.exports.mem.buffer)))
  const word = (at) => Number(view().getBigUint64(at, true))
  const string = (at) => Buffer.from(view().buffer, word(at), word(at + 8)).toString()
  /** A value as Go stores it: 0 is undefined, other numbers are themselves, and NaNs have an index. */
  const operand = (at) => {
    const number = view().getFloat64(at, true)
    return number === 0 ? null : Number.isNaN(number) ? view().getUint32(at, true) : [number]
  }
  const operands = (at) => Array.from({ length: word(at + 8) }, (_, i) => operand(word(at) + 8 * i))

  const watch = (name, describe, result) => {
    const original = imports[name]
    imports[name] = (sp) => {
      const call = describe(sp >>> 0)
      original(sp)
      if (result !== undefined) {
        const value = operand((instance.exports.getsp() >>> 0) + result)
        check(name, call, value)
        call.push(value)
      }
      calls.push(call)
    }
  }
  const own = new Set() // results that are this program's own, or the same in every engine
  const check = (name, [what, of, key], value) => {
    if (typeof value === "number" && (value >= firstValue || value === 3)) return // a function, an object, a string of Go, or true
    if (Array.isArray(value) && what === "get" && own.has(of)) return
    throw new Error(`the start reads ${key === undefined ? name : `${name} of ${JSON.stringify(key)}`}, which may differ from browser to browser; read it after the start`)
  }
  watch("syscall/js.stringVal", (sp) => ["string", string(sp + 8)], 24)
  watch("syscall/js.valueGet", (sp) => ["get", operand(sp + 8), string(sp + 16)], 32)
  watch("syscall/js.valueSet", (sp) => ["set", operand(sp + 8), string(sp + 16), operand(sp + 32)])
  watch("syscall/js.valueCall", (sp) => ["call", operand(sp + 8), string(sp + 16), operands(sp + 32)], 56)
  watch("syscall/js.valueInvoke", (sp) => ["invoke", operand(sp + 8), operands(sp + 16)], 40)
  watch("syscall/js.valueNew", (sp) => ["new", operand(sp + 8), operands(sp + 16)], 40)
  // The constants of the file system of wasm_exec.js are part of the package.
  const get = imports["syscall/js.valueGet"]
  imports["syscall/js.valueGet"] = (sp) => {
    get(sp)
    const [, of, key, value] = calls.at(-1)
    if (key === "constants" && go._values[of]?.writeSync) own.add(value)
  }
  let random = 0
  imports["runtime.getRandomData"] = (sp) => {
    if (random++ > 0) throw new Error("the start reads random data, which would be the same in every page; read it after the start")
    new Uint8Array(view().buffer, word((sp >>> 0) + 8), word((sp >>> 0) + 16)).fill(pattern)
  }
  let now = began
  imports["runtime.nanotime1"] = (sp) => view().setBigInt64((sp >>> 0) + 8, BigInt((now += 1000)), true)
  const allowed = ["runtime.wasmExit", "runtime.wasmWrite", "runtime.resetMemoryDataView", "runtime.getRandomData", "runtime.nanotime1"]
  for (const name of Object.keys(imports)) {
    if (allowed.includes(name) || /\.(stringVal|valueGet|valueSet|valueCall|valueInvoke|valueNew)$/.test(name)) continue
    imports[name] = () => {
      throw new Error(`the start calls ${name}, which is not the same in every page; call it after the start`)
    }
  }
  return { calls, begin: (started) => (instance = started) }
}

/** The ranges in which b differs from a, as [begin, end], within the length of a. */
function differences(a, b) {
  const ranges = []
  for (let at = 0; at < a.length; at++) {
    if (a[at] === b[at]) continue
    const last = ranges.at(-1)
    if (last && at - last[1] < 8) last[1] = at + 1
    else ranges.push([at, at + 1])
  }
  return ranges
}

// internal/chacha8rand.State: 32 words of numbers and 4 of the seed, which are all random,
// then how many numbers are used, how many there are, and a counter (Go 1.22 to 1.26).
// In runtime.m, the state of cheaprand follows.
const state = { random: 36 * 8, used: 36 * 8, size: 38 * 8 }

/** Finds the states of the runtime's generators in the memory of two runs with different random data. */
function randomState(memory, other) {
  const differs = (at) => memory.readBigUInt64LE(at) !== other.readBigUInt64LE(at)
  const found = []
  for (let at = 0; at + state.size + 8 <= memory.length; at += 8) {
    let end = at
    while (end - at < state.random && differs(end)) end += 8
    if (end - at < state.random) {
      at = end
      continue
    }
    const [used, count] = [memory.readUInt32LE(at + state.used), memory.readUInt32LE(at + state.used + 4)]
    // chacha8rand makes 32 numbers at a time, of which it keeps 4 for the next seed now and then.
    if (used > count || (count !== 32 && count !== 28)) continue
    found.push([at, state.random])
    if (differs(at + state.size)) found.push([at + state.size, 8])
    at += state.size
  }
  const states = found.filter(([, length]) => length === state.random).length
  if (states !== 2 || found.length !== 3) throw new Error(`${states} states of random numbers were found in memory instead of those of the process and of its thread: compare runtime/rand.go and internal/chacha8rand with start.mjs`)
  return found
}
