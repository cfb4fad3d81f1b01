import { AgentError } from "../errors.js"
import type { OAuthRequired, Segment, ToolCall, Widget } from "../events.js"
import type { ArgRule } from "../session.js"
import { SegmentAssembler } from "./widgets.js"
import { clampInbound, isObject, printable } from "./safety.js"
import { canonicalJson, parseOAuthRequired, parseToolCall, textOf, validateToolArgs } from "./tools.js"

/** What a reply of the brain is read from: the reply itself, its body, or its text, whole or in pieces. */
export type ConverseSource = Response | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array | string | Segment> | string

// The bounds of the Go runtime (runtime/converse).
const maxLine = 1 << 20
const maxBadLines = 16
const badLineChars = 200

/**
 * Yields the segments of a streamed reply: lines of JSON, or server-sent events. A line
 * that is neither becomes a segment of type `error`. Throws `invalid_response` for a reply
 * with a bad status.
 */
export async function* parseConverseStream(source: ConverseSource): AsyncGenerator<Segment, void, undefined> {
  const lines = new Lines()
  let bad = 0
  const segments = function* (texts: Iterable<string>) {
    for (const text of texts) {
      const segment = text.length > maxLine ? badLine(text, "stream_line_too_long") : (decode(text) ?? badLine(text, "unparseable_stream_line"))
      if (segment.metadata?.subtype === undefined || segment.type !== "error" || ++bad <= maxBadLines) yield segment
    }
  }
  for await (const chunk of chunksOf(source)) {
    if (typeof chunk === "object" && !(chunk instanceof Uint8Array)) yield chunk
    else yield* segments(lines.take(chunk))
  }
  yield* segments(lines.end())
}

async function* chunksOf(source: ConverseSource): AsyncGenerator<Uint8Array | string | Segment, void, undefined> {
  if (typeof source === "string") return yield source
  if (source instanceof Response) {
    if (!source.ok) throw new AgentError({ code: "invalid_response", type: "about:blank", title: "Invalid response", detail: `the reply has the status ${source.status}`, status: source.status })
    if (/^application\/json\b/.test(source.headers.get("content-type") ?? "")) return yield (await source.text()).replaceAll(/[\r\n]/g, " ")
    if (source.body) yield* chunksOf(source.body)
    return
  }
  if (!(source instanceof ReadableStream)) return yield* source
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

/** Splits a text that arrives in pieces of any size into lines. */
class Lines {
  readonly #decoder = new TextDecoder()
  #rest = ""
  /** Whether the lines are server-sent events; undefined before the first line. */
  #events: boolean | undefined

  *take(chunk: Uint8Array | string): Generator<string, void, undefined> {
    const lines = (this.#rest + (typeof chunk === "string" ? chunk : this.#decoder.decode(chunk, { stream: true }))).split("\n")
    this.#rest = lines.pop()!
    for (const line of lines) yield* this.#payload(line)
  }

  *end(): Generator<string, void, undefined> {
    yield* this.#payload(this.#rest + this.#decoder.decode())
    this.#rest = ""
  }

  *#payload(line: string): Generator<string, void, undefined> {
    let text = line.replace(/^\ufeff/, "").trim()
    if (text === "") return
    this.#events ??= /^(data|event|id|retry)?:/.test(text)
    if (this.#events) text = text.startsWith("data:") ? text.slice("data:".length).trim() : ""
    if (text !== "" && text !== "[DONE]") yield text
  }
}

const badLine = (text: string, subtype: string): Segment =>
  ({ role: "assistant", type: "error", content: [...clampInbound(text)].slice(0, badLineChars).join(""), segmentNumber: 0, et: 0, isFinal: true, metadata: { subtype } }) as Segment

type Json = Record<string, unknown>

/** Returns the segment of a line, in the form that sessions emit; undefined when it is no object. */
function decode(line: string): Segment | undefined {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return undefined
  }
  if (!isObject(value)) return undefined
  const { role, type, content, segmentNumber, et, speechId, threadId, messageId, segmentStart, segmentEnd, isFinal, openingPhrase, metadata, tool_metadata, ...extra } = value
  const kind = name(type)
  const known = {
    role: name(role), type: kind, content: contentOf(content, spoken.includes(kind)),
    segmentNumber: Number.isSafeInteger(segmentNumber) ? segmentNumber : 0, et: Number.isFinite(et) ? et : 0,
  }
  return given(known, {
    speechId: name(speechId), threadId: name(threadId), messageId: name(messageId),
    segmentStart: segmentStart === true, segmentEnd: segmentEnd === true, isFinal: isFinal === true,
    openingPhrase: name(openingPhrase),
    metadata: isObject(metadata) ? metadataOf(metadata) : undefined,
    tool_metadata: isObject(tool_metadata) ? toolMetadataOf(tool_metadata) : undefined,
    extra: extraOf(extra),
  }) as unknown as Segment
}

function metadataOf({ widgetName, runtimeName, subtype, tool_name, tool_display_name, ...extra }: Json): Json {
  return given({}, {
    widgetName: name(widgetName), runtimeName: name(runtimeName), subtype: name(subtype),
    tool_name: name(tool_name), tool_display_name: name(tool_display_name), extra: extraOf(extra),
  })
}

function toolMetadataOf({ id, name: tool, args, type, wait_for_response, ...extra }: Json): Json {
  return given({ id: name(id), name: name(tool), type: name(type), wait_for_response: wait_for_response === true }, { args, extra: extraOf(extra) })
}

const name = (value: unknown): string => (typeof value === "string" ? clampInbound(value) : "")
const extraOf = (extra: Json): Json | undefined => (Object.keys(extra).length > 0 ? extra : undefined)

/** The fixed properties, and those of the others that have a value. */
const given = (fixed: Json, others: Json): Json => ({
  ...fixed,
  ...Object.fromEntries(Object.entries(others).filter(([, value]) => value !== undefined && value !== "" && value !== false)),
})

function contentOf(content: unknown, text: boolean): unknown {
  if (typeof content === "string") return printable(content)
  return text ? textOf(content) : (content ?? null)
}

const spoken: readonly string[] = ["text", "avatar", "avatar-filler"]

/** How a page treats a segment. */
export type SegmentKind = "experience" | "error" | "spoken" | "control"

export function segmentKind({ type }: Pick<Segment, "type">): SegmentKind {
  if (type === "unisphere-tool") return "experience"
  if (type === "error") return "error"
  return spoken.includes(type) ? "spoken" : "control"
}

/** Options of {@link collectConverse}. */
export interface CollectOptions {
  /** How many segments of type `tool` are read; a further one ends reading, as a spiral of tool calls. Default 8. */
  maxToolCalls?: number | undefined
  /** How many calls of one tool are kept. Default 3. */
  maxPerTool?: number | undefined
  /** How many segments are read. Default 2000. */
  maxSegments?: number | undefined
  /** The rules for the arguments of each tool, by its name. A call that breaks them is in `toolCallsInvalid` and not in `toolCalls`. */
  toolArgSchemas?: Readonly<Record<string, Readonly<Record<string, ArgRule>>>> | undefined
}

/** A complete answer. */
export interface CollectedTurn {
  /** The text of all spoken segments. */
  text: string
  threadId: string
  messageId: string
  segments: Segment[]
  /** The widgets by their runtime, the last of each. */
  experiences: Record<string, Widget>
  /** All widgets, in the order received. */
  experiencesList: Widget[]
  /** The distinct calls. */
  toolCalls: ToolCall[]
  toolCallsInvalid: { call: ToolCall; errors: string[] }[]
  oauthRequired: OAuthRequired[]
  /** How many segments there are of each kind. */
  kindCounts: Record<SegmentKind, number>
  errors: Segment[]
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
    text: "", threadId: "", messageId: "", segments: [], experiences: {}, experiencesList: [], toolCalls: [], toolCallsInvalid: [], oauthRequired: [],
    kindCounts: { experience: 0, error: 0, spoken: 0, control: 0 }, errors: [], spiralStopped: false, truncated: false, _meta: metaOf(source),
  }
  const assembler = new SegmentAssembler((widget) => {
    turn.experiencesList.push(widget)
    // Defined, because setting __proto__ would replace the prototype.
    Object.defineProperty(turn.experiences, widget.runtime, { value: widget, configurable: true, enumerable: true, writable: true })
  })
  const seen = new Set<string>()
  const calls = new Map<string, number>()
  let tools = 0
  for await (const segment of parseConverseStream(source)) {
    turn.truncated = turn.segments.length === maxSegments
    turn.spiralStopped = !turn.truncated && segment.type === "tool" && ++tools > maxToolCalls
    if (turn.truncated || turn.spiralStopped) break
    const kind = segmentKind(segment)
    turn.segments.push(segment)
    turn.kindCounts[kind]++
    turn.threadId ||= segment.threadId ?? ""
    turn.messageId ||= segment.messageId ?? ""
    if (kind === "spoken") turn.text += textOf(segment.content)
    if (kind === "error") turn.errors.push(segment)
    const consent = parseOAuthRequired(segment)
    if (consent && !turn.oauthRequired.some(({ authUrl }) => authUrl === consent.authUrl)) turn.oauthRequired.push(consent)
    assembler.add(segment)
    const call = segment.type === "tool" ? parseToolCall(segment) : undefined
    if (!call) continue
    const key = `${call.name}:${canonicalJson(call.args)}`
    const count = calls.get(call.name) ?? 0
    if (seen.has(key) || count >= maxPerTool) continue
    seen.add(key)
    calls.set(call.name, count + 1)
    const schema = Object.hasOwn(toolArgSchemas, call.name) ? toolArgSchemas[call.name] : undefined
    const errors = schema ? validateToolArgs(call.args, schema) : []
    if (errors.length > 0) turn.toolCallsInvalid.push({ call, errors })
    else turn.toolCalls.push(call)
  }
  assembler.end()
  return turn
}

function metaOf(source: ConverseSource): CollectedTurn["_meta"] {
  if (!(source instanceof Response)) return {}
  const requestId = source.headers.get("x-request-id") ?? source.headers.get("x-kaltura-request-id")
  return { status: source.status, ...(requestId && { requestId }) }
}
