import { checkTurn } from "./chatoptions.js"
import type { ChatTurn, Segment } from "../generated/events.js"
import { chatProgram } from "../core/load.js"
import { turnNames } from "../generated/names.js"
import { bad, checkConversationKind, checkOptions, givenOf, oneOf, plainAgentOptions, plainOf, plainPlace, traceOf, withoutInjected, type PlainOptions, type TraceSource, type WithToken } from "../core/options.js"
import type { CallOptions } from "../core/signals.js"
import { converseChecks, visitorChecks, type ConverseSettings } from "../generated/settings.js"
import { pullExport } from "../core/stream.js"

export type { ConverseSettings } from "../generated/settings.js"

/** A W3C trace context that is sent with the turn, as the option of sessions. */
interface Traced {
  traceContext?: TraceSource | undefined
}

/** Options of `converse`: a token, a message, and any other option. */
export type ConverseOptions = WithToken<ConverseSettings & CallOptions & Traced>

/** Options of `converseOnce`. */
export type ConverseOnceOptions = WithToken<ConverseSettings & CallOptions & Traced & {
  /** Whether an error inside a successful reply rejects (default) or is put into `errors` of the turn. */
  onErrorSegment?: "throw" | "return" | undefined
}>

/**
 * Runs a text turn without a session and yields each segment of the answer as it
 * arrives. The request is sent when the loop begins, and ends when the loop is left. Only
 * segments that arrived together from the network are read ahead of the loop.
 *
 * Throws synchronously for bad options: `bad_request`, `validation_error`,
 * `unknown_capability`, `insecure_transport` or `wrong_token_scope`. The loop
 * throws the codes of HTTP replies (docs/errors.md), `network_error`, `server_error`,
 * `client_variables_disabled`, `aborted` and `load_failed`; error segments are
 * yielded like any other.
 */
export function converse(options: ConverseOptions): AsyncIterableIterator<Segment> {
  const { signal, ...request } = plainTurn(options, [])
  return pullExport(chatProgram, (go) => go.converse(request), signal as AbortSignal | undefined)
}

/**
 * Runs a text turn and resolves with its whole answer. Reading ends after 2,000 segments
 * or 4 MiB (`truncated`), and when there are more than 8 segments of type `tool`
 * (`spiralStopped`). Rejects like the loop over `converse`, and with
 * `thread_access_denied` and `stream_error`, whose `body` has the answer up to the error.
 */
export async function converseOnce(options: ConverseOnceOptions): Promise<ChatTurn> {
  const { signal, ...request } = plainTurn(options, ["throw", "return"])
  const until = signal as AbortSignal | undefined
  const running = await chatProgram({ signal: until })
  return running.call((go) => go.converseOnce(until, request) as Promise<ChatTurn>, until)
}

/** Checks the options of a turn as the Go program does, and converts them. */
function plainTurn(options: unknown, outcomes: readonly string[]): PlainOptions {
  const [given] = withoutInjected(givenOf(options)) as [PlainOptions]
  checkOptions(given, ["signal", ...turnNames])
  checkConversationKind(given)
  oneOf("onErrorSegment", given["onErrorSegment"], outcomes)
  checkTurn(given)
  const { userMessage } = given
  if (typeof userMessage !== "string" || userMessage.trim() === "") throw bad("userMessage is required")
  const { traceContext } = given
  return { ...(traceContext != null && { traceContext: traceOf(traceContext) }), ...plainPlace(plainOf(given, visitorChecks, converseChecks)), ...plainAgentOptions(given) }
}
