// The format of a recording (docs/recording.md), as runtime/replay reads it.

/** The version of the format. */
export const formatVersion = 1

/** The files besides those of sound and pictures, which lines of the first one name. */
export const fileNames = { events: "events.jsonl", turns: "turns.json", captions: "captions.vtt" } as const

/** The first line of the events. */
export interface RecordingHeader {
  version: number
  /** When the recording began, ISO 8601. */
  started: string
  /** Whether secrets were removed. */
  redacted: boolean
}

/** A later line of the events: an event, or the beginning of a file of sound or pictures. */
export interface RecordingEntry {
  /** Milliseconds since the beginning. */
  t: number
  /** The name of an event (docs/events.md), and its payload. */
  event?: string
  data?: unknown
  /** The name of a file whose first frame is at this time. */
  file?: string
}

/** One turn of a recorded conversation. */
export interface RecordedTurn {
  by: "visitor" | "agent"
  text: string
  /** Milliseconds since the beginning. */
  startMs: number
  endMs: number
  /** The visitor interrupted the agent. */
  interrupted?: true
  tools?: { name: string; args: unknown }[]
  /** The runtimes of the widgets that were shown. */
  widgets?: string[]
}
