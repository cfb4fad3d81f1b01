// Plain data of the service, read as the Go runtime reads it.

/** The types of the segments whose content is spoken. */
export const spokenTypes: readonly unknown[] = ["text", "avatar", "avatar-filler"]

export { isObject } from "../core/object.js"

/** Removes control characters except tabs and line ends, and replaces lone surrogates. */
export const printable = (text: string): string => withoutControls(text.replace(/\p{Cs}/gu, "\ufffd"))

/** Removes control characters except tabs and line ends. */
export const withoutControls = (text: string): string => text.replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/g, "")

// Keys that could replace the prototype of an object to which they are copied.
const polluting: readonly string[] = ["__proto__", "constructor", "prototype"]

/** The entries of an object, without the keys that could change prototypes. */
export const safeEntries = (object: object): [string, unknown][] => Object.entries(object).filter(([name]) => !polluting.includes(name))

/** How deep data may be nested. */
export const maxDepth = 64

/** A copy of data without the keys that could change prototypes, and without what is nested deeper than 64 levels. */
export function plainCopy(value: unknown, depth = 0): unknown {
  if (typeof value !== "object" || value === null) return value
  if (depth === maxDepth) return undefined
  if (Array.isArray(value)) return value.map((inner) => plainCopy(inner, depth + 1))
  return Object.fromEntries(safeEntries(value).map(([name, inner]) => [name, plainCopy(inner, depth + 1)]))
}
