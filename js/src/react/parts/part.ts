import { createElement, useEffect, useRef, type HTMLAttributes, type ReactElement } from "react"
import { useLayoutEffect_ } from "../latest.js"

/** Properties of a part: the session of a hook, options of the part, and those of the `div` around it. */
export type PartProps<Session, Options> = Options & { session: Session | null | undefined } & Omit<HTMLAttributes<HTMLDivElement>, keyof Options | "children">

/** A part of `agentruntime/ui`. */
interface Part {
  readonly root: HTMLElement
  /** Removes its listeners and the element. */
  destroy(): void
}

/** Labels are often written in the JSX, and so are new objects in each render. */
export const textOf = (labels: object | undefined): string => JSON.stringify(labels ?? {})

/**
 * An element that a part is in. The part is made anew when one of `needs` changes; when one of `follows` changes, `follow` tells it.
 * On a server the element is empty.
 */
export function usePart<Made extends Part>(
  rest: HTMLAttributes<HTMLDivElement>,
  needs: readonly unknown[],
  make: () => Made | null | undefined,
  follows: readonly unknown[] = [],
  follow: (part: Made) => void = () => {},
): ReactElement {
  const host = useRef<HTMLDivElement>(null)
  const made = useRef<{ part: Made | null | undefined; needs: readonly unknown[] }>(null)
  const leave = () => {
    made.current?.part?.destroy()
    made.current = null
  }
  // Before the session's events: a session is rendered as soon as it is made, before it connects.
  useLayoutEffect_(() => {
    if (made.current?.needs.some((need, i) => !Object.is(need, needs[i]))) leave()
    if (!made.current) {
      const part = make()
      made.current = { part, needs }
      if (part) host.current!.append(part.root)
    }
    if (made.current.part) follow(made.current.part)
  }, [...needs, ...follows])
  // Not with the layout effects, which end already when React hides a component until something is loaded; and in the next task, because
  // in StrictMode all effects end and begin again then.
  const leaving = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => {
    clearTimeout(leaving.current)
    return () => {
      leaving.current = setTimeout(leave)
    }
  }, [])
  return createElement("div", { ...rest, ref: host })
}
