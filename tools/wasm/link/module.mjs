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
      const op = read.byte()
      if (op !== (global.type === type.i32 ? 0x41 : 0x42)) throw new Error("a global without a constant value")
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
      if (read.byte() !== 0 || read.byte() !== 0x41) throw new Error("unexpected kind of data segment")
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
    return this.with({ [section.data]: vector(cut(memory).map(([address, bytes]) => [Buffer.from([0]), constant(type.i32, address), unsigned(bytes.length), bytes])) })
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
    if (this.byte() !== 0x0b) throw new Error("want a constant")
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

/** A constant expression. */
export function constant(of, value) {
  return Buffer.concat([Buffer.from([of === type.i32 ? 0x41 : 0x42]), signed(value), Buffer.from([0x0b])])
}

/**
 * Calls on.call(function, start, end) for each direct call in the body of a function, with
 * the place of the instruction, and returns the place of the first instruction. It knows
 * the instructions that the Go compiler uses, and throws for any other.
 */
export function visit(body, on) {
  const read = new Reader(body)
  read.list(() => [read.unsigned(), read.byte()]) // local variables
  const first = read.at
  while (!read.done) {
    const start = read.at
    const op = read.byte()
    if (op === 0x10) {
      const called = read.unsigned()
      on.call?.(called, start, read.at)
    } else if (op === 0x0e) read.list(() => read.unsigned()) && read.unsigned() // br_table
    else if (op === 0x11 || (op >= 0x28 && op <= 0x3e)) read.unsigned(), read.unsigned() // call_indirect; loads and stores
    else if (op === 0x02 || op === 0x03 || op === 0x04 || op === 0x41 || op === 0x42) read.signed64() // blocks, constants
    else if (op === 0x0c || op === 0x0d || (op >= 0x20 && op <= 0x24)) read.unsigned() // branches, variables
    else if (op === 0x3f || op === 0x40) read.byte() // memory.size, memory.grow
    else if (op === 0x43) read.bytes(4)
    else if (op === 0x44) read.bytes(8)
    else if (op === 0xfc) {
      const more = read.unsigned()
      if (more === 10) read.bytes(2) // memory.copy
      else if (more === 11) read.bytes(1) // memory.fill
      else if (more > 7) throw new Error(`unexpected instruction fc ${more}`)
    } else if (!(op <= 0x01 || op === 0x05 || op === 0x0b || op === 0x0f || op === 0x1a || op === 0x1b || (op >= 0x45 && op <= 0xc4))) {
      throw new Error(`unexpected instruction ${op.toString(16)}`)
    }
  }
  return first
}

/** Replaces each direct call in a body by what replacement returns for its function. */
export function replaceCalls(body, replacement) {
  const parts = []
  let last = 0
  visit(body, {
    call: (f, start, end) => {
      parts.push(body.subarray(last, start), replacement(f))
      last = end
    },
  })
  return Buffer.concat([...parts, body.subarray(last)])
}
