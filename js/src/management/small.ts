/** Where a result comes from, as `_meta` of results. */
export interface Meta {
  /** When it was made, in whole seconds of UTC, such as `2026-01-02T03:04:05Z`. */
  generatedAt: string
  partnerId?: string
  /** The calls that it was made of. */
  source?: string
  /** What it covers. */
  scope?: string
  [more: string]: unknown
}

/** The fields with the time of the call, as `_meta` of a result. */
export const meta = <T extends object>(fields?: T): Meta & T => ({ generatedAt: new Date().toISOString().replace(/\.\d+Z$/, "Z"), ...fields }) as Meta & T

/** A random UUID. */
export const uuidv4 = (): string => globalThis.crypto.randomUUID()

const letters = "abcdefghijklmnopqrstuvwxyz0123456789"

/** A random text of n lower-case letters and digits; default 16. */
export function randId(n = 16): string {
  let id = ""
  while (id.length < n) {
    // Bytes beyond the last multiple of 36 would make the first letters more frequent.
    for (const byte of globalThis.crypto.getRandomValues(new Uint8Array(n))) if (byte < 252 && id.length < n) id += letters[byte % letters.length]
  }
  return id
}
