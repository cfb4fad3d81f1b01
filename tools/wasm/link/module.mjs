// Reads and writes WebAssembly files, as far as those of the Go linker need it.
// https://webassembly.github.io/spec/core/binary/

const magic = Buffer.from([0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00])

/** The ids of sections. */
export const section = { custom: 0, type: 1, import: 2, function: 3, table: 4, memory: 5, global: 6, export: 7, element: 9, code: 10, data: 11 }

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
