import type { ReactElement } from "react"
import type { ActivitySession } from "../../ui/activity.js"
import { AgentState as State, type AgentStateOptions } from "../../ui/agentstate.js"
import type { VoiceSession } from "../../ui/levels.js"
import { type PartProps, textOf, usePart } from "./part.js"

/** Properties of `<AgentState>`. */
export type AgentStateProps = PartProps<ActivitySession & VoiceSession, AgentStateOptions>

/** What the agent is doing, in words and with voice bars. Empty without a session. */
export function AgentState({ session, labels, bars, ...rest }: AgentStateProps): ReactElement {
  return usePart(rest, [session, textOf(labels), bars], () => session && new State(session, { labels, bars }))
}
