import { localError, untilAborted } from "../core/errors.js"
import type { AvatarEvents, Segment, Snapshot, Widget } from "../generated/events.js"
import { spokenTypes } from "../segments/plain.js"
import type { Session } from "./session.js"
import type { CallOptions } from "../core/signals.js"

/** The complete answer to a text, of a session of any kind. */
export interface Answer {
  /** The words of the answer. */
  text: string
  threadId: string
  /** The id under which the service stores the answer, for `visitor().feedback`. */
  messageId: string
  /** All segments of the answer. */
  segments: Segment[]
  /** The widgets of the answer. */
  widgets: Widget[]
  /** Whether an agent with a face was interrupted before the answer was complete. */
  interrupted: boolean
}

/** A text as it is compared with the one that the service repeats, which may have other spaces. */
const letters = (text: string): string => text.replace(/[\s\p{C}]+/gu, "")

/** A session with a face. */
type Speaking = Session<AvatarEvents, Snapshot> & { readonly threadId: string | undefined; speak(text: string, options: CallOptions): Promise<boolean> }

/** Sends a text to an agent with a face, and resolves at the end of the turn that answers it. */
export async function askAvatar(session: Speaking, text: string, { signal }: CallOptions, changes: boolean): Promise<Answer> {
  const asked = letters(String(text)).slice(0, 1000) // the service cuts a long text
  const done = new AbortController()
  const until = { signal: done.signal, lasting: true } as const
  const answer: Answer = { text: "", threadId: "", messageId: "", segments: [], widgets: [], interrupted: false }
  /** The utterance that began last, and has not ended. */
  let running: { turnId: string; speechId: string | null } | undefined
  /** The service has repeated the text: it is answered in the turn that runs then, or in the next one. */
  let heard = false
  /** The turn that answers the text. */
  let turnId: string | undefined
  const ended = new Promise<Answer>((resolve, reject) => {
    const take = () => {
      if (heard && running) turnId ??= running.turnId
    }
    const lost = (why: string) => reject(localError("network_error", why, { retryable: true }))
    // The service may repeat the text after the answer has begun.
    const mayAnswer = (speechId: string | null | undefined) => running?.speechId === (speechId ?? null) && (turnId === undefined || running.turnId === turnId)
    session.on("turnStart", (turn) => {
      running = turn
      take()
      // It begins the same turn again when the visitor adds something before the agent speaks.
      if (turnId === undefined || turn.turnId === turnId) Object.assign(answer, { text: "", segments: [], widgets: [], interrupted: false })
    }, until)
    session.on("transcript", ({ type, text }) => {
      if (type !== "user" || heard || !(changes || letters(text).includes(asked))) return
      heard = true
      take()
    }, until)
    session.on("brainSegment", (segment) => {
      if (!mayAnswer(segment.speechId)) return
      answer.segments.push(segment)
      answer.threadId = segment.threadId || answer.threadId
      answer.messageId = segment.messageId || answer.messageId
      if (spokenTypes.includes(segment.type) && typeof segment.content === "string") answer.text += segment.content
    }, until)
    session.on("widget", (widget) => {
      if (mayAnswer(widget.speechId)) answer.widgets.push(widget)
    }, until)
    session.on("interrupted", () => {
      answer.interrupted = true
    }, until)
    session.on("turnEnd", ({ speechId }) => {
      const ends = running?.speechId === speechId
      if (ends && running?.turnId === turnId) {
        const error = answer.segments.find(({ type }) => type === "error")
        if (error) reject(localError("stream_error", String(error.content), { body: { errors: [error], partial: answer } }))
        else resolve({ ...answer, threadId: answer.threadId || (session.threadId ?? "") })
      }
      if (ends) running = undefined
    }, until)
    session.on("turnUnconfirmed", (turn) => {
      if (!heard && letters(turn.text).includes(asked)) lost("the text was sent, and the service has not confirmed it")
    }, until)
    session.on("reconnected", ({ recovered }) => {
      if (heard && !recovered) lost("the service lost the session before the answer was complete")
    }, until)
    session.once("ended", () => reject(localError("ended", "the session ended before the answer was complete")), until)
  })
  ended.catch(() => {}) // it is awaited below, unless the text could not be sent
  try {
    if (!(await session.speak(text, { signal }))) throw localError("ended", "the session ended before the text was sent")
    return await untilAborted(ended, signal)
  } finally {
    done.abort()
  }
}
