// Reduces the download size of a WebAssembly file of the Go linker without changing its
// behaviour, in two steps; README.md has the figures.
//
// - The linker splits data at every eight zeros, into some 60,000 segments whose
//   headers compress badly. Here they are joined into a few.
// - The tables for traces of panics have the file and line of every instruction, the name
//   of every function, its arguments and the calls that were inlined into it. Only the
//   names of functions of this project and of the runtime are kept.
//
// Tables of an unknown form (another version of Go) are kept.

import { Module, Reader } from "./module.mjs"
import { func, functionTable, traces } from "./tables.mjs"

/** Returns the reduced file. */
export function slim(file) {
  const module = new Module(file)
  const memory = module.image()
  if (memory.length === 0) return module.encode()
  dropTraces(memory)
  return module.withImage(memory).encode()
}

// The functions whose names are kept. The runtime recognizes system goroutines by name.
const namesKept = /^main\.|^runtime\.|agentruntime/

/**
 * Clears the tables that only traces use. Equal tables are stored once in a shared pool;
 * one that equals a table which the runtime needs is kept.
 */
function dropTraces(memory) {
  const table = functionTable(memory)
  if (!table) return
  const needed = new Uint8Array(table.index - table.pool)
  const unneeded = []
  const named = []
  for (let i = 0; i < table.count; i++) {
    const record = table.record(i)
    const field = (offset) => memory.readUInt32LE(record + offset)
    const tables = Array.from({ length: field(func.tables) }, (_, k) => record + func.size + 4 * k)
    const datas = Array.from({ length: memory[record + func.datas] }, (_, k) => record + func.size + 4 * (tables.length + k))
    const forTraces = tables.filter((_, k) => traces.tables.includes(k))
    for (const at of [record + func.stack, ...tables.filter((at) => !forTraces.includes(at))]) {
      const offset = memory.readUInt32LE(at)
      if (offset > 0) needed.fill(1, offset, endOf(memory, table.pool, offset))
    }
    for (const at of [record + func.file, record + func.line, ...forTraces]) {
      const offset = memory.readUInt32LE(at)
      if (offset > 0) unneeded.push([offset, endOf(memory, table.pool, offset)])
    }
    const name = table.nameOf(record)
    if (namesKept.test(name)) named.push([table.names + field(func.name), name])
    else memory.writeUInt32LE(0, record + func.name) // no name
    // Without a table a trace shows "?:0" as the place.
    for (const at of [record + func.file, record + func.line, record + func.unit, record + func.firstLine, ...forTraces]) memory.writeUInt32LE(0, at)
    for (const [k, at] of datas.entries()) if (traces.datas.includes(k)) memory.writeUInt32LE(0xffffffff, at)
  }
  for (const [start, end] of unneeded) {
    for (let i = start; i < end; i++) if (!needed[i]) memory[table.pool + i] = 0
  }
  // Function names, and the file names after them, which nothing refers to now.
  memory.fill(0, table.names, table.pool)
  for (const [start, name] of named) memory.write(name, start)
}

/** Where the table at an offset of the pool ends: pairs of numbers, up to a zero that is not the first. */
function endOf(memory, pool, offset) {
  const read = new Reader(memory, pool + offset)
  for (let first = true; read.unsigned() !== 0 || first; first = false) read.unsigned()
  return read.at - pool
}
