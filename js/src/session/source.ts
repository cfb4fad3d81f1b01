import type { Token } from "../core/options.js"

/** A value, a promise of it, or a function that returns either. */
export type Source<T> = T | Promise<T> | (() => T | Promise<T>)

/** The value of a source. */
export async function valueOf<T>(source: Source<T>): Promise<T> {
  return typeof source === "function" ? (source as () => T | Promise<T>)() : source
}

/** The text of a token, as `appInit` takes it; undefined without one. */
export async function tokenTextOf(source: Source<Token> | undefined): Promise<string | undefined> {
  const token = await valueOf<Token | undefined>(source)
  return typeof token === "object" ? token.ks : token
}
