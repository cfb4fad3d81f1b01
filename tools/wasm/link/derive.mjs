// Leaves out of a module what its memory has twice or can be computed:
//
// - the index of the function table, whose entries follow from the records of the functions,
//   which are stored in the order of the functions and without gaps,
// - the buckets in which the runtime searches a function by its address: it is a third of the
//   memory, because all functions have the same number of buckets.
//
// The module gets a start function that writes them when the module is instantiated.
//
// Brotli, agentruntime.wasm of two parts: see the table in README.md.

import { Module, code, noResult, number, op, section, type, unsigned, vector } from "./module.mjs"
import { bucket, func, functionTable } from "./tables.mjs"

// A function is known by its index in the table of functions of the module (Go 1.26).
const step = 1

/** Returns the module without the index and the buckets, and with a function that writes them. */
export function deriveTables(file) {
  const module = new Module(file)
  const memory = module.image()
  const table = functionTable(memory)
  if (!table) return file
  const entry = memory.readUInt32LE(table.index)
  const first = table.record(0)
  let record = first
  for (let i = 0; i < table.count; i++) {
    const asExpected = table.record(i) === record && memory.readUInt32LE(table.index + 8 * i) === entry + step * i && memory.readUInt32LE(record + func.entry) === entry + step * i
    if (!asExpected) throw new Error(`the function table is not as Go 1.26 makes it, at function ${i}`)
    record = aligned(table.end(record))
    memory.writeUInt32LE(0, table.record(i) + func.entry)
  }
  memory.fill(0, table.index, table.index + 8 * table.count)

  const { buckets, bucketCount } = table
  const end = buckets + bucket.size * bucketCount
  const expected = Buffer.alloc(end - buckets)
  for (let i = 0; i < bucketCount; i++) expected.writeUInt32LE(Math.floor(i / bucket.each), bucket.size * i)
  if (!memory.subarray(buckets, end).equals(expected)) throw new Error("the buckets of functions are not as Go 1.26 makes them")
  memory.fill(0, buckets, end)

  const functions = module.functions()
  const types = module.types()
  const body = startBody({ index: table.index, indexEnd: table.index + 8 * table.count, first, entry, buckets, bucketsEnd: end })
  return module
    .withImage(memory)
    .with({
      [section.type]: vector([...types, Buffer.from("600000", "hex")]),
      [section.function]: vector([...functions.map(({ type: of }) => unsigned(of)), unsigned(types.length)]),
      [section.code]: vector([...functions.map(({ body }) => [unsigned(body.length), body]), [unsigned(body.length), body]]),
    })
    .withStart(module.imports().length + functions.length)
    .encode()
}

const alignment = 8
const aligned = (at) => Math.ceil(at / alignment) * alignment

/**
 * For each function: its number into the index and its record, and the offset of its record into the index;
 * and into each of its buckets its number.
 */
function startBody({ index, indexEnd, first, entry, buckets, bucketsEnd }) {
  const store = (offset) => code(op.store, 2, unsigned(offset))
  const [at, record, address] = [0, 1, 2]
  return code(
    1, 3, type.i32,
    number(index), op.set, at, number(first), op.set, record, number(entry), op.set, address,
    op.loop, noResult,
    op.get, at, op.get, address, store(0),
    op.get, at, op.get, record, number(-index), op.add, store(4),
    op.get, record, op.get, address, store(func.entry),
    op.get, record, number(func.size + alignment - 1), op.add,
    op.get, record, op.load, 2, unsigned(func.tables), op.get, record, op.load8, 0, unsigned(func.datas), op.add, number(4), op.multiply, op.add,
    number(-alignment), op.and, op.set, record,
    op.get, address, number(step), op.add, op.set, address,
    op.get, at, number(8), op.add, op.set, at,
    op.get, at, number(indexEnd), op.notEqual, op.branchIf, 0,
    op.end,
    number(buckets), op.set, at, number(0), op.set, address,
    op.loop, noResult,
    ...Array.from({ length: bucket.each }, (_, k) => code(op.get, at, op.get, address, store(bucket.size * k))),
    op.get, address, number(1), op.add, op.set, address,
    op.get, at, number(bucket.size * bucket.each), op.add, op.set, at,
    op.get, at, number(bucketsEnd), op.notEqual, op.branchIf, 0,
    op.end, op.end,
  )
}
