import { SILENT_OPENING, SILENT_OPENING_LABEL } from "../generated/events.js"

/** Whether a text stands for an opening that is not spoken, which a page should not show. */
export function isSilentOpening(text: string | null | undefined): boolean {
  const trimmed = text?.trim()
  return trimmed === SILENT_OPENING || trimmed === SILENT_OPENING_LABEL
}
