// The function table of Go 1.20 and later for 64-bit words (runtime.pcHeader, functab and
// _func), in an image of the memory. All positions are addresses.

// Its magic number, two zeros, the size of an instruction and of a word.
const header = Buffer.from([0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8])

/** The offsets of the fields of runtime._func, in bytes, and its size without the lists. */
export const func = { entry: 0, name: 4, stack: 16, file: 20, line: 24, tables: 28, unit: 32, firstLine: 36, datas: 43, size: 44 }

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
  return {
    /** How many functions there are. */
    count,
    /** Where names begin and end, then the names of files, then the pool of small tables. */
    names: start + names,
    units: start + units,
    pool: start + pool,
    /** The index: the first instruction of each function, and the offset of its record from here. */
    index,
    /** The address of the record of a function. */
    record: (i) => index + memory.readUInt32LE(index + 8 * i + 4),
    /** The name of the function of a record. */
    nameOf: (record) => {
      const at = start + names + memory.readUInt32LE(record + func.name)
      return memory.subarray(at, memory.indexOf(0, at)).toString()
    },
  }
}
