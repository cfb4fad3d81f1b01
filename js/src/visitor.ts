import { localError } from "./errors.js"
import type { SegmentType } from "./events.js"
import { chatProgram } from "./load.js"
import { checkFunctions, checkKind, givenOf, isArray, optionsOf, plainPlace, readable, type Place, type PlainOptions, type ResponseInfo, type TokenKind, type WithToken } from "./options.js"
import type { AsyncExport, StreamExport } from "./program.js"
import type { CallOptions } from "./session.js"
import { pullExport } from "./stream.js"

/** Who a visitor is, and where the service: what `appInit` resolves to can be spread into it. */
export type VisitorAccess = WithToken<
  Place & {
    /**
     * What the token was minted as, from `appInit`. A widget's has no threads or
     * messages of its own: calls about them reject with `wrong_token_scope`, and
     * nothing is sent. Left out, the service judges.
     */
    kind?: TokenKind
    /** Called for every HTTP reply, also those that are followed by another attempt. */
    onResponse?: (response: ResponseInfo) => void
  }
>

/** A part of a list. */
export interface Pager {
  /** From 1, which is the default. */
  pageIndex?: number | undefined
  /** 1 to 500. Default 30 threads, 50 messages. */
  pageSize?: number | undefined
}

/** One page of a list. */
export interface Page<T> {
  /** How many there are on all pages. */
  totalCount: number
  objects: T[]
}

/** A time in a filter: RFC 3339 text, or seconds since 1970. */
export type FilterTime = string | number | Date

/** The order of a list. */
export type Order = "+createdAt" | "-createdAt" | "+updatedAt" | "-updatedAt"

/** What both kinds of records can be selected by. */
interface RecordFilter {
  createdAtGreaterThanOrEqual?: FilterTime | undefined
  createdAtLessThanOrEqual?: FilterTime | undefined
  idEquals?: string | undefined
  idsIn?: string[] | undefined
  orderBy?: Order | undefined
  updatedAtGreaterThanOrEqual?: FilterTime | undefined
  updatedAtLessThanOrEqual?: FilterTime | undefined
  userIdEquals?: string | undefined
}

/** Selects threads; all of it must fit. Unknown keys reject with `validation_error`. */
export interface ThreadFilter extends RecordFilter {
  agentIdEquals?: string | undefined
  contextIdEqual?: string | undefined
  isEverywhere?: boolean | undefined
  partnerIdEquals?: string | number | undefined
  statusEquals?: string | undefined
  statusIn?: string[] | undefined
}

export interface ThreadQuery {
  filter?: ThreadFilter | undefined
  pager?: Pager | undefined
}

/** Selects messages; all of it must fit. Unknown keys reject with `validation_error`. */
export interface MessageFilter extends RecordFilter {
  genieIdEquals?: string | number | undefined
  isPositiveEquals?: boolean | undefined
  isPositiveIn?: boolean[] | undefined
  threadIdEquals?: string | undefined
}

export interface MessageQuery {
  /** The messages of one thread; wins over the filter's `threadIdEquals`. */
  threadId?: string | undefined
  filter?: MessageFilter | undefined
  pager?: Pager | undefined
}

/**
 * A time of a record as the service wrote it: RFC 3339 text, in UTC when it names
 * no offset, or a number of seconds or milliseconds since 1970.
 */
export type RecordTime = string | number

/**
 * A stored dialogue, as the service keeps it: there may be more in it, or less
 * (service.md "Thread").
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
 * A piece of a stored message: a `Segment` in the service's own form, without what
 * it had only while it was streamed.
 */
export interface StoredSegment {
  type: SegmentType
  /** A string for most types. */
  content?: unknown
  metadata?: Record<string, unknown> | null
  [key: string]: unknown
}

/**
 * One line of a thread, or a shared copy of one, as the service keeps it: there may
 * be more in it, or less.
 */
export interface Message {
  id: string
  /** None for a shared copy. */
  thread_id?: string | null
  user_id?: string | null
  genie_id?: string | number | null
  /** Whose line it is: `human`, `ai` or `opening`. */
  type?: string | null
  /** That of a shared copy. */
  title?: string | null
  /** The visitor's rating, if there is one. */
  is_positive?: boolean | null
  /** Of the rating. */
  comment?: string | null
  created_at?: RecordTime | null
  updated_at?: RecordTime | null
  /** What it says, piece by piece, or plain text. */
  content?: StoredSegment[] | string | null
  [key: string]: unknown
}

/** A thread as plain text. */
export interface ThreadTranscript {
  /** One turn on a line, behind its role and a colon. */
  text: string
  /** The same, turn by turn; the role is `human`, `ai` or `opening`, empty for text in front of the first. */
  turns: { role: string; text: string }[]
}

/** A question to begin with: its text, or the service's record of it. */
export type SuggestedQuestion = string | { question?: string | null; [key: string]: unknown }

/** What a conversation with a token can count on, as the service reports it: there may be more in it. */
export interface AssistantStatus {
  /** The visitor may talk to an AI. */
  aiConsent?: boolean | null
  /** The agent's avatar; null for an agent that can't be seen. */
  avatar?: unknown
  /** The token carries a user id. */
  identifiedUser?: boolean | null
  [key: string]: unknown
}

/** What `visitor` returns. */
export type Visitor = ReturnType<typeof visitor>

/**
 * Returns the calls of one visitor beside a conversation (service.md "Threads",
 * "Messages, feedback, followups" and "Converse and status"); nothing is sent or
 * loaded yet. Throws `bad_request` without a token, for an unknown kind or region
 * and for a bad address, and `insecure_transport`.
 *
 * Each call is one request, and takes `{ signal }` last. The lists of `all` are read
 * page by page, as they are needed, to an empty page or as many as the service
 * counts; one that returns the same page again and again is an `invalid_response`.
 *
 * Ids that are empty reject with `bad_request`, filters that can't be right with
 * `validation_error`, before anything is sent. Others: the codes of HTTP
 * (docs/errors.md), `network_error`, `invalid_response`, `aborted`, `load_failed`.
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
      /** What changes meanwhile may come twice or be left out: collect first what is to be deleted. */
      all: (query: ThreadQuery = {}, options?: CallOptions) => stream<Thread>("threadAll", query, options),
      /** Rejects with `not_found` when there is none, or when it is another user's. */
      get: (id: string, options?: CallOptions) => call<Thread>("threadGet", { id }, options),
      rename: (id: string, title: string, options?: CallOptions) => call<Thread>("threadRename", { id, title }, options),
      /** Takes ids, or an array of them. Resolves to those that were deleted; ids that are unknown, or another user's, are left out. */
      delete: async (...args: DeletedIds | [...ids: DeletedIds, options: CallOptions]) => {
        const last = args.at(-1)
        const options = typeof last === "object" && !isArray("the ids", last) ? last : undefined
        const ids = readable("the ids", () => (options === undefined ? args : args.slice(0, -1)).flat())
        return call<Page<Thread>>("threadDelete", { ids }, options as CallOptions | undefined)
      },
      transcript: (id: string, options?: CallOptions) => call<ThreadTranscript>("threadTranscript", { id }, options),
      /** Merges values into the thread's analysis, key by key; none at all is a `bad_request`. */
      setAnalysis: (id: string, values: Record<string, unknown>, options?: CallOptions) => call<Thread>("threadSetAnalysis", { id, values }, options),
      clearAnalysis: (id: string, options?: CallOptions) => call<Thread>("threadClearAnalysis", { id }, options),
    },
    messages: {
      list: (query: MessageQuery = {}, options?: CallOptions) => call<Page<Message>>("messageList", query, options),
      all: (query: MessageQuery = {}, options?: CallOptions) => stream<Message>("messageAll", query, options),
      get: (id: string, options?: CallOptions) => call<Message>("messageGet", { id }, options),
      /** Makes a copy that others can read too; it can't be deleted. */
      share: (id: string, newTitle: string, options?: CallOptions) => call<{ newMessageId: string }>("messageShare", { id, title: newTitle }, options),
    },
    feedback: {
      /** Rates an answer by the `messageId` of its turn. The same again changes nothing, the other rating replaces it. */
      add: async (messageId: string, positive: boolean, ...rest: [options?: CallOptions | undefined] | [comment?: string | undefined, options?: CallOptions | undefined]): Promise<void> => {
        const [said, options] = rest as [said?: string | CallOptions | null, options?: CallOptions]
        const [comment, last] = typeof said === "object" ? [undefined, said ?? options] : [said, options]
        await call("feedbackAdd", { messageId, positive, comment }, last)
      },
    },
    followups: {
      /** Questions to begin a conversation with: the agent's, not a thread's. They may differ from call to call. */
      suggested: (options?: CallOptions) => call<SuggestedQuestion[]>("followupsSuggested", {}, options),
    },
    status: (options?: CallOptions) => call<AssistantStatus>("assistantStatus", {}, options),
  }
}

type DeletedIds = string[] | [ids: string[]]

/** The keys of each list's query, beside its filter and its pager. */
const queryKeys: Partial<Record<AsyncExport | StreamExport, readonly string[]>> = { threadList: [], threadAll: [], messageList: ["threadId"], messageAll: ["threadId"] }

/**
 * Refuses what would be no condition, so that the list would have everything in
 * it: keys that there are none of, a thread without an id, and numbers and dates of
 * a filter that JSON writes as null.
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
  if (threadId === "") throw localError("validation_error", "threadId is empty; leave it out for the messages of all threads")
  for (const [key, value] of readable("the query", () => Object.entries(filter ?? {}))) {
    const number = value instanceof Date ? value.getTime() : value
    if (typeof number === "number" && !Number.isFinite(number)) throw localError("validation_error", `filter.${key} is an invalid date or number`)
  }
}

function checkKeys(what: string, given: object | null | undefined, known: readonly string[]): void {
  const key = readable(what, () => Object.keys(given ?? {})).find((key) => !known.includes(key))
  if (key === undefined) return
  throw localError("validation_error", `${what} has no ${key}; the keys are ${known.join(", ")}`)
}

/** Checks the access as the Go side does. */
function plainAccess(access: unknown): PlainOptions {
  const given = givenOf(access)
  checkKind(given)
  checkFunctions(given, ["onResponse"])
  return plainPlace(given)
}
