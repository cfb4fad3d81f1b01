// Helpers for a page that talks to the service directly, in the reference client's form.
// The sessions don't use them.
import { relayServer, type RelayLogin } from "../core/relay.js"
import { regions } from "../generated/settings.js"
import { isObject } from "../segments/plain.js"

/** The host of the control socket. */
export const DEFAULT_CM_URL = "https://conversation.avatar.us.kaltura.ai"

/** The service's regions. */
export const REGIONS = regions

/** The values of `force_experience`. */
export const EXPERIENCES: string[] = ["markdown", "summarization", "flashcards", "avatar_only"]

/** The models of a turn, with their names on the wire; the primary one has none. */
export const MODEL_TYPES = Object.freeze({ fast: "fast", primary: null } as const)

/** The name of a model on the wire: `"fast"` for that word in any case, with or without spaces around it; otherwise undefined. */
export const modelTypeWire = (model?: unknown): "fast" | undefined =>
  typeof model === "string" && model.trim().toLowerCase() === MODEL_TYPES.fast ? MODEL_TYPES.fast : undefined

/** The waits between requests for a free agent, in seconds; each is varied by up to 15 %. */
export const CAPACITY_BACKOFF: number[] = [30, 45, 60, 90, 120, 180, 240, 300, 360]

/** A relay with its four addresses; null without a host. There is no built-in login: without one, the result has none. */
export function turnServers(host: string | URL | null | undefined, login: RelayLogin = {}): (RTCIceServer & { urls: string[] }) | null {
  const name = String(host ?? "").trim().replace(/^(?:(?:turns?|stuns?|https?|wss?):)?(?:\/\/)?/i, "").replace(/\/$/, "")
  return name === "" ? null : relayServer(name, login)
}

/** The configuration of a peer: that of the picture (`"stv"`) uses the relay only, except in Firefox. */
export function iceConfig(channel: string, turn: RTCIceServer | null | undefined, isFirefox = false): RTCConfiguration {
  return { iceServers: turn ? [turn] : [], iceTransportPolicy: channel === "stv" && !isFirefox ? "relay" : "all", bundlePolicy: "max-bundle" }
}

/** The address of the avatar's media: the one in the service's reply, or one made of the session id. */
export const whepUrl = (webrtcUrl: string | null | undefined, srsBaseUrl = "", sessionId = ""): string =>
  webrtcUrl || `${srsBaseUrl.replace(/\/$/, "")}/rtc/v1/whep/?app=app&stream=${encodeURIComponent(sessionId)}`

/**
 * Whether the host of an address is `localhost` or an address of this machine, a private network or a link (page-helpers G.3).
 * For the sessions more hosts are private: also shared addresses, `.local` and names without a dot (`isPrivate` in core/privatehost.ts).
 */
export function whepUrlHasPrivateIp(address: unknown): boolean {
  if (typeof address !== "string" || !URL.canParse(address)) return false
  const { hostname } = new URL(address)
  const mapped = /^\[::ffff:([\da-f]+):([\da-f]+)\]$/.exec(hostname)
  const host = mapped ? mapped.slice(1).map((group) => parseInt(group, 16)).flatMap((group) => [group >> 8, group & 255]).join(".") : hostname
  return /^(.+\.)?localhost$/.test(host) || host === "[::1]" || /^\[(f[cd][\da-f]{2}|fe[89ab][\da-f]):/.test(host) || /^(10|127|169\.254|192\.168|172\.(1[6-9]|2\d|3[01]))\.[\d.]+$/.test(host)
}

/** What {@link buildJoin} makes the payload of. */
export interface JoinValues {
  client?: string | undefined
  room: string
  contextId?: string | undefined
  threadId?: string | undefined
  /** Default: the avatar and follow-up questions are on. */
  capabilities?: Readonly<Record<string, string>> | undefined
  /** The conversation token. */
  ks?: string | undefined
  entryId?: string | undefined
  /** The variables of the prompt. */
  requestVars?: Readonly<Record<string, unknown>> | undefined
  /** Default: the browser's. */
  userAgent?: string | undefined
  /** Default false. */
  isMobile?: boolean | undefined
}

/** The payload of `join`. */
export function buildJoin({ client, room, contextId, threadId, capabilities, ks, entryId, requestVars, userAgent, isMobile = false }: JoinValues) {
  return {
    client, room, channel: room,
    kaltura: {
      context_id: contextId, threadId, force_experience: "avatar_only", capabilities: capabilities ?? { avatar: "on", generate_followup_questions: "on" },
      ...(ks && { ks }), ...(entryId && { entryId }), ...(requestVars && { request_vars: requestVars }),
    },
    userAgent: userAgent ?? globalThis.navigator?.userAgent ?? "", userAgentHints: null, isMobile,
    channel_password: null, peer_name: "unknown", peer_video: false, peer_audio: true,
  }
}

/** The payload of `stvNewSession`. */
export const buildStvNewSession = (room: string, castMode?: string): { room_id: string; cast_mode?: string } =>
  ({ room_id: room, ...(castMode !== undefined && { cast_mode: castMode }) })

/** The payload of `onTextEntered`. */
export const buildTextEntered = (text: string, isFinal = true, isSpeechStart?: boolean): { text: string; isFinal: boolean; isSpeechStart?: boolean } =>
  ({ text, isFinal, ...(isSpeechStart !== undefined && { isSpeechStart }) })

/** Whether the reply to `stvNewSession` is for a conversation without a picture. */
export const isAudioMode = (reply: unknown): boolean => isObject(reply) && /no STV session/i.test(String(reply["status"] ?? ""))

export type { RelayLogin }

export { randId, uuidv4 } from "./ids.js"
