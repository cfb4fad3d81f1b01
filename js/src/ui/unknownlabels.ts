import { nearest } from "../core/nearest.js"

/** Each is told once: a component gives its labels again in each render. */
const told = new Set<string>()

/** Tells the page of a name that no text has, such as a typo: the text would be the English one without a word. */
export function tellUnknown(own: object | null | undefined, known: readonly string[]): void {
  for (const name of Object.keys(own ?? {})) {
    if (known.includes(name) || told.has(name)) continue
    told.add(name)
    const near = nearest(name, known)
    console.warn(`agentruntime: there is no label ${name}${near === undefined ? "" : `: did you mean ${near}?`}`)
  }
}
