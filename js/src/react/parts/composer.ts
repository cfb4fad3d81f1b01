import type { ReactElement } from "react"
import { Composer as Field, type ComposerOptions, type ComposerSession } from "../../ui/composer.js"
import { useLatest } from "../latest.js"
import { type PartProps, textOf, usePart } from "./part.js"

/** Properties of `<Composer>`. */
export type ComposerProps = PartProps<ComposerSession, ComposerOptions>

/** A field for typed messages; without a session nothing can be sent yet. */
export function Composer({ session, labels, onError, ...rest }: ComposerProps): ReactElement {
  const latest = useLatest({ onError })
  return usePart(rest, [session, textOf(labels)], () => new Field(session ?? undefined, { labels, onError: (error) => latest.current.onError?.(error) }))
}
