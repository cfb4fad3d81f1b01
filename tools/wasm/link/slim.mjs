// Reduces the download size of a WebAssembly file of the Go linker without changing
// its behaviour, in two steps (brotli sizes, Go 1.26, -gcflags=all=-l):
//
//                       agentruntime.wasm   chat.wasm
//   as linked               1,213,958        847,847
//   data segments joined    1,096,761 -10 %  766,194 -10 %
//   tables dropped too      1,023,694 -16 %  709,116 -16 %
//
// - The linker splits data at every eight zeros, into some 60,000 segments whose
//   headers compress badly. Here they are joined into a few.
// - The tables for traces of panics have the file and line of every instruction and
//   the name of every function. Only the names of functions of this project and of
//   the runtime are kept.
//
// Tables of an unknown form (another version of Go) are kept.

import { Module, Reader } from "./module.mjs"

/** Returns the reduced file. */
export function slim(file) {
  const module = new Module(file)
  const memory = module.image()
  if (memory.length === 0) return module.encode()
  dropTraces(memory)
  return module.withImage(memory).encode()
}

// The function table of Go 1.20 and later for 64-bit words: its magic number, two
// zeros, the size of an instruction and of a word (runtime.pcHeader).
const header = Buffer.from([0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8])

// The offsets of the fields of runtime._func, in bytes.
const func = { name: 4, stack: 16, file: 20, line: 24, tables: 28, size: 44 }

// The functions whose names are kept. The runtime recognizes system goroutines by name.
const namesKept = /^main\.|^runtime\.|agentruntime/

/**
 * Clears the tables that only traces use. Equal tables are stored once in a shared pool;
 * one that equals a table which the runtime needs is kept.
 */
function dropTraces(memory) {
  const table = memory.indexOf(header)
  if (table < 0) return
  const word = (i) => Number(memory.readBigUInt64LE(table + 8 + 8 * i))
  const [count, , , names, units, , pool, funcs] = Array.from({ length: 8 }, (_, i) => word(i))
  if (!(names > 0 && units > names && pool > units && funcs > pool && table + funcs + 8 * count < memory.length)) return

  const needed = new Uint8Array(funcs - pool)
  const unneeded = []
  const places = []
  const named = []
  for (let i = 0; i < count; i++) {
    const place = table + funcs + memory.readUInt32LE(table + funcs + 8 * i + 4)
    const field = (offset) => memory.readUInt32LE(place + offset)
    const kept = Array.from({ length: field(func.tables) }, (_, k) => field(func.size + 4 * k))
    for (const offset of [field(func.stack), ...kept]) {
      if (offset > 0) needed.fill(1, offset, endOf(memory, table + pool, offset))
    }
    for (const offset of [field(func.file), field(func.line)]) {
      if (offset > 0) unneeded.push([offset, endOf(memory, table + pool, offset)])
    }
    places.push(place)
    const start = table + names + field(func.name)
    const name = memory.subarray(start, memory.indexOf(0, start)).toString()
    if (namesKept.test(name)) named.push([start, name])
    else memory.writeUInt32LE(0, place + func.name) // no name
  }
  for (const [start, end] of unneeded) {
    for (let i = start; i < end; i++) if (!needed[i]) memory[table + pool + i] = 0
  }
  // Without a table a trace shows "?:0" as the place.
  for (const place of places) memory.fill(0, place + func.file, place + func.tables)
  // Function names, and the file names after them, which nothing refers to now.
  memory.fill(0, table + names, table + pool)
  for (const [start, name] of named) memory.write(name, start)
}

/** Where the table at an offset of the pool ends: pairs of numbers, up to a zero that is not the first. */
function endOf(memory, pool, offset) {
  const read = new Reader(memory, pool + offset)
  for (let first = true; read.unsigned() !== 0 || first; first = false) read.unsigned()
  return read.at - pool
}
