import { unzipSync } from "fflate"
import { localError, messageOf } from "../core/errors.js"
import { fileNames, formatVersion, type RecordingEntry, type RecordingHeader } from "./format.js"

/** The largest recording that is read, in bytes: a page has all of it in memory. */
const maxSize = 1 << 30

/** The media types of the files, by the endings of their names. */
const mediaTypes: Readonly<Record<string, string>> = { webm: "video/webm", mp4: "video/mp4", mkv: "video/x-matroska", ogg: "audio/ogg" }

/** A file of sound or pictures of a recording. */
export interface RecordedFile {
  /** Such as `"agent.webm"` or `"microphone.ogg"`. */
  readonly name: string
  /** When its first frame was, in milliseconds since the beginning of the recording. */
  readonly begin: number
  readonly content: Blob
}

/** What the file of events has. */
export interface RecordedEvents {
  header: RecordingHeader
  entries: RecordingEntry[]
}

const refused = (detail: string, cause?: unknown) => localError("validation_error", `the recording can't be read: ${detail}`, { cause })

/** Reads the text of the file of events. Its last line may be cut off, as when the recording program was killed. */
export function readEvents(text: string): RecordedEvents {
  const [first, ...rest] = text.split("\n")
  const header = parsed(first) as Partial<RecordingHeader> | undefined
  if (typeof header?.version !== "number" || header.version < 1) throw refused(`the first line of ${fileNames.events} has no version`)
  if (header.version > formatVersion) throw refused(`its version is ${header.version}, and this package reads up to ${formatVersion}`)
  const lines = rest.at(-1) === "" ? rest.slice(0, -1) : rest
  const entries = lines.flatMap((line, i) => {
    const entry = parsed(line) as RecordingEntry | undefined
    if (typeof entry?.t === "number") return [entry]
    if (i < lines.length - 1) throw refused(`line ${i + 2} of ${fileNames.events} is not an event`)
    return []
  })
  return { header: header as RecordingHeader, entries }
}

function parsed(line = ""): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

/** Reads a zip file: one of `record()`, or a folder of a native recording that was packed by any program. */
export async function readZip(file: Blob): Promise<RecordedEvents & { files: RecordedFile[] }> {
  if (file.size > maxSize) throw refused(`it is larger than ${maxSize >> 20} MiB`)
  const bytes = new Uint8Array(await file.arrayBuffer())
  if (bytes[0] !== 0x50 || bytes[1] !== 0x4b) throw refused("the file is not a zip file; it must be the file that record() made, or the zipped folder of a native recording")
  const sizes = new Map<string, number>()
  unzip(bytes, (name, size) => {
    sizes.set(name, size)
    return false
  })
  // A packed folder has its name before those of its files.
  const events = [...sizes.keys()].filter((name) => name === fileNames.events || name.endsWith(`/${fileNames.events}`)).sort((a, b) => a.length - b.length)[0]
  if (events === undefined) throw refused(`the zip file has no ${fileNames.events}`)
  const folder = events.slice(0, -fileNames.events.length)
  let left = maxSize
  const unpacked = (name: string) => {
    left -= sizes.get(folder + name)!
    if (left < 0) throw refused(`its content is larger than ${maxSize >> 20} MiB`)
    return unzip(bytes, (other) => other === folder + name)[folder + name]!
  }
  const { header, entries } = readEvents(new TextDecoder().decode(unpacked(fileNames.events)))
  const files = entries.flatMap(({ t, file: name }) => {
    if (name === undefined || !sizes.has(folder + name)) return []
    const type = mediaTypes[name.slice(name.lastIndexOf(".") + 1)] ?? ""
    return [{ name, begin: t, content: new Blob([unpacked(name) as Uint8Array<ArrayBuffer>], { type }) }]
  })
  return { header, entries, files }
}

function unzip(bytes: Uint8Array, wanted: (name: string, size: number) => boolean): Record<string, Uint8Array> {
  try {
    return unzipSync(bytes, { filter: ({ name, originalSize }) => wanted(name, originalSize) })
  } catch (cause) {
    throw refused(`the zip file is damaged: ${messageOf(cause)}`, cause)
  }
}
