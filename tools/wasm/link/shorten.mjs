// Writes what the Go compiler repeats in each function in a shorter form, or in one that
// is the same in all functions, so that it compresses well. README.md has the figures.
//
// A function of Go is called with PC_B, the number of the place at which it begins or goes
// on; it returns 1 to leave all WebAssembly frames ("unwind"), else 0. It has the form
//
//	block
//	  loop                    to which it jumps for another place: PC_B = place; branch
//	    block block … block   one for each place
//	      PC_B; branchTable
//	    end …                 here is place 0
//	    end …                 here is place 1
//	  end
//	end
//	i32.const 1
//
// and stores before each call, below the stack pointer, the place where it goes on:
// PC_F << 16 | PC_B, where PC_F is the function's index in the table.

import { Module, code, decode, encode, noResult, op, section, signed, type, unsigned, vector } from "./module.mjs"

/** The index of the first function in the table (cmd/link/internal/wasm: funcValueOffset). */
export const tableBase = 0x1000

/** The type of Go's functions: (PC_B) → unwind. */
export const goType = "60017f017f"

/** The local variables that all functions of the compiler have: the argument, and the stack pointer (cmd/internal/obj/wasm). */
const local = { place: 0, sp: 1 }

/** The global variables of a Go program, and how many there are (cmd/internal/obj/wasm). */
export const global = { sp: 0, g: 2, pause: 7, count: 8 }

/** Returns the file with shorter functions, which do the same. */
export function shorten(file) {
  const module = new Module(file)
  const types = module.types().map((of) => of.toString("hex"))
  const bodies = module.functions().map(({ type: of, body }, i) => (types[of] === goType ? shortened(body, tableBase + i) : body))
  return module.with({ [section.code]: vector(bodies.map((body) => [unsigned(body.length), body])) }).encode()
}

function shortened(body, pcF) {
  const { variables, instructions } = decode(body)
  const [first, second] = instructions
  const compiled = is(first, op.globalGet, global.sp) && is(second, op.set, local.sp)
  if (!compiled) return body // written in assembly
  return encode(places({ variables, instructions: unwinds(jumps(offsets(instructions))) }, BigInt(pcF)))
}

/** Whether an instruction is one of the code, and has the number if one is given: that of a variable, or a constant. */
function is(instruction, code, number) {
  return instruction?.op === code && (number === undefined || Number(instruction.index ?? instruction.value) === number)
}

/** The address of a variable on the stack, SP + N, becomes SP and the offset N of the load or store that takes it. */
function offsets(list) {
  const out = []
  const more = new Map() // by the load or store
  for (let i = 0; i < list.length; i++) {
    const [sp, extend, offset, add, wrap] = list.slice(i, i + 5)
    const address = is(sp, op.get, local.sp) && is(extend, op.extend) && is(offset, op.i64) && offset.value >= 0n && is(add, op.add64) && is(wrap, op.wrap)
    const taker = address && takerOf(list, i + 5)
    if (taker) {
      more.set(taker, Number(offset.value))
      out.push(sp)
      i += 4
    } else out.push(list[i])
  }
  return out.map((it) => (more.has(it) ? withOffset(it, it.offset + more.get(it)) : it))
}

/** The load or store that takes the address which was put on the stack of operands before an instruction. */
function takerOf(list, from) {
  for (let i = from, above = 0; i < list.length; i++) {
    const it = list[i]
    const effect = effectOf(it)
    if (!effect) return undefined
    const [taken, given] = effect
    if (taken > above) {
      const loads = it.op >= op.load && it.op <= op.lastLoad && above === 0
      const stores = it.op >= op.store && it.op <= op.lastStore && above === 1
      return loads || stores ? it : undefined
    }
    above += given - taken
  }
}

/** How many operands an instruction takes and gives; undefined for one that is not a plain computation. */
function effectOf({ op: of, more }) {
  if (of === op.get || of === op.globalGet || (of >= op.i32 && of <= op.f64)) return [0, 1]
  if (of === op.set || of === op.globalSet || of === op.drop) return [1, 0]
  if (of === op.tee || (of >= op.load && of <= op.lastLoad)) return [1, 1]
  if (of >= op.store && of <= op.lastStore) return [2, 0]
  if (of === op.select) return [3, 1]
  if (of >= op.eqz && of <= op.lastNumeric) return [unary.some(([from, to]) => of >= from && of <= to) ? 1 : 2, 1]
  if (of === op.more && more < 8) return [1, 1]
}

/** The numeric instructions with one operand, in ranges: eqz, clz … popcnt, abs … sqrt, and conversions. */
const unary = [[0x45, 0x45], [0x50, 0x50], [0x67, 0x69], [0x79, 0x7b], [0x8b, 0x91], [0x99, 0x9f], [0xa7, op.lastNumeric]]

function withOffset(instruction, offset) {
  return { ...instruction, offset, bytes: code(instruction.op, instruction.bytes[1], unsigned(offset)) }
}

/** A jump to a later place leaves the blocks up to it, without the loop and its table. */
function jumps(list) {
  const table = list.findIndex((it) => it.op === op.branchTable)
  // Otherwise PC_B is a variable for a moment: set, i32.const 0, get.
  const usesPlace = list.some((it, i) => is(it, op.get, local.place) && i !== table - 1 && !is(list[i - 2], op.set, local.place))
  if (table < 0 || usesPlace) return list
  let begin = table - 1
  while (is(list[begin - 1], op.block)) begin--
  const places = table - 1 - begin
  const out = []
  let depth = 0 // open blocks
  let left = 0 // blocks of places that have ended
  let [loop, top] = [0, Infinity] // the depth within the loop, and within the blocks of places
  for (let i = 0; i < list.length; i++) {
    const it = list[i]
    const [condition, to, set, branch, end] = it.op === op.if ? list.slice(i, i + 5) : [undefined, ...list.slice(i, i + 3)]
    const jump = i > table && is(to, op.i32) && is(set, op.set, local.place) && is(branch, op.branch, depth + (condition ? 1 : 0) - loop) && (!condition || is(end, op.end))
    const target = jump ? list[table].targets[Math.min(Number(to.value), list[table].targets.length - 1)] : -1
    if (target >= left) {
      const of = condition ? op.branchIf : op.branch
      out.push(indexed(of, target - left + depth - (top - left)))
      i += condition ? 4 : 2
      continue
    }
    if (it.op === op.block || it.op === op.loop || it.op === op.if) depth++
    if (it.op === op.loop && loop === 0) loop = depth
    if (it.op === op.end) depth--
    if (i === table) top = depth
    if (it.op === op.end && left < places && depth < top - left) left++
    out.push(it)
  }
  return out
}

/** A branch, or an instruction of a variable. */
function indexed(of, index) {
  return { op: of, index, bytes: code(of, unsigned(index)) }
}

/** A branch to the end, which returns 1, does so at once: how many blocks it leaves differs from place to place. */
function unwinds(list) {
  const [block, one, end] = list.slice(-3)
  if (!is(block, op.end) || !is(one, op.i32, 1) || !is(end, op.end)) return list
  let [depth, outermost] = [0, 0] // open blocks, and those that have ended and were in no other
  const out = list.flatMap((it) => {
    if (it.op === op.block || it.op === op.loop || it.op === op.if) depth++
    if (it.op === op.end && --depth === 0) outermost++
    return is(it, op.branchIf, depth - 1) ? [{ op: op.if, bytes: code(op.if, noResult) }, one, { op: op.return, bytes: code(op.return) }, end] : [it]
  })
  return outermost === 1 ? out : list // of two, the first's end is not the function's
}

/** PC_F << 16 is a local variable, of the same index in all functions. */
function places({ variables, instructions }, pcF) {
  const isPlace = (it) => it.op === op.i64 && it.value >> 16n === pcF
  if (!instructions.some(isPlace)) return { variables, instructions }
  const first = local.sp + 1
  const moved = instructions.flatMap((it) => {
    if (it.op >= op.get && it.op <= op.tee && it.index >= first) return [indexed(it.op, it.index + 1)]
    if (!isPlace(it)) return [it]
    const place = it.value & 0xffffn
    return place === 0n ? [indexed(op.get, first)] : [indexed(op.get, first), { bytes: code(op.i64, signed(place)) }, { bytes: code(op.or64) }]
  })
  const begin = [{ bytes: code(op.i64, signed(pcF << 16n)) }, indexed(op.set, first)]
  return { variables: [...variables.slice(0, local.sp), type.i64, ...variables.slice(local.sp)], instructions: [...begin, ...moved] }
}
