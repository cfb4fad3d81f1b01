import type { ReactElement } from "react"
import { DeviceSelect as Menus, type DeviceSelectOptions, type DeviceSession } from "../../ui/deviceselect.js"
import { useLatest } from "../latest.js"
import { type PartProps, textOf, usePart } from "./part.js"

/** Properties of `<DeviceSelect>`. */
export type DeviceSelectProps = PartProps<DeviceSession, DeviceSelectOptions>

/** Menus of microphones and speakers. Empty without a session. */
export function DeviceSelect({ session, labels, onError, ...rest }: DeviceSelectProps): ReactElement {
  const latest = useLatest({ onError })
  return usePart(rest, [session, textOf(labels)], () => session && new Menus(session, { labels, onError: (error) => latest.current.onError?.(error) }))
}
