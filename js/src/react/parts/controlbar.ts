import type { ReactElement } from "react"
import { ControlBar as Bar, type ControlBarOptions, type ControlSession } from "../../ui/controlbar.js"
import { useLatest } from "../latest.js"
import { type PartProps, textOf, usePart } from "./part.js"

/** Properties of `<ControlBar>`. */
export type ControlBarProps = PartProps<ControlSession, ControlBarOptions>

/** The buttons of a conversation. Without a session, and after its end, there is the one that starts: `onStart` is the hook's `connect`. */
export function ControlBar({ session, controls, labels, onStart, onEnd, onError, ...rest }: ControlBarProps): ReactElement {
  const latest = useLatest({ onStart, onEnd, onError })
  const make = () =>
    new Bar(undefined, {
      controls,
      labels,
      onStart: onStart && (() => latest.current.onStart?.()),
      onEnd: onEnd && (() => latest.current.onEnd?.()),
      onError: (error) => latest.current.onError?.(error),
    })
  return usePart(rest, [controls?.join(), textOf(labels), onStart !== undefined, onEnd !== undefined], make, [session], (bar) => bar.follow(session ?? undefined))
}
