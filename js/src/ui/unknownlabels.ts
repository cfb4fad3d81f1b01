import { nearest } from "../core/nearest.js"

/** One warning for each name: a component gives its labels again in each render. */
const warned = new Set<string>()

/** Warns of names in `own` that no text has, such as typos: without the warning nothing says why the text is still the English one. */
export function warnUnknown(own: object | null | undefined, known: readonly string[]): void {
  for (const name of Object.keys(own ?? {})) {
    if (known.includes(name) || warned.has(name)) continue
    warned.add(name)
    const near = nearest(name, known)
    console.warn(`agentruntime: there is no label ${name}${near === undefined ? "" : `: did you mean ${near}?`}`)
  }
}
