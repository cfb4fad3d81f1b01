// What the values of attributes may be. A module of its own, because the launcher only passes attributes on, and should not load this.
import { localError } from "../core/errors.js"
import { attributes, values, words, type NumberName } from "./attributes.js"
import type { Mode } from "./state.js"

const modes: readonly string[] = ["face", "text"] satisfies Mode[]

/** The attributes that are a number: without one of them, or with another, this does not compile. */
export const numberNames: Readonly<Record<NumberName, true>> = { idleTimeoutMs: true }

/** Throws `bad_request` for an attribute with a value that it can't have. An empty one is as none: so Preact takes back what it has set. */
export function checkAttributes(element: HTMLElement): void {
  for (const [name, allowed] of Object.entries<readonly string[]>(values)) {
    const value = element.getAttribute(name)
    if (value && !allowed.includes(value)) throw wrong(name, `one of ${allowed.join(", ")}`, value)
  }
  for (const name of Object.keys(numberNames) as NumberName[]) {
    const value = element.getAttribute(attributes[name])
    if (value && !(Number(value) >= 0)) throw wrong(attributes[name], "a number, 0 or more", value)
  }
  const named = words(element.getAttribute("modes") || null)
  if (named && (named.length === 0 || !named.every((mode) => modes.includes(mode)))) throw wrong("modes", "face, text, or both", named.join(" "))
}

const wrong = (name: string, allowed: string, value: string) => localError("bad_request", `the attribute ${name} must be ${allowed}, and is ${JSON.stringify(value)}`)
