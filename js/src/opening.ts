import { SILENT_OPENING, SILENT_OPENING_LABEL } from "./events.js"

/**
 * Tells whether a text stands for an opening that is not spoken, so that a page
 * can leave it out.
 */
export function isSilentOpening(text: string | null | undefined): boolean {
  const trimmed = text?.trim()
  return trimmed === SILENT_OPENING || trimmed === SILENT_OPENING_LABEL
}
