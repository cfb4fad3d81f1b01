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
