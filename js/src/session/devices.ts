import { localError, untilAborted } from "../core/errors.js"
import { optionsOf } from "../core/options.js"
import type { CallOptions } from "../core/signals.js"

/** A microphone or a speaker; the label is hidden until the microphone is permitted. */
export interface Device {
  deviceId: string
  label: string
  groupId: string
}

/** Undefined outside of pages, and where the page has no access to devices. */
export const mediaDevices = (): MediaDevices | undefined => (typeof navigator === "undefined" ? undefined : navigator.mediaDevices)

/** Lists the devices that the browser shows; none without access. */
export async function listDevices(options?: CallOptions): Promise<{ mics: Device[]; speakers: Device[] }> {
  const { signal } = optionsOf(options)
  const refused = (cause: unknown) => {
    throw localError("devices_permission_denied", "the browser does not list its devices", { cause })
  }
  const all = await untilAborted((mediaDevices()?.enumerateDevices?.() ?? Promise.resolve([])).catch(refused), signal)
  const of = (wanted: MediaDeviceKind) =>
    all.filter(({ kind }) => kind === wanted).map(({ deviceId, label, groupId }) => ({ deviceId, label, groupId }))
  return { mics: of("audioinput"), speakers: of("audiooutput") }
}
