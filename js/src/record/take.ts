import { messageOf } from "../core/errors.js"

/** A file of sound or pictures. */
export interface TakenFile {
  readonly name: string
  readonly content: Blob
}

/** How often the browser hands over what it has recorded, in ms. */
const sliceMs = 1000

/** The formats, the preferred one first, and the names of their files' endings. */
const formats = [
  ["video/webm", "webm"],
  ["video/mp4", "mp4"],
  ["audio/ogg;codecs=opus", "ogg"],
  ["audio/webm;codecs=opus", "webm"],
  ["audio/mp4", "mp4"],
] as const

/**
 * Records a stream by the browser's MediaRecorder, which ends when the tracks of the stream change, as in a recovery:
 * then the next file begins.
 */
export class Take {
  readonly files: TakenFile[] = []
  readonly #name: string
  readonly #find: () => MediaStream | null
  readonly #begun: (name: string) => void
  readonly #failed: (detail: string, cause: unknown) => void
  #recorder: MediaRecorder | undefined
  #count = 0
  #over = false
  /** Settles when the file that is being written is complete. */
  #written: Promise<void> | undefined

  constructor(name: string, find: () => MediaStream | null, begun: (name: string) => void, failed: (detail: string, cause: unknown) => void) {
    this.#name = name
    this.#find = find
    this.#begun = begun
    this.#failed = failed
  }

  /** Begins a file, if the stream has live tracks and none is being written. */
  begin(): void {
    if (this.#over || this.#recorder) return
    const stream = this.#find()
    const tracks = stream?.getTracks().filter((track) => track.readyState === "live") ?? []
    if (!stream || tracks.length === 0) return
    const medium = tracks.some(({ kind }) => kind === "video") ? "video" : "audio"
    const [mimeType, ending] = formats.find(([type]) => type.startsWith(medium) && MediaRecorder.isTypeSupported(type)) ?? [undefined, "webm"]
    let recorder: MediaRecorder
    try {
      recorder = new MediaRecorder(stream, mimeType === undefined ? {} : { mimeType })
      recorder.start(sliceMs)
    } catch (cause) {
      this.#over = true
      return this.#failed(`the ${this.#name} can't be recorded: ${messageOf(cause)}`, cause)
    }
    this.#recorder = recorder
    const name = `${this.#name}${this.#count++ === 0 ? "" : `-${this.#count}`}.${ending}`
    const pieces: Blob[] = []
    let broken: unknown
    recorder.onstart = () => this.#begun(name)
    recorder.ondataavailable = ({ data }) => void (data.size > 0 && pieces.push(data))
    recorder.onerror = (event) => {
      const { error } = event as Event & { error?: DOMException }
      if (error?.name !== "InvalidModificationError") broken = error ?? new Error("unknown") // that one: the tracks have changed
    }
    this.#written = new Promise((resolve) => {
      recorder.onstop = () => {
        this.#recorder = undefined
        if (pieces.length > 0) this.files.push({ name, content: new Blob(pieces, { type: recorder.mimeType }) })
        if (broken !== undefined) {
          this.#over = true
          this.#failed(`the recording of the ${this.#name} broke off: ${messageOf(broken)}`, broken)
        }
        resolve()
        this.begin()
      }
    })
  }

  /** Ends the file. Afterwards all files are complete. */
  async end(): Promise<void> {
    this.#over = true
    if (this.#recorder && this.#recorder.state !== "inactive") this.#recorder.stop() // otherwise its `stop` event is on its way
    await this.#written
  }
}
