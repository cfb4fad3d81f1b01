import { checkTalking, givenOf, oneOf, plainSession, type PlainOptions, type WithToken } from "./options.js"
import { chatChecks, experiences, type ChatSettings } from "./settings.js"

export type { ChatSettings } from "./settings.js"

/** Options of `ChatSession`: a token, and whatever should differ from the defaults. */
export type ChatOptions = WithToken<ChatSettings>

/** What a single turn may ask for (service.md "Converse request"). */
export interface TurnOptions {
  /** Ends the turn with code `aborted`; the service stops too. */
  signal?: AbortSignal | undefined
  /** A hint, not a promise. */
  forceExperience?: (typeof experiences)[number] | undefined
  /** Default: the service chooses. */
  modelType?: "fast" | undefined
}

/** Checks the options of a `ChatSession` and brings them into the form that internal/page takes. */
export function plainChat(options: unknown): PlainOptions {
  const given = givenOf(options)
  checkTalking(given)
  return plainSession(given, chatChecks)
}

/** Throws `validation_error` for what a turn can't ask for. */
export function checkTurn(given: PlainOptions): void {
  oneOf("modelType", given["modelType"], ["fast"], "validation_error")
  oneOf("forceExperience", given["forceExperience"], experiences, "validation_error")
}
