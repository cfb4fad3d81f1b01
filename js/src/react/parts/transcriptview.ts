import type { ReactElement } from "react"
import type { SessionLike } from "../../ui/listen.js"
import { Transcript as Log, type TranscriptOptions } from "../../ui/transcriptview.js"
import { useLatest } from "../latest.js"
import { type PartProps, textOf, usePart } from "./part.js"

/** Properties of `<Transcript>`. */
export type TranscriptProps = PartProps<SessionLike, Omit<TranscriptOptions, "root" | "spoken">>

/** What was said. Empty without a session. */
export function Transcript({ session, labels, agentName, markdown, plain, entries, ...rest }: TranscriptProps): ReactElement {
  const latest = useLatest({ plain })
  const make = () => session && new Log(session, { markdown, entries, plain: (text) => latest.current.plain?.(text) ?? text })
  return usePart(rest, [session, markdown, entries], make, [textOf(labels), agentName], (log) => log.rename(labels ?? {}, agentName ?? null))
}
