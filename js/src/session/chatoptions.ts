import { givenOf, oneOf, plainSession, type PlainOptions, type WithToken } from "../core/options.js"
import type { CallOptions } from "../core/signals.js"
import { chatChecks, turnChecks, type ChatSettings, type TurnSettings } from "../generated/settings.js"

export type { ChatSettings } from "../generated/settings.js"

/** Options of `ChatSession`: a token, and any other option. */
export type ChatOptions = WithToken<ChatSettings>

/** Options of a single turn; aborting `signal` also makes the service stop generating. */
export type TurnOptions = TurnSettings & CallOptions

/** Checks the options of a `ChatSession` and converts them to the form that internal/page takes. */
export function plainChat(options: unknown): PlainOptions {
  return plainSession(givenOf(options), chatChecks)
}

/** Throws `validation_error` for an invalid option of a turn. */
export function checkTurn(given: PlainOptions): void {
  for (const [name, values] of Object.entries(turnChecks)) oneOf(name, given[name], values as readonly string[], "validation_error")
}
