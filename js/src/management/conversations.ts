import { collectConverse, parseConverseStream, SPIRAL_RECOVERY_PREFIX } from "../compat/stream.js"
import { plainCapabilities, plainVars } from "../core/options.js"
import type { Segment } from "../generated/events.js"
import { bad, fault, isText, type Clean } from "./fault.js"
import { callChecks, given, settingsOf, type CallSettings, type Checks } from "./given.js"
import type { Http } from "./http.js"
import { checkedToken, textOfToken, type Ks } from "./token.js"
import type { Capabilities } from "./types.js"

const experiences = ["markdown", "summarization", "flashcards", "avatar_only"] as const

/** A text turn. */
export interface ConverseInput extends CallSettings {
  userMessage: string
  /** Default: a new thread. */
  threadId?: string | null
  /** Whether the answer is server-sent events instead of lines of JSON. Default false. */
  sse?: boolean
  /** Default of the service: `fast`. */
  model_type?: string | null
  force_experience?: (typeof experiences)[number]
  /** Values of the prompt's variables. */
  request_vars?: Record<string, string | number | boolean | null>
  /** For this turn. */
  capabilities?: Capabilities
}

export interface SendInput extends ConverseInput {
  /** Whether an error inside a successful reply rejects (default) or is put into `errors`. */
  onErrorSegment?: "throw" | "return"
  /** Tries once more, in words only, when a turn without a text was stopped because of too many calls of tools. Default false. */
  recoverFromSpiral?: boolean
}

const converseChecks: Checks<ConverseInput> = {
  ...callChecks, userMessage: "any", threadId: "string", sse: "boolean", model_type: "string", force_experience: "any", request_vars: "any", capabilities: "any",
}

export const sendChecks: Checks<SendInput> = { ...converseChecks, onErrorSegment: "any", recoverFromSpiral: "boolean" }

/** A whole answer, as `collectConverse` reads it. */
export type Turn = Awaited<ReturnType<typeof collectConverse>> & {
  /** Set when the turn was tried again: whether there is a text now. */
  spiralRecovered?: boolean
  /** What the first attempt came to. */
  firstAttempt?: { toolCalls: Awaited<ReturnType<typeof collectConverse>>["toolCalls"]; spiralStopped: boolean }
}

/** The body of a request for a turn. Throws `bad_request`, `validation_error` or `unknown_capability`. */
export function bodyOf({ userMessage, threadId, sse = false, model_type, force_experience, request_vars, capabilities }: ConverseInput): Record<string, unknown> {
  if (!isText(userMessage)) throw bad("userMessage is required")
  if (force_experience != null && !experiences.includes(force_experience)) throw fault("validation_error", `force_experience must be one of ${experiences.join(", ")}`)
  return {
    userMessage, sse, ...(threadId != null && { threadId }), ...(model_type != null && { model_type }), ...(force_experience && { force_experience }),
    ...(request_vars && { request_vars: plainVars(request_vars) }), ...(capabilities && { capabilities: plainCapabilities(capabilities) }),
  }
}

/** The error that error segments stand for. */
function refusalOf({ errors, text, threadId, messageId }: Turn, clean: Clean): ReturnType<typeof fault> {
  const texts = errors.map(({ content }) => (typeof content === "string" ? content : JSON.stringify(content)))
  const code = texts.some((each) => each?.toLowerCase().includes("no permission for thread")) ? "thread_access_denied" : "stream_error"
  // Cleaned before it is cut, because half a secret would not be recognised.
  return fault(code, clean(texts.join("; ")).slice(0, 500), { status: 200, instance: "/assistant/converse", body: { errors: clean(errors), threadId, partial: { text: clean(text), threadId, messageId } } })
}

export function conversations(http: Http) {
  const open = (body: Record<string, unknown>, ks: Ks, signal: AbortSignal | undefined) => http.stream({ at: "genieUrl", path: "assistant/converse", body, ks, scope: "conversation", signal })
  const collect = async (input: SendInput, ks: Ks): Promise<Turn> => {
    const reply = await open(bodyOf(input), ks, input.signal)
    return (await broken(input.signal, collectConverse(reply))) as Turn
  }
  return {
    /** Runs a turn and yields the segments of its answer as they arrive. The options are checked when the loop begins. */
    async *stream(input: ConverseInput, ks: Ks): AsyncGenerator<Segment, void, undefined> {
      const reply = await open(bodyOf(given("the input", input, converseChecks)), ks, input.signal)
      const segments = parseConverseStream(reply)
      try {
        for (;;) {
          const next = await broken(input.signal, segments.next())
          if (next.done) return
          yield next.value as unknown as Segment
        }
      } finally {
        await segments.return()
      }
    },
    /** Runs a turn and resolves with its whole answer. Rejects with `thread_access_denied` or `stream_error` for an error in it, unless `onErrorSegment` is `return`. */
    async send(input: SendInput, ks: Ks): Promise<Turn> {
      const { onErrorSegment = "throw", recoverFromSpiral = false } = given("the input", input, sendChecks)
      if (onErrorSegment !== "throw" && onErrorSegment !== "return") throw bad("onErrorSegment must be throw or return")
      checkedToken(ks, "conversation", "conversations.send")
      let turn = await collect(input, ks)
      if (recoverFromSpiral && turn.spiralStopped && turn.text.trim() === "") {
        const { toolCalls, spiralStopped } = turn
        const second = await collect({ ...input, threadId: turn.threadId || input.threadId || null, userMessage: SPIRAL_RECOVERY_PREFIX + input.userMessage }, ks)
        turn = { ...second, spiralRecovered: second.text.trim() !== "", firstAttempt: { toolCalls, spiralStopped } }
      }
      if (turn.errors.length > 0 && onErrorSegment === "throw") throw refusalOf(turn, http.cleanerFor(textOfToken(ks)))
      return turn
    },
    /** What a conversation with a token has. */
    async status(ks: Ks, settings?: CallSettings): Promise<{ aiConsent: unknown; avatar: unknown; identifiedUser: unknown }> {
      const { signal } = settingsOf(settings, callChecks)
      return http.request({ at: "genieUrl", path: "assistant/status", method: "GET", ks, scope: "users", signal })
    },
  }
}

/** Makes an error of this package of one that ended the reading of a reply. */
async function broken<T>(signal: AbortSignal | undefined, reading: Promise<T>): Promise<T> {
  try {
    return await reading
  } catch (cause) {
    if (cause instanceof Error && cause.name === "AgentError") throw cause
    if (signal?.aborted) throw fault("aborted", "the caller cancelled", { status: 0, instance: "/assistant/converse", cause: signal.reason })
    throw fault("network_error", "the answer broke off", { status: 0, retryable: true, instance: "/assistant/converse" })
  }
}
