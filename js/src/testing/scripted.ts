import { parseContent, widgetOf } from "../segments/content.js"
import { parseOAuthRequired, parseToolCall, validateToolArgs } from "../segments/tools.js"
import { AgentError, cancelled, untilAborted, type AgentErrorFields } from "../core/errors.js"
import type { Kickoff, OAuthRequired, Segment, ToolCall, Widget } from "../generated/events.js"
import type { Methods } from "../core/program.js"
import type { RecordingEntry } from "../record/format.js"
import type { Dispatch } from "../core/programobject.js"
import type { RecordedConversation } from "../replay.js"
import type { ArgRule } from "../session/session.js"
import type { ScriptedAgent } from "./agent.js"
import { fault, notConnected, wait } from "./fault.js"
import { pieces, render, rendered, type ReceivedTurn, type ScriptedCall, type Step } from "./script.js"

type Sync = (...args: never[]) => unknown
type Async = (signal: AbortSignal | undefined, ...args: never[]) => Promise<unknown>

/** Makes the methods of an object as the Go program does: those that return at once return their errors instead of throwing them. */
export function methodsOf(sync: Record<string, Sync>, async: Record<string, Async>): Methods {
  const methods: Record<string, (...args: unknown[]) => unknown> = {}
  for (const [name, method] of Object.entries(sync)) {
    methods[name] = (...args) => {
      try {
        return method(...(args as never[]))
      } catch (reason) {
        return reason instanceof AgentError ? reason : fault("internal_error", String(reason), { cause: reason })
      }
    }
  }
  for (const [name, method] of Object.entries(async)) {
    methods[name] = (signal, ...args) => {
      const until = signal as AbortSignal | undefined
      if (until?.aborted) return Promise.reject(cancelled(until))
      const result = (async () => method(until, ...(args as never[])))()
      return untilAborted(result, until)
    }
  }
  return methods
}

interface Handler {
  /** The tool's name; consent handlers have none. */
  name?: string
  call: (about: unknown) => unknown
  schema?: Record<string, ArgRule> | null | undefined
}

/** The state, the events and the tools of one scripted session, of either transport. */
export abstract class Scripted<State extends string = string> {
  /** The variables from the options and `updateRequestVars`. */
  vars: Record<string, unknown>
  /** The data from `setDynamicPrompt`. */
  pageContext: unknown = null
  threadId: string
  protected state = "idle" as State
  protected pending = false
  protected kickoff: Kickoff | null
  protected readonly agent: ScriptedAgent
  protected readonly options: Record<string, unknown>
  readonly #dispatches: Dispatch[] = []
  readonly #waiting: [string, unknown, number][] = []
  #delivering = false
  #completing = Promise.resolve()
  /** The end of the conversation was reported, which is done once. */
  #completed = false
  readonly #handlers = new Map<number, Handler>()
  /** Ends the recording that is played. */
  #replaying: AbortController | undefined
  /** The calls of tools that may be answered, by id. */
  readonly #calls = new Map<string, { name: string; answer: (response: Record<string, unknown>) => void }>()

  constructor(agent: ScriptedAgent, options: Record<string, unknown>) {
    this.agent = agent
    this.options = options
    this.kickoff = (options["kickoff"] as Kickoff | undefined) ?? null
    this.vars = { ...(options["requestVars"] as object) }
    this.threadId = (options["threadId"] as string | undefined) ?? ""
  }

  /** Delivers the events to dispatch too. */
  listen(dispatch: Dispatch): void {
    this.#dispatches.push(dispatch)
  }

  get live(): boolean {
    return this.state === "connected"
  }

  abstract readonly methods: Methods
  abstract connect(signal?: AbortSignal): Promise<void>
  abstract disconnect(options: { final?: boolean; reason?: string | undefined }): void
  /** Ends the conversation from the service's side. */
  abstract endByService(): void

  /** Emits an event: at once, or after the events that are being delivered. */
  emit(event: string, payload: unknown = {}): void {
    this.#waiting.push([event, payload, performance.now()])
    if (this.#delivering) return
    this.#delivering = true
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) for (const dispatch of this.#dispatches) dispatch(next)
    this.#delivering = false
  }

  protected become(state: State): void {
    this.state = state
    this.emit("stateChange", { state })
  }

  /** The properties that sessions of both transports have. */
  protected properties() {
    const { state, kickoff, pending: responsePending, threadId, options } = this
    return { state, partnerId: String(options["partnerId"] ?? ""), kickoff, responsePending, ...(threadId && { threadId }) }
  }

  /** The methods that sessions of both transports have. */
  protected common(): { sync: Record<string, Sync>; async: Record<string, Async> } {
    return {
      sync: {
        properties: () => this.properties(),
        setToken: () => {},
        setDynamicPrompt: (data: Record<string, unknown> | null | undefined) => {
          this.requireLive()
          this.pageContext = data ?? null
        },
        updateRequestVars: (vars: Record<string, unknown>) => {
          this.requireLive()
          this.mergeVars(vars)
        },
        addToolHandler: (id: number, name: string, call: Handler["call"], schema: Handler["schema"]) => void this.#handlers.set(id, { name, call, schema }),
        addConsentHandler: (id: number, call: Handler["call"]) => void this.#handlers.set(id, { call }),
        removeHandler: (id: number) => void this.#handlers.delete(id),
        redact: (value: unknown) => value, // a fake has no secrets
        disconnect: (options: { final?: boolean; reason?: string }) => this.disconnect(options),
      },
      async: {
        connect: (signal) => this.connect(signal),
        dispose: async () => this.disconnect({}),
        settle: async () => {
          await undefined // the change of state precedes the request
          await this.#completing
        },
        respondToTool: async (_, id: string | undefined, response: Record<string, unknown>) => {
          this.requireLive()
          if (!id || typeof response !== "object" || response === null) throw fault("bad_request", "respondToTool needs the id of the call and an object")
          const call = this.#calls.get(id)
          if (!call) return { ok: false, reason: "unknown_or_stale" }
          this.#calls.delete(id)
          this.agent.toolAnswers.push({ id, name: call.name, response })
          call.answer(response)
          return { ok: true }
        },
        completeThread: async () => {
          if (["closed", "disconnected"].includes(this.state)) throw fault("invalid_state", "the session has ended")
          if (!this.threadId) return { ok: false, reason: "no_thread" }
          if (this.#completed) return { ok: true, reason: "already_sent" }
          this.complete("manual")
          await this.#completing
          return { ok: true, reason: "manual" }
        },
      },
    }
  }

  protected requireLive(): void {
    if (!this.live) throw notConnected(this.state)
  }

  mergeVars(vars: Record<string, unknown>): void {
    for (const [name, value] of Object.entries(vars)) {
      if (value === null || value === "") delete this.vars[name]
      else this.vars[name] = value
    }
  }

  /** Takes what an agent session passes on to its next transport: the handlers, and whether the end was reported. */
  takeOver(from: Scripted): void {
    this.#completed = from.#completed
    for (const [id, handler] of from.#handlers) this.#handlers.set(id, handler)
  }

  protected setPending(pending: boolean): void {
    if (this.pending === pending) return
    this.pending = pending
    this.emit(pending ? "responsePending" : "responseSettled")
  }

  /** Reports the end of the conversation, as the session's request to the service does. */
  protected complete(reason: string): void {
    const { threadId } = this
    if (!threadId || this.#completed) return
    this.#completed = true
    this.#completing = wait(0).then(() => {
      this.agent.completions.push({ threadId, reason })
      this.emit("sessionCompleted", { reason, sent: true, suppressed: false, peers: 0 })
    })
  }

  /** Ends the calls of tools that wait for an answer, and what is replayed. */
  protected forgetCalls(): void {
    this.#replaying?.abort()
    const calls = [...this.#calls.values()]
    this.#calls.clear()
    for (const { answer } of calls) answer({})
  }

  /** Plays a recording in place of a script. Resolves when it is connected, and rejects when it does not come to that. */
  protected replay(recording: RecordedConversation): Promise<void> {
    const events = recording.entries.filter(({ event }) => event !== undefined)
    const connects = events.some(({ event, data }) => event === "stateChange" && (data as { state?: unknown }).state === "connected")
    if (!connects && !events.some(({ event }) => event === "error")) this.recorded("stateChange", { state: "connected" }) // it was begun later
    const { signal } = (this.#replaying = new AbortController())
    return new Promise((resolve, reject) => {
      let failure = fault("connect_failed", "the recorded session was not connected", { phase: "connect" })
      const listener = ({ event, data }: RecordingEntry) => {
        const payload = (data ?? {}) as Record<string, unknown>
        if (event === "error") failure = new AgentError(payload as unknown as AgentErrorFields)
        if (event !== undefined) this.recorded(event, event === "error" ? failure : payload)
        if (this.live) resolve()
      }
      recording.play(listener, { speed: this.agent.speed, signal }).then(() => reject(failure), reject)
      if (this.live) resolve()
    })
  }

  /** The state for one of a recording, which may be of another kind of session; undefined for one that this kind passes over. */
  protected abstract stateOf(recorded: string): State | undefined

  /** Emits a recorded event, and calls the handlers of the page as the session did. */
  protected recorded(event: string, payload: object): void {
    if (event === "stateChange") {
      const state = this.stateOf((payload as { state: string }).state)
      if (state !== undefined && state !== this.state) this.become(state)
      return
    }
    if (event === "responsePending" || event === "responseSettled") return this.setPending(event === "responsePending")
    const { call = payload, threadId } = payload as { call?: object; threadId?: string }
    const { name = "", toolMetadata } = call as Partial<ToolCall>
    const handlers = [...this.#handlers.values()].filter((handler) => (event === "oauthRequired" ? handler.name === undefined : handler.name === name))
    if (event === "brainSegment" && threadId) this.threadId = threadId
    if (event === "toolCallResult" && handlers.length > 0) return // its own results count
    this.emit(event, payload)
    if (event === "oauthRequired") void this.#run(handlers, payload, (outcome) => this.emit("oauthRequiredResult", { result: payload, ...outcome }), event)
    if (event !== "toolCall") return
    if (toolMetadata?.id) this.#calls.set(toolMetadata.id, { name, answer: () => {} })
    void this.#run(handlers, payload, (outcome) => this.emit("toolCallResult", { call, ...outcome }), name)
  }

  /** Why a text of the page is refused when a recording is played. */
  protected get refusal(): AgentError | undefined {
    return this.agent.recording && fault("invalid_state", "the agent plays a recording, which answers no texts")
  }

  /** Makes a turn of a text, and adds it to those that the agent has received. */
  protected receive(text: string, from: ReceivedTurn["from"], options: Record<string, unknown> = {}): ReceivedTurn {
    this.threadId ||= this.agent.newThread()
    const turn = { text, from, variables: { ...this.vars }, pageContext: this.pageContext, threadId: this.threadId, options }
    this.agent.turns.push(turn)
    return turn
  }

  /** Handles one segment of an answer. */
  protected abstract segment(segment: Segment): void | Promise<void>
  /** The type of spoken segments. */
  protected abstract readonly spoken: "text" | "avatar"

  /** Called before a pause in the answer. */
  protected pauses(): void {}

  /** Plays steps as the segments of one answer, while going() is true. */
  protected async play(turn: ReceivedTurn, steps: readonly Step[], going: () => boolean): Promise<void> {
    const began = Date.now()
    const first = this.agent.turns.filter(({ threadId }) => threadId === turn.threadId).length === 1
    let number = -1
    const put = async (fields: Partial<Segment> & { type: string }, next = true) => {
      if (next) number++
      await this.segment({ role: "assistant", content: "", segmentNumber: number, et: (Date.now() - began) / 1000, ...fields } as Segment)
    }
    let open = false
    const say = async (text: string, type: Segment["type"]) => {
      for (const piece of pieces(text)) {
        await wait(this.agent.thinkMs)
        if (!going()) return
        await put({ type, content: piece, ...(!open && { segmentStart: true }) }, !open)
        open = true
      }
    }
    const close = async (type: Segment["type"] = this.spoken) => {
      if (open && going()) await put({ type, content: "", segmentEnd: true }, false)
      open = false
    }
    await put({ type: "think", threadId: turn.threadId, messageId: this.agent.newMessage(), segmentStart: true })
    const vars: Record<string, unknown> = { ...turn.variables }
    for (const step of steps) {
      if (!going()) return
      if ("say" in step) {
        await say(render(step.say, vars), this.spoken)
        continue
      }
      if ("pause" in step) {
        this.pauses()
        await wait(step.pause)
        continue
      }
      await close()
      await wait(this.agent.thinkMs)
      if (!going()) return
      if ("filler" in step) {
        await say(render(step.filler, vars), "avatar-filler")
        await close("avatar-filler")
      } else if ("think" in step) {
        await put({ type: "think", content: render(step.think, vars) })
      } else if ("error" in step) {
        return await put({ type: "error", content: render(step.error, vars), isFinal: true })
      } else if ("tool" in step) {
        const answer = await this.#call(rendered(step.tool, vars) as ScriptedCall, put)
        if (!going()) return
        for (const [name, value] of Object.entries(answer ?? {})) vars[`tool.${name}`] = value
        if (answer) await put({ type: "tool_response", content: `${step.tool.name} responded with size ${JSON.stringify(answer).length}` })
      } else if ("widget" in step) {
        const { runtime, body } = rendered(step.widget, vars) as { runtime: string; body: unknown }
        const content = typeof body === "string" ? body : JSON.stringify(body)
        const metadata = { widgetName: "unisphere.widget.genie", runtimeName: runtime.replace(/(-tool)?$/, "-tool") }
        await put({ type: "unisphere-tool", content, segmentStart: true, segmentEnd: true, metadata })
      } else if ("consent" in step) {
        const { tool, name = tool, ask = `Please allow ${name}.`, url = "https://consent.example/" } = step.consent
        await say(ask, this.spoken)
        await close()
        if (!going()) return
        await put({ type: "interruption", content: { auth_url: url }, metadata: { subtype: "oauth_required", tool_name: tool, tool_display_name: name } })
        break
      } else {
        await put(step.segment)
      }
    }
    await close()
    if (!going()) return
    if (first) await put({ type: "thread", content: turn.text })
    await put({ type: "share", content: { canShare: true }, segmentStart: true, segmentEnd: true })
    await put({ type: "think", isFinal: true })
  }

  /** Emits a tool's segment, and waits for the page's answer if the script says `wait`. */
  async #call({ name, args = {}, wait: waits = false, timeout = 30 }: ScriptedCall, put: (fields: Partial<Segment> & { type: string }) => Promise<void>): Promise<Record<string, unknown> | undefined> {
    const id = this.agent.newID()
    const answered = waits && new Promise<Record<string, unknown>>((resolve) => {
      const late = setTimeout(() => {
        this.#calls.delete(id)
        resolve({})
      }, timeout * 1000)
      this.#calls.set(id, {
        name,
        answer: (response) => {
          clearTimeout(late)
          resolve(response)
        },
      })
    })
    await put({
      type: "tool",
      content: `${name} ${JSON.stringify(args)}`,
      tool_metadata: { id, name, args, type: "client", wait_for_response: waits },
    })
    return answered || undefined
  }

  /** Runs the handlers of a tool's segment, and returns its call. */
  protected runTool(segment: Segment): ToolCall | undefined {
    const call = segment.type === "tool" ? parseToolCall(segment) : undefined
    if (!call) return undefined
    const handlers = [...this.#handlers.values()].filter(({ name }) => name === call.name)
    const schema = handlers.filter(({ schema }) => schema).at(-1)?.schema
    const errors = schema ? validateToolArgs(call.args, schema) : []
    if (errors.length > 0) this.emit("toolCallInvalid", { call, errors })
    else {
      this.emit("toolCall", call)
      void this.#run(handlers, call, (outcome) => this.emit("toolCallResult", { call, ...outcome }), call.name)
    }
    return call
  }

  /** Asks for the consent that a segment needs, and returns the request. */
  protected askConsent(segment: Segment): OAuthRequired | undefined {
    const result = parseOAuthRequired(segment)
    if (!result) return undefined
    this.emit("oauthRequired", result)
    const handlers = [...this.#handlers.values()].filter(({ name }) => name === undefined)
    void this.#run(handlers, result, (outcome) => this.emit("oauthRequiredResult", { result, ...outcome }), "oauthRequired")
    return result
  }

  async #run(handlers: readonly Handler[], about: unknown, report: (outcome: object) => void, what: string): Promise<void> {
    for (const { call } of handlers) {
      try {
        const value = await call(about)
        if (value !== undefined) report({ ok: true, value })
      } catch (cause) {
        const error = cause instanceof AgentError ? cause : fault("handler_failed", `the handler of ${what} failed: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
        report({ ok: false, error })
      }
    }
  }
}

/** Reads the widget of a segment that contains a complete one. */
export function wholeWidget({ type, content, metadata, speechId }: Segment): Widget | undefined {
  const runtime = metadata?.runtimeName?.replace(/-tool$/, "")
  if (type !== "unisphere-tool" || !runtime) return undefined
  return widgetOf(runtime, parseContent(content), { ...(metadata?.widgetName && { widgetName: metadata.widgetName }), ...(speechId && { speechId }) })
}
