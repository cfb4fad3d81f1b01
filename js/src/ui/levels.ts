import type { Scope, SessionLike } from "./listen.js"
import { share, type Shared } from "./shared.js"
import { eachTransport, transportOf } from "./transports.js"

/** What {@link VoiceLevels} reads of a session: an `AvatarSession`, an `AgentSession`, or a fake of a test. */
export interface VoiceSession extends SessionLike {
  readonly avatarStream?: MediaStream | null
  readonly transport?: unknown
}

/** The root mean square of samples, -1 to 1, that is shown as the highest level. */
const loudest = 0.25

/** How many samples one level is computed from; at 48 kHz, 21 ms. */
const samples = 1024

/** Whether the visitor has clicked or pressed a key: before that, browsers start no AudioContext and warn of each attempt. */
const clicked = (): boolean => (navigator as { userActivation?: { hasBeenActive: boolean } }).userActivation?.hasBeenActive ?? true

/**
 * How loud both sides of a session are, from 0 to 1: the visitor by the events `localMicLevel`, the agent by the sound of its
 * stream, as it is received. Where the browser can't measure it, or has not allowed sound yet, the agent's level is undefined.
 */
export class VoiceLevels {
  readonly #session: VoiceSession
  readonly #unbind: () => void
  #visitor = 0
  #context: AudioContext | undefined
  #track: MediaStreamTrack | undefined
  #source: MediaStreamAudioSourceNode | undefined
  #analyser: AnalyserNode | undefined
  #buffer: Float32Array<ArrayBuffer> | undefined

  /** Throws a `TypeError` without a session. */
  constructor(session: VoiceSession) {
    if (typeof session?.on !== "function") throw new TypeError("the levels need a session")
    this.#session = session
    this.#unbind = eachTransport(session, (carrier, scope) => this.#bind(carrier, scope))
  }

  /** The level of the visitor's microphone; 0 while it is off. */
  get visitor(): number {
    return this.#visitor
  }

  /** The level of the agent's voice now; undefined while it can't be measured. */
  get agent(): number | undefined {
    const track = transportOf(this.#session).avatarStream?.getAudioTracks()[0]
    if (track !== this.#track || (track && !this.#source && clicked())) this.#measure(track)
    const [analyser, buffer] = [this.#analyser, this.#buffer]
    if (!analyser || !buffer || this.#context?.state !== "running") {
      return undefined
    }
    analyser.getFloatTimeDomainData(buffer)
    let sum = 0
    for (const sample of buffer) sum += sample * sample
    return Math.min(1, Math.sqrt(sum / buffer.length) / loudest)
  }

  /** Ends the measuring. */
  destroy(): void {
    this.#unbind()
    this.#measure(undefined)
    void this.#context?.close().catch(() => {})
    this.#context = undefined
  }

  #bind(carrier: VoiceSession, scope: Scope): void {
    this.#visitor = 0
    scope.listen(carrier, "localMicLevel", ({ level }) => (this.#visitor = level))
    scope.listen(carrier, "ended", () => (this.#visitor = 0))
  }

  #measure(track: MediaStreamTrack | undefined): void {
    this.#source?.disconnect()
    this.#track = track
    this.#source = this.#analyser = undefined
    if (!track || typeof AudioContext === "undefined" || !clicked()) return
    try {
      this.#context ??= new AudioContext()
      this.#source = this.#context.createMediaStreamSource(new MediaStream([track]))
      this.#analyser = new AnalyserNode(this.#context, { fftSize: samples })
      this.#buffer = new Float32Array(samples)
      this.#source.connect(this.#analyser) // and to no output: an element plays the sound
    } catch {
      this.#source = this.#analyser = undefined // there is no level then
    }
  }
}

const levels: Shared<VoiceLevels> = new WeakMap()

/** The levels that all parts of a session use, and the function to call when they are no longer used. */
export const sharedLevels = (session: VoiceSession): [levels: VoiceLevels, leave: () => void] => share(levels, session, (session) => new VoiceLevels(session))
