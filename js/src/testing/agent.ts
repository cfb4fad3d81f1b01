import type { AppInitResult } from "../session/appinit.js"
import type { ErrorCode } from "../generated/codes.js"
import type { AgentError } from "../core/errors.js"
import type { AgentAbilities } from "../generated/events.js"
import type { Device } from "../session/avatar.js"
import type { AsyncExport } from "../core/program.js"
import type { RecordedConversation } from "../replay.js"
import { fault, wait } from "./fault.js"
import { checkRules, stepsFor, type ReceivedTurn, type Rule, type Step } from "./script.js"

/** Options of a `FakeAgent`. */
export interface FakeAgentOptions {
  /** What the agent answers. Default: the text of the turn. */
  rules?: readonly Rule[] | undefined
  /**
   * A recorded conversation that each session has in place of rules, from `connect()` on; `openRecording` and
   * `readRecording` of agentruntime/replay read one. The texts of the page reject with `invalid_state`; its tools are called.
   */
  recording?: RecordedConversation | undefined
  /** How much faster than the recording it is played; 0 plays all of it at once. Default 1. */
  speed?: number | undefined
  /** What an avatar says first. Default: nothing. */
  opening?: string | undefined
  /** Default `"Agent"`. */
  name?: string | undefined
  disclosureText?: string | undefined
  abilities?: Partial<AgentAbilities> | undefined
  /** The outcome of the browser's prompt for the microphone. Default `"granted"`. */
  microphone?: "granted" | "denied" | "missing" | undefined
  /** Whether the browser plays sound without a click. Default `"allowed"`. */
  autoplay?: "allowed" | "blocked" | undefined
  /** What `listDevices` of a `FakeAvatarSession` resolves with. */
  devices?: { mics: Device[]; speakers: Device[] } | undefined
  /** How long a connect takes, in ms of the page's timers. Default 0. */
  connectMs?: number | undefined
  /** The pause before each piece of an answer, in ms. Default 0. */
  thinkMs?: number | undefined
  /** How long each piece of speech takes, in ms. Default 0. */
  voiceMs?: number | undefined
  /** Fields of the result of `appInit`, such as `avatars`; the others have defaults. */
  appInit?: Partial<AppInitResult> | undefined
  /** Results of the calls outside of a conversation, by the name of the program's export, such as `threadList`. */
  calls?: Partial<Record<AsyncExport, (about: never) => unknown>> | undefined
}

/** How a connect fails. */
export interface ConnectFailure {
  detail?: string | undefined
  status?: number | undefined
  /** How many connects fail. Default 1. */
  times?: number | undefined
}

let lastID = 0

/** What the sessions of a {@link FakeAgent} need of it: what it answers and refuses, and the record of what the page has sent. */
export class ScriptedAgent {
  /** What the agent answers; may be changed at any time. */
  rules: Rule[]
  opening: string
  name: string
  disclosureText: string
  abilities: AgentAbilities
  microphone: "granted" | "denied" | "missing"
  autoplay: "allowed" | "blocked"
  devices: { mics: Device[]; speakers: Device[] }
  connectMs: number
  thinkMs: number
  voiceMs: number

  // What the page has sent.

  /** Every turn that the agent has begun to answer, oldest first. */
  readonly turns: ReceivedTurn[] = []
  /** Every answer to a tool call. */
  readonly toolAnswers: { id: string; name: string; response: Record<string, unknown> }[] = []
  /** Every end of a conversation that was reported. */
  readonly completions: { threadId: string; reason: string }[] = []
  /** What `sendScreenShot` was given. */
  readonly screenShots: unknown[] = []
  /** What `sendCameraShot` was given. */
  readonly cameraShots: unknown[] = []
  /** What `notifyHtmlElementClick` was given. */
  readonly clicks: unknown[] = []
  /** What `submitStructuredDataForm` was given. */
  readonly forms: unknown[] = []
  /** What `appInit` was given. */
  readonly inits: object[] = []

  /** @internal */
  readonly recording: RecordedConversation | undefined
  /** @internal */
  readonly speed: number

  #failure: { error: AgentError; times: number } | undefined
  #turnFailure: AgentError | undefined

  /** Throws a TypeError for rules that can't be played. */
  constructor(options: FakeAgentOptions = {}) {
    const { rules = [], abilities, devices = { mics: [], speakers: [] } } = options
    checkRules(rules)
    this.rules = [...rules]
    this.recording = options.recording
    this.speed = options.speed ?? 1
    this.opening = options.opening ?? ""
    this.name = options.name ?? "Agent"
    this.disclosureText = options.disclosureText ?? "You are talking to an AI avatar."
    this.abilities = { screenShare: false, cameraAnalysis: false, webSearch: false, interruptions: true, tapToTalk: false, ...abilities }
    this.microphone = options.microphone ?? "granted"
    this.autoplay = options.autoplay ?? "allowed"
    this.devices = devices
    this.connectMs = options.connectMs ?? 0
    this.thinkMs = options.thinkMs ?? 0
    this.voiceMs = options.voiceMs ?? 0
  }

  // --- What happens next

  /** Makes the next connect with an avatar fail with this code, or the next `times` connects. */
  failConnect(code: ErrorCode, { detail = `the connect failed: ${code}`, status, times = 1 }: ConnectFailure = {}): void {
    this.#failure = { error: fault(code, detail, { phase: "connect", retryable: code === "capacity_unavailable", ...(status !== undefined && { status }) }), times }
  }

  /** Makes the next turn in text fail with this code. */
  failTurn(code: ErrorCode, detail = `the turn failed: ${code}`): void {
    this.#turnFailure = fault(code, detail)
  }

  /** The browser refuses the microphone from now on. */
  refuseMicrophone(): void {
    this.microphone = "denied"
  }

  /** The browser plays no sound until `startPlayback`. */
  blockAutoplay(): void {
    this.autoplay = "blocked"
  }

  // --- For the sessions

  /** @internal */
  stepsOf(turn: ReceivedTurn): readonly Step[] {
    return stepsFor(turn, this.rules) ?? [{ say: turn.text }]
  }

  /** @internal Resolves when a connect is through; rejects when it is to fail. */
  async connecting(mode: "avatar" | "chat"): Promise<void> {
    if (mode === "avatar" || this.connectMs > 0) await wait(this.connectMs)
    const failure = this.#failure
    if (mode === "chat" || !failure || failure.times-- <= 0) return
    throw failure.error
  }

  /** @internal */
  takeTurnFailure(): AgentError | undefined {
    const failure = this.#turnFailure
    this.#turnFailure = undefined
    return failure
  }

  /** @internal */
  newID = (): string => `fake-${++lastID}`
  /** @internal */
  newThread = (): string => `thread-${++lastID}`
  /** @internal */
  newMessage = (): string => `message-${++lastID}`
}
