import {
  bad,
  checkFunctions,
  checkKinds,
  givenOf,
  isArray,
  oneOf,
  plainAddresses,
  plainSession,
  type Capabilities,
  type PlainOptions,
  type SessionSettings,
  type TurnCredentials,
  type WithToken,
} from "./options.js"

/** Options of `AvatarSession`: a token, and whatever should differ from the defaults. */
export type AvatarOptions = WithToken<AvatarSettings>

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

/** What an `AvatarSession` can be told (session-api A.1.1). */
export interface AvatarSettings extends SessionSettings {
  /** Host of the control socket, from `appInit`. */
  conversationManagerUrl?: string | URL | undefined
  /** The media host, from `appInit`. */
  srsBaseUrl?: string | URL | undefined
  /** The relay, from `appInit`: a host, or a full `turn:` address that is used as given. */
  turnServerUrl?: string | undefined
  turnCredentials?: TurnCredentials | undefined
  /** Used in place of what `turnServerUrl` gives. */
  iceServers?: RTCIceServer[] | undefined
  /** Default `"relay"`; `"all"` in Firefox. */
  iceTransportPolicy?: RTCIceTransportPolicy | undefined
  /** Allow media at private addresses, for a local service. Default false. */
  allowPrivateHosts?: boolean | undefined
  /** Keeps a session on one server over a page reload: 16 characters of a-z and 0-9. Default random. */
  stickyId?: string | undefined

  /** The media item that the session is about. */
  entryId?: string | undefined
  /** Scope of the session. */
  contextId?: string | undefined
  contextType?: string | undefined
  /** Merged over avatar and generate_followup_questions on. */
  capabilities?: Capabilities | undefined
  /** The notice of the `disclosure` event. */
  disclosureText?: string | undefined
  /** Hold the start until `acknowledgeDisclosure()`. Default false. */
  requireDisclosureAck?: boolean | undefined

  /** Shows the picture, and plays the voice unless `audioEl` is set. */
  videoEl?: HTMLMediaElement | null | undefined
  /** Plays the voice. */
  audioEl?: HTMLMediaElement | null | undefined
  /** `"immediate"` (default) asks for the microphone beside connecting, `"deferred"` with `startMic()`. */
  micStartMode?: "immediate" | "deferred" | undefined
  /** Merged over echo cancellation, noise suppression and automatic gain; false is none of them. */
  micConstraints?: MediaTrackConstraints | false | undefined
  /** Own audio processing; something falsy uses the microphone's stream as it is. */
  noiseProcessor?: ((stream: MediaStream) => Promised<MediaStream | { stream: MediaStream; stop(): void } | null | undefined | false>) | undefined
  /** Level at which `localSpeakingChanged` turns true, 0 to 4080. Default 300. */
  localVadThreshold?: number | undefined
  /** Caps the microphone's sender, in kbit/s. */
  maxAsrBitrateKbps?: number | undefined
  /** The only codec to offer, such as `"VP8"`. */
  preferredVideoCodec?: string | undefined
  /** Default: what the browser says itself. */
  isFirefox?: boolean | undefined

  /** Changes a typed text (string) or blocks it (false, or a throw). */
  onBeforeSend?: ((text: string, about: SendInfo) => Promised<string | false | void>) | undefined
  /** Vetoes what the agent starts with false or a throw. */
  onAgentAction?: ((action: AgentAction) => Promised<boolean | void>) | undefined
  /** Asked before `onAgentAction`; a list of tools allows these alone. */
  agentActions?: {
    navigate?: "off" | boolean | undefined
    genui?: "off" | boolean | undefined
    structuredDataForm?: "off" | boolean | undefined
    toolCall?: "off" | boolean | string[] | undefined
  } | undefined
  /** Typed turns in any 60 s. Default 0: any number. */
  maxTurnsPerMinute?: number | undefined
  /** Ends the session when nothing happens for that long, in ms. Default 900000 (15 min); 0 is never. */
  idleTimeoutMs?: number | undefined

  /** Default 5. */
  maxReconnectAttempts?: number | undefined
  /** Wait before the first try to reconnect, in ms. Default 250. */
  reconnectionDelay?: number | undefined
  /** The longest wait, in ms. Default 2000. */
  reconnectionDelayMax?: number | undefined
  /** Time without a connection before giving up. Default 22000. */
  reconnectWindowMs?: number | undefined
  /** Single time limits, in ms. */
  timeouts?: Partial<Record<TimeoutName, number | undefined>> | undefined
  /** React to the browser's online and offline. Default true. */
  networkAware?: boolean | undefined
  /** Period of `connectionQuality`, in ms. Default 0: off. */
  statsIntervalMs?: number | undefined
  /** Mirror typed texts to the service's debug event. */
  debug?: boolean | undefined

  /** Tool calls with nothing to hear or see before a rebuild. Default three times the other; 0 is off. */
  hardToolSpiralLimit?: number | undefined
  /** Ask the lost question again after it. Default true. */
  recoverFromSpiral?: boolean | undefined
  /** Tell it although the service ended the conversation. Default false. */
  completeOnServerEnd?: boolean | undefined
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

/** Checks the options of an `AvatarSession` and brings them into the form that cmd/wasm takes. */
export function plainAvatar(options: unknown): PlainOptions {
  const given = givenOf(options)
  oneOf("micStartMode", given["micStartMode"], ["immediate", "deferred"])
  oneOf("iceTransportPolicy", given["iceTransportPolicy"], ["relay", "all"])
  for (const name of ["videoEl", "audioEl"]) checkElement(name, given[name])
  checkFunctions(given, ["onBeforeSend", "onAgentAction", "noiseProcessor"])
  const { turnServerUrl, iceServers, agentActions, timeouts, turnCredentials, stickyId = randomID() } = given as AvatarSettings
  checkLimits(timeouts)
  if (iceServers !== undefined && !isArray("iceServers", iceServers)) throw bad("iceServers must be an array")
  for (const [name, value] of Object.entries({ agentActions, turnCredentials })) {
    if (value !== undefined && typeof value !== "object") throw bad(`${name} must be an object`)
  }
  return {
    ...plainSession(given),
    ...plainAddresses(given, ["conversationManagerUrl", "srsBaseUrl"]),
    stickyId,
    ...(turnServerUrl !== undefined && { turnServerUrl: String(turnServerUrl) }),
    ...(iceServers && { iceServers: iceServers.map((server) => ({ ...server, urls: [server.urls].flat() })) }),
    ...(agentActions && { agentActions: policyOf(agentActions) }),
  }
}

/** Throws `bad_request` for what are no time limits. */
function checkLimits(timeouts: unknown): void {
  if (timeouts === undefined) return
  if (typeof timeouts !== "object") throw bad("timeouts must be an object")
  const limits = givenOf(timeouts)
  for (const name of Object.keys(limits)) checkKinds(limits, [name], name === "whepTries" || name === "coldAttempts" ? "count" : "amount")
}

/** Throws `bad_request` for what can't play media. */
export function checkElement(name: string, element: unknown): void {
  if (element == null) return
  const like = element as { srcObject?: unknown; play?: unknown }
  if (typeof element === "object" && like.srcObject !== undefined && typeof like.play === "function") return
  throw bad(`${name} must be a media element: it needs srcObject and play()`)
}

function policyOf(actions: NonNullable<AvatarSettings["agentActions"]>): PlainOptions {
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

// They tell sessions apart and open nothing.
function randomID(): string {
  return Array.from({ length: 16 }, () => Math.floor(Math.random() * 36).toString(36)).join("")
}
