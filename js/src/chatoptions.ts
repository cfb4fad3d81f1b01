import { givenOf, oneOf, plainSession, type PlainOptions, type WithToken } from "./options.js"
import { chatChecks, experiences, type ChatSettings } from "./settings.js"

export type { ChatSettings } from "./settings.js"

/** Options of `ChatSession`: a token, and any other option. */
export type ChatOptions = WithToken<ChatSettings>

/** Options of a single turn (service.md "Converse request"). */
export interface TurnOptions {
  /** Ends the turn with code `aborted`; the service stops generating too. */
  signal?: AbortSignal | undefined
  /** The preferred form of the answer; the service may choose another. */
  forceExperience?: (typeof experiences)[number] | undefined
  /** Default: the service chooses. */
  modelType?: "fast" | undefined
}

/** Checks the options of a `ChatSession` and converts them to the form that internal/page takes. */
export function plainChat(options: unknown): PlainOptions {
  return plainSession(givenOf(options), chatChecks)
}

/** Throws `validation_error` for an invalid option of a turn. */
export function checkTurn(given: PlainOptions): void {
  oneOf("modelType", given["modelType"], ["fast"], "validation_error")
  oneOf("forceExperience", given["forceExperience"], experiences, "validation_error")
}
