import type { Go } from "agentruntime:glue"

/** What tools/wasm/link/start.mjs writes into a started program. */
interface Started {
  /** The calls from Go that have made the table of JavaScript values: what, operands, result. */
  readonly calls: readonly (readonly unknown[])[]
  /** The types of the values in the table, from index 7 on: (f)unction, (o)bject, (s)tring. */
  readonly types: string
  /** Go's references to these values. */
  readonly counts: readonly number[]
  /** The state of Go's random numbers: addresses and lengths. */
  readonly random: readonly (readonly [number, number])[]
  /** The end of the memory before the start; what follows was zero. */
  readonly end: number
  /** What the start has changed below `end`: addresses and bytes before, in base64. */
  readonly before: readonly (readonly [number, string])[]
}

/** A reference to the table, a number, or undefined. */
type Operand = number | readonly [number] | null

const sectionName = "go.started"

/** Returns how to continue the program of a module that was started when it was built, undefined for any other. */
export function startedIn(module: WebAssembly.Module): Started | undefined {
  const [section] = WebAssembly.Module.customSections(module, sectionName)
  return section && (JSON.parse(new TextDecoder().decode(section)) as Started)
}

/**
 * @internal Makes a new instance continue where its program waited when it was built: makes the
 * table of JavaScript values again, by the calls that have made it there, and replaces the
 * state of Go's random numbers, which is the same in every copy of the file.
 *
 * Throws if a call has another result here, for example because the page has removed a
 * function of the language; then nothing has called the program.
 */
export function resume(go: Go, instance: WebAssembly.Instance, { calls, types, counts, random }: Started): void {
  const memory = (instance.exports["mem"] as WebAssembly.Memory).buffer
  const values: unknown[] = [NaN, 0, null, true, false, globalThis, go]
  const fixed = values.length
  const ids = new Map<unknown, number>(values.map((value, id) => [value, id]))
  ids.delete(NaN)
  const value = (of: unknown): unknown => {
    const operand = of as Operand
    return operand === null ? undefined : typeof operand === "number" ? values[operand] : operand[0]
  }
  const list = (of: unknown): unknown[] => (of as Operand[]).map(value)
  /** The operand under which wasm_exec.js gives a value to Go. */
  const stored = (result: unknown): Operand => {
    if (result === undefined) return null
    if (typeof result === "number" && result !== 0) return [result]
    let id = ids.get(result)
    if (id === undefined) ids.set(result, (id = values.push(result) - 1))
    return id
  }
  for (const call of calls) {
    const [what, of, a, b] = call
    let result: unknown
    let want: unknown
    if (what === "string") [result, want] = [of, a]
    else if (what === "get") [result, want] = [Reflect.get(value(of) as object, a as string), b]
    else if (what === "set") Reflect.set(value(of) as object, a as string, value(b))
    else if (what === "new") [result, want] = [Reflect.construct(value(of) as new () => unknown, list(a)), b]
    else if (what === "invoke") [result, want] = [Reflect.apply(value(of) as () => unknown, undefined, list(a)), b]
    else if (what === "call") [result, want] = [Reflect.apply(Reflect.get(value(of) as object, a as string) as () => unknown, value(of), list(b)), call[4]]
    if (what === "set") continue
    const got = stored(result)
    if (got !== want && !(Array.isArray(want) && Array.isArray(got) && got[0] === want[0])) throw new Error(`${JSON.stringify(call)} has the result ${JSON.stringify(got)} here`)
  }
  const found = values.slice(fixed).map((value) => (typeof value)[0]).join("")
  if (found !== types) throw new Error(`the types of the values are ${found} here, not ${types}`)
  for (const [address, length] of random) crypto.getRandomValues(new Uint8Array(memory, address, length))
  Object.assign(go, {
    _inst: instance,
    mem: new DataView(memory),
    _values: values,
    _goRefCounts: [...Array<number>(fixed).fill(Infinity), ...counts],
    _ids: ids,
    _idPool: [],
    exited: false,
  })
}

/** Sets the memory of a new instance back to that before the start. */
export function rewind(instance: WebAssembly.Instance, { end, before }: Started): void {
  const memory = new Uint8Array((instance.exports["mem"] as WebAssembly.Memory).buffer)
  memory.fill(0, end)
  for (const [address, bytes] of before) memory.set(Uint8Array.from(atob(bytes), (character) => character.charCodeAt(0)), address)
}
