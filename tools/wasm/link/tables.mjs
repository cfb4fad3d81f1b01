// The function table of Go 1.20 and later for 64-bit words (runtime.pcHeader, functab and
// _func), in an image of the memory. All positions are addresses.

// Its magic number, two zeros, the size of an instruction and of a word.
const header = Buffer.from([0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8])

/** The offsets of the fields of runtime._func, in bytes, and its size without the lists. */
export const func = { entry: 0, name: 4, stack: 16, file: 20, line: 24, tables: 28, unit: 32, firstLine: 36, datas: 43, size: 44 }

/** The size of a runtime.findfuncbucket in bytes; each is for 4,096 addresses, and a function of WebAssembly has 65,536. */
export const bucket = { size: 20, each: 16 }

/** The lists of a function that only traces read: indexes of pcdata and funcdata (internal/abi). */
export const traces = { tables: [2, 3], datas: [3, 5, 6] }

/** Finds the table; undefined in a program of another form. */
export function functionTable(memory) {
  const start = memory.indexOf(header)
  if (start < 0) return undefined
  const word = (i) => Number(memory.readBigUInt64LE(start + 8 + 8 * i))
  const [count, , , names, units, , pool, funcs] = Array.from({ length: 8 }, (_, i) => word(i))
  if (!(names > 0 && units > names && pool > units && funcs > pool && start + funcs + 8 * count < memory.length)) return undefined
  const index = start + funcs
  // runtime.moduledata: pcHeader, funcnametab and five more slices, findfunctab.
  const pointers = Buffer.alloc(16)
  pointers.writeBigUInt64LE(BigInt(start))
  pointers.writeBigUInt64LE(BigInt(start + names), 8)
  const moduledata = memory.indexOf(pointers)
  if (moduledata < 0) return undefined
  return {
    /** How many functions there are. */
    count,
    /** Where names begin and end, then the names of files, then the pool of small tables. */
    names: start + names,
    units: start + units,
    pool: start + pool,
    /** The index: the first instruction of each function, and the offset of its record from here. */
    index,
    /** The first of the buckets in which a function is searched by its address, and their number (runtime.findfuncbucket). */
    buckets: Number(memory.readBigUInt64LE(moduledata + 8 + 6 * 24)),
    bucketCount: bucket.each * (count - 1),
    /** The address of the record of a function. */
    record: (i) => index + memory.readUInt32LE(index + 8 * i + 4),
    /** The end of a record with its lists. */
    end: (record) => record + func.size + 4 * (memory.readUInt32LE(record + func.tables) + memory[record + func.datas]),
    /** The name of the function of a record. */
    nameOf: (record) => {
      const at = start + names + memory.readUInt32LE(record + func.name)
      return memory.subarray(at, memory.indexOf(0, at)).toString()
    },
  }
}
