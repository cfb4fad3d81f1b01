import { checkTurn, type TurnOptions } from "./chatoptions.js"
import type { ChatTurn, Segment } from "./events.js"
import { chatProgram } from "./load.js"
import { bad, checkFunctions, checkTalking, givenOf, oneOf, plainAsked, plainOf, plainPlace, type Capabilities, type Place, type PlainOptions, type RequestVars, type ResponseInfo, type TokenKind, type WithToken } from "./options.js"
import { pullExport } from "./stream.js"

/** Options of `converse`: a token, a message, and whatever should differ from the defaults. */
export type ConverseOptions = WithToken<ConverseSettings>

/** Options of `converseOnce`. */
export type ConverseOnceOptions = WithToken<ConverseSettings & {
  /** What an error inside a good reply does: reject (default), or stand in `errors` of the turn. */
  onErrorSegment?: "throw" | "return"
}>

/** What a turn without a session can be told (service.md "Converse request"). */
export interface ConverseSettings extends Place, TurnOptions {
  /** What the user says. */
  userMessage: string
  /** What the token was minted as, from `appInit`. An admin's is refused with `wrong_token_scope`. */
  kind?: TokenKind | undefined
  /** Continues a stored dialogue; without one a new one begins. */
  threadId?: string | undefined
  /** Ask for server-sent events in place of lines of JSON; the segments are the same. */
  sse?: boolean | undefined
  /** Prompt variables of this turn. */
  requestVars?: RequestVars | undefined
  /** Overrides of this turn. */
  capabilities?: Capabilities | undefined
  /** Called when the reply begins. */
  onResponse?: ((response: ResponseInfo) => void) | undefined
}

/**
 * A turn in text without a session: yields every segment of the answer as it
 * comes. The request is sent when the loop begins, what the loop has not taken is
 * not read ahead, and leaving it ends the request.
 *
 * Throws at once for bad options: `bad_request`, `validation_error`,
 * `unknown_capability`, `insecure_transport` or `wrong_token_scope`. The loop
 * throws the codes of HTTP (docs/errors.md), `network_error`, `server_error`,
 * `client_variables_disabled`, `aborted` and `load_failed`; error segments are
 * yielded like any other.
 */
export function converse(options: ConverseOptions): AsyncIterableIterator<Segment> {
  const { signal, ...request } = plainTurn(options, [])
  return pullExport(chatProgram, (go) => go.converse(request), signal as AbortSignal | undefined)
}

/**
 * The same, complete: at most 2,000 segments and 4 MiB of a turn that does not only
 * call tools, marked as `truncated` beyond. Rejects like the loop over `converse`,
 * and with `thread_access_denied` and `stream_error`, whose `body` has what came
 * before.
 */
export async function converseOnce(options: ConverseOnceOptions): Promise<ChatTurn> {
  const { signal, ...request } = plainTurn(options, ["throw", "return"])
  const until = signal as AbortSignal | undefined
  const running = await chatProgram({ signal: until })
  return running.call((go) => go.converseOnce(until, request) as Promise<ChatTurn>, until)
}

/** Checks the options of a turn as the Go side does. */
function plainTurn(options: unknown, outcomes: readonly string[]): PlainOptions {
  const given = givenOf(options)
  checkTalking(given)
  checkFunctions(given, ["onResponse"])
  oneOf("onErrorSegment", given["onErrorSegment"], outcomes)
  checkTurn(given)
  const { userMessage } = given
  if (typeof userMessage !== "string" || userMessage.trim() === "") throw bad("userMessage is required")
  return { ...plainPlace(plainOf(given, { sse: "boolean" })), ...plainAsked(given) }
}
