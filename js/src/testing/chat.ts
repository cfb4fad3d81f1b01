import { untilAborted, type AgentError } from "../core/errors.js"
import type { ChatState, ChatTurn, Segment } from "../generated/events.js"
import { overStates } from "../core/overstates.js"
import type { Methods } from "../core/program.js"
import { spokenTypes } from "../segments/plain.js"
import type { ScriptedAgent } from "./agent.js"
import { fault, notConnected, wait } from "./fault.js"
import { methodsOf, Scripted, wholeWidget } from "./scripted.js"
import type { ReceivedTurn } from "./script.js"

/** A turn that waits or is in progress. */
interface Turn {
  id: string
  text: string
  from: ReceivedTurn["from"]
  options: Record<string, unknown>
  answer: ChatTurn
  /** The loop over the segments, if there is one. */
  each?: (segment: Segment) => void
  settle: (error?: AgentError) => void
  over: boolean
}

const maxWaiting = 100

/** The scripted counterpart of runtime/chat: a conversation in text. */
export class ScriptedChat extends Scripted<ChatState> {
  readonly methods: Methods
  protected override readonly spoken = "text"
  #turn: Turn | undefined
  #waiting: Turn[] = []
  #connecting = false

  constructor(agent: ScriptedAgent, options: Record<string, unknown>) {
    super(agent, options)
    const { sync, async } = this.common()
    this.methods = methodsOf(
      { ...sync, streamText: (text: string, options: Record<string, unknown>) => this.#stream(text, options) },
      { ...async, sendText: (signal, text: string, options: Record<string, unknown>) => this.send(text, options, signal) },
    )
  }

  override async connect(signal?: AbortSignal): Promise<void> {
    this.#requireIdle()
    if (this.#connecting) throw fault("invalid_state", "the session is connected, not idle")
    this.#connecting = true
    if (this.agent.recording) return this.replay(this.agent.recording)
    await untilAborted(this.agent.connecting("chat"), signal).finally(() => (this.#connecting = false))
    this.#requireIdle() // it may have been disconnected meanwhile
    this.become("connected")
    const kickoff = this.kickoff
    if (!kickoff) return
    this.kickoff = { ...kickoff, sent: true }
    this.#enter(turnOf(kickoff.text, {}, "kickoff"))
  }

  #requireIdle(): void {
    if (this.state !== "idle") throw fault("invalid_state", `the session is ${this.state}, not idle`)
  }

  /** Sends one turn and resolves with the whole answer. */
  async send(text: string, options: Record<string, unknown> = {}, signal?: AbortSignal): Promise<ChatTurn> {
    const turn = turnOf(text, options)
    return new Promise((resolve, reject) => {
      turn.settle = (error) => (error ? reject(error) : resolve(turn.answer))
      signal?.addEventListener("abort", () => this.#abort(turn, fault("aborted", "the caller cancelled")), { once: true })
      this.#enter(turn)
    })
  }

  override disconnect({ final = true, reason = "disconnect" }: { final?: boolean; reason?: string | undefined }): void {
    if (this.state === "closed") return
    const began = this.state !== "idle"
    this.become("closed")
    this.emit("ended", { reason })
    this.forgetCalls()
    const waiting = this.#waiting.splice(0)
    if (this.#turn) this.#leave(this.#turn, fault("aborted", "the session was disconnected"))
    for (const turn of waiting) turn.settle(fault("invalid_state", "the session was disconnected before the turn began"))
    if (final && began) this.complete(reason)
  }

  override endByService(): void {
    this.disconnect({ final: false, reason: "conversation_ended" })
  }

  protected override segment(segment: Segment): void {
    const turn = this.#turn
    if (!turn) return
    const { answer } = turn
    const { type, content } = segment
    if (segment.threadId) answer.threadId = segment.threadId
    if (segment.messageId) answer.messageId = segment.messageId
    if (type !== "think" && type !== "keepalive") this.setPending(false)
    const call = this.runTool(segment)
    if (call) {
      const { toolMetadata, ...rest } = call
      answer.toolCalls.push({ ...rest, ...toolMetadata })
    }
    const consent = this.askConsent(segment)
    if (consent) answer.oauthRequired.push(consent)
    this.emit("brainSegment", segment)
    if (spokenTypes.includes(type) && content) {
      this.emit("transcript", { type: "final", text: content, speechId: null })
      answer.text += content as string
    }
    if (type === "error") answer.errors.push(segment)
    answer.segments.push(segment)
    answer.empty = false
    const widget = wholeWidget(segment)
    if (widget) {
      answer.widgets.push(widget)
      this.emit("widget", widget)
    }
    turn.each?.(segment)
  }

  protected override stateOf(recorded: string): ChatState | undefined {
    if (recorded === "connected") return recorded
    return overStates.includes(recorded) ? "closed" : undefined
  }

  #enter(turn: Turn): void {
    if (this.refusal) return turn.settle(this.refusal)
    if (turn.text.trim() === "") return turn.settle(fault("bad_request", "the message is empty"))
    if (!this.live) return turn.settle(notConnected(this.state))
    if (this.#waiting.length >= maxWaiting) return turn.settle(fault("rate_limited", "too many turns wait to be sent"))
    this.#waiting.push(turn)
    this.#next()
  }

  #next(): void {
    if (this.#turn) return
    this.#turn = this.#waiting.shift()
    if (this.#turn) void this.#run(this.#turn)
  }

  async #run(turn: Turn): Promise<void> {
    const going = () => !turn.over
    if (turn.from !== "kickoff" || this.kickoff?.echo) this.emit("transcript", { type: "user", text: turn.text, speechId: null })
    this.emit("turnStart", { speechId: null, turnId: turn.id, isNewTurn: true })
    this.setPending(true)
    const received = this.receive(turn.text, turn.from, turn.options)
    await wait(this.agent.thinkMs)
    const failure = this.agent.takeTurnFailure()
    if (!going()) return
    if (!failure) await this.play(received, this.agent.stepsOf(received), going)
    if (!going()) return
    const error = failure ?? this.#judge(turn.answer)
    if (error) this.emit("error", error)
    this.#leave(turn, error)
    this.#next()
  }

  /** The error that the error segments of an answer stand for. */
  #judge({ errors: [first], text, threadId, messageId }: ChatTurn): AgentError | undefined {
    if (!first) return undefined
    const detail = String(first.content)
    if (this.options["onErrorSegment"] === "warn") {
      this.emit("warning", { code: "stream_error", message: "The turn failed", detail })
      return undefined
    }
    return fault("stream_error", detail, { status: 200, body: { errors: [first], partial: { messageId, text, threadId }, threadId } })
  }

  #leave(turn: Turn, error?: AgentError): void {
    turn.over = true
    this.#turn = undefined
    this.setPending(false)
    this.emit("turnEnd", { speechId: null, turnId: turn.id })
    turn.settle(error)
  }

  #abort(turn: Turn, reason: AgentError): void {
    if (this.#waiting.includes(turn)) {
      this.#waiting = this.#waiting.filter((other) => other !== turn)
      turn.settle(reason)
    } else if (this.#turn === turn) {
      this.emit("error", reason)
      this.#leave(turn, reason)
      this.#next()
    }
  }

  #stream(text: string, options: Record<string, unknown>): Methods {
    const turn = turnOf(text, options)
    const segments: Segment[] = []
    let outcome: { error?: AgentError | undefined } | undefined
    let wake = () => {}
    turn.each = (segment) => {
      segments.push(segment)
      wake()
    }
    turn.settle = (error) => {
      outcome = { error }
      wake()
    }
    let begun = false
    return {
      next: async () => {
        if (!begun) this.#enter(turn)
        begun = true
        while (segments.length === 0 && !outcome) await new Promise<void>((resolve) => (wake = resolve))
        if (segments.length > 0) return { done: false, value: segments.splice(0) }
        if (outcome?.error) throw outcome.error
        return { done: true, value: undefined }
      },
      return: async () => this.#abort(turn, fault("aborted", "the loop was left")),
    }
  }
}

let lastTurn = 0

function turnOf(text: string, options: Record<string, unknown>, from: ReceivedTurn["from"] = "typed"): Turn {
  const answer: ChatTurn = { text: "", threadId: "", messageId: "", segments: [], widgets: [], toolCalls: [], oauthRequired: [], errors: [], spiralStopped: false, truncated: false, empty: true }
  return { id: `turn-${++lastTurn}`, text, from, options, answer, settle: () => {}, over: false }
}
