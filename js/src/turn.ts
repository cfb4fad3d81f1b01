import type { OAuthRequired, Segment, Widget } from "./events.js"

/** A turn in text, complete (runtime/converse, Turn; wire-protocol §9.5). */
export interface ChatTurn {
  /** What was said, without the widgets. */
  text: string
  /** Continues the conversation. */
  threadId: string
  /** For `visitor().feedback`. */
  messageId: string
  /** All pieces, as they came. */
  segments: Segment[]
  widgets: Widget[]
  /** Widgets that could not be read. */
  malformedWidgets?: MalformedWidget[]
  /** The distinct calls. */
  toolCalls: TurnCall[]
  /** The authorisations that tools wait for. */
  oauthRequired: OAuthRequired[]
  /** The error segments; only where they do not fail the turn. */
  errors: Segment[]
  /** The turn was left because it called tools only; `converseOnce` alone does that. */
  spiralStopped: boolean
  /** It has more segments than are kept: 20,000 in a session, 2,000 in `converseOnce`, which leaves it there. */
  truncated: boolean
  /** It brought nothing, which is how the service refuses variables that it does not allow (wire-protocol §10.3). */
  empty: boolean
  /** Of `converseOnce` alone. */
  warnings?: TurnWarning[]
}

/** A widget whose structure could not be read. */
export interface MalformedWidget {
  runtime: string
  widgetName?: string
  raw: string
}

/** A tool call of a turn. */
export interface TurnCall {
  name: string
  args: Record<string, unknown>
  /** Argument objects in the same segment that belong to other tools (wire-protocol §10.6). */
  fusedArgs?: Record<string, unknown>[]
  /** For `respondToTool`. */
  id?: string
  /** api, client, csv or code. */
  type?: string
  /** The brain waits for an answer. */
  waitForResponse: boolean
  /** The content that it was read from. */
  raw: string
}

/** Something about a turn that went well and may not be what was wanted. */
export interface TurnWarning {
  code: string
  message: string
  /** Names only. */
  requestVarKeys?: string[]
}
