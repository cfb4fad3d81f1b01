import type { ReactElement } from "react"
import { sharedLevels, type VoiceSession } from "../../ui/levels.js"
import { VoiceBars as Bars, type Side } from "../../ui/voicebars.js"
import { type PartProps, usePart } from "./part.js"

/** Properties of `<VoiceBars>`. */
export type VoiceBarsProps = PartProps<VoiceSession, { side?: Side | undefined }>

/** Bars that show how loud one side is. Empty without a session. */
export function VoiceBars({ session, side = "agent", ...rest }: VoiceBarsProps): ReactElement {
  return usePart(rest, [session, side], () => {
    if (!session) return null
    const [levels, leave] = sharedLevels(session)
    const bars = new Bars(levels, side)
    return { root: bars.root, destroy: () => (bars.destroy(), leave()) }
  })
}
