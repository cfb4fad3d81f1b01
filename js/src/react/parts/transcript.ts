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
  return usePart(rest, [session, textOf(labels), agentName, markdown, entries], () =>
    session && new Log(session, { labels, agentName, markdown, entries, plain: (text) => latest.current.plain?.(text) ?? text }))
}
