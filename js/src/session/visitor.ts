import { localError } from "../core/errors.js"
import type { SegmentType } from "../generated/events.js"
import { chatProgram } from "../core/load.js"
import { checkOptions, givenOf, isArray, optionsOf, plainOf, plainPlace, readable, withoutInjected, type PlainOptions, type WithToken } from "../core/options.js"
import type { AsyncExport, StreamExport } from "../core/program.js"
import type { CallOptions } from "../core/signals.js"
import { visitorChecks, type MessageQuery, type ThreadQuery, type ThreadTranscript, type VisitorSettings } from "../generated/settings.js"
import { pullExport } from "../core/stream.js"

export type { FilterTime, MessageFilter, MessageQuery, Order, Pager, ThreadFilter, ThreadQuery, ThreadTranscript, TranscriptTurn } from "../generated/settings.js"

/** The visitor's token and the service's address; the result of `appInit` can be spread into it. */
export type VisitorAccess = WithToken<VisitorSettings>

/** One page of a list. */
export interface Page<T> {
  /** The number of objects on all pages. */
  totalCount: number
  objects: T[]
}

/**
 * A time of a record as the service wrote it: RFC 3339 text, in UTC when it names
 * no offset, or a number of seconds or milliseconds since 1970.
 */
export type RecordTime = string | number

/**
 * A stored dialogue as the service returns it: fields may be missing, and there may be
 * others.
 */
export interface Thread {
  id: string
  title?: string | null
  status?: string | null
  created_at?: RecordTime | null
  updated_at?: RecordTime | null
  /** `"default"` when the token that opened the thread names no agent. */
  agent_id?: string | null
  thread_metadata?: { analysis?: Record<string, unknown> | null; [key: string]: unknown } | null
  [key: string]: unknown
}

/**
 * A segment of a stored message in the service's form, without the fields that a
 * `Segment` has only while it is streamed.
 */
export interface StoredSegment {
  type: SegmentType
  /** A string for most types. */
  content?: unknown
  metadata?: Record<string, unknown> | null
  [key: string]: unknown
}

/**
 * A message of a thread, or a shared copy of one, as the service returns it: fields
 * may be missing, and there may be others.
 */
export interface Message {
  id: string
  /** Absent from a shared copy. */
  thread_id?: string | null
  user_id?: string | null
  genie_id?: string | number | null
  /** The author: `human`, `ai` or `opening`. */
  type?: string | null
  /** The title of a shared copy. */
  title?: string | null
  /** The visitor's rating. */
  is_positive?: boolean | null
  /** The comment on the rating. */
  comment?: string | null
  created_at?: RecordTime | null
  updated_at?: RecordTime | null
  /** Segments or plain text. */
  content?: StoredSegment[] | string | null
  /** True while the answer is being written, and permanently where the service stopped in the middle of it. Only the local service sends it. */
  unfinished?: boolean | null
  [key: string]: unknown
}

/** A suggested first question: its text, or the service's record of it. */
export type SuggestedQuestion = string | { question?: string | null; [key: string]: unknown }

/** What conversations with the token can do, as the service reports it; there may be other fields. */
export interface AssistantStatus {
  /** The visitor may talk to an AI. */
  aiConsent?: boolean | null
  /** The agent's avatar; null for an agent without one. */
  avatar?: unknown
  /** The token carries a user id. */
  identifiedUser?: boolean | null
  [key: string]: unknown
}

/** What `visitor` returns. */
export type Visitor = ReturnType<typeof visitor>

/**
 * Returns the calls that a visitor can make outside of a conversation. Nothing is
 * requested or loaded before the first of them. Throws `bad_request` for a missing token,
 * an unknown kind or region and an invalid address, and `insecure_transport`.
 *
 * Each call is one request and takes `{ signal }` as its last argument. The loops of
 * `all` request page after page as they need them, until an empty page or the service's
 * total count; a page that is returned repeatedly is an `invalid_response`.
 *
 * Empty ids reject with `bad_request`, invalid filters with `validation_error`, both
 * without a request. Other codes: those of HTTP replies (docs/errors.md), `network_error`,
 * `invalid_response`, `aborted`, `load_failed`.
 */
export function visitor(access: VisitorAccess) {
  const plain = plainAccess(access)
  const call = async <T>(name: AsyncExport, about: object, options?: CallOptions): Promise<T> => {
    const { signal } = optionsOf(options)
    checkQuery(name, about)
    const running = await chatProgram({ signal })
    return running.call((go) => go[name](signal, plain, about) as Promise<T>, signal)
  }
  const stream = <T>(name: StreamExport, about: object, options?: CallOptions): AsyncIterableIterator<T> => {
    const find = async () => {
      checkQuery(name, about)
      return chatProgram()
    }
    return pullExport<T>(find, (go) => go[name](plain, about), optionsOf(options).signal)
  }
  return {
    threads: {
      list: (query: ThreadQuery = {}, options?: CallOptions) => call<Page<Thread>>("threadList", query, options),
      /** A thread that changes during the loop may be yielded twice or not at all: collect the ids before deleting. */
      all: (query: ThreadQuery = {}, options?: CallOptions) => stream<Thread>("threadAll", query, options),
      /** Rejects with `not_found` for an unknown id or another user's thread. */
      get: (id: string, options?: CallOptions) => call<Thread>("threadGet", { id }, options),
      rename: (id: string, title: string, options?: CallOptions) => call<Thread>("threadRename", { id, title }, options),
      /** Takes ids, or an array of them. Resolves to the deleted threads, without unknown ones and those of other users. */
      delete: async (...args: DeletedIds | [...ids: DeletedIds, options: CallOptions]) => {
        const last = args.at(-1)
        const options = typeof last === "object" && !isArray("the ids", last) ? last : undefined
        const ids = readable("the ids", () => (options === undefined ? args : args.slice(0, -1)).flat())
        return call<Page<Thread>>("threadDelete", { ids }, options as CallOptions | undefined)
      },
      transcript: (id: string, options?: CallOptions) => call<ThreadTranscript>("threadTranscript", { id }, options),
      /** Merges values into the thread's analysis, key by key; without any value it rejects with `bad_request`. */
      setAnalysis: (id: string, values: Record<string, unknown>, options?: CallOptions) => call<Thread>("threadSetAnalysis", { id, values }, options),
      clearAnalysis: (id: string, options?: CallOptions) => call<Thread>("threadClearAnalysis", { id }, options),
    },
    messages: {
      list: (query: MessageQuery = {}, options?: CallOptions) => call<Page<Message>>("messageList", query, options),
      all: (query: MessageQuery = {}, options?: CallOptions) => stream<Message>("messageAll", query, options),
      get: (id: string, options?: CallOptions) => call<Message>("messageGet", { id }, options),
      /** Makes a copy that other users can read. It can't be deleted. */
      share: (id: string, newTitle: string, options?: CallOptions) => call<{ newMessageId: string }>("messageShare", { id, title: newTitle }, options),
    },
    feedback: {
      /** Rates an answer by the `messageId` of its turn. A repeated rating changes nothing, the opposite one replaces it. */
      add: async (messageId: string, positive: boolean, ...rest: [options?: CallOptions | undefined] | [comment?: string | undefined, options?: CallOptions | undefined]): Promise<void> => {
        const [said, options] = rest as [said?: string | CallOptions | null, options?: CallOptions]
        const [comment, last] = typeof said === "object" ? [undefined, said ?? options] : [said, options]
        await call("feedbackAdd", { messageId, positive, comment }, last)
      },
    },
    followups: {
      /** The agent's suggested first questions. They may differ from call to call. */
      suggested: (options?: CallOptions) => call<SuggestedQuestion[]>("followupsSuggested", {}, options),
    },
    status: (options?: CallOptions) => call<AssistantStatus>("assistantStatus", {}, options),
  }
}

type DeletedIds = string[] | [ids: string[]]

/** The keys of each list's query besides filter and pager. */
const queryKeys: Partial<Record<AsyncExport | StreamExport, readonly string[]>> = { threadList: [], threadAll: [], messageList: ["threadId"], messageAll: ["threadId"] }

/**
 * Throws `validation_error` for conditions that the service would ignore, and then return
 * everything: unknown keys, an empty thread id, and numbers and dates that JSON writes as
 * null.
 */
function checkQuery(name: AsyncExport | StreamExport, about: unknown): void {
  const own = queryKeys[name]
  if (!own || about == null) return
  if (typeof about !== "object") throw localError("validation_error", "the query must be an object")
  checkKeys("the query", about, ["filter", "pager", ...own])
  const { filter, pager, threadId } = readable("the query", () => {
    const { filter, pager, threadId } = about as MessageQuery
    return { filter, pager, threadId }
  })
  checkKeys("pager", pager, ["pageIndex", "pageSize"])
  if (threadId === "") throw localError("validation_error", "threadId must not be empty; leave it out for the messages of all threads")
  for (const [key, value] of readable("the query", () => Object.entries(filter ?? {}))) {
    const number = value instanceof Date ? value.getTime() : value
    if (typeof number === "number" && !Number.isFinite(number)) throw localError("validation_error", `filter.${key} must be a valid date or a finite number`)
  }
}

function checkKeys(what: string, given: object | null | undefined, known: readonly string[]): void {
  const key = readable(what, () => Object.keys(given ?? {})).find((key) => !known.includes(key))
  if (key === undefined) return
  throw localError("validation_error", `${what} has no ${key}; the keys are ${known.join(", ")}`)
}

/** Checks the access as the Go program does, and converts it. */
function plainAccess(access: unknown): PlainOptions {
  const [given] = withoutInjected(givenOf(access)) as [PlainOptions]
  checkOptions(given)
  return plainPlace(plainOf(given, visitorChecks))
}
