import type { AgentError } from "../core/errors.js"
import { FATAL_ERROR_CODES, SILENT_OPENING, SILENT_OPENING_LABEL, type AvatarState, type Disclosure, type Segment, type SessionStats, type Snapshot, type ToolCall, type Word } from "../generated/events.js"
import type { Methods } from "../core/program.js"
import type { ScriptedAgent } from "./agent.js"
import { parseToolCall } from "../segments/tools.js"
import { pieces, render, type ReceivedTurn } from "./script.js"
import { fault, wait } from "./fault.js"
import { methodsOf, Scripted, wholeWidget } from "./scripted.js"

/** A typed text that waits until it may be sent. */
interface Held {
  text: string
  kickoff?: boolean
  done: (sent: boolean) => void
}

/** Hooks of the page, and other options that are used here. */
interface Hooks {
  onBeforeSend?: (text: string, about: { kind: string; threadId?: string }) => unknown
  onAgentAction?: (action: object) => unknown
  agentActions?: { navigate?: boolean; genui?: boolean; structuredDataForm?: boolean; toolCall?: boolean; tools?: string[] }
  micStartMode?: "immediate" | "deferred"
  requireDisclosureAck?: boolean
  disclosureText?: string
}

// A chunk has as many words as in the real service; the duration of a word is an assumption.
const wordsPerChunk = 3
const msPerWord = 330

// For how many attempts the default window has time (runtime/avatar).
const maxAttempts = 13

/** The states for those of an `AgentSession`, whose recording may be played too. */
const ownStates: Readonly<Record<string, AvatarState>> = { closed: "disconnected", failed: "error" }

const picture = { videoWidth: 512, videoHeight: 512 }

const received = { bytesReceived: 0, packetsReceived: 0, packetsLost: 0, jitter: 0 }
const noMedia: SessionStats = {
  video: { ...received, framesDecoded: 0, framesDropped: 0, freezeCount: 0, totalFreezesDuration: 0, frameWidth: 0, frameHeight: 0 },
  audio: received,
  microphone: { bytesSent: 0, packetsSent: 0, packetsLost: 0, jitter: 0, roundTripTime: 0 },
  currentRoundTripTime: 0,
  candidateType: "",
}

/** The scripted counterpart of runtime/avatar: a live session, without media. */
export class ScriptedAvatar extends Scripted<AvatarState> {
  readonly methods: Methods
  protected override readonly spoken = "avatar"
  readonly #hooks: Hooks
  #disclosure: Disclosure | null = null
  #acknowledged = false
  #timings: Record<string, number> = {}
  #elements: { videoEl: unknown; audioEl: unknown }
  #stream: unknown = null
  #mic = { enabled: true, started: false }
  #output = { muted: false, volume: 1 }
  #paused = false
  #tap = false
  /** Counts connects, cold recoveries and ends: work that was begun at an earlier count is over. */
  #life = 0
  #running: { connected: Promise<void>; fail: (reason: AgentError) => void } | undefined
  #held: Held[] = []
  /** Whether the opening, which can't be interrupted, is being said. */
  #opening = false
  // The voice.
  #speechId = ""
  #sentences: { text: string; speechId: string; done?: boolean }[] = []
  #unspoken = ""
  #said = ""
  #elapsed = 0
  #talking = false
  #voice = 0
  /** What is being said, and the turns of all that was said. */
  #spoken = ""
  readonly #turnIds = new Map<string, string>()
  /** Whether the answer of the turn in progress has begun. */
  #answered = false
  /** The answer in progress; as long as the agent thinks, with the question. */
  #turn: { id: string; speechId: string; question?: ReceivedTurn | undefined } | undefined

  constructor(agent: ScriptedAgent, options: Record<string, unknown>) {
    super(agent, options)
    this.#hooks = options as Hooks
    const { videoEl = null, audioEl = null } = options
    this.#elements = { videoEl, audioEl }
    const { sync, async } = this.common()
    const nothing = () => {}
    this.methods = methodsOf(
      {
        ...sync,
        elements: () => ({ avatarStream: this.#stream, ...this.#elements }),
        interrupt: () => {
          this.#requireTyping()
          this.interrupt()
        },
        startTapToTalk: () => this.#startTap(),
        endTapToTalk: () => this.#endTap(),
        acknowledgeDisclosure: () => this.#acknowledge(),
        pause: () => {
          this.requireLive()
          if (this.#paused) return
          this.#paused = true
          this.emit("controlsChanged")
        },
        keepAlive: nothing,
        sendScreenShot: (image: unknown) => this.#note("screenShots", image),
        sendCameraShot: (image: unknown) => this.#note("cameraShots", image),
        notifyHtmlElementClick: (info: unknown) => this.#note("clicks", info),
        submitStructuredDataForm: (values: unknown) => this.#note("forms", values),
        mute: () => this.#switch(this.#mic, "enabled", false),
        unmute: () => this.#switch(this.#mic, "enabled", true),
        measureLevel: nothing,
        measureSpeech: nothing,
        setVideoEl: (element: unknown) => void (this.#elements.videoEl = element),
        setAudioEl: (element: unknown) => void (this.#elements.audioEl = element),
        muteAudioOutput: () => this.#switch(this.#output, "muted", true),
        unmuteAudioOutput: () => this.#switch(this.#output, "muted", false),
        setAudioOutputVolume: (volume: number) => this.#switch(this.#output, "volume", volume),
      },
      {
        ...async,
        prepare: async () => {},
        resume: () => this.#resume(),
        speak: (signal, text: string) => this.speak(text, signal),
        waitForCapacity: async () => ({ available: true }),
        startMic: async () => {
          this.requireLive()
          await this.#startMic()
        },
        switchMic: async () => {
          this.requireLive()
          if (!this.#mic.started) throw fault("mic_not_started", "the microphone is not started")
        },
        setAsrBandwidth: async () => this.requireLive(),
        setAudioOutput: async () => true,
        getStats: async (): Promise<SessionStats> => noMedia,
        startPlayback: async () => {
          agent.autoplay = "allowed" // it is called in a click handler
          return true
        },
      },
    )
  }

  // --- Connecting

  override async connect(signal?: AbortSignal): Promise<void> {
    if (this.#running) return this.#running.connected
    if (this.state !== "idle" && this.state !== "disconnected") throw fault("invalid_state", `the session is ${this.state}; only an idle or disconnected session can connect`)
    let fail = (_: AgentError) => {}
    const cut = new Promise<never>((_, reject) => (fail = reject))
    const abort = () => this.#connectFails(fault("aborted", "connecting was cancelled"), life)
    const connected = Promise.race([this.#connect(), cut])
    const life = this.#life
    this.#running = { connected, fail }
    signal?.addEventListener("abort", abort, { once: true })
    try {
      await connected
    } finally {
      signal?.removeEventListener("abort", abort)
      if (this.#running?.connected === connected) this.#running = undefined
    }
  }

  async #connect(): Promise<void> {
    const life = ++this.#life
    if (this.agent.recording) return this.replay(this.agent.recording)
    const began = Date.now()
    const mark = (phase: string) => (this.#timings = { ...this.#timings, [phase]: Date.now() - began })
    this.#timings = {}
    this.become("preparing")
    if (this.#hooks.micStartMode !== "deferred") void this.#startMic().catch(({ code, title, detail }: AgentError) => this.emit("warning", { code, message: title, detail }))
    this.become("connecting")
    try {
      await this.agent.connecting("avatar")
    } catch (reason) {
      this.#connectFails(reason as AgentError, life)
      throw reason
    }
    if (life !== this.#life) return
    this.emit("connectivityChanged", { channel: "socket", state: "connected" })
    mark("serverConnected")
    this.emit("streamReady", { finalUrl: "https://fake.invalid/", agentName: this.agent.name })
    this.threadId ||= this.agent.newThread()
    this.#joined()
    this.#stream = newStream()
    for (const kind of ["video", "audio"]) this.emit("track", { track: newTrack(kind) })
    this.emit("connectivityChanged", { channel: "stv", state: "connected" })
    this.emit("videoMetadata", picture)
    mark("firstFrame")
    if (this.agent.autoplay === "blocked") this.emit("warning", { code: "playback_blocked", message: "Playback blocked", kind: "audio" })
    this.emit("mediaReady", { mode: "video", ...picture })
    this.#disclose()
    this.become("connected")
    mark("connected")
    this.emit("connectTimings", this.#timings)
    if (!this.#gated) void this.#open(life)
  }

  /** Emits what follows a join, up to the media. */
  #joined(): void {
    const init = { role: "assistant", type: "init_response", content: "", segmentNumber: 0, et: 0 }
    this.emit("brainSegment", { ...init, threadId: this.threadId, openingPhrase: this.agent.opening || SILENT_OPENING })
    this.emit("capacityChanged", { available: true })
    for (const state of ["checking", "connected"]) this.emit("connectivityChanged", { channel: "asr", state })
    this.emit("connectivityChanged", { channel: "stv", state: "checking" })
  }

  #connectFails(reason: AgentError, life: number): void {
    if (life !== this.#life || this.live) return
    this.#life++
    this.forgetCalls() // and what is replayed
    if ((FATAL_ERROR_CODES as readonly string[]).includes(reason.code)) this.emit("error", reason)
    this.become("error")
    this.#running?.fail(reason)
  }

  #disclose(): void {
    this.#disclosure = {
      type: "ai_disclosure",
      disclosureText: this.#hooks.disclosureText ?? this.agent.disclosureText,
      firedAt: new Date().toISOString(),
      synthetic: true,
      provenance: { generatedBy: "agentruntime", voice: "synthetic" },
      scope: "session",
    }
    this.emit("disclosure", this.#disclosure)
  }

  get #gated(): boolean {
    return this.#hooks.requireDisclosureAck === true && !this.#acknowledged
  }

  #acknowledge(): void {
    if (this.#acknowledged) return
    this.#acknowledged = true
    if (this.state === "connected") void this.#open(this.#life)
  }

  /** Says the opening phrase, then sends the kickoff. */
  async #open(life: number): Promise<void> {
    this.#opening = true
    this.#speechId = `${this.agent.newID()}-opening`
    this.#kick()
    await wait(0)
    if (life !== this.#life) return
    const text = render(this.agent.opening, this.vars)
    if (text) this.#speech(text, true)
    else this.#sentence(SILENT_OPENING_LABEL)
    this.#lastSentence()
  }

  #kick(): void {
    const kickoff = this.kickoff
    if (!kickoff || kickoff.sent) return
    this.#held.unshift({ text: kickoff.text, kickoff: true, done: () => {} })
    this.kickoff = { ...kickoff, sent: true }
  }

  // --- Talking

  async speak(text: string, signal?: AbortSignal): Promise<boolean> {
    this.#checkText(text)
    const { onBeforeSend } = this.#hooks
    if (onBeforeSend) {
      let verdict: unknown
      try {
        verdict = await onBeforeSend(text, { kind: "speak", threadId: this.threadId })
      } catch (cause) {
        throw fault("guardrail_blocked", "the application refused the text", { cause })
      }
      if (verdict === false) throw fault("guardrail_blocked", "the application refused the text")
      if (typeof verdict === "string") text = verdict
      this.#checkText(text)
    }
    return new Promise((resolve, reject) => {
      const held: Held = { text, done: resolve }
      signal?.addEventListener("abort", () => {
        if (!this.#held.includes(held)) return
        this.#held = this.#held.filter((other) => other !== held)
        reject(fault("aborted", "the text was withdrawn before it was sent"))
      }, { once: true })
      this.#held.push(held)
      this.#flush()
    })
  }

  #checkText(text: string): void {
    if (this.refusal) throw this.refusal
    if (text.trim() === "") throw fault("bad_request", "the text is empty")
    this.#requireTyping()
    if (this.#gated) throw fault("disclosure_required", "the disclosure is not acknowledged")
  }

  #requireTyping(): void {
    this.requireLive()
    if (this.#tap) throw fault("invalid_state", "a tap-to-talk window is open")
  }

  /** Sends the texts that wait as one turn, unless they still have to wait. */
  #flush(): void {
    if (this.#opening || this.#paused || this.#tap || this.state !== "connected" || this.#held.length === 0) return
    const held = this.#held.splice(0)
    this.setPending(true)
    for (const { done } of held) done(true)
    void this.#answer(held, "typed")
  }

  /** The visitor says something into the microphone. */
  hear(text: string): void {
    this.requireLive()
    this.emit("userStartedTalking")
    void this.#answer([{ text }], "spoken")
  }

  /** Answers texts of the visitor as one turn. */
  async #answer(texts: readonly { text: string; kickoff?: boolean }[], from: "typed" | "spoken"): Promise<void> {
    const life = this.#life
    await wait(this.agent.thinkMs)
    if (life !== this.#life) return
    // What is added while the agent thinks is answered together with the question.
    const added = this.#turn?.question && this.#turn
    if (!added) {
      const asked = from === "typed"
      if (this.#talking) this.interrupt(asked)
      this.#endTurn(asked)
    }
    const going = this.#beginTurn(added?.id)
    this.setPending(true)
    const joined = (some: typeof texts) => some.map(({ text }) => text).join("\n")
    const shown = joined(texts.filter(({ kickoff }) => !kickoff || this.kickoff?.echo))
    if (shown) this.emit("transcript", { type: "user", text: shown, speechId: null })
    if (added?.question) this.agent.turns.splice(this.agent.turns.indexOf(added.question), 1)
    const { text: question, from: origin } = added?.question ?? { text: "", from: texts[0]?.kickoff ? "kickoff" : from }
    const turn = this.receive(question ? `${question}\n${joined(texts)}` : joined(texts), origin)
    this.#turn!.question = turn
    await this.play(turn, this.agent.stepsOf(turn), going)
    if (!going()) return
    this.#finishSentence()
    this.#endTurn()
    this.#lastSentence()
  }

  /** Says something that the visitor did not ask for. */
  async say(text: string): Promise<void> {
    this.requireLive()
    const going = this.#beginTurn()
    this.#unspoken = ""
    for (const piece of pieces(text)) {
      await wait(this.agent.thinkMs)
      if (!going()) return
      await this.segment({ role: "assistant", type: "avatar", content: piece, segmentNumber: 1, et: 0 })
    }
    this.#finishSentence()
    this.#endTurn()
    this.#lastSentence()
  }

  /** Begins a turn, or continues the one with an id from the beginning. */
  #beginTurn(id?: string): () => boolean {
    const turn = { id: id ?? this.agent.newID(), speechId: this.agent.newID() }
    const life = this.#life
    this.#turn = turn
    this.#speechId = turn.speechId
    this.#turnIds.set(turn.speechId, turn.id)
    this.#unspoken = ""
    if (id === undefined) this.#answered = false
    this.emit("turnStart", { speechId: turn.speechId, turnId: turn.id, isNewTurn: id === undefined })
    return () => this.#turn === turn && life === this.#life
  }

  /** Ends the turn under way; `asked` means that a typed text, which ends it, awaits its answer. */
  #endTurn(asked = false): void {
    const turn = this.#turn
    if (!turn) return
    this.#turn = undefined
    if (!asked) this.setPending(false)
    this.emit("turnEnd", { speechId: turn.speechId, turnId: turn.id })
  }

  /** Interrupts the agent's speech, as the visitor or the page does; its opening can't be interrupted. */
  interrupt(asked = false): void {
    if (!this.#talking || this.#opening) return
    this.#voice++
    this.#sentences = []
    this.#speechId = "" // the rest of the utterance is not spoken
    this.#talking = false
    if (!asked) this.setPending(false)
    this.emit("interrupted")
    this.#stopTalking()
    this.#endTurn(asked)
  }

  protected override async segment(segment: Segment): Promise<void> {
    const { type } = segment
    const speechId = this.#turn?.speechId
    const full = speechId ? { ...segment, speechId } : segment
    const action = this.#actionOf(segment)
    const refused = action && (await this.#refusal(action))
    if (action && this.#turn?.speechId !== speechId) return // it was interrupted meanwhile
    if (refused) return this.emit("agentActionDenied", { type: action.type, reason: refused, ...(action.toolName && { toolName: action.toolName }) })
    if (type === "think") this.setPending(this.pending || (!this.#answered && !segment.isFinal))
    else if (type !== "keepalive") {
      this.#answered = true
      this.setPending(false)
    }
    this.runTool(full)
    this.askConsent(full)
    this.emit("brainSegment", full)
    const widget = wholeWidget(full)
    if (widget) this.emit("widget", widget)
    if (type === "avatar" || type === "avatar-filler") this.#speech(String(segment.content), segment.segmentEnd === true)
  }

  #actionOf(segment: Segment): { type: string; toolName?: string; runtime?: string; payload: unknown; call?: ToolCall } | undefined {
    const { type, content, metadata } = segment
    const call = type === "tool" ? parseToolCall(segment) : undefined
    if (call) return { type: "toolCall", toolName: call.name, payload: call.args, call }
    if (type === "navigate") return { type, payload: content || (segment as { payload?: unknown }).payload }
    if (type !== "unisphere-tool" || !metadata?.runtimeName) return undefined
    const runtime = metadata.runtimeName.replace(/-tool$/, "")
    return { type: actionTypes.get(runtime) ?? "genui", runtime, payload: content }
  }

  /** Why the policy or the hook of the page refuses an action. */
  async #refusal(action: { type: string; toolName?: string }): Promise<string | undefined> {
    const { agentActions, onAgentAction } = this.#hooks
    const { tools } = agentActions ?? {}
    if ((agentActions as Record<string, unknown> | undefined)?.[action.type] === false) return "policy"
    if (action.toolName && tools && !tools.includes(action.toolName)) return "policy"
    if (!onAgentAction) return undefined
    try {
      return (await onAgentAction({ ...action, source: "agent" })) === false ? "the application refused" : undefined
    } catch (reason) {
      return String(reason)
    }
  }

  // --- The voice

  /** Takes a piece of the answer; a sentence is said once it is whole. */
  #speech(text: string, end: boolean): void {
    this.#unspoken += text
    for (let cut = sentenceEnd.exec(this.#unspoken); cut; cut = sentenceEnd.exec(this.#unspoken)) {
      const length = cut.index + cut[0].length
      const sentence = this.#unspoken.slice(0, length)
      this.#unspoken = this.#unspoken.slice(length)
      this.#sentence(sentence)
    }
    if (end) this.#finishSentence()
  }

  protected override pauses(): void {
    this.#finishSentence()
  }

  #finishSentence(): void {
    const rest = this.#unspoken
    this.#unspoken = ""
    if (rest.trim()) this.#sentence(rest)
  }

  #sentence(text: string): void {
    const speechId = this.#speechId
    if (!speechId) return
    if (this.#turn) this.#turn.question = undefined
    this.emit("transcript", { type: "final", text: text.trim(), speechId })
    this.#sentences.push({ text: text.trim(), speechId })
    if (this.#sentences.length === 1 && !this.#talking) void this.#talk()
  }

  /** Marks the end of the utterance. */
  #lastSentence(): void {
    if (!this.#speechId) return
    this.#sentences.push({ text: "", speechId: this.#speechId, done: true })
    if (this.#sentences.length === 1) void this.#talk()
  }

  async #talk(): Promise<void> {
    const voice = ++this.#voice
    for (;;) {
      const sentence = this.#sentences[0]
      if (!sentence) return
      if (sentence.done) {
        this.#sentences = []
        if (!this.#talking) return
        this.#talking = false
        return this.#stopTalking()
      }
      for (const chunk of pieces(sentence.text, wordsPerChunk)) {
        if (this.#talking) await wait(this.agent.voiceMs)
        if (voice !== this.#voice) return
        this.#chunk(chunk.trim(), sentence.speechId)
        if (this.#talking) continue
        this.#talking = true
        this.setPending(false)
        if (chunk !== SILENT_OPENING_LABEL) this.emit("avatarStartTalking", this.#utterance())
      }
      await wait(this.agent.voiceMs)
      if (voice !== this.#voice) return
      this.#sentences.shift()
      while (this.#sentences.length === 0) {
        await wait(0)
        if (voice !== this.#voice) return
      }
    }
  }

  /** The ids of what is being said. */
  #utterance(): { speechId: string; turnId?: string } {
    const speechId = this.#spoken
    const turnId = this.#turnIds.get(speechId)
    return { speechId, ...(turnId !== undefined && { turnId }) }
  }

  #chunk(text: string, speechId: string): void {
    this.#spoken = speechId
    const list = text.split(/\s+/)
    const durationMs = text === SILENT_OPENING_LABEL ? 1 : list.length * msPerWord
    this.emit("speechChunk", { text, durationMs, speechId })
    this.#said = this.#said ? `${this.#said} ${text}` : text
    if (durationMs === 1) return
    const words: Word[] = list.map((word, i) => ({ word, startMs: this.#elapsed + i * msPerWord }))
    this.#elapsed += durationMs
    this.emit("transcript", { type: "partial", text, speechId, words })
  }

  #stopTalking(): void {
    const text = this.#said
    this.#said = ""
    this.#elapsed = 0
    this.#opening = false
    this.#flush()
    this.emit("avatarStopTalking", { text, ...this.#utterance() })
  }

  /** Drops what was still to be said. */
  #silence(): void {
    this.#voice++
    this.#sentences = []
    this.#said = ""
    this.#elapsed = 0
    this.#talking = this.#opening = false
    this.#turn = undefined
    this.#unspoken = ""
    this.setPending(false)
    if (this.#tap) {
      this.#tap = false
      this.emit("tapToTalkEnded")
    }
  }

  // --- Pause, tap to talk, microphone

  async #resume(): Promise<void> {
    this.requireLive()
    if (!this.#paused) return
    this.become("resuming")
    await wait(0)
    if (this.state !== "resuming") return
    this.#paused = false
    this.become("connected")
    this.#flush()
    this.emit("resumed")
  }

  #startTap(): void {
    this.#requireTyping()
    if (!this.#mic.started) throw fault("mic_not_started", "the microphone is not started")
    if (!this.agent.abilities.tapToTalk) throw fault("capability_disabled", "the agent is not in tap-to-talk mode")
    if (this.#gated) throw fault("disclosure_required", "the disclosure is not acknowledged")
    this.#tap = true
    this.emit("tapToTalkStarted")
  }

  #endTap(): void {
    this.requireLive()
    if (!this.#tap) throw fault("invalid_state", "no tap-to-talk window is open")
    this.#tap = false
    this.emit("tapToTalkEnded")
    this.setPending(true)
    this.#flush()
  }

  async #startMic(): Promise<void> {
    const life = this.#life
    await wait(0)
    if (life !== this.#life && this.state === "disconnected") throw fault("invalid_state", "the session ended before the microphone was opened")
    const { microphone } = this.agent
    if (microphone === "denied") throw fault("mic_permission_denied", "the person or the page's policy refused the microphone")
    if (microphone === "missing") throw fault("mic_not_found", "there is no microphone")
    if (this.#mic.started) return
    this.#mic.started = true
    this.emit("micStarted")
  }

  #switch<Of, Name extends keyof Of>(of: Of, name: Name, value: Of[Name]): void {
    if (of[name] === value) return
    of[name] = value
    this.emit("controlsChanged")
  }

  #note(list: "screenShots" | "cameraShots" | "clicks" | "forms", value: unknown): void {
    this.requireLive()
    this.agent[list].push(value)
  }

  // --- A recording in place of the script

  protected override stateOf(recorded: string): AvatarState | undefined {
    return recorded === "switching" ? undefined : (ownStates[recorded] ?? (recorded as AvatarState))
  }

  protected override recorded(event: string, payload: object): void {
    if (event === "avatarStartTalking" || event === "avatarStopTalking") this.#talking = event === "avatarStartTalking"
    else if (event === "interrupted") this.#talking = false
    else if (event === "connectTimings") this.#timings = payload as Record<string, number>
    else if (event === "disclosure") this.#disclosure = payload as Disclosure
    else if (event === "micStarted") this.#mic.started = true
    else if (event === "tapToTalkStarted" || event === "tapToTalkEnded") this.#tap = event === "tapToTalkStarted"
    else if (event === "track") return // a recording has none
    else if (event === "mediaReady") this.#stream = newStream()
    super.recorded(event, payload)
  }

  // --- Losses of the connection, and the end

  /** Breaks the connection; the session waits for it to be restored. */
  lose(): void {
    this.requireLive()
    this.emit("connectivityChanged", { channel: "socket", state: "disconnected", reason: "transport close", recoverable: true, attempt: 1, maxAttempts })
    this.become("reconnecting")
    this.emit("reconnecting", { reason: "transport close", attempt: 1, maxAttempts })
  }

  /** Restores the connection; `cold` means that the service has lost the session, which then begins again. */
  recover(cold: boolean): void {
    if (this.state !== "reconnecting") throw fault("invalid_state", `the session is ${this.state}, not reconnecting: call loseConnection first`)
    this.emit("connectivityChanged", { channel: "socket", state: "reconnect_retry", attempt: 1, maxAttempts })
    this.emit("connectivityChanged", { channel: "socket", state: "connected" })
    if (cold) {
      this.#life++
      this.#silence()
      this.#joined()
      this.emit("track", { track: newTrack("video") })
      this.emit("videoMetadata", picture)
      this.emit("track", { track: newTrack("audio") })
      this.emit("connectivityChanged", { channel: "stv", state: "connected" })
    }
    this.become("connected")
    this.emit("reconnected", { recovered: !cold })
    if (cold) void this.#open(this.#life)
    else this.#flush()
  }

  /** Ends the session with an error. */
  break(error: AgentError): void {
    if (this.#over) return
    this.#life++
    this.#silence()
    this.emit("error", error)
    this.become("disconnected")
    this.emit("ended", { reason: error.code })
    this.#release()
  }

  override endByService(): void {
    if (this.#over) return
    this.emit("ended", { reason: "conversation_ended" })
    this.#leave(false)
  }

  override disconnect({ final = true, reason }: { final?: boolean; reason?: string | undefined }): void {
    if (this.#over) return
    const alive = this.state !== "idle" && this.state !== "error"
    const why = reason || "disconnect"
    this.#leave(alive && final, why)
    if (alive) this.emit("ended", { reason: why })
  }

  get #over(): boolean {
    return this.state === "disconnected" || this.state === "disconnecting"
  }

  #leave(completes: boolean, reason = "disconnect"): void {
    this.#life++
    this.become("disconnecting")
    this.#silence()
    this.#running?.fail(fault("connect_failed", "connecting was cancelled; call connect again", { phase: "connect", retryable: true }))
    if (completes) this.complete(reason)
    this.#release()
    this.become("disconnected")
  }

  #release(): void {
    for (const { done } of this.#held.splice(0)) done(false)
    this.forgetCalls()
    this.#mic.started = false
    this.#paused = false
    this.#stream = null
  }

  protected override properties(): Snapshot {
    return {
      ...super.properties(),
      mode: "video",
      speaking: this.#talking && this.#said !== SILENT_OPENING_LABEL,
      paused: this.#paused,
      timings: this.#timings,
      tapToTalkActive: this.#tap,
      capabilities: { ...this.agent.abilities },
      clientConfig: null,
      stickyId: String(this.options["stickyId"] ?? ""),
      micEnabled: this.#mic.enabled,
      micStarted: this.#mic.started,
      audioOutputMuted: this.#output.muted,
      audioOutputVolume: this.#output.volume,
      disclosure: this.#disclosure,
      gated: this.#gated,
    }
  }
}

/** The types of actions by the runtime of their widget. */
const actionTypes: ReadonlyMap<string, string> = new Map([["show-link", "navigate"], ["user-properties-form", "structuredDataForm"]])

const sentenceEnd = /[.!?…]["')\]]*\s+/

/** A stream of the page, null where there are none, as in jsdom. */
function newStream(): unknown {
  return typeof MediaStream === "undefined" ? null : new MediaStream()
}

/** A track without media. */
function newTrack(kind: string): EventTarget {
  const fields = { kind, id: `fake-${kind}`, label: "", enabled: true, muted: false, readyState: "live", stop() {} }
  return Object.assign(new EventTarget(), fields)
}
