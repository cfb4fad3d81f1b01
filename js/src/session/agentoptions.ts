import type { AgentMode } from "../generated/events.js"
import { plainAvatar } from "./avataroptions.js"
import { plainChat } from "./chatoptions.js"
import { givenOf, plainAgentOptions, plainOf, withoutInjected, type PlainOptions, type WithToken } from "../core/options.js"
import { agentChecks, type AgentSettings } from "../generated/settings.js"

export type { AgentSettings } from "../generated/settings.js"

/** Options of `AgentSession`: a token, and any other option. */
export type AgentOptions = WithToken<AgentSettings>

/** The options of an `AgentSession` in the form that cmd/wasm takes. */
export interface PlainAgent extends PlainOptions {
  mode: AgentMode
  avatar: PlainOptions
  chat: PlainOptions
}

/** Checks the options of an `AgentSession`, including those of both transports, and converts them. */
export function plainAgent(options: unknown): PlainAgent {
  const { mode = "avatar", avatar = {}, chat = {}, ...given } = givenOf(options)
  plainOf({ mode }, agentChecks)
  const [shared, face, text] = withoutInjected(given, givenOf(avatar), givenOf(chat)) as [PlainOptions, PlainOptions, PlainOptions]
  const own = { avatar: face, chat: text }
  // Not copied into the options of each transport: the Go program merges the transport's
  // own variables and capabilities over these, name by name.
  const { requestVars, capabilities, ...each } = shared
  return {
    mode: mode as AgentMode,
    ...plainAgentOptions(shared),
    logger: shared["logger"],
    avatar: plainAvatar(over(each, own.avatar)),
    chat: plainChat(over(each, own.chat)),
  }
}

/** The options of a transport: its own replace the shared ones, and its own `token` or `ks` replaces both. */
function over({ token, ks, ...shared }: PlainOptions, own: PlainOptions): PlainOptions {
  return "token" in own || "ks" in own ? { ...shared, ...own } : { token, ks, ...shared, ...own }
}
