import { checkTurn, type TurnOptions } from "./chatoptions.js"
import type { ChatTurn, Segment } from "./events.js"
import { chatProgram } from "./load.js"
import { bad, checkFunctions, checkConversationKind, givenOf, oneOf, plainAgentOptions, plainOf, plainPlace, type Capabilities, type Place, type PlainOptions, type RequestVars, type ResponseInfo, type TokenKind, type WithToken } from "./options.js"
import { pullExport } from "./stream.js"

/** Options of `converse`: a token, a message, and any other option. */
export type ConverseOptions = WithToken<ConverseSettings>

/** Options of `converseOnce`. */
export type ConverseOnceOptions = WithToken<ConverseSettings & {
  /** Whether an error inside a successful reply rejects (default) or is put into `errors` of the turn. */
  onErrorSegment?: "throw" | "return"
}>

/** Settings of a turn without a session (service.md "Converse request"). */
export interface ConverseSettings extends Place, TurnOptions {
  /** The user's text. */
  userMessage: string
  /** The kind of the token, from `appInit`. `"admin"` is refused with `wrong_token_scope`. */
  kind?: TokenKind | undefined
  /** The stored dialogue to continue. Default: a new one. */
  threadId?: string | undefined
  /** Request server-sent events instead of lines of JSON; the segments are the same. */
  sse?: boolean | undefined
  /** Prompt variables of this turn. */
  requestVars?: RequestVars | undefined
  /** Overrides for this turn. */
  capabilities?: Capabilities | undefined
  /** Called when the reply begins. */
  onResponse?: ((response: ResponseInfo) => void) | undefined
}

/**
 * Runs a text turn without a session and yields each segment of the answer as it
 * arrives. The request is sent when the loop begins, nothing is read ahead of the
 * loop, and leaving it ends the request.
 *
 * Throws synchronously for bad options: `bad_request`, `validation_error`,
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
 * Runs a text turn and resolves with its whole answer: at most 2,000 segments and
 * 4 MiB, marked as `truncated` beyond, unless it only calls tools. Rejects like the
 * loop over `converse`, and with `thread_access_denied` and `stream_error`, whose
 * `body` has the answer up to the error.
 */
export async function converseOnce(options: ConverseOnceOptions): Promise<ChatTurn> {
  const { signal, ...request } = plainTurn(options, ["throw", "return"])
  const until = signal as AbortSignal | undefined
  const running = await chatProgram({ signal: until })
  return running.call((go) => go.converseOnce(until, request) as Promise<ChatTurn>, until)
}

/** Checks the options of a turn as the Go program does, and converts them. */
function plainTurn(options: unknown, outcomes: readonly string[]): PlainOptions {
  const given = givenOf(options)
  checkConversationKind(given)
  checkFunctions(given, ["onResponse"])
  oneOf("onErrorSegment", given["onErrorSegment"], outcomes)
  checkTurn(given)
  const { userMessage } = given
  if (typeof userMessage !== "string" || userMessage.trim() === "") throw bad("userMessage is required")
  return { ...plainPlace(plainOf(given, { sse: "boolean" })), ...plainAgentOptions(given) }
}
