// Helpers for a page that talks to the service directly. The sessions don't use them.
import { localError } from "../errors.js"
import type { Segment } from "../events.js"
import { capabilityNames, regions, type AgentAction } from "../settings.js"
import { isObject } from "./safety.js"
import { parseToolCall } from "./tools.js"
import { isKnownRuntime, normalizeRuntime } from "./widgets.js"

/** The host of the control socket. */
export const DEFAULT_CM_URL = "https://conversation.avatar.us.kaltura.ai"

/** The service's regions. */
export const REGIONS = regions

/** The names of the capabilities. */
export const CAPABILITIES = capabilityNames

/** The values of `force_experience`. */
export const EXPERIENCES = ["markdown", "summarization", "flashcards", "avatar_only"] as const

/** The models of a turn; the primary one has no name on the wire. */
export const MODEL_TYPES = ["primary", "fast"] as const

/** The name of a model on the wire, undefined for the primary one. Throws `bad_request` for an unknown model. */
export function modelTypeWire(model?: (typeof MODEL_TYPES)[number] | null): "fast" | undefined {
  if (model != null && !MODEL_TYPES.includes(model)) throw localError("bad_request", `the model must be one of ${MODEL_TYPES.join(", ")}`)
  return model === "fast" ? model : undefined
}

/** The waits between requests for a free agent, in seconds; each is varied by up to 15 %. */
export const CAPACITY_BACKOFF = [30, 45, 60, 90, 120, 180, 240, 300, 360] as const

/** The four addresses of a relay; none without a host. */
export function turnServers(host: string | null | undefined, login?: { username: string; credential: string }): RTCIceServer[] {
  const name = (host ?? "").replace(/\/$/, "").replace(/^turns?:/, "")
  if (name === "") return []
  return [{ urls: [`turn:${name}:80?transport=udp`, `turn:${name}:443?transport=udp`, `turn:${name}:80?transport=tcp`, `turns:${name}:443?transport=tcp`], ...login }]
}

/** The configuration of the avatar's peer. */
export function iceConfig({ turnServerUrl, turnCredentials, isFirefox = false }: { turnServerUrl?: string | null; turnCredentials?: { username: string; credential: string }; isFirefox?: boolean }): RTCConfiguration {
  return { iceServers: turnServers(turnServerUrl, turnCredentials), iceTransportPolicy: isFirefox ? "all" : "relay", bundlePolicy: "max-bundle" }
}

/** The address of the avatar's media: the one in the service's reply, or one made of the session id. */
export function whepUrl({ webrtcUrl, srsBaseUrl = "", sessionId = "" }: { webrtcUrl?: string | null; srsBaseUrl?: string; sessionId?: string }): string {
  return webrtcUrl || `${srsBaseUrl.replace(/\/$/, "")}/rtc/v1/whep/?app=app&stream=${encodeURIComponent(sessionId)}`
}

export { whepUrlHasPrivateIp } from "../privatehost.js"

/** The payload of `join`. */
export function buildJoin({ token, room, threadId, entryId, contextId, contextType, capabilities, requestVars }: {
  token: string; room: string; threadId?: string; entryId?: string; contextId?: string; contextType?: string
  capabilities?: Record<string, string>; requestVars?: Record<string, unknown>
}): object {
  const kaltura = {
    ks: token, threadId, entryId, contextId, contextType, force_experience: "avatar_only",
    capabilities: { avatar: "on", generate_followup_questions: "on", ...capabilities }, request_vars: requestVars,
  }
  return {
    room, channel: room, kaltura: Object.fromEntries(Object.entries(kaltura).filter(([, value]) => value !== undefined)),
    userAgent: globalThis.navigator?.userAgent ?? "", userAgentHints: null, isMobile: false,
    channel_password: null, peer_name: "unknown", peer_video: false, peer_audio: true,
  }
}

/** The payload of `stvNewSession`. */
export const buildStvNewSession = (room: string): { room_id: string } => ({ room_id: room })

/** The two payloads of `onTextEntered` that make a typed turn; the first one, sent alone, interrupts the agent. */
export const buildTextEntered = (text: string): [object, object] => [{ text: "", isFinal: false, isSpeechStart: true }, { text, isFinal: true }]

/** Whether the reply to `stvNewSession` is for a conversation without a picture. */
export const isAudioMode = (reply: unknown): boolean => isObject(reply) && /no STV session/i.test(String(reply["status"]))

/** The action that a segment would start, in the form that `onAgentAction` gets; undefined for none. */
export function classifyAgentAction(segment: Segment): AgentAction | undefined {
  const { type, metadata, content } = segment
  if (type === "tool") {
    const call = parseToolCall(segment)
    return call && { type: "toolCall", toolName: call.name, payload: call.args, source: "agent" }
  }
  const runtimeName = type === "unisphere-tool" ? metadata?.runtimeName : isKnownRuntime(type) ? type : undefined
  if (!runtimeName) return undefined
  const runtime = normalizeRuntime(runtimeName)
  return {
    type: runtime === "show-link" ? "navigate" : runtime === "user-properties-form" ? "structuredDataForm" : "genui",
    runtime, runtimeName, ...(metadata?.widgetName && { widgetName: metadata.widgetName }), payload: content, source: "agent",
  }
}
