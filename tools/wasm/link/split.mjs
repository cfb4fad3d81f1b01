// Splits a started program (start.mjs) in two modules: the first has the functions that a
// profile names, the second all others. A page loads the second when it has time, or at the
// first call into it (js/src/core/rest.ts).
//
// Go's functions are in the table of the module, in the order of their indexes, from 0x1000
// on; Go calls this index PC_F. In the first module, a function of the second is a stub,
// which passes its PC_F to a helper:
//
//   - The second module is there: it has put the function into the table, and the helper
//     calls it there.
//   - It is not: the helper calls the import "rest.missing". When that returns 0, the second
//     module is there now. When it returns 1, the helper stores the call where Go's loop
//     (wasm_pc_f_loop) looks for the next function, sets PAUSE and returns 1, "unwind". So all
//     WebAssembly frames return to JavaScript, as they do when Go waits for an event; Go's own
//     stacks are in the memory. Later JavaScript calls the export "loop", which begins with
//     the function that was missing.
//
// Some functions are always in the first module, see mustStay. What only the second module
// needs of the memory is there too, see takeLate.

import { createHash } from "node:crypto"
import { Module, Reader, call, callees, code, constant, dataSegments, decode, encode, kind, noResult, number, op, replaceCalls, section, text, type, unsigned, vector } from "./module.mjs"
import { global, goType, tableBase } from "./shorten.mjs"
import { func, functionTable } from "./tables.mjs"

/** The custom section in which both modules have the name of the split, and the first the name of the other's file. */
export const sectionName = "go.split"

/**
 * Returns the two modules. `file` is the name that the second will have, of which `*`
 * is replaced by a checksum of its content.
 *
 * @param {Buffer} started
 * @param {object} options
 * @param {Map<number, string>} options.names of the functions, by index
 * @param {Set<string>} options.hot the names of the functions of the first module
 * @param {string} options.file
 */
export function split(started, { names, hot, file }) {
  const program = new Module(started)
  const imports = program.imports()
  const functions = program.functions()
  const types = program.types().map((t) => t.toString("hex"))
  check(program, types, functions.length)
  const nameOf = (i) => names.get(imports.length + i)
  const stays = mustStay(program, { imports, functions, types })
  const isHot = functions.map((_, i) => stays.has(i) || hot.has(nameOf(i)))
  const cold = functions.flatMap((_, i) => (isHot[i] ? [] : [i]))

  const late = takeLate(program, { functions, isHot, cold })
  const second = makeSecond(program, { imports, functions, types, cold, late })
  const id = createHash("sha256").update(started).update(second).digest("hex").slice(0, 16)
  const rest = new Module(second).withCustom(sectionName, Buffer.from(JSON.stringify({ id }))).encode()
  const restFile = file.replace("*", createHash("sha256").update(rest).digest("hex").slice(0, 8))
  const first = makeFirst(program.withImage(late.memory), { imports, functions, types, isHot, noresume: stays.noresume })
    .withCustom(sectionName, Buffer.from(JSON.stringify({ id, file: restFile })))
    .encode()
  return { first, rest, file: restFile, counts: { hot: functions.length - cold.length, cold: cold.length } }
}

/**
 * Returns what only the second module needs of the memory, as segments, and the memory without it:
 *
 * - the names of functions, which traces read, but for those by which the runtime recognizes its own goroutines,
 * - the records of functions of the second module, which the runtime reads when it walks a stack on which they are.
 *   A record stays if a stack can have the function before the module is there: if a value of the memory may be an address in
 *   it, as of a goroutine that waits since the start, or one in the code of the first module, as of a closure that becomes a
 *   goroutine.
 */
function takeLate(program, { functions, isHot, cold }) {
  const memory = program.image()
  const table = functionTable(memory)
  if (!table) return { memory, segments: [] }
  const known = new Set()
  const add = (address) => known.add(Math.floor(address / 65536) - tableBase)
  for (let at = 0; at + 4 <= memory.length; at += 4) add(memory.readUInt32LE(at))
  functions.forEach(({ body }, i) => {
    if (isHot[i]) for (const it of decode(body).instructions) if (it.op === op.i64) add(Number(it.value))
  })
  const segments = runs(cold.filter((i) => !known.has(i))).map(([begin, end]) => {
    const from = table.record(begin)
    const records = Buffer.from(memory.subarray(from, table.end(table.record(end - 1))))
    // What the first module finds the next record with stays.
    for (let i = begin; i < end; i++) {
      const record = table.record(i)
      const [tables, datas] = [memory.readUInt32LE(record + func.tables), memory[record + func.datas]]
      memory.fill(0, record + func.name, table.end(record))
      memory.writeUInt32LE(tables, record + func.tables)
      memory[record + func.datas] = datas
    }
    return [from, records]
  })
  // All names are one segment: zeros of a gap would overwrite what is there.
  const names = Buffer.from(memory.subarray(table.names, table.units))
  memory.fill(0, table.names, table.units)
  for (let at = 0; at < names.length; ) {
    const end = names.indexOf(0, at)
    if (names.toString("utf8", at, end).startsWith("runtime.")) names.copy(memory, table.names + at, at, end)
    at = end + 1
  }
  return { memory, segments: [...segments, [table.names, names]] }
}

function check(program, types, count) {
  const read = new Reader(program.body(section.element))
  const [segments, table, start, base] = [read.unsigned(), read.byte(), read.byte(), read.signed()]
  read.end()
  if (segments !== 1 || table !== 0 || start !== op.i32 || base !== tableBase || read.unsigned() !== count) throw new Error("the table of functions is not as Go 1.26 makes it")
  if (program.globals().length !== global.count) throw new Error("the global variables are not those of Go 1.26")
  if (types.indexOf(goType) < 0) throw new Error("Go's functions have another type")
}

/**
 * The functions that are needed while the second module is not there: those that are not
 * called as Go's functions are, so that they can't be stubs; those that call imports; the
 * exports and what they call; and what can't be left and entered again.
 */
function mustStay(program, { imports, functions, types }) {
  const stays = new Set()
  const own = (f) => f - imports.length
  const isGo = (i) => types[functions[i].type] === goType
  const calleesOf = (i) => callees(functions[i].body)
  let noresume
  functions.forEach((_, i) => {
    if (isGo(i)) {
      if (calleesOf(i).some((f) => f < imports.length)) stays.add(i)
      return
    }
    stays.add(i)
    for (const f of calleesOf(i)) {
      if (f < imports.length) continue
      stays.add(own(f))
      // The one Go function that is called by one of another kind, and so can't be left
      // and entered again: gcWriteBarrier calls wbBufFlush.
      if (isGo(own(f)) && types[functions[i].type] === "60017e017e") noresume = { caller: i, callee: own(f) }
    }
  })
  for (const { kind: what, index } of program.exports()) if (what === kind.function) for (const f of calleesOf(own(index))) stays.add(own(f))
  if (!noresume) throw new Error("gcWriteBarrier was not found")
  return Object.assign(stays, { noresume })
}

/** The index of wasm_pc_f_loop: the second function that the export resume calls. */
function loopOf(program, { imports, functions }) {
  const resume = program.exports().find(({ name }) => name === "resume").index - imports.length
  const called = callees(functions[resume].body)
  if (called.length !== 2) throw new Error("the export resume is not as Go 1.26 makes it")
  return called[1]
}

function makeFirst(program, { imports, functions, types, isHot, noresume }) {
  // One more import and one more function than before: all others have the next index.
  const missing = imports.length
  const moved = (f) => (f < imports.length ? f : f + 1)
  const helper = moved(imports.length + functions.length)
  const [loaded, fixed] = [global.count, global.count + 1]
  const helperType = types.length
  const goTypeIndex = types.indexOf(goType)

  const helperBody = code(
    0, // no variables; the arguments are PC_B and PC_F
    op.globalGet, unsigned(loaded), op.eqz, op.if, noResult,
    op.get, 1, call(missing), op.if, noResult,
    // The call, at SP-8.
    op.globalGet, global.sp, number(8), op.sub, op.get, 1, number(16), op.shl, op.get, 0, op.or, op.extend, op.store64, 3, 0,
    number(1), op.globalSet, global.pause, number(1), op.return, op.end, op.end,
    op.get, 0, op.get, 1, op.callIndirect, unsigned(goTypeIndex), 0, op.end,
  )
  const body = (i) => {
    if (!isHot[i]) return code(0, op.get, 0, number(tableBase + i), call(helper), op.end)
    return replaceCalls(functions[i].body, (f) => {
      const target = call(moved(f))
      const unsafe = i === noresume.caller && f === imports.length + noresume.callee
      return unsafe ? code(number(1), op.globalSet, unsigned(fixed), target, number(0), op.globalSet, unsigned(fixed)) : target
    })
  }
  const sized = (content) => [unsigned(content.length), content]
  const variable = [Buffer.from([type.i32, 1]), constant(type.i32, 0)]
  const exported = (name, what, index) => [text(name), Buffer.from([what]), unsigned(index)]
  return program.with({
    [section.type]: vector([...program.types(), Buffer.from("60027f7f017f", "hex")]),
    [section.import]: vector([
      ...imports.map(({ module, name, type: of }) => [text(module), text(name), Buffer.from([kind.function]), unsigned(of)]),
      [text("rest"), text("missing"), Buffer.from([kind.function]), unsigned(goTypeIndex)],
    ]),
    [section.function]: vector([...functions.map(({ type: of }) => unsigned(of)), unsigned(helperType)]),
    [section.global]: vector([...program.globals().map((g) => [Buffer.from([g.type, 1]), constant(g.type, g.value)]), variable, variable]),
    [section.export]: vector([
      ...program.exports().map(({ name, kind: what, index }) => exported(name, what, what === kind.function ? moved(index) : index)),
      exported("loop", kind.function, moved(loopOf(program, { imports, functions }))),
      exported("table", kind.table, 0),
      exported("loaded", kind.global, loaded),
      exported("fixed", kind.global, fixed),
      ...Array.from({ length: global.count }, (_, i) => exported(`global ${i}`, kind.global, i)),
    ]),
    [section.element]: vector([[Buffer.from([0]), constant(type.i32, tableBase), vector(functions.map((_, i) => unsigned(moved(imports.length + i))))]]),
    [section.code]: vector([...functions.map((_, i) => sized(body(i))), sized(helperBody)]),
  })
}

function makeSecond(program, { imports, functions, types, cold, late }) {
  const indexes = new Map(cold.map((i, at) => [imports.length + i, at]))
  const body = (i) =>
    replaceCalls(functions[i].body, (f) => {
      const own = indexes.get(f)
      if (own !== undefined) return call(own)
      const j = f - imports.length
      return code(number(tableBase + j), op.callIndirect, unsigned(functions[j].type), 0)
    })
  const from = (name, what, ...more) => [text("first"), text(name), Buffer.from([what]), ...more]
  const table = program.body(section.table).subarray(1) // of the only table
  const memory = program.body(section.memory).subarray(1)
  const sections = {
    [section.type]: vector(program.types()),
    [section.import]: vector([
      from("mem", kind.memory, memory),
      from("table", kind.table, table),
      ...program.globals().map((g, i) => from(`global ${i}`, kind.global, Buffer.from([g.type, 1]))),
      from("loaded", kind.global, Buffer.from([type.i32, 1])),
    ]),
    [section.function]: vector(cold.map((i) => unsigned(functions[i].type))),
    [section.element]: vector(runs(cold).map(([begin, end]) => [Buffer.from([0]), constant(type.i32, tableBase + begin), vector(Array.from({ length: end - begin }, (_, k) => unsigned(indexes.get(imports.length + begin + k))))])),
    [section.code]: vector(cold.map((i) => body(i)).map((content) => [unsigned(content.length), content])),
    [section.data]: dataSegments(late.segments),
  }
  return new Module(Buffer.from([0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0])).withSections(sections).encode()
}

/** Consecutive numbers, as [begin, end]. */
function runs(numbers) {
  const found = []
  for (const n of numbers) {
    const last = found.at(-1)
    if (last && last[1] === n) last[1]++
    else found.push([n, n + 1])
  }
  return found
}

/**
 * Returns the first part of a program that counts: each function sets an exported variable
 * "entered N" when it is entered, where N is its index before the split. For making the profile.
 */
export function instrument(file) {
  const program = new Module(file)
  const imports = program.imports()
  const functions = program.functions()
  const globals = program.globals()
  const variable = [Buffer.from([type.i32, 1]), constant(type.i32, 0)]
  const bodies = functions.map(({ body }, i) => {
    const { variables, instructions } = decode(body)
    return encode({ variables, instructions: [{ bytes: code(number(1), op.globalSet, unsigned(globals.length + i)) }, ...instructions] })
  })
  return program
    .with({
      [section.global]: vector([...globals.map((g) => [Buffer.from([g.type, 1]), constant(g.type, g.value)]), ...functions.map(() => variable)]),
      [section.export]: vector([
        ...program.exports().map(({ name, kind: what, index }) => [text(name), Buffer.from([what]), unsigned(index)]),
        ...functions.map((_, i) => [text(`entered ${imports.length - 1 + i}`), Buffer.from([kind.global]), unsigned(globals.length + i)]),
      ]),
      [section.code]: vector(bodies.map((body) => [unsigned(body.length), body])),
    })
    .encode()
}
