// Reads a streamed reply of the brain, in the reference client's form.
import { AgentError } from "../core/errors.js"
import type { OAuthRequired, Segment } from "../generated/events.js"
import type { ArgsSchema } from "../session/session.js"
import { isObject } from "../segments/plain.js"
import { canonicalJson, parseOAuthRequired, textOf } from "../segments/tools.js"
import { SegmentAssembler, type ParsedWidget } from "./genui.js"
import { clampInbound } from "./safety.js"
import { parseToolCall, segmentKind, validateToolArgs, type CompatToolCall, type SegmentKind } from "./tools.js"

/** What a reply of the brain is read from: the reply itself, its body, or its text, whole or in pieces. */
export type ConverseSource = Response | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array | string | RawSegment> | string

/** A segment as the service sends it. */
export type RawSegment = Record<string, unknown>

/** What begins a question that is asked again after an answer of tool calls only. */
export const SPIRAL_RECOVERY_PREFIX = "Please answer in words only this turn, without calling any tool. "

/** How many characters of a line are read; a longer one is skipped. */
const maxLine = 1 << 20

/**
 * Yields the segments of a streamed reply: lines of JSON, or the data of server-sent
 * events. Other lines are skipped. Throws `invalid_response` for a reply with a bad status.
 */
export async function* parseConverseStream(source: ConverseSource): AsyncGenerator<RawSegment, void, undefined> {
  const decoder = new TextDecoder()
  let rest = ""
  for await (const chunk of chunksOf(source)) {
    if (typeof chunk === "object" && !(chunk instanceof Uint8Array)) {
      yield chunk
      continue
    }
    const lines = (rest + (typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true }))).split("\n")
    rest = lines.pop()!
    if (rest.length > maxLine) rest = "x" // no JSON: what follows of this line is skipped with it
    yield* segmentsOf(lines)
  }
  yield* segmentsOf([rest + decoder.decode()])
}

function* segmentsOf(lines: readonly string[]): Generator<RawSegment, void, undefined> {
  for (const line of lines) {
    const text = line.replace(/^\ufeff/, "").trim().replace(/^data:/, "").trim()
    if (text === "" || text === "[DONE]" || text.length > maxLine) continue
    try {
      const segment: unknown = JSON.parse(text)
      if (isObject(segment)) yield { ...segment, content: clampInbound(segment["content"]) }
    } catch {
      // A line that is no JSON has no segment.
    }
  }
}

/** Whether it is a reply, also one of a test's own fetch. */
const isReply = (source: Exclude<ConverseSource, string>): source is Response => "body" in source && "status" in source

async function* chunksOf(source: ConverseSource): AsyncGenerator<Uint8Array | string | RawSegment, void, undefined> {
  if (typeof source === "string") return yield source
  if (isReply(source)) {
    if (!source.ok) throw new AgentError({ code: "invalid_response", type: "about:blank", title: "Invalid response", detail: `the reply has the status ${source.status}`, status: source.status })
    if (/^application\/json\b/.test(source.headers?.get("content-type") ?? "")) return yield (await source.text()).replaceAll(/[\r\n]/g, " ")
    if (source.body) yield* chunksOf(source.body)
    return
  }
  if (!("getReader" in source)) return yield* source
  const reader = source.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel() // the rest is not wanted
  }
}

/** Options of {@link collectConverse}. */
export interface CollectOptions {
  /** At how many segments of type `tool` reading ends, as a spiral of tool calls. Default 8. */
  maxToolCalls?: number | undefined
  /** How many calls of one tool are kept. Default 3. */
  maxPerTool?: number | undefined
  /** How many segments are read. Default 2000. */
  maxSegments?: number | undefined
  /** The rules for the arguments of each tool, by its name. A call that breaks them is in `toolCallsInvalid` and not in `toolCalls`. */
  toolArgSchemas?: Readonly<Record<string, ArgsSchema>> | undefined
}

/** A complete answer. */
export interface CollectedTurn {
  /** The text of all spoken segments. */
  text: string
  threadId: string | null
  messageId: string | null
  segments: RawSegment[]
  /** The widgets by the names of their runtimes. */
  experiences: Record<string, ParsedWidget[]>
  /** All widgets, in the order received. */
  experiencesList: ParsedWidget[]
  /** The distinct calls. */
  toolCalls: CompatToolCall[]
  toolCallsInvalid: { call: CompatToolCall; errors: string[] }[]
  oauthRequired: OAuthRequired[]
  /** How many segments there are of each kind. */
  kindCounts: Record<SegmentKind, number>
  errors: RawSegment[]
  /** Whether reading ended because there were too many calls. */
  spiralStopped: boolean
  /** Whether reading ended because there were too many segments. */
  truncated: boolean
  _meta: { status?: number; requestId?: string }
}

/** Reads a whole answer. */
export async function collectConverse(source: ConverseSource, options: CollectOptions = {}): Promise<CollectedTurn> {
  const { maxToolCalls = 8, maxPerTool = 3, maxSegments = 2000, toolArgSchemas = {} } = options
  const turn: CollectedTurn = {
    text: "", threadId: null, messageId: null, segments: [], experiences: {}, experiencesList: [], toolCalls: [], toolCallsInvalid: [], oauthRequired: [],
    kindCounts: { spoken: 0, control: 0, experience: 0, error: 0 }, errors: [], spiralStopped: false, truncated: false, _meta: metaOf(source),
  }
  const byRuntime = new Map<string, ParsedWidget[]>()
  const assembler = new SegmentAssembler({
    onWidget: ({ speechId: _, ...widget }) => {
      turn.experiencesList.push(widget)
      byRuntime.set(widget.runtimeName, [...(byRuntime.get(widget.runtimeName) ?? []), widget])
    },
  })
  const seen = new Set<string>()
  const kept = new Map<string, number>()
  let calls = 0
  for await (const segment of parseConverseStream(source)) {
    turn.truncated = turn.segments.length >= maxSegments
    if (turn.truncated) break
    const kind = segmentKind(segment)
    turn.segments.push(segment)
    turn.kindCounts[kind]++
    turn.threadId ??= idOf(segment["threadId"])
    turn.messageId ??= idOf(segment["messageId"])
    if (kind === "spoken") turn.text += textOf(segment["content"])
    if (kind === "error") turn.errors.push(segment)
    const consent = parseOAuthRequired(segment as unknown as Segment)
    if (consent && !turn.oauthRequired.some(({ authUrl }) => authUrl === consent.authUrl)) turn.oauthRequired.push(consent)
    if (segment["type"] === "user-interruption") assembler.reset()
    assembler.ingest(segment)
    if (segment["type"] !== "tool") continue
    calls++
    const call = parseToolCall(segment)
    if (call) keep(turn, call, { seen, kept, maxPerTool, toolArgSchemas })
    turn.spiralStopped = calls >= maxToolCalls
    if (turn.spiralStopped) break
  }
  assembler.flush()
  turn.text = turn.text.trim()
  turn.experiences = Object.fromEntries(byRuntime)
  return turn
}

/** Keeps a call unless it is a repetition, or one of too many. */
function keep(turn: CollectedTurn, call: CompatToolCall, { seen, kept, maxPerTool, toolArgSchemas }: { seen: Set<string>; kept: Map<string, number> } & Required<Pick<CollectOptions, "maxPerTool" | "toolArgSchemas">>): void {
  const key = `${call.name}:${canonicalJson(call.args)}`
  const count = kept.get(call.name) ?? 0
  if (seen.has(key) || count >= maxPerTool!) return
  seen.add(key)
  kept.set(call.name, count + 1)
  const check = validateToolArgs(call.args, Object.hasOwn(toolArgSchemas!, call.name) ? toolArgSchemas![call.name] : undefined)
  if (check.ok) turn.toolCalls.push(call)
  else turn.toolCallsInvalid.push({ call, errors: check.errors })
}

const idOf = (id: unknown): string | null => (typeof id === "string" && id !== "" ? id : null)

function metaOf(source: ConverseSource): CollectedTurn["_meta"] {
  if (typeof source === "string" || !isReply(source)) return {}
  const requestId = source.headers?.get("x-request-id") ?? source.headers?.get("x-kaltura-request-id")
  return { status: source.status, ...(requestId && { requestId }) }
}
