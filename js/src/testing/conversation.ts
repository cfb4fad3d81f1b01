import { AgentError, untilAborted } from "../core/errors.js"
import type { AgentMode, AgentState, ChatTurn, Kickoff } from "../generated/events.js"
import { passedOn } from "../generated/passedon.js"
import type { Methods } from "../core/program.js"
import type { Dispatch } from "../core/programobject.js"
import { ScriptedAvatar } from "./avatar.js"
import { ScriptedChat } from "./chat.js"
import type { ScriptedAgent } from "./agent.js"
import { fault, notConnected } from "./fault.js"
import { methodsOf } from "./scripted.js"

type Transport = ScriptedAvatar | ScriptedChat

/** Passes the methods of a transport to its TypeScript side. */
type Attach = (mode: AgentMode, methods: Methods) => { dispatch: Dispatch; release: () => void }

const maxWaiting = 8

/** The scripted counterpart of runtime/agent: one conversation over either transport. */
export class ScriptedConversation {
  readonly methods: Methods
  readonly #agent: ScriptedAgent
  readonly #options: Record<string, unknown>
  readonly #dispatch: Dispatch
  #state = "idle" as AgentState
  #mode: AgentMode
  #current: Transport
  #next: Transport | undefined
  #connecting: Promise<void> | undefined
  #timings: Record<string, number> = {}
  readonly #releases = new Map<Transport, () => void>()
  #vars: Record<string, unknown>
  #texts: { text: string; signal: AbortSignal | undefined; resolve: (sent: ChatTurn | boolean) => void; reject: (reason: unknown) => void }[] = []
  #kickoff: Kickoff | undefined

  constructor(agent: ScriptedAgent, options: Record<string, unknown>, dispatch: Dispatch) {
    this.#agent = agent
    this.#options = options
    this.#dispatch = dispatch
    this.#mode = (options["mode"] as AgentMode | undefined) ?? "avatar"
    this.#vars = { ...(options["requestVars"] as object) }
    this.#kickoff = (options[this.#mode] as { kickoff?: Kickoff }).kickoff
    this.#current = this.#open(this.#mode)
    const forward = (name: string) => (...args: unknown[]) => {
      const result = this.#current.methods[name]?.(...args)
      if (result instanceof AgentError) throw result
      return result
    }
    const waits = (name: string) => (signal: AbortSignal | undefined, ...args: unknown[]) => this.#current.methods[name]?.(signal, ...args) as Promise<unknown>
    this.methods = methodsOf(
      {
        properties: () => this.#properties(),
        disconnect: (how: { final?: boolean; reason?: string }) => this.disconnect(how),
        setToken: () => {},
        setDynamicPrompt: forward("setDynamicPrompt"),
        updateRequestVars: (vars: Record<string, unknown>) => {
          this.#requireLive()
          Object.assign(this.#vars, vars)
          for (const transport of this.#transports) transport.mergeVars(vars)
        },
        addToolHandler: forward("addToolHandler"),
        addConsentHandler: forward("addConsentHandler"),
        removeHandler: (id: number) => this.#transports.forEach(({ methods }) => methods["removeHandler"]?.(id)),
      },
      {
        connect: (signal) => this.#connectOnce(signal),
        switchMode: async (signal, mode: AgentMode) => this.#switch(mode, signal),
        sendText: async (signal, text: string) => this.#send(text, signal),
        respondToTool: waits("respondToTool"),
        completeThread: waits("completeThread"),
        settle: async () => {},
        dispose: async () => this.disconnect({}),
      },
    )
  }

  /** The transport that carries the conversation. */
  get transport(): Transport {
    return this.#current
  }

  get #transports(): Transport[] {
    return [this.#current, ...(this.#next ? [this.#next] : [])]
  }

  #emit(event: string, payload: unknown = {}, at = performance.now()): void {
    this.#dispatch([event, payload, at])
  }

  #become(state: AgentState, reason?: "user_requested" | "transport_failed"): void {
    this.#state = state
    this.#emit("stateChange", { state, ...(reason && { reason }) })
  }

  #requireLive(): void {
    if (this.#state !== "connected" && this.#state !== "switching") throw notConnected(this.#state)
  }

  #requireState(state: AgentState): void {
    if (this.#state !== state) throw notConnected(this.#state)
  }

  #open(mode: AgentMode): Transport {
    const options = { ...(this.#options[mode] as Record<string, unknown>), kickoff: this.#kickoff }
    const transport = mode === "avatar" ? new ScriptedAvatar(this.#agent, options) : new ScriptedChat(this.#agent, options)
    transport.vars = { ...this.#vars, ...transport.vars }
    const { dispatch, release } = (this.#options["attach"] as Attach)(mode, transport.methods)
    this.#releases.set(transport, release)
    transport.listen(dispatch)
    transport.listen(([event, payload, at]) => this.#receive(transport, event as string, payload, at as number))
    return transport
  }

  #receive(transport: Transport, event: string, payload: unknown, at: number): void {
    if (!this.#releases.has(transport)) return // it was released
    if (event === "connectTimings") this.#timings = payload as Record<string, number>
    if (event === "ended") {
      if (transport === this.#current && this.#state === "connected") this.#end("failed", "transport_failed", payload as { reason?: string }, false)
    } else if (passedOn.has(event)) this.#emit(event, payload, at)
  }

  #connectOnce(signal: AbortSignal | undefined): Promise<void> {
    if (this.#connecting && this.#state !== "connecting") throw fault("invalid_state", `the session is ${this.#state}, not idle`)
    return (this.#connecting ??= this.#connect(signal))
  }

  async #connect(signal: AbortSignal | undefined): Promise<void> {
    if (this.#state !== "idle") throw fault("invalid_state", `the session is ${this.#state}, not idle`)
    this.#become("connecting", "user_requested")
    this.#emit("transportChanged", { mode: this.#mode })
    try {
      await untilAborted(this.#current.connect(signal), signal)
    } catch (reason) {
      this.#requireState("connecting")
      this.#end("failed", "transport_failed", undefined, false)
      throw reason
    }
    this.#requireState("connecting")
    this.#kickoff = undefined
    this.#become("connected")
  }

  async #switch(mode: AgentMode, signal: AbortSignal | undefined): Promise<void> {
    if (mode !== "avatar" && mode !== "chat") throw fault("bad_request", 'the mode must be "avatar" or "chat"')
    this.#requireState("connected")
    if (mode === this.#mode) return
    this.#become("switching", "user_requested")
    const old = this.#current
    const next = (this.#next = this.#open(mode))
    next.threadId = old.threadId
    next.pageContext = old.pageContext
    next.takeOver(old)
    this.#emit("transportChanged", { mode })
    try {
      await untilAborted(next.connect(signal), signal)
    } catch (reason) {
      this.#requireState("switching")
      this.#next = undefined
      this.#free(next)
      this.#emit("transportChanged", { mode: this.#mode })
      this.#become("connected", "transport_failed")
      this.#deliver()
      throw reason
    }
    this.#requireState("switching")
    this.#next = undefined
    this.#current = next
    this.#mode = mode
    this.#free(old)
    this.#become("connected")
    this.#emit("modeChanged", { mode, threadContinuity: true })
    this.#deliver()
  }

  async #send(text: string, signal: AbortSignal | undefined): Promise<ChatTurn | boolean> {
    if (text.trim() === "") throw fault("bad_request", "the text is empty")
    this.#requireLive()
    if (this.#state === "connected") return this.#pass(text, signal)
    if (this.#texts.length >= maxWaiting) throw fault("invalid_state", "too many texts wait for the switch")
    return new Promise((resolve, reject) => this.#texts.push({ text, signal, resolve, reject }))
  }

  #pass(text: string, signal: AbortSignal | undefined): Promise<ChatTurn | boolean> {
    const transport = this.#current
    return transport instanceof ScriptedChat ? transport.send(text, {}, signal) : transport.speak(text, signal)
  }

  #deliver(): void {
    for (const { text, signal, resolve, reject } of this.#texts.splice(0)) if (!signal?.aborted) this.#pass(text, signal).then(resolve, reject)
  }

  /** Releases a transport; by default its conversation continues on the other one. */
  #free(transport: Transport, how: { final: boolean; reason: string } = { final: false, reason: "switch" }): void {
    transport.disconnect(how)
    const release = this.#releases.get(transport)
    this.#releases.delete(transport)
    release?.()
  }

  disconnect({ final = true, reason = "disconnect" }: { final?: boolean; reason?: string | undefined }): void {
    if (this.#state === "closed") return
    if (this.#state === "failed") return this.#become("closed", "user_requested")
    this.#end("closed", "user_requested", { reason }, final)
  }

  #end(state: "failed" | "closed", why: "user_requested" | "transport_failed", ended: { reason?: string } | undefined, final: boolean): void {
    this.#state = state
    for (const transport of this.#transports) this.#free(transport, { final, reason: ended?.reason ?? why })
    this.#next = undefined
    this.#become(state, why)
    for (const { reject } of this.#texts.splice(0)) reject(notConnected(state))
    if (ended) this.#emit("ended", ended)
  }

  #properties(): object {
    const { threadId } = this.#current
    return { state: this.#state, mode: this.#mode, timings: this.#timings, ...(threadId && { threadId }) }
  }
}
