import type { TakenFile } from "./take.js"

/** Bit 11: names are UTF-8. */
const utf8Names = 0x0800
const version = 20
/** 1 January 1980, the first date that the format has. */
const date = 0x0021

const table = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let bit = 0; bit < 8; bit++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1
  return n
})

/** The CRC-32 of a file, which is read in pieces. */
async function checksum(content: Blob): Promise<number> {
  let sum = 0xffffffff
  const reader = content.stream().getReader()
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    for (const byte of piece.value) sum = (sum >>> 8) ^ table[(sum ^ byte) & 0xff]!
  }
  return ~sum >>> 0
}

/** A record: numbers with their sizes in bytes, little-endian, and a text. */
function encoded(fields: readonly (readonly [size: 2 | 4, value: number])[], text: Uint8Array<ArrayBuffer>): Blob {
  const view = new DataView(new ArrayBuffer(fields.reduce((sum, [size]) => sum + size, 0)))
  let at = 0
  for (const [size, value] of fields) {
    if (size === 2) view.setUint16(at, value, true)
    else view.setUint32(at, value, true)
    at += size
  }
  return new Blob([view, text])
}

/**
 * Makes a zip file. The files are stored as they are: sound and pictures are compressed already. Their content is not
 * copied into memory. All of them together must be smaller than 4 GiB.
 */
export async function zip(files: readonly TakenFile[]): Promise<Blob> {
  const parts: Blob[] = []
  const directory: Blob[] = []
  let offset = 0
  for (const { name, content } of files) {
    const text = new TextEncoder().encode(name)
    const common = [[2, version], [2, utf8Names], [2, 0], [2, 0], [2, date], [4, await checksum(content)], [4, content.size], [4, content.size], [2, text.length], [2, 0]] as const
    const header = encoded([[4, 0x04034b50], ...common], text)
    directory.push(encoded([[4, 0x02014b50], [2, version], ...common, [2, 0], [2, 0], [2, 0], [4, 0], [4, offset]], text))
    parts.push(header, content)
    offset += header.size + content.size
  }
  const size = directory.reduce((sum, entry) => sum + entry.size, 0)
  const count = directory.length
  const end = encoded([[4, 0x06054b50], [2, 0], [2, 0], [2, count], [2, count], [4, size], [4, offset], [2, 0]], new Uint8Array())
  return new Blob([...parts, ...directory, end], { type: "application/zip" })
}
