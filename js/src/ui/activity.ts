import { overStates } from "../core/overstates.js"
import { sharedLevels, type VoiceLevels, type VoiceSession } from "./levels.js"
import { Listeners, Scope, type AnyEvents, type SessionLike } from "./listen.js"
import { share, type Shared } from "./shared.js"
import { eachTransport, transportOf } from "./transports.js"

/** What the agent is doing, as a visitor is told. */
export type Activity =
  | "connecting"
  /** The connection was lost and is being made again. */
  | "reconnecting"
  /** The conversation is paused. */
  | "paused"
  /** A message can be typed; there is no voice. */
  | "ready"
  /** The microphone is on, and nothing is said. */
  | "listening"
  /** The service detects the visitor's speech. */
  | "hearing"
  /** An answer was asked for, and nothing of it can be heard or read yet. */
  | "thinking"
  /** The agent's voice is being played. */
  | "speaking"
  /** The text of an answer arrives. */
  | "writing"
  /** The microphone is off. */
  | "muted"
  /** The microphone waits for the button of tap-to-talk. */
  | "tapToTalk"
  | "over"

/** What {@link AgentActivity} reads of a session of any kind, or of a fake of a test. */
export interface ActivitySession extends SessionLike {
  readonly state?: string
  readonly paused?: boolean
  readonly micStarted?: boolean
  readonly micEnabled?: boolean
  readonly tapToTalkActive?: boolean
  readonly capabilities?: { readonly tapToTalk?: boolean }
  readonly playbackBlocked?: "video" | "audio" | null
  readonly speak?: unknown
  readonly transport?: unknown
}

/** Options of {@link AgentActivity}. */
export interface ActivityOptions {
  /** The levels of the session, where the page has them for bars too. Default: those that all parts of the session share. */
  levels?: Pick<VoiceLevels, "agent" | "visitor"> | undefined
}

/** The level from which the agent's voice counts as heard. */
const audible = 0.02

/** How often it is looked whether the voice can be heard, in ms. */
const lookMs = 50

/** How long after `avatarStartTalking` the voice begins where its level can't be measured, in ms. */
const leadMs = 400

/** How long the visitor's microphone must be quiet, in ms, before the agent no longer counts as hearing something that it does not answer. */
const quietMs = 2_000

/** The level of the microphone below which it counts as quiet. */
const quiet = 0.05

/** The events after which what the controls show of a session may be another: its state, microphone, sound, pause and tap-to-talk. */
export const controlEvents = ["stateChange", "micStarted", "controlsChanged", "resumed", "tapToTalkStarted", "tapToTalkEnded", "warning"] as const

/**
 * What the agent is doing, from the events of a session and from the sound of its voice: `speaking` is true only while the voice
 * can be heard, `hearing` only while the service detects speech.
 */
export class AgentActivity {
  readonly #session: ActivitySession
  readonly #outer = new Scope()
  readonly #listeners = new Listeners<[activity: Activity]>()
  readonly #busyListeners = new Listeners<[]>()
  readonly #levels: Pick<VoiceLevels, "agent" | "visitor">
  readonly #leaveLevels: (() => void) | undefined
  readonly #unbind: () => void
  #current: Activity = "connecting"
  #wasBusy = false
  #over = false
  #talking = false
  #sounding = false
  #hearing = false
  #pending = false
  #answering = false
  #texting = false
  /** The microphone's track that the system or the device has muted last. */
  #device: Pick<MediaStreamTrack, "muted" | "readyState"> | undefined
  #looking: ReturnType<typeof setInterval> | undefined
  /** When the agent began to talk, or the visitor was loud last. */
  #since = 0

  /** Throws a `TypeError` without a session. */
  constructor(session: ActivitySession, { levels }: ActivityOptions = {}) {
    if (typeof session?.on !== "function") throw new TypeError("the activity needs a session")
    this.#session = session
    if (levels) this.#levels = levels
    else [this.#levels, this.#leaveLevels] = sharedLevels(session as VoiceSession)
    const outer = <Name extends keyof AnyEvents>(event: Name, react: (payload: AnyEvents[Name]) => void) => this.#outer.listen(session, event, (payload) => this.#set(() => react(payload)))
    outer("stateChange", (change) => {
      if (change?.state !== "preparing") return // an `AvatarSession` can connect again
      this.#over = false
      this.#forget()
    })
    outer("ended", () => (this.#over = true))
    this.#unbind = eachTransport(session, (carrier, scope) => {
      this.#forget()
      this.#bind(carrier, scope)
      this.update()
    })
  }

  /** What the agent is doing now. */
  get current(): Activity {
    return this.#current
  }

  /** Whether the agent answers, so that it can be interrupted. */
  get busy(): boolean {
    return !this.#ended && (this.#pending || this.#answering || this.#talking)
  }

  /** Adds a function that is called at every change, and returns the one that removes it. */
  onChange(listener: (activity: Activity) => void): () => void {
    return this.#listeners.add(listener)
  }

  /** @internal The same, and for each change of {@link busy}, which depends on more than what the agent is doing. */
  onBusyChange(listener: () => void): () => void {
    return this.#busyListeners.add(listener)
  }

  /** Reads again a session that has not the event `controlsChanged`, such as a fake of a test. */
  update(): void {
    this.#set(() => {})
  }

  /**
   * The visitor does not wait for the answer any more: until the agent begins one, it is not thinking. Speech that was not recognised
   * gets no answer that would end this.
   */
  stopWaiting(): void {
    this.#set(() => (this.#pending = false))
  }

  /** Removes all listeners. */
  destroy(): void {
    this.#outer.end()
    this.#unbind()
    clearInterval(this.#looking)
    this.#listeners.clear()
    this.#busyListeners.clear()
    this.#leaveLevels?.()
  }

  /** The activity may have been made after the end, and a connection that fails has no event `ended`. */
  get #ended(): boolean {
    return this.#over || overStates.includes(this.#session.state ?? "")
  }

  get #carrier(): ActivitySession {
    return transportOf(this.#session)
  }

  #bind(carrier: ActivitySession, scope: Scope): void {
    const on = <Name extends keyof AnyEvents>(event: Name, react: (payload: AnyEvents[Name]) => void) => scope.listen(carrier, event, (payload) => this.#set(() => react(payload)))
    on("responsePending", () => {
      this.#pending = true
      this.#hearing = false
    })
    on("responseSettled", () => (this.#pending = false))
    on("turnStart", () => {
      this.#answering = true
      this.#hearing = this.#texting = false
    })
    on("turnEnd", () => (this.#answering = this.#texting = false))
    on("transcript", ({ type, speechId }) => {
      if (type === "user") this.#hearing = false
      else if (speechId === null) this.#texting = true
    })
    on("avatarStartTalking", () => {
      this.#talking = true
      this.#sounding = false
      this.#since = Date.now()
      this.#look()
    })
    for (const event of ["avatarStopTalking", "interrupted"] as const) {
      on(event, () => {
        this.#silence()
        this.#answering = false
      })
    }
    on("userStartedTalking", () => {
      this.#hearing = true
      this.#since = Date.now()
      this.#look()
    })
    on("reconnecting", () => {
      this.#silence()
      this.#hearing = false
    })
    for (const event of controlEvents) on(event, () => {})
    on("hardwareMuteChanged", ({ track }) => (this.#device = track))
    on("tapToTalkEnded", () => (this.#hearing = false))
  }

  #silence(): void {
    this.#talking = this.#sounding = false
  }

  /** Another conversation begins, or another session carries it. */
  #forget(): void {
    this.#silence()
    this.#hearing = this.#pending = this.#answering = this.#texting = false
  }

  /** Looks at the levels as long as something depends on them. */
  #look(): void {
    this.#looking ??= setInterval(() => this.#set(() => this.#measure()), lookMs)
  }

  #measure(): void {
    if (this.#talking && !this.#sounding) {
      const level = this.#levels.agent
      this.#sounding = level === undefined ? Date.now() - this.#since >= leadMs : level >= audible
    }
    if (this.#hearing) {
      if (this.#levels.visitor >= quiet) this.#since = Date.now()
      else if (Date.now() - this.#since >= quietMs) this.#hearing = false
    }
    if ((!this.#talking || this.#sounding) && !this.#hearing) {
      clearInterval(this.#looking)
      this.#looking = undefined
    }
  }

  #set(change: () => void): void {
    change()
    const [now, busy, before] = [this.#read(), this.busy, this.#current]
    if (now === before && busy === this.#wasBusy) return
    this.#current = now
    this.#wasBusy = busy
    if (now !== before) this.#listeners.call(now)
    this.#busyListeners.call()
  }

  #read(): Activity {
    const carrier = this.#carrier
    const { state, paused, micStarted, micEnabled, capabilities, tapToTalkActive, playbackBlocked } = carrier
    if (this.#ended) return "over"
    if (state === "reconnecting" || state === "resuming") return "reconnecting"
    if (state !== "connected") return "connecting"
    if (paused) return "paused"
    if (this.#sounding && !playbackBlocked) return "speaking"
    if (this.#hearing && micStarted && micEnabled) return "hearing"
    if (this.#texting) return "writing"
    if (this.#pending || this.#answering || (this.#talking && !playbackBlocked)) return "thinking"
    if (carrier.speak === undefined) return "ready"
    if (capabilities?.tapToTalk && !tapToTalkActive) return "tapToTalk"
    const silent = this.#device?.readyState === "live" && this.#device.muted
    return micStarted && micEnabled && !silent ? "listening" : "muted"
  }
}

const activities: Shared<AgentActivity> = new WeakMap()

/** The activity that all parts of a session use, and the function to call when it is no longer used. */
export const sharedActivity = (session: ActivitySession): [activity: AgentActivity, leave: () => void] => share(activities, session, (session) => new AgentActivity(session))
