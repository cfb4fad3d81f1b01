/**
 * agentruntime/replay: reads a recorded conversation, of a page or of a native program, and plays its events
 * (docs/recording.md).
 */
import { cancelled, checkSignal, localError } from "./core/errors.js"
import { optionsOf } from "./core/options.js"
import { CaptionFile } from "./record/captions.js"
import type { RecordedTurn, RecordingEntry } from "./record/format.js"
import { readEvents, readZip, type RecordedEvents, type RecordedFile } from "./record/read.js"
import { TurnBuilder } from "./record/turns.js"
import { onAbort } from "./core/signals.js"

export type { RecordedTurn, RecordingEntry } from "./record/format.js"
export type { RecordedFile } from "./record/read.js"

/** Options of `play()`. */
export interface PlayOptions {
  /** How much faster than the recording; 0 plays without waiting. Default 1. */
  speed?: number | undefined
  /** Ends it: `play` rejects with `aborted`. */
  signal?: AbortSignal | undefined
}

/** A recorded conversation. */
export class RecordedConversation {
  /** When the recording began. */
  readonly started: Date
  /** Whether secrets were removed. */
  readonly redacted: boolean
  /** The events, and the beginnings of the files, in their order. */
  readonly entries: readonly RecordingEntry[]
  /** The sound and the pictures, in their order; empty if only the events were read. */
  readonly files: readonly RecordedFile[]

  /** @internal */
  constructor({ header, entries }: RecordedEvents, files: readonly RecordedFile[]) {
    this.started = new Date(header.started)
    this.redacted = header.redacted
    this.entries = entries
    this.files = files
  }

  /** The turns, as in turns.json. */
  get turns(): RecordedTurn[] {
    const builder = new TurnBuilder()
    for (const entry of this.entries) builder.add(entry)
    return builder.turns
  }

  /** The captions as WebVTT, for a file that begins at `begin`, in milliseconds since the beginning of the recording. */
  captions(begin = 0): string {
    const captions = new CaptionFile()
    for (const entry of this.entries) captions.add(entry)
    return captions.text(begin)
  }

  /**
   * Calls listener with each entry at its time, and resolves after the last one. The time is that of `setTimeout`,
   * which a test may have replaced. What listener throws ends it. Rejects with `bad_request` for a bad
   * option, and with `aborted`.
   */
  async play(listener: (entry: RecordingEntry) => void, options?: PlayOptions): Promise<void> {
    const { speed = 1, signal } = optionsOf(options)
    if (typeof listener !== "function") throw localError("bad_request", "the listener must be a function")
    if (typeof speed !== "number" || !(speed >= 0)) throw localError("bad_request", "speed must be a number that is not negative")
    checkSignal(signal)
    if (signal?.aborted) throw cancelled(signal)
    if (speed === 0) return this.entries.forEach((entry) => listener(entry))
    return new Promise<void>((resolve, reject) => {
      const timers: ReturnType<typeof setTimeout>[] = []
      const end = (settle: () => void) => {
        forget()
        for (const timer of timers) clearTimeout(timer)
        settle()
      }
      const forget = onAbort(signal, () => end(() => reject(cancelled(signal!))))
      // All at once: each would be later than the one before if it were set by that.
      const at = (t: number, run: () => void) => void timers.push(setTimeout(run, t / speed))
      for (const entry of this.entries) {
        at(entry.t, () => {
          try {
            listener(entry)
          } catch (exception) {
            end(() => reject(exception as Error))
          }
        })
      }
      at(this.entries.at(-1)?.t ?? 0, () => end(resolve))
    })
  }
}

/**
 * Reads the zip file of a recording: that of `record()`, or the folder of a native recording, packed by any program.
 * Rejects with `validation_error` for anything else, and for more than 1 GiB.
 */
export async function openRecording(file: Blob): Promise<RecordedConversation> {
  if (!(file instanceof Blob)) throw localError("bad_request", "the recording must be a Blob or a File")
  const { files, ...events } = await readZip(file)
  return new RecordedConversation(events, files)
}

/** Reads the text of the file events.jsonl of a recording, for its events alone. Throws `validation_error` for anything else. */
export function readRecording(events: string): RecordedConversation {
  if (typeof events !== "string") throw localError("bad_request", "the events must be the text of events.jsonl")
  return new RecordedConversation(readEvents(events), [])
}
