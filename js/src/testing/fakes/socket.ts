/** What the page's side has sent. */
export interface Emitted {
  readonly event: string
  readonly payload: unknown
}

type Listener = (...args: any[]) => void

/** A socket as `socket.io-client` makes them, whose other side is the test. */
export class FakeSocket {
  connected = true
  recovered = false
  id: string | undefined = "fake-socket"
  /** Everything that the page's side has sent, in order. */
  readonly emitted: Emitted[] = []
  readonly #listeners = new Map<string, Listener[]>()
  readonly #reactions: ((event: string, payload: unknown, socket: FakeSocket) => void)[] = []

  // --- The page's side

  on(event: string, listener: Listener): this {
    this.#listeners.set(event, [...(this.#listeners.get(event) ?? []), listener])
    return this
  }

  once(event: string, listener: Listener): this {
    const own = Object.assign((...args: unknown[]) => {
      this.off(event, own)
      listener(...args)
    }, { listener })
    return this.on(event, own)
  }

  off(event: string, listener?: Listener): this {
    const rest = listener ? (this.#listeners.get(event) ?? []).filter((each) => each !== listener && (each as { listener?: Listener }).listener !== listener) : []
    this.#listeners.set(event, rest)
    return this
  }

  removeAllListeners(event?: string): this {
    if (event === undefined) this.#listeners.clear()
    else this.#listeners.delete(event)
    return this
  }

  /** Sends an event to the test's side. */
  emit(event: string, payload?: unknown): this {
    this.emitted.push({ event, payload })
    for (const react of [...this.#reactions]) react(event, payload, this)
    return this
  }

  disconnect(): this {
    if (!this.connected) return this
    this.connected = false
    this.server("disconnect", "io client disconnect")
    return this
  }

  // --- The test's side

  /** Delivers an event to the page's side. */
  server(event: string, payload?: unknown): void {
    for (const listener of [...(this.#listeners.get(event) ?? [])]) listener(payload)
  }

  /** Calls a function for each event that the page's side sends. */
  onEmit(react: (event: string, payload: unknown, socket: FakeSocket) => void): void {
    this.#reactions.push(react)
  }

  /** The payloads of what was sent under a name. */
  emitsOf(name: string): unknown[] {
    return this.emitted.filter(({ event }) => event === name).map(({ payload }) => payload)
  }

  didEmit(name: string): boolean {
    return this.emitted.some(({ event }) => event === name)
  }

  /** Loses the connection and gets it again, by default with the same session at the service. */
  dropAndRecover(reason = "transport close", { recovered = true }: { recovered?: boolean } = {}): void {
    this.connected = false
    this.server("disconnect", reason)
    this.connected = true
    this.recovered = recovered
    this.server("connect")
  }
}

/** What a service does while a client connects. */
export interface HappyPath {
  /** How many times the service says that no agent is free before one is. Default 0. */
  capacityBusyTimes?: number | undefined
  /** Ends with `throwToNoAgent`. Default false. */
  noCapacity?: boolean | undefined
  /** Ends with `throwToExceededTier`. Default false. */
  tierExceeded?: boolean | undefined
  /** A conversation without a picture. Default false. */
  audioMode?: boolean | undefined
  /** Fields of `clientConfiguration` in place of the usual ones. */
  clientConfig?: Record<string, unknown> | undefined
}

const configuration = {
  configuration: {}, nluFeatures: {}, languageCode: "en", isTapToTalk: false, interruptionsEnabled: true, pauseConversationEnabled: false,
  showTranscription: false, agentPersonaName: "Agent", isWebSearchEnabled: false, isScreenShareEnabled: false, isCameraAnalysisEnabled: false, audioMode: false,
}

/**
 * Plays the service's side of a connect on a socket, up to the answer to the microphone's
 * offer. Each event comes in a task of its own, as frames of a socket do.
 */
export function scriptHappyPath(socket: FakeSocket, { capacityBusyTimes = 0, noCapacity = false, tierExceeded = false, audioMode = false, clientConfig = {} }: HappyPath = {}): void {
  let busy = capacityBusyTimes
  const later = (...events: [event: string, payload: unknown][]) => {
    const [first, ...rest] = events
    if (!first) return
    setTimeout(() => {
      socket.server(...first)
      later(...rest)
    }, 0)
  }
  later(["connect", undefined], ["onServerConnected", { finalUrl: "https://media.example", agentName: "Agent", hostName: "host-1" }])
  socket.onEmit((event, payload) => {
    switch (event) {
      case "join":
        return later(["clientConfiguration", { clientConfiguration: { ...configuration, audioMode, ...clientConfig } }], ["joinComplete", {}])
      case "checkAvailability": {
        const available = busy-- <= 0
        return later(["availabilityResult", { available, details: { stvAvailable: available, activeCalls: available ? 1 : 20, maxCalls: 20, capacityAvailable: available } }])
      }
      case "stvNewSession":
        if (noCapacity) return later(["throwToNoAgent", { message: "no agent is free" }])
        if (tierExceeded) return later(["throwToExceededTier", { message: "the plan's limit is reached" }])
        return later(
          ["stvNewSession", audioMode ? { status: "audio/phone mode - no STV session" } : { session_id: "stv-1", status: "session started", webrtc_url: "https://media.example/rtc/v1/whep/?app=app&stream=stv-1" }],
          ["showAgent", {}],
          ["askPermissions", { constraints: { audio: true, video: !audioMode } }],
        )
      case "asr-webrtc-init":
        return later(["asr-webrtc-ready", {}])
      case "asr-webrtc-offer":
        return later(["asr-webrtc-answer", { type: "answer", sdp: "v=0\r\n", ...(typeof payload === "object" && payload && "sessionId" in payload && { sessionId: payload.sessionId }) }])
    }
  })
}
