// Reads and writes WebAssembly files, as far as those of the Go linker need it.
// https://webassembly.github.io/spec/core/binary/

const magic = Buffer.from([0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00])

/** The ids of sections. */
export const section = { custom: 0, type: 1, import: 2, function: 3, table: 4, memory: 5, global: 6, export: 7, start: 8, element: 9, code: 10, data: 11 }

/** The kinds of imports and exports. */
export const kind = { function: 0, table: 1, memory: 2, global: 3 }

/** The types of values. */
export const type = { i32: 0x7f, i64: 0x7e }

/** The size of a page of memory, in bytes. */
export const pageSize = 65536

/** A file, as its sections. */
export class Module {
  /** @param {Uint8Array} file */
  constructor(file) {
    const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength)
    if (!bytes.subarray(0, magic.length).equals(magic)) throw new Error("not a WebAssembly file")
    /** @type {{ id: number, body: Buffer }[]} */
    this.sections = []
    const read = new Reader(bytes, magic.length)
    while (!read.done) {
      const id = read.byte()
      this.sections.push({ id, body: read.bytes(read.unsigned()) })
    }
  }

  /** The body of a section; undefined when the file has none. */
  body(id) {
    return this.sections.find((s) => s.id === id)?.body
  }

  /** Replaces the bodies of sections, by id, and returns a new module. */
  with(bodies) {
    const changed = Object.create(Module.prototype)
    changed.sections = this.sections.map(({ id, body }) => ({ id, body: bodies[id] ?? body }))
    return changed
  }

  /** A module of these sections, by id. */
  withSections(bodies) {
    const made = Object.create(Module.prototype)
    made.sections = Object.entries(bodies).map(([id, body]) => ({ id: Number(id), body }))
    return made
  }

  /** Adds a function that is called when the module is instantiated. */
  withStart(index) {
    if (this.body(section.start)) throw new Error("the module has a start function")
    const changed = Object.create(Module.prototype)
    const after = this.sections.findIndex(({ id }) => id > section.start)
    changed.sections = [...this.sections.slice(0, after), { id: section.start, body: unsigned(index) }, ...this.sections.slice(after)]
    return changed
  }

  /** Adds a custom section at the end. */
  withCustom(name, content) {
    const changed = Object.create(Module.prototype)
    changed.sections = [...this.sections, { id: section.custom, body: Buffer.concat([text(name), content]) }]
    return changed
  }

  encode() {
    return Buffer.concat([magic, ...this.sections.flatMap(({ id, body }) => [Buffer.from([id]), unsigned(body.length), body])])
  }

  /** The global variables, which the Go linker makes mutable and initialises with constants. */
  globals() {
    const read = new Reader(this.body(section.global))
    return read.list(() => {
      const global = { type: read.byte(), mutable: read.byte() === 1, value: 0n }
      if (read.byte() !== (global.type === type.i32 ? op.i32 : op.i64)) throw new Error("a global without a constant value")
      global.value = read.signed64()
      read.end()
      return global
    })
  }

  exports() {
    const read = new Reader(this.body(section.export))
    return read.list(() => ({ name: read.text(), kind: read.byte(), index: read.unsigned() }))
  }

  /** The types of functions, as they are encoded. */
  types() {
    const read = new Reader(this.body(section.type))
    return read.list(() => {
      const start = read.at
      read.byte()
      read.bytes(read.unsigned())
      read.bytes(read.unsigned())
      return read.source.subarray(start, read.at)
    })
  }

  /** The imports, which are functions. */
  imports() {
    const read = new Reader(this.body(section.import))
    return read.list(() => {
      const found = { module: read.text(), name: read.text(), kind: read.byte(), type: read.unsigned() }
      if (found.kind !== kind.function) throw new Error("want functions as imports only")
      return found
    })
  }

  /** The types of the module's own functions, and their bodies. */
  functions() {
    const types = new Reader(this.body(section.function))
    const code = new Reader(this.body(section.code))
    const of = types.list(() => types.unsigned())
    return code.list(() => code.bytes(code.unsigned())).map((body, i) => ({ type: of[i], body }))
  }

  /** The names of the module's functions, by index with the imports; undefined in a file without names. */
  names() {
    for (const { id, body } of this.sections) {
      if (id !== section.custom) continue
      const read = new Reader(body)
      if (read.text() !== "name") continue
      while (!read.done) {
        const sub = read.byte()
        const content = new Reader(read.bytes(read.unsigned()))
        if (sub === 1) return new Map(content.list(() => [content.unsigned(), content.text()]))
      }
    }
  }

  /** Leaves the custom sections of a name out. */
  withoutCustom(name) {
    const changed = Object.create(Module.prototype)
    changed.sections = this.sections.filter(({ id, body }) => id !== section.custom || new Reader(body).text() !== name)
    return changed
  }

  /** The minimum of the memory, in pages. */
  memoryPages() {
    const read = new Reader(this.body(section.memory))
    if (read.unsigned() !== 1 || read.byte() !== 0) throw new Error("want one memory without a maximum")
    return read.unsigned()
  }

  /** The initial memory that the data segments define, from address 0, or nothing without data. */
  image() {
    const body = this.body(section.data)
    if (!body) return Buffer.alloc(0)
    const read = new Reader(body)
    const segments = read.list(() => {
      // Of memory 0, at a constant address: i32.const … end.
      if (read.byte() !== 0 || read.byte() !== op.i32) throw new Error("unexpected kind of data segment")
      const address = read.signed()
      read.end()
      return [address, read.bytes(read.unsigned())]
    })
    const memory = Buffer.alloc(Math.max(0, ...segments.map(([address, bytes]) => address + bytes.length)))
    for (const [address, bytes] of segments) bytes.copy(memory, address)
    return memory
  }

  /** Replaces the data segments by those that make this memory. */
  withImage(memory) {
    return this.with({ [section.data]: dataSegments(cut(memory)) })
  }
}

// The number of zeros in a row at which a new segment begins.
const gap = 256

/** Splits memory into segments without its long runs of zeros, which new memory has anyway. */
export function cut(memory) {
  const segments = []
  const zeros = Buffer.alloc(gap)
  for (let at = 0; ; ) {
    while (at < memory.length && memory[at] === 0) at++
    if (at >= memory.length) return segments
    const found = memory.indexOf(zeros, at)
    const end = found < 0 ? memory.length : found
    segments.push([at, memory.subarray(at, end)])
    at = end
  }
}

/** Reads the numbers of WebAssembly, which are those of Go's tables too (LEB128). */
export class Reader {
  constructor(bytes, at = 0) {
    this.source = bytes
    this.at = at
  }

  get done() {
    return this.at >= this.source.length
  }

  byte() {
    if (this.done) throw new Error("the file ends too early")
    return this.source[this.at++]
  }

  bytes(length) {
    if (this.at + length > this.source.length) throw new Error("the file ends too early")
    this.at += length
    return this.source.subarray(this.at - length, this.at)
  }

  unsigned() {
    let value = 0
    for (let shift = 1; ; shift *= 128) {
      const byte = this.byte()
      value += (byte & 127) * shift
      if (byte < 128) return value
    }
  }

  signed() {
    return Number(this.signed64())
  }

  signed64() {
    let value = 0n
    for (let shift = 0n; ; ) {
      const byte = this.byte()
      value |= BigInt(byte & 127) << shift
      shift += 7n
      if (byte < 128) return byte & 64 ? value - (1n << shift) : value
    }
  }

  text() {
    return this.bytes(this.unsigned()).toString()
  }

  list(item) {
    return Array.from({ length: this.unsigned() }, item)
  }

  /** The end of a constant expression. */
  end() {
    if (this.byte() !== op.end) throw new Error("want a constant")
  }
}

export function unsigned(value) {
  const bytes = []
  do {
    bytes.push((value % 128) | (value >= 128 ? 128 : 0))
    value = Math.floor(value / 128)
  } while (value > 0)
  return Buffer.from(bytes)
}

export function signed(number) {
  const bytes = []
  for (let value = BigInt(number); ; ) {
    const low = Number(value & 127n)
    value >>= 7n
    const last = (value === 0n && !(low & 64)) || (value === -1n && (low & 64) !== 0)
    bytes.push(last ? low : low | 128)
    if (last) return Buffer.from(bytes)
  }
}

export function text(value) {
  const bytes = Buffer.from(value)
  return Buffer.concat([unsigned(bytes.length), bytes])
}

/** A list of items, each a buffer or a list of buffers. */
export function vector(items) {
  return Buffer.concat([unsigned(items.length), ...items.flat(Infinity)])
}

/** The section of data with these segments, each an address and its bytes. */
export function dataSegments(segments) {
  return vector(segments.map(([address, bytes]) => [Buffer.from([0]), constant(type.i32, address), unsigned(bytes.length), bytes]))
}

/** A constant expression. */
export function constant(of, value) {
  return code(of === type.i32 ? op.i32 : op.i64, signed(value), op.end)
}

/** Bytes, and parts of them. */
export function code(...parts) {
  return Buffer.concat(parts.map((part) => (Buffer.isBuffer(part) ? part : Buffer.from([part]))))
}

/** The codes of instructions, by their names without the type where one type is enough. */
export const op = {
  unreachable: 0x00, block: 0x02, loop: 0x03, if: 0x04, else: 0x05, end: 0x0b, branch: 0x0c, branchIf: 0x0d, branchTable: 0x0e, return: 0x0f, call: 0x10, callIndirect: 0x11,
  drop: 0x1a, select: 0x1b, get: 0x20, set: 0x21, tee: 0x22, globalGet: 0x23, globalSet: 0x24,
  load: 0x28, load8: 0x2d, lastLoad: 0x35, store: 0x36, store64: 0x37, lastStore: 0x3e, memorySize: 0x3f, memoryGrow: 0x40,
  i32: 0x41, i64: 0x42, f32: 0x43, f64: 0x44, eqz: 0x45, notEqual: 0x47, add: 0x6a, sub: 0x6b, multiply: 0x6c, and: 0x71, or: 0x72, shl: 0x74,
  add64: 0x7c, or64: 0x84, wrap: 0xa7, extend: 0xad, lastNumeric: 0xc4, more: 0xfc,
}

/** The type of a block without a result. */
export const noResult = 0x40

/** i32.const */
export const number = (value) => code(op.i32, signed(value))

/** call */
export const call = (f) => code(op.call, unsigned(f))

/**
 * @typedef {object} Instruction
 * @property {number} op
 * @property {Buffer} bytes the whole instruction
 * @property {number} [index] of a variable or function, or how many blocks a branch leaves
 * @property {bigint} [value] of a constant
 * @property {number} [offset] of a load or store
 * @property {number[]} [targets] of branchTable, the last is for all other numbers
 */

/**
 * Returns the types of a function's local variables and its instructions. It knows those
 * that the Go compiler uses, and throws for any other.
 *
 * @returns {{ variables: number[], instructions: Instruction[] }}
 */
export function decode(body) {
  const read = new Reader(body)
  const variables = read.list(() => [read.unsigned(), read.byte()]).flatMap(([count, of]) => Array(count).fill(of))
  const instructions = []
  while (!read.done) {
    const start = read.at
    const found = { op: read.byte() }
    const is = found.op
    if (is === op.branchTable) found.targets = [...read.list(() => read.unsigned()), read.unsigned()]
    else if (is === op.callIndirect) read.unsigned(), read.unsigned()
    else if (is >= op.load && is <= op.lastStore) read.unsigned(), (found.offset = read.unsigned())
    else if (is === op.i32 || is === op.i64) found.value = read.signed64()
    else if (is === op.block || is === op.loop || is === op.if) read.signed64()
    else if (is === op.branch || is === op.branchIf || is === op.call || (is >= op.get && is <= op.globalSet)) found.index = read.unsigned()
    else if (is === op.memorySize || is === op.memoryGrow) read.byte()
    else if (is === op.f32) read.bytes(4)
    else if (is === op.f64) read.bytes(8)
    else if (is === op.more) {
      found.more = read.unsigned()
      if (found.more === 10) read.bytes(2) // memory.copy
      else if (found.more === 11) read.bytes(1) // memory.fill
      else if (found.more > 7) throw new Error(`unexpected instruction fc ${found.more}`) // up to 7: numbers to integers
    } else if (!(is <= 0x01 || is === op.else || is === op.end || is === op.return || is === op.drop || is === op.select || (is >= op.eqz && is <= op.lastNumeric))) {
      throw new Error(`unexpected instruction ${is.toString(16)}`)
    }
    found.bytes = body.subarray(start, read.at)
    instructions.push(found)
  }
  return { variables, instructions }
}

/** The body of a function with these local variables and instructions. */
export function encode({ variables, instructions }) {
  const groups = []
  for (const of of variables) {
    if (groups.at(-1)?.of === of) groups.at(-1).count++
    else groups.push({ of, count: 1 })
  }
  return Buffer.concat([vector(groups.map(({ of, count }) => [unsigned(count), Buffer.from([of])])), ...instructions.map(({ bytes }) => bytes)])
}

/** The functions that a body calls directly, in the order of the calls. */
export function callees(body) {
  return decode(body).instructions.flatMap((it) => (it.op === op.call ? [it.index] : []))
}

/** Replaces each direct call in a body by what replacement returns for its function. */
export function replaceCalls(body, replacement) {
  const { variables, instructions } = decode(body)
  return encode({ variables, instructions: instructions.map((it) => (it.op === op.call ? { ...it, bytes: replacement(it.index) } : it)) })
}
