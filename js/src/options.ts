import type { Kickoff } from "./events.js"
import { localError } from "./errors.js"
import type { PageFunction, Remote } from "./remote.js"

/** A token, or an object that has one, such as appInit's reply. */
export type Token = string | { ks: string }

/** Options of `AvatarSession`: a token, and whatever should differ from the defaults. */
export type AvatarOptions = AvatarSettings & ({ token: Token; ks?: Token } | { ks: Token; token?: Token })

/** States of a capability; `disabled` is a veto. */
export type CapabilityState = "on" | "off" | "disabled"

/** What a text is that `onBeforeSend` judges. */
export interface SendInfo {
  kind: "speak" | "spiralRecovery"
  threadId?: string
}

/** Something the agent starts by itself, for `onAgentAction` to judge. */
export interface AgentAction {
  type: "toolCall" | "genui" | "navigate" | "structuredDataForm"
  /** Of a toolCall. */
  toolName?: string
  runtime?: string
  runtimeName?: string
  widgetName?: string
  /** The arguments of a toolCall, else the content of the segment. */
  payload?: unknown
  source: "agent"
}

/** A redacted security event. */
export interface AuditEvent {
  ts: string
  type: string
  outcome: string
  reason?: string
  partnerId?: string
  subjectId?: string
  threadId?: string
}

export interface AvatarSettings {
  /** Host of the control socket, from `appInit`. */
  conversationManagerUrl?: string | URL
  /** `"nvp1"` (US, default) or `"frp2"` (EU): where `genieUrl` is when not given. */
  region?: "nvp1" | "frp2"
  /** The brain's host, for tool answers and the end of the conversation. */
  genieUrl?: string | URL
  /** The media host, from `appInit`. */
  srsBaseUrl?: string | URL
  /** The relay, from `appInit`: a host, or a full `turn:` address that is used as given. */
  turnServerUrl?: string
  turnCredentials?: { username: string; credential: string; expiry?: number }
  /** Used in place of what `turnServerUrl` gives. */
  iceServers?: RTCIceServer[]
  /** Default `"relay"`; `"all"` in Firefox. */
  iceTransportPolicy?: RTCIceTransportPolicy
  /** Allow http: and ws: to public hosts. For tests only. */
  allowInsecureTransport?: boolean
  /** Allow media at private addresses, for a local service. */
  allowPrivateHosts?: boolean
  /** Default: read from the token. */
  partnerId?: string | number
  /** Keeps a session on one server over a page reload: 16 characters of a-z and 0-9. Default random. */
  stickyId?: string
  /** An opaque id of the visitor for audit events; nothing personal. */
  subjectId?: string

  /** Continues a stored dialogue. */
  threadId?: string
  /** The media item that the session is about. */
  entryId?: string
  /** Scope of the session. */
  contextId?: string
  contextType?: string
  /** Merged over avatar and generate_followup_questions on. */
  capabilities?: Partial<Record<CapabilityName, CapabilityState>>
  /** Prompt variables. */
  requestVars?: Record<string, string | number | boolean | null>
  /** The first user turn, sent by the session itself, once. `echo` shows it as a transcript. */
  kickoff?: string | Pick<Kickoff, "text"> & Partial<Pick<Kickoff, "echo">> | null
  /** The notice of the `disclosure` event. */
  disclosureText?: string
  /** Hold the start until `acknowledgeDisclosure()`. */
  requireDisclosureAck?: boolean

  /** Shows the picture, and plays the voice unless `audioEl` is set. */
  videoEl?: HTMLMediaElement | null
  /** Plays the voice. */
  audioEl?: HTMLMediaElement | null
  /** `"immediate"` (default) asks for the microphone beside connecting, `"deferred"` with `startMic()`. */
  micStartMode?: "immediate" | "deferred"
  /** Merged over echo cancellation, noise suppression and automatic gain; false is none of them. */
  micConstraints?: MediaTrackConstraints | false
  /** Own audio processing; something falsy uses the microphone's stream as it is. */
  noiseProcessor?: (stream: MediaStream) => Promised<MediaStream | { stream: MediaStream; stop(): void } | null | undefined | false>
  /** Level at which `localSpeakingChanged` turns true, 0 to 4080. Default 300. */
  localVadThreshold?: number
  /** Caps the microphone's sender, in kbit/s. */
  maxAsrBitrateKbps?: number
  /** The only codec to offer, such as `"VP8"`. */
  preferredVideoCodec?: string
  /** Default: what the browser says itself. */
  isFirefox?: boolean

  /** Changes a typed text (string) or blocks it (false, or a throw). */
  onBeforeSend?: (text: string, about: SendInfo) => Promised<string | false | void>
  /** Vetoes what the agent starts with false or a throw. */
  onAgentAction?: (action: AgentAction) => Promised<boolean | void>
  /** Asked before `onAgentAction`; a list of tools allows these alone. */
  agentActions?: {
    navigate?: "off" | boolean
    genui?: "off" | boolean
    structuredDataForm?: "off" | boolean
    toolCall?: "off" | boolean | string[]
  }
  /** Typed turns in any 60 s. Default 0: any number. */
  maxTurnsPerMinute?: number
  /** Ends the session when nothing happens. Default 900000; 0 is never. */
  idleTimeoutMs?: number
  onAuditEvent?: (event: AuditEvent) => void

  /** Default 5. */
  maxReconnectAttempts?: number
  /** Wait before the first try to reconnect, in ms. Default 250. */
  reconnectionDelay?: number
  /** The longest wait, in ms. Default 2000. */
  reconnectionDelayMax?: number
  /** Time without a connection before giving up. Default 22000. */
  reconnectWindowMs?: number
  /** Single time limits, in ms. */
  timeouts?: Partial<Record<TimeoutName, number>>
  /** React to the browser's online and offline. Default true. */
  networkAware?: boolean
  /** Turns `connectionQuality` on. */
  statsIntervalMs?: number
  /** Receives diagnostics; nothing in them is secret. */
  logger?: (level: string, message: string, data?: Record<string, unknown>) => void
  /** Mirror typed texts to the service's debug event. */
  debug?: boolean

  /** Period of `brainStalled`. Default 12000; 0 is off. */
  brainStallMs?: number
  /** Tool calls in a turn before `toolSpiralDetected`. Default 10; 0 is off. */
  toolSpiralLimit?: number
  /** Tool calls with nothing to hear or see before a rebuild. Default three times the other; 0 is off. */
  hardToolSpiralLimit?: number
  /** Ask the lost question again after it. Default true. */
  recoverFromSpiral?: boolean

  /** Tell the service when the conversation is over. Default true. */
  sessionCompleteOnEnd?: boolean
  /** Default `/thread/session_completed`. */
  sessionCompletePath?: string
  /** Default 5000; no limit when the page goes away. */
  sessionCompleteTimeoutMs?: number
  /** Listen to the page's life. Default true. */
  pageLifecycleAware?: boolean
  /** Hidden that long with nothing said is over. Default 30000. */
  hiddenGraceMs?: number
  /** Default true. */
  completeOnHiddenGrace?: boolean
  /** Tell it when the page goes into the back-forward cache. Default true. */
  completeOnBfcache?: boolean
  /** Tell it although the service ended the conversation. Default false. */
  completeOnServerEnd?: boolean
  /** Not while another tab has the thread. Default true. */
  crossTabPresence?: boolean
  /** Default `kaltura-agents:thread`. */
  presenceChannelPrefix?: string
  /** Default 4000. */
  presenceHeartbeatMs?: number
  /** Default 12000. */
  presenceStaleMs?: number
}

type Promised<T> = T | Promise<T>

/** The time limits of `timeouts`; whepTries and coldAttempts are numbers of tries. */
export type TimeoutName =
  | "overall"
  | "serverConnect"
  | "joinRoom"
  | "joinComplete"
  | "agent"
  | "asr"
  | "firstFrame"
  | "prepareIdle"
  | "whepTry"
  | "whepTries"
  | "whepBackoff"
  | "whepRelease"
  | "recover"
  | "healthTick"
  | "videoStall"
  | "coldAttempts"
  | "coldBackoff"

const capabilityNames = [
  "use_knowledge_base",
  "use_content_search",
  "use_get_entry_content",
  "generate_followup_questions",
  "include_sources",
  "use_related_files",
  "video_gallery",
  "external_video",
  "show_link",
  "avatar",
  "avatar_filler",
  "avatar_show_content",
  "kaltura_genie_experiences",
  "use_web_search",
  "screen_share_analysis",
  "think_process",
] as const

/** Names of what an agent can be allowed to do. */
export type CapabilityName = (typeof capabilityNames)[number]

/** What other clients inject and this runtime has itself. */
const unneeded = [
  "socketFactory",
  "rtcConstructor",
  "rtcRtpReceiverConstructor",
  "mediaStreamConstructor",
  "fetch",
  "getUserMedia",
  "getAudioContext",
  "now",
]

/** The options in the one form that cmd/wasm takes. */
export type PlainOptions = Record<string, unknown> & { token: string; stickyId: string; partnerId?: string; threadId?: string; kickoff?: Kickoff | undefined }

/**
 * Checks options as the Go side does, which may not be there yet, and brings them
 * into one form. cmd/wasm/testdata/options.json holds both to the same answers.
 */
export function plainOptions(options: AvatarOptions): PlainOptions {
  if (typeof options !== "object" || options === null) throw bad("the options must be an object")
  const given: Record<string, unknown> = Object.fromEntries(Object.entries(options).filter(([, value]) => value != null))
  const insecure = given["allowInsecureTransport"] === true
  oneOf("region", given["region"], ["nvp1", "frp2"])
  oneOf("micStartMode", given["micStartMode"], ["immediate", "deferred"])
  oneOf("iceTransportPolicy", given["iceTransportPolicy"], ["relay", "all"])
  for (const name of ["conversationManagerUrl", "genieUrl", "srsBaseUrl"]) {
    if (given[name] instanceof URL) given[name] = given[name].href
    if (name in given && !(name === "srsBaseUrl" && given[name] === "")) checkAddress(name, given[name], insecure)
  }
  for (const name of ["videoEl", "audioEl"]) checkElement(name, given[name])
  for (const name of ["onBeforeSend", "onAgentAction", "onAuditEvent", "noiseProcessor", "logger"]) {
    if (name in given && typeof given[name] !== "function") throw bad(`${name} must be a function`)
  }
  if ("requestVars" in given) checkVars(given["requestVars"])
  if ("capabilities" in given) checkCapabilities(given["capabilities"])
  const { turnServerUrl, partnerId, kickoff, iceServers, agentActions, stickyId } = options
  return {
    ...given,
    token: tokenOf(options.token ?? options.ks),
    stickyId: stickyId ?? randomID(),
    ...(partnerId != null && { partnerId: String(partnerId) }),
    ...(turnServerUrl != null && { turnServerUrl: String(turnServerUrl) }),
    ...(kickoff != null && { kickoff: kickoffOf(kickoff) }),
    ...(iceServers != null && { iceServers: iceServers.map((server) => ({ ...server, urls: [server.urls].flat() })) }),
    ...(agentActions != null && { agentActions: policyOf(agentActions) }),
  }
}

/** Has the functions among the options called through remote, and the rest left out. */
export function lendFunctions(options: PlainOptions, remote: Remote): PlainOptions {
  const lent = Object.entries(options).filter(([name, value]) => typeof value === "function" && !unneeded.includes(name))
  return { ...options, ...Object.fromEntries(lent.map(([name, fn]) => [name, remote.lend(fn as PageFunction).call])) }
}

/** Says once that options are of no use here. */
export function logUnneeded(options: AvatarOptions): void {
  const names = unneeded.filter((name) => name in options)
  if (names.length === 0) return
  const message = `not needed and ignored: ${names.join(", ")}`
  if (options.logger) options.logger("info", message)
  else console.info("agentruntime:", message)
}

/** The text of a token. */
export function tokenOf(token: unknown): string {
  const text = typeof token === "object" && token !== null ? (token as { ks?: unknown }).ks : token
  if (typeof text !== "string" || text === "") throw bad("token is required: a string, or an object with ks")
  return text
}

/** Throws `bad_request` for what can't play media. */
export function checkElement(name: string, element: unknown): void {
  if (element == null) return
  const like = element as { srcObject?: unknown; play?: unknown }
  if (typeof element === "object" && like.srcObject !== undefined && typeof like.play === "function") return
  throw bad(`${name} must be a media element: it needs srcObject and play()`)
}

// The service sets these on every turn.
const reserved = new Set([
  "sys__thread_id",
  "sys__message_id",
  "sys__user_id",
  "sys__user_message",
  "sys__ks",
  "sys__is_new_thread",
  "sys__context_id",
  "sys__context_type",
  "sys__avatar_enabled",
  "sys__avatar_share_screen_enabled",
  "secrets",
  "sys__user_obj",
])

/** Throws `validation_error` for what can't be prompt variables. */
export function checkVars(vars: unknown): void {
  if (typeof vars !== "object" || vars === null || Array.isArray(vars)) throw localError("validation_error", "requestVars must be an object")
  for (const [name, value] of Object.entries(vars)) {
    if (reserved.has(name) || /^(sys__user_obj|secrets)\./.test(name)) throw localError("validation_error", `the variable ${name} is reserved`)
    if (value != null && !["string", "number", "boolean"].includes(typeof value)) {
      throw localError("validation_error", `the variable ${name} is no string, number, boolean or null`)
    }
  }
}

function checkCapabilities(capabilities: unknown): void {
  if (typeof capabilities !== "object" || Array.isArray(capabilities)) throw bad("capabilities must be an object")
  for (const [name, state] of Object.entries(capabilities as object)) {
    if (!(capabilityNames as readonly string[]).includes(name)) throw localError("unknown_capability", `there is no capability ${name}`)
    oneOf(`the capability ${name}`, state, ["on", "off", "disabled"])
  }
}

function checkAddress(name: string, address: unknown, allowInsecure: boolean): void {
  let url: URL
  try {
    url = new URL(address as string)
  } catch {
    throw bad(`${name} is not a URL`)
  }
  const schemes = name === "conversationManagerUrl" ? ["https:", "http:", "wss:", "ws:"] : ["https:", "http:"]
  if (!schemes.includes(url.protocol)) throw bad(`${name} must begin with one of ${schemes.join(", ")}`)
  if (url.username || url.password) throw bad(`${name} must not have a user or password in it`)
  if (/[?#]/.test(String(address))) throw bad(`${name} must not have a query or fragment: paths are appended to it`)
  if (/^(http|ws):$/.test(url.protocol) && !allowInsecure && !isPrivate(url.hostname)) {
    throw localError("insecure_transport", `${name} uses ${url.protocol} to a public host`)
  }
}

/** Whether a host, as URL spells it, is one that the public network can't reach. */
function isPrivate(host: string): boolean {
  return (
    /^(.*\.)?localhost\.?$/.test(host) ||
    /^(127|10)\.\d+\.\d+\.\d+$|^192\.168\.|^172\.(1[6-9]|2\d|3[01])\.|^169\.254\.|^0\.0\.0\.0$/.test(host) ||
    /^\[(::1?|f[cd].*|fe[89ab].*)\]$/.test(host)
  )
}

function kickoffOf(kickoff: unknown): Kickoff | undefined {
  const { text, echo = false } = (typeof kickoff === "string" ? { text: kickoff } : kickoff) as Partial<Kickoff>
  if (typeof text !== "string" || typeof echo !== "boolean") throw bad("kickoff must be a string or {text, echo}")
  return text.trim() === "" ? undefined : { text, echo, sent: false }
}

function policyOf(actions: NonNullable<AvatarSettings["agentActions"]>): Record<string, unknown> {
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

function oneOf(name: string, value: unknown, values: readonly string[]): void {
  if (value !== undefined && !values.includes(value as string)) throw bad(`${name} must be one of ${values.join(", ")}`)
}

function bad(detail: string): Error {
  return localError("bad_request", detail)
}

// They tell sessions apart and open nothing.
function randomID(): string {
  return Array.from({ length: 16 }, () => Math.floor(Math.random() * 36).toString(36)).join("")
}
