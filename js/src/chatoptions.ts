import {
  checkFunctions,
  checkTalking,
  givenOf,
  oneOf,
  plainSession,
  type Capabilities,
  type PlainOptions,
  type ResponseInfo,
  type SessionSettings,
  type TokenKind,
  type WithToken,
} from "./options.js"

/** Options of `ChatSession`: a token, and whatever should differ from the defaults. */
export type ChatOptions = WithToken<ChatSettings>

/** What a `ChatSession` can be told (session-api A.2.1). */
export interface ChatSettings extends SessionSettings {
  /** What the token was minted as, from `appInit`. An admin's is refused with `wrong_token_scope`. */
  kind?: TokenKind | undefined
  /** Sent with every turn as given; the service's veto wins. */
  capabilities?: Capabilities | undefined
  /** What an error inside a good reply does: fail the turn (default), or warn and keep its text. */
  onErrorSegment?: "throw" | "warn" | undefined
  /** Called for every HTTP reply to a turn. */
  onResponse?: ((response: ResponseInfo) => void) | undefined
}

const experiences = ["markdown", "summarization", "flashcards", "avatar_only"] as const

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
  oneOf("onErrorSegment", given["onErrorSegment"], ["throw", "warn"])
  checkFunctions(given, ["onResponse"])
  return plainSession(given)
}

/** Throws `validation_error` for what a turn can't ask for. */
export function checkTurn(given: PlainOptions): void {
  oneOf("modelType", given["modelType"], ["fast"], "validation_error")
  oneOf("forceExperience", given["forceExperience"], experiences, "validation_error")
}
