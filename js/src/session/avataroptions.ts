import { givenOf, plainSession, type PlainOptions, type WithToken } from "../core/options.js"
import { actionNames } from "../generated/names.js"
import { avatarChecks, type AvatarSettings } from "../generated/settings.js"
import { checkNames } from "../core/unknown.js"

export { checkElement } from "../core/options.js"
export type { AgentAction, AvatarSettings, SendInfo, TimeoutName } from "../generated/settings.js"

/** Options of `AvatarSession`: a token, and any other option. */
export type AvatarOptions = WithToken<AvatarSettings>

/** Checks the options of an `AvatarSession` and converts them to the form that cmd/wasm takes. */
export function plainAvatar(options: unknown): PlainOptions {
  const given = givenOf(options)
  const { turnServerUrl, iceServers, agentActions, stickyId = randomID() } = given as AvatarSettings
  const plain = plainSession(given, avatarChecks)
  return {
    ...plain,
    stickyId,
    ...(turnServerUrl !== undefined && { turnServerUrl: String(turnServerUrl) }),
    ...(iceServers && { iceServers: iceServers.map((server) => ({ ...server, urls: [server.urls].flat() })) }),
    ...(agentActions && { agentActions: policyOf(agentActions) }),
  }
}

function policyOf(actions: NonNullable<AvatarSettings["agentActions"]>): PlainOptions {
  checkNames(actions, actionNames, "agentActions.")
  const allowed = (value: unknown) => value !== "off" && value !== false
  const { navigate, genui, structuredDataForm, toolCall } = actions
  return {
    navigate: allowed(navigate),
    genui: allowed(genui),
    structuredDataForm: allowed(structuredDataForm),
    toolCall: allowed(toolCall),
    ...(Array.isArray(toolCall) && { tools: toolCall }),
  }
}

// Identifies a session; it grants no access, so it need not be unpredictable.
function randomID(): string {
  return Array.from({ length: 16 }, () => Math.floor(Math.random() * 36).toString(36)).join("")
}
