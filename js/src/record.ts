/**
 * agentruntime/record: records a conversation in a page (docs/recording.md). Sessions load this module when their
 * method `record()` is called.
 */
import { AgentError, docs, localError } from "./core/errors.js"
import { optionsOf } from "./core/options.js"
import { checkFunction } from "./core/part.js"
import { CaptionFile } from "./record/captions.js"
import { fileNames, formatVersion, type RecordedTurn, type RecordingEntry, type RecordingHeader } from "./record/format.js"
import { Take } from "./record/take.js"
import { TurnBuilder } from "./record/turns.js"
import { zip } from "./record/zip.js"

export type { RecordedTurn, RecordingEntry, RecordingHeader } from "./record/format.js"

/** Options of `record()` of a session. */
export interface RecordOptions {
  /** Whether the agent's voice and picture are recorded. Default true. */
  agent?: boolean | undefined
  /** Whether the visitor's microphone is recorded, in a file of its own. Default true. */
  microphone?: boolean | undefined
  /** Called when the recording begins and when it has ended, to show or hide the notice for the visitor. */
  onChange?: ((recording: Recording) => void) | undefined
}

/** What a recording uses of a session. */
export interface RecordedSession {
  onAny(listener: (event: PropertyKey, payload: unknown, at: number) => void): () => void
  on(event: never, listener: () => void): () => void
}

/** The properties that sessions with media have. An AgentSession has them in its transport. */
interface Live {
  readonly transport?: Live
  readonly avatarStream?: MediaStream | null
  readonly microphoneStream?: MediaStream | null
}

/** The events after which there may be another stream, or a stream for the first time. */
const streamsChange: ReadonlySet<string> = new Set(["mediaReady", "mediaRecovered", "reconnected", "micStarted", "transportChanged"])

/** What is kept of events that come when the program that removes secrets has ended. */
const plainFields = ["state", "reason", "code"]

/**
 * A recording of a session that runs or has ended. It ends by `stop()`, or with the session. Nothing leaves the page: the
 * result is a Blob, which the page offers for download or sends where the visitor has agreed to.
 */
export class Recording {
  readonly #session: RecordedSession
  readonly #redact: (value: unknown) => unknown
  readonly #changed: (recording: Recording) => void
  readonly #start = performance.now()
  readonly #header: RecordingHeader = { version: formatVersion, started: new Date().toISOString(), redacted: true }
  readonly #entries: RecordingEntry[] = []
  readonly #turns = new TurnBuilder()
  readonly #captions = new CaptionFile()
  readonly #takes: Take[] = []
  readonly #media: readonly string[]
  readonly #removers: (() => void)[] = []
  #stopping: Promise<Blob> | undefined
  #resolve!: (file: Promise<Blob>) => void
  #error: AgentError | null = null

  /** @internal */
  constructor(session: RecordedSession, redact: (value: unknown) => unknown, options: RecordOptions) {
    this.#session = session
    this.#redact = redact
    this.#changed = options.onChange ?? (() => {})
    const hasMedia = "avatarStream" in session || "transport" in session
    this.#media = hasMedia ? (["agent", "microphone"] as const).filter((name) => options[name] ?? true) : []
    if (this.#media.length > 0 && typeof MediaRecorder !== "function") {
      throw localError("unsupported_browser", "this browser can't record sound and pictures; set the options agent and microphone to false to record the events")
    }
    for (const name of this.#media) {
      const find = () => (name === "agent" ? this.#live.avatarStream : this.#live.microphoneStream) ?? null
      this.#takes.push(new Take(name, find, (file) => this.#entries.push({ t: this.#time(performance.now()), file }), (detail, cause) => this.#failed(detail, cause)))
    }
    this.#removers.push(session.onAny((event, payload, at) => this.#event(String(event), payload, at)))
    // An avatar's turns are measured completely only while turnTimings has a listener of its own.
    if (hasMedia) this.#removers.push(session.on("turnTimings" as never, () => {}))
    for (const take of this.#takes) take.begin()
    this.#tell()
  }

  /** `"recording"`; `"stopped"` from `stop()` or the session's end on. */
  get state(): "recording" | "stopped" {
    return this.#stopping ? "stopped" : "recording"
  }

  /** What visitors must be told, in English: which of their words, voice and picture are recorded. */
  get disclosure(): string {
    const media = this.#media.map((name) => (name === "agent" ? "the agent's voice and picture" : "the sound of your microphone"))
    return `This conversation is recorded: ${["what you and the agent write and say", ...media].join(", ")}.`
  }

  /** Why sound or pictures are missing: a `recording_failed`, whose cause is the browser's error; null if nothing failed. Events are recorded nevertheless. */
  get error(): AgentError | null {
    return this.#error
  }

  /** The turns until now, as in turns.json. */
  get turns(): RecordedTurn[] {
    return this.#turns.turns
  }

  /** Resolves with the zip file when the recording has ended, by `stop()` or with the session. */
  readonly finished = new Promise<Blob>((resolve) => (this.#resolve = resolve))

  /** Ends the recording, and resolves with the zip file. A second call returns the same file. */
  stop(): Promise<Blob> {
    if (!this.#stopping) this.#resolve((this.#stopping = this.#stop()))
    return this.finished
  }

  get #live(): Live {
    const session: Live = this.#session as unknown as Live
    return session.transport ?? session
  }

  #time(at: number): number {
    return Math.max(0, Math.round(at - this.#start))
  }

  #event(event: string, payload: unknown, at: number): void {
    const entry: RecordingEntry = { t: this.#time(at), event, data: this.#dataOf(event, payload) }
    this.#entries.push(entry)
    this.#turns.add(entry)
    this.#captions.add(entry)
    if (streamsChange.has(event)) for (const take of this.#takes) take.begin()
    if (event === "ended") void this.stop()
  }

  /** The payload in its form in JSON, without secrets, and as runtime/record writes it. */
  #dataOf(event: string, payload: unknown): unknown {
    if (event === "track" || event === "transportChanged") payload = "mode" in Object(payload) ? { mode: (payload as { mode: unknown }).mode } : {} // tracks and sessions have no form in JSON
    if (event === "error" && !(payload instanceof AgentError)) payload = { code: "handler_failed" } // thrown by a listener of the page
    let plain: Record<string, unknown> = {}
    let data: unknown
    try {
      plain = JSON.parse(JSON.stringify(payload ?? {})) as Record<string, unknown>
      data = this.#redact(plain)
    } catch {
      // The result of a tool of the page has no form in JSON, or the program has ended.
    }
    return data ?? Object.fromEntries(plainFields.flatMap((name) => (name in plain ? [[name, plain[name]]] : [])))
  }

  #failed(detail: string, cause: unknown): void {
    this.#error ??= new AgentError({ code: "recording_failed", type: docs + "recording_failed", title: "Recording incomplete", detail, cause })
  }

  #tell(): void {
    try {
      this.#changed(this)
    } catch (exception) {
      reportError(exception)
    }
  }

  async #stop(): Promise<Blob> {
    for (const remove of this.#removers) remove()
    await Promise.all(this.#takes.map((take) => take.end()))
    const files = this.#takes.flatMap(({ files }) => files)
    // A file that the browser began and put nothing in is none.
    const kept = this.#entries.filter(({ file }) => file === undefined || files.some(({ name }) => name === file))
    const begin = kept.find(({ file }) => file?.startsWith("agent."))?.t ?? 0
    const text = (content: string) => new Blob([content])
    this.#tell()
    return zip([
      { name: fileNames.events, content: text([this.#header, ...kept].map((line) => JSON.stringify(line) + "\n").join("")) },
      { name: fileNames.turns, content: text(JSON.stringify(this.turns, null, 2) + "\n") },
      { name: fileNames.captions, content: text(this.#captions.text(begin)) },
      ...files,
    ])
  }
}

/** Begins a recording, for the method `record()` of sessions. `redact` removes secrets, undefined when it can't. @internal */
export function begin(session: RecordedSession, redact: (value: unknown) => unknown, options?: RecordOptions): Recording {
  const given = optionsOf(options)
  for (const name of ["agent", "microphone"] as const) {
    if (given[name] !== undefined && typeof given[name] !== "boolean") throw localError("bad_request", `${name} must be true or false`)
  }
  checkFunction("onChange", given.onChange)
  return new Recording(session, redact, given)
}
