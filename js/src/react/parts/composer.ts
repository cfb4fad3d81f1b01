import { useRef, type ReactElement } from "react"
import { Composer as Field, type ComposerOptions, type ComposerSession } from "../../ui/composer.js"
import { useLatest } from "../latest.js"
import { type PartProps, textOf, usePart } from "./part.js"

/** Properties of `<Composer>`. */
export type ComposerProps = PartProps<ComposerSession, ComposerOptions>

/** A field for typed messages; without a session nothing can be sent yet. What is in the field stays there for the next session. */
export function Composer({ session, labels, onSend, onError, ...rest }: ComposerProps): ReactElement {
  const latest = useLatest({ onSend, onError })
  const last = useRef<Field>(null)
  const make = () => {
    const text = last.current?.field.value ?? "" // React hides a component in Activity by ending all of its effects
    const made = (last.current = new Field(undefined, {
      onSend: onSend && ((text, signal) => latest.current.onSend?.(text, signal)),
      onError: (error) => latest.current.onError?.(error),
    }))
    made.field.value = text
    return made
  }
  return usePart(rest, [onSend !== undefined], make, [session, textOf(labels)], (field) => {
    field.rename(labels)
    field.follow(session ?? undefined)
  })
}
