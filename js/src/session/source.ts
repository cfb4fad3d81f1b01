import { localError } from "../core/errors.js"
import type { Token } from "../core/options.js"

/** A value, a promise of it, or a function that returns either. */
export type Source<T> = T | Promise<T> | (() => T | Promise<T>)

/** The value of a source. */
export async function valueOf<T>(source: Source<T>): Promise<T> {
  return typeof source === "function" ? (source as () => T | Promise<T>)() : source
}

/**
 * The text of a token, as `appInit` takes it; undefined without one. Rejects with `bad_request` for anything else, such as the
 * whole reply of a server: `appInit` would go on with the widget, as if the page had named no visitor.
 */
export async function tokenTextOf(source: Source<Token> | undefined): Promise<string | undefined> {
  const token = await valueOf<Token | undefined>(source)
  if (token == null) return undefined
  const text: unknown = typeof token === "object" ? token.ks : token
  if (typeof text !== "string") throw localError("bad_request", "the token must be a string, or an object with ks")
  return text
}
