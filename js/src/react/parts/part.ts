import { createElement, useRef, type HTMLAttributes, type ReactElement } from "react"
import { useLayoutEffect_ } from "../latest.js"

/** Properties of a part: the session of a hook, options of the part, and those of the `div` around it. */
export type PartProps<Session, Options> = Options & { session: Session | null | undefined } & Omit<HTMLAttributes<HTMLDivElement>, keyof Options | "children">

/** A part of `agentruntime/ui`. */
interface Part {
  readonly root: HTMLElement
  destroy(): void
}

/** Labels are often written in the JSX, and so are new objects in each render. */
export const textOf = (labels: object | undefined): string => JSON.stringify(labels ?? {})

/** An element that a part is in, which is made anew when one of `needs` changes. On a server it is empty. */
export function usePart(rest: HTMLAttributes<HTMLDivElement>, needs: readonly unknown[], make: () => Part | null | undefined): ReactElement {
  const host = useRef<HTMLDivElement>(null)
  // Before the session's events: a session is rendered as soon as it is made, before it connects.
  useLayoutEffect_(() => {
    const part = make()
    if (!part) return undefined
    host.current!.append(part.root)
    return () => {
      part.destroy()
      part.root.remove()
    }
  }, needs)
  return createElement("div", { ...rest, ref: host })
}
