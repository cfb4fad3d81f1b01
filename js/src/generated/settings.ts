// Generated from the options of each session by "go generate ./runtime/event"; don't edit.

import type { AgentMode, Kickoff, ToolCall } from "./events.js"
import type { Capabilities, Injected, OwnToken, RequestVars, TraceSource } from "../core/inputs.js"
import type { TokenKind } from "./names.js"

export { capabilityNames, type TokenKind } from "./names.js"

/** How an option is checked: by its kind, which may have a largest value, or by the values that it can have. */
export type Check =
  | "string"
  | "id"
  | "boolean"
  | "number"
  | "count"
  | "integer"
  | "array"
  | "object"
  | "function"
  | "element"
  | "limits"
  | "trace"
  | "address"
  | "address,empty"
  | "socket"
  | { readonly is: "number" | "count"; readonly max: number }
  | readonly string[]

type Promised<T> = T | Promise<T>

/** A short-lived login to the TURN relay. */
export interface TurnCredentials {
  username: string
  credential: string
  /** In seconds since 1970, 0 if unknown. It may have a fraction. */
  expiry?: number | undefined
}

/** When the end of a conversation is reported to the service. */
export interface CompletionSettings {
  /** Reports the end of the conversation to the service. Default `true`. */
  sessionCompleteOnEnd?: boolean | undefined
  /** The path of the request that reports the end. Default `"/thread/session_completed"`. */
  sessionCompletePath?: string | undefined
  /**
   * Bounds that request, except one that is sent because the page is hidden or unloaded.
   * Default 5000 ms.
   */
  sessionCompleteTimeoutMs?: number | undefined
  /** Reacts when the page is hidden, shown or unloaded. Default `true`. */
  pageLifecycleAware?: boolean | undefined
  /**
   * How long a page may be hidden, without activity, before the conversation counts as ended;
   * with 0 it ends at once. Default 30000 ms.
   */
  hiddenGraceMs?: number | undefined
  /** Reports the end when `hiddenGraceMs` is over. Default `true`. */
  completeOnHiddenGrace?: boolean | undefined
  /** Reports the end when the page enters the back-forward cache. Default `true`. */
  completeOnBfcache?: boolean | undefined
  /** Suppresses the report while another tab has the thread. Default `true`. */
  crossTabPresence?: boolean | undefined
  /** The prefix of the name of the channel between tabs. Default `"kaltura-agents:thread"`. */
  presenceChannelPrefix?: string | undefined
  /** The interval at which a tab announces its thread to the others. Default 4000 ms. */
  presenceHeartbeatMs?: number | undefined
  /** How long after its last message another tab still counts. Default 12000 ms. */
  presenceStaleMs?: number | undefined
}

/** The options that sessions of every kind have. */
export interface SessionSettings extends CompletionSettings, Injected {
  /** The kind of the token, from `appInit`. An admin token is refused with `wrong_token_scope`. */
  kind?: TokenKind | undefined
  /**
   * Returns a new conversation token within 10 s. It is called when the service refuses the
   * present token and, with `tokenLifeMs`, before that expires. Without it a refused token
   * fails with `unauthorized`.
   */
  onTokenNeeded?: (() => Promised<string>) | undefined
  /**
   * How long each token is valid after the session got it; 0 means unknown. `onTokenNeeded` is
   * called when a fifth of that time is left. In ms.
   */
  tokenLifeMs?: number | undefined
  /** Picks the default of `genieUrl`: nvp1 (US, the default) or frp2 (EU). */
  region?: Region | undefined
  /** The brain's host, from `appInit`. */
  genieUrl?: string | URL | undefined
  /** Allows http: and ws: to public hosts. For tests only. Default `false`. */
  allowInsecureTransport?: boolean | undefined
  /** The account's id. Default: read from the token. */
  partnerId?: string | number | undefined
  /** An opaque id of the visitor for audit events; nothing personal. */
  subjectId?: string | undefined
  /** Continues a stored dialogue. */
  threadId?: string | undefined
  /**
   * What the agent may do. With an avatar they override the defaults avatar and
   * generate_followup_questions, both on; in text every turn sends them as given.
   */
  capabilities?: Capabilities | undefined
  /** The variables of the prompt: strings, numbers, booleans and null. */
  requestVars?: RequestVars | undefined
  /**
   * The first user turn, which the session sends by itself, once. With `echo` it is shown as a
   * transcript.
   */
  kickoff?: string | (Pick<Kickoff, "text"> & Partial<Pick<Kickoff, "echo">>) | null | undefined
  /** The interval of `brainStalled`; 0 turns it off. Default 12000 ms. */
  brainStallMs?: number | undefined
  /**
   * The number of tool calls in a turn that causes `toolSpiralDetected`; 0 turns it off.
   * Default `10`.
   */
  toolSpiralLimit?: number | undefined
  /** The W3C trace context of requests with a token; a function must not wait. */
  traceContext?: TraceSource | undefined
  /** Receives redacted security events. */
  onAuditEvent?: ((event: AuditEvent) => void) | undefined
  /** Receives diagnostics; nothing in them is secret. Natively LogTo makes it of a *slog.Logger. */
  logger?: ((level: string, message: string, data?: Record<string, unknown>) => void) | undefined
}

/** The time limits of a live session, each of which can be replaced. */
export interface Timeouts {
  /**
   * Bounds a whole connect, a cold rebuild, or the rebuild after an expired pause. Its deadline
   * is fixed once, when the handshake starts. Default 30000 ms.
   */
  overall?: number | undefined
  /** Bounds the time from opening the socket to the event onServerConnected. Default 10000 ms. */
  serverConnect?: number | undefined
  /** Bounds the time from the event join to clientConfiguration. Default 5000 ms. */
  joinRoom?: number | undefined
  /** Bounds the time from the event join to joinComplete. Default 20000 ms. */
  joinComplete?: number | undefined
  /** Bounds the wait for each of the events showAgent and askPermissions. Default 10000 ms. */
  agent?: number | undefined
  /**
   * Bounds the wait for each of the events asr-webrtc-ready and asr-webrtc-answer, also for the
   * latter after an ICE restart, and the answer to an offer of the voice in audio mode. Default
   * 30000 ms.
   */
  asr?: number | undefined
  /** Bounds the time from the media answer to the first painted frame. Default 6000 ms. */
  firstFrame?: number | undefined
  /** The life of a prepared socket that is not used. Default 60000 ms. */
  prepareIdle?: number | undefined
  /** Bounds one WHEP POST with its body. Default 5000 ms. */
  whepTry?: number | undefined
  /** The number of WHEP POSTs before a subscription fails. Default `3`. */
  whepTries?: number | undefined
  /** The average wait between them. Default 1000 ms. */
  whepBackoff?: number | undefined
  /** Bounds one WHEP DELETE. Default 3000 ms. */
  whepRelease?: number | undefined
  /**
   * Bounds one recovery of the avatar's peer, and the wait for the confirmation of a resume
   * that the service has announced. Default 15000 ms.
   */
  recover?: number | undefined
  /**
   * Bounds the time without a picture despite repairs and a rebuild; the session then ends with
   * media_recover_failed. Default 120000 ms.
   */
  mediaLost?: number | undefined
  /** The interval between checks of the peers. Default 1000 ms. */
  healthTick?: number | undefined
  /** How long no new video bytes may arrive before the picture is repaired. Default 4000 ms. */
  videoStall?: number | undefined
  /** The number of full rebuilds before the session gives up. Default `2`. */
  coldAttempts?: number | undefined
  /** The average wait between full rebuilds. Default 500 ms. */
  coldBackoff?: number | undefined
}

/** What the agent may start by itself; what is not set is allowed. */
export interface AgentActions {
  navigate?: "off" | boolean | undefined
  genui?: "off" | boolean | undefined
  structuredDataForm?: "off" | boolean | undefined
  /** Allows tool calls; a list names the only tools that are allowed. */
  toolCall?: "off" | boolean | string[] | undefined
}

/** The options of a live session. */
export interface AvatarSettings extends SessionSettings {
  /**
   * The host of the control socket, from `appInit`. Its default is the same in every region.
   * Default `"https://conversation.avatar.us.kaltura.ai"`.
   */
  conversationManagerUrl?: string | URL | undefined
  /** The media host, from `appInit`. */
  srsBaseUrl?: string | URL | undefined
  /**
   * The relay, from `appInit`: a host, which is tried over UDP, TCP and TLS, or an address with
   * a port or a transport, which is used unchanged.
   */
  turnServerUrl?: string | undefined
  /** The login to the relay. */
  turnCredentials?: TurnCredentials | undefined
  /**
   * Returns a new login to the relay within 5 s. It is called before the session is rebuilt, or
   * is resumed after an expired pause, because the login may have expired, and before a connect
   * or a repair of the picture if it has expired.
   */
  onRelayNeeded?: (() => Promised<TurnCredentials | null | undefined>) | undefined
  /** Used in place of `turnServerUrl` and `turnCredentials`. */
  iceServers?: RTCIceServer[] | undefined
  /** The policy for the avatar's media. Default: relay; all in Firefox or without ICE servers. */
  iceTransportPolicy?: "relay" | "all" | undefined
  /** The only codec to offer, such as VP8. */
  preferredVideoCodec?: string | undefined
  /**
   * The only codec to offer for the voice, such as opus, G722 or PCMU. One that is not
   * supported is ignored, with a warning in the log.
   */
  preferredAudioCodec?: string | undefined
  /** Applies Firefox's rules. Default: from the user agent. */
  isFirefox?: boolean | undefined
  /** Allows media at private addresses, for development against a local service. Default `false`. */
  allowPrivateHosts?: boolean | undefined
  /**
   * Keeps a session on one server over a page reload: 16 characters of a-z and 0-9. Default
   * random.
   */
  stickyId?: string | undefined
  /** The media item that the session is about. */
  entryId?: string | undefined
  /** The scope of the session (sys__context_id). */
  contextId?: string | undefined
  /** The kind of that scope (sys__context_type). */
  contextType?: string | undefined
  /** The notice of the `disclosure` event. Default `"You are talking to an AI avatar."`. */
  disclosureText?: string | undefined
  /**
   * Delays the start of the conversation until `acknowledgeDisclosure()` is called. Default
   * `false`.
   */
  requireDisclosureAck?: boolean | undefined
  /** The element that shows the picture, and plays the voice unless `audioEl` is set. */
  videoEl?: HTMLMediaElement | null | undefined
  /** The element that plays the voice. */
  audioEl?: HTMLMediaElement | null | undefined
  /**
   * Merged over the default constraints, which request echo cancellation, noise suppression and
   * automatic gain control; with false none of these is requested.
   */
  micConstraints?: MediaTrackConstraints | false | undefined
  /**
   * The page's own audio processing. It gets the microphone's stream and returns the stream to
   * send; a falsy result leaves the microphone's stream as it is.
   */
  noiseProcessor?: ((stream: MediaStream) => Promised<MediaStream | { stream: MediaStream; stop(): void } | null | undefined | false>) | undefined
  /**
   * When the microphone is requested: immediate, while connecting, or deferred, by
   * `startMic()`. Default `"immediate"`.
   */
  micStartMode?: "immediate" | "deferred" | undefined
  /** The level at which `localSpeakingChanged` turns true. At most 4080. Default `300`. */
  localVadThreshold?: number | undefined
  /** Limits the bitrate of the microphone, in kbit/s; 0 means no limit. */
  maxAsrBitrateKbps?: number | undefined
  /**
   * May change a typed text, or block it with an error (in a page by returning false or by
   * throwing). A blocked text is refused with `guardrail_blocked`. There is no time limit, so
   * that it can ask the visitor: the text waits until then, or until its call is aborted.
   */
  onBeforeSend?: ((text: string, about: SendInfo) => Promised<string | false | void>) | undefined
  /**
   * May refuse an action of the agent with an error (in a page by returning false or by
   * throwing). There is no time limit, so that it can ask the visitor: the rest of the answer
   * waits until then.
   */
  onAgentAction?: ((action: AgentAction) => Promised<boolean | void>) | undefined
  /** The policy that is applied before `onAgentAction` is called. */
  agentActions?: AgentActions | undefined
  /** Bounds the typed turns in any 60 s; 0 means no limit. */
  maxTurnsPerMinute?: number | undefined
  /** Ends the session when nothing happens for that long; 0 means never. Default 900000 ms. */
  idleTimeoutMs?: number | undefined
  /**
   * Bounds the attempts to reconnect the socket. With 0 the session ends when its socket is
   * lost. With a negative number, the default, only `reconnectWindowMs` bounds them, and events
   * report how many it has time for. Default `-1`.
   */
  maxReconnectAttempts?: number | undefined
  /** The average wait before the first attempt to reconnect. Default 250 ms. */
  reconnectionDelay?: number | undefined
  /** The longest wait between attempts. Default 2000 ms. */
  reconnectionDelayMax?: number | undefined
  /** Bounds the time without a connection. Default 22000 ms. */
  reconnectWindowMs?: number | undefined
  /** The time limits to replace. */
  timeouts?: Timeouts | undefined
  /** Reacts to the browser's events online and offline. Default `true`. */
  networkAware?: boolean | undefined
  /** The interval of `connectionQuality`; 0 turns it off. In ms. */
  statsIntervalMs?: number | undefined
  /** Also sends typed texts to the service as debug events. Default `false`. */
  debug?: boolean | undefined
  /**
   * The number of tool calls in a row, with nothing to hear or see in between, that causes a
   * rebuild. Default three times `toolSpiralLimit`; 0 turns it off.
   */
  hardToolSpiralLimit?: number | undefined
  /**
   * Sends the unanswered question again after a rebuild that `hardToolSpiralLimit` caused.
   * Default `true`.
   */
  recoverFromSpiral?: boolean | undefined
  /**
   * Reports the end to the service even if the service itself ended the conversation. Default
   * `false`.
   */
  completeOnServerEnd?: boolean | undefined
}

/** The options of a chat session. */
export interface ChatSettings extends SessionSettings {
  /**
   * Selects how an error segment in a successful reply is handled: throw fails the turn, warn
   * emits a warning and keeps the turn's text. Default `"throw"`.
   */
  onErrorSegment?: "throw" | "warn" | undefined
  /**
   * Called for every HTTP reply to a turn, in order with the events and before the events of
   * its segments.
   */
  onResponse?: ((response: ResponseInfo) => void) | undefined
}

/**
 * The options of an agent session. The options at the top level apply to both transports; those
 * in avatar and chat override them for one transport.
 */
export interface AgentSettings extends SessionSettings, Pick<ChatSettings, "kind">, Pick<AvatarSettings, "conversationManagerUrl" | "srsBaseUrl" | "turnServerUrl" | "turnCredentials"> {
  /** The transport that the session starts with. Default `"avatar"`. */
  mode?: AgentMode | undefined
  /** The options that only the avatar uses. */
  avatar?: AvatarSettings & OwnToken | undefined
  /** The options that only turns in text use. */
  chat?: ChatSettings & OwnToken | undefined
}

/** Selects the region and the addresses of the services. */
export interface AppInitAddresses {
  /** Picks the default addresses: nvp1 (US, the default) or frp2 (EU). */
  region?: Region | undefined
  /** The address of the agent service. */
  agenticUrl?: string | URL | undefined
  /** The address of the conversation service. */
  genieUrl?: string | URL | undefined
  /** The address of the session service, which exchanges a widget id for a token. */
  ovpUrl?: string | URL | undefined
  /** Turns the refusal of http to a public host into a warning. For tests only. Default `false`. */
  allowInsecureTransport?: boolean | undefined
}

/** The settings of calls without a session. */
export interface VisitorSettings {
  /**
   * The kind of the token, from `appInit`. Without it the service decides which calls are
   * allowed. Without a request, calls about threads and messages fail with `wrong_token_scope`
   * for a widget token, and turns for an admin token.
   */
  kind?: TokenKind | undefined
  /** Picks the default of `genieUrl`: nvp1 (US, the default) or frp2 (EU). */
  region?: Region | undefined
  /** The address of the conversation service, from `appInit`. */
  genieUrl?: string | URL | undefined
  /** Turns the refusal of http to a public host into a warning. For tests only. Default `false`. */
  allowInsecureTransport?: boolean | undefined
  /** Called for every HTTP reply, also for attempts that are retried, before its body is read. */
  onResponse?: ((response: ResponseInfo) => void) | undefined
}

/** Selects a page of a list. */
export interface Pager {
  /** The number of the page, from 1, which is the default. */
  pageIndex?: number | undefined
  /** 1 to 500. Default 30 threads, 50 messages. */
  pageSize?: number | undefined
}

/** Selects threads. */
export interface ThreadQuery {
  filter?: ThreadFilter | undefined
  pager?: Pager | undefined
}

/** Selects messages. */
export interface MessageQuery {
  /** Selects the messages of one thread. It overrides the filter's threadIdEquals. */
  threadId?: string | undefined
  filter?: MessageFilter | undefined
  pager?: Pager | undefined
}

/** The options of a single turn. */
export interface TurnSettings {
  /** The preferred form of the answer; the service may choose another. */
  forceExperience?: "markdown" | "summarization" | "flashcards" | "avatar_only" | undefined
  /** The model. Default: the service chooses. */
  modelType?: "fast" | undefined
}

/** The settings of a turn without a session. */
export interface ConverseSettings extends VisitorSettings, TurnSettings {
  /** The user's text. */
  userMessage: string
  /** The stored dialogue to continue. Default: a new one. */
  threadId?: string | undefined
  /**
   * Requests server-sent events instead of lines of JSON; the segments are the same. Default
   * `false`.
   */
  sse?: boolean | undefined
  /** The prompt variables of this turn. */
  requestVars?: RequestVars | undefined
  /** Overrides for this turn. */
  capabilities?: Capabilities | undefined
}

/** AuditActor is the origin of an audit event. */
export interface AuditActor {
  partnerId: string
  subjectId: string
  kind: "user" | "agent"
  /** `entitlementEnforced` is a privilege of the token, which only the service can read. */
  entitlementEnforced: boolean | null
}

/** AuditEvent is a redacted security event. Fields that a session can't know are null. */
export interface AuditEvent {
  /** RFC 3339, in UTC */
  ts: string
  type: string
  severity: "info" | "warning"
  outcome: string
  /** `requestId` is the event's own id. */
  requestId: string
  actor: AuditActor
  /** `target` is the thread's id, empty before there is one. */
  target: string
  /** `action` is `type` without its area, e.g. connect for session.connect. */
  action: string
  scope: "session"
  /** "" without one */
  reason: string
  source: "runtime"
  /** `expiresAt` is the end of the token's life, which only the service knows. */
  expiresAt: string | null
  _meta: Record<string, unknown>
}

/** ResponseInfo describes a reply for an application's OnResponse. */
export interface ResponseInfo {
  method: string
  /** `path` is the path of the request, without the query. */
  path: string
  status: number
  /** `ok` means that the status is a 2xx. The body may contain an error nevertheless. */
  ok: boolean
  /** `attempt` counts the requests of one call, from 1. */
  attempt: number
  /** `requestId` is the service's trace id, empty if it sent none. */
  requestId?: string
  /** `headers` are the reply's headers, with lower-case names. */
  headers: Record<string, string>
}

/** SendInfo describes the text that `onBeforeSend` is called with. */
export interface SendInfo {
  kind: "speak" | "spiralRecovery"
  threadId?: string
}

/**
 * AgentAction is something the agent starts by itself: a tool call, a widget, a navigation or a
 * form.
 */
export interface AgentAction {
  type: "toolCall" | "genui" | "navigate" | "structuredDataForm"
  /** of a toolCall */
  toolName?: string
  runtime?: string
  runtimeName?: string
  widgetName?: string
  /** `payload` is the arguments of a toolCall, else the content of the segment. */
  payload?: unknown
  /** of a toolCall */
  call?: ToolCall
  source: "agent"
}

/** AvatarPreview is what a page can show until the avatar's picture arrives. */
export interface AvatarPreview {
  id: string
  previewImageUrl: string
  loadingVideoUrl: string
}

/**
 * AppInitResult is what a session needs to connect, and the conversation host, which the reply
 * of the service does not have. In a page it can be spread into the options of a session. Flags
 * that may change are left out.
 */
export interface AppInitResult {
  /** `partnerId` is the account's id. */
  partnerId: string
  /** `ks` is the conversation token. */
  ks: string
  /**
   * `kind` is "widget" when the token was requested with the widget id: such a token has no
   * threads. It is absent when the given token was used.
   */
  kind?: "widget"
  /** `conversationManagerUrl` is the origin of the control socket. */
  conversationManagerUrl: string
  /** `srsBaseUrl` is the base address of the media service. */
  srsBaseUrl: string
  /** `turnServerUrl` is the host of the TURN relay, or its full address. */
  turnServerUrl: string
  turnCredentials?: TurnCredentials
  avatars: AvatarPreview[]
  /** `widgetConfig` has display settings, as the service sent them. */
  widgetConfig?: unknown
  embedConfig?: unknown
  /** `genieUrl` is the address of the conversation service: the one given, or the region's. */
  genieUrl: string
}

/** TranscriptTurn is one line of a transcript. */
export interface TranscriptTurn {
  /** `role` is human, ai or opening; empty for text in front of the first role. */
  role: string
  text: string
}

/** A Transcript is a thread as plain text. */
export interface ThreadTranscript {
  /** `text` has one turn per line: its role, a colon and its text. */
  text: string
  /** `turns` are the lines of `text`. */
  turns: TranscriptTurn[]
}

/** The names of the limits in `timeouts`. */
export type TimeoutName = keyof Timeouts

export const regions = ["nvp1", "frp2"] as const

/** The service's regions. */
export type Region = (typeof regions)[number]

/** A time in a filter: RFC 3339 text, or seconds since 1970. */
export type FilterTime = string | number | Date

/** The order of a list. */
export type Order = "+createdAt" | "-createdAt" | "+updatedAt" | "-updatedAt"

/** Selects the threads that meet all conditions. Unknown keys reject with `validation_error`. */
export interface ThreadFilter {
  agentIdEquals?: string | undefined
  contextIdEqual?: string | undefined
  createdAtGreaterThanOrEqual?: FilterTime | undefined
  createdAtLessThanOrEqual?: FilterTime | undefined
  idEquals?: string | undefined
  idsIn?: string[] | undefined
  isEverywhere?: boolean | undefined
  orderBy?: Order | undefined
  partnerIdEquals?: string | number | undefined
  statusEquals?: string | undefined
  statusIn?: string[] | undefined
  updatedAtGreaterThanOrEqual?: FilterTime | undefined
  updatedAtLessThanOrEqual?: FilterTime | undefined
  userIdEquals?: string | undefined
}

/** Selects the messages that meet all conditions. Unknown keys reject with `validation_error`. */
export interface MessageFilter {
  createdAtGreaterThanOrEqual?: FilterTime | undefined
  createdAtLessThanOrEqual?: FilterTime | undefined
  genieIdEquals?: string | number | undefined
  idEquals?: string | undefined
  idsIn?: string[] | undefined
  isPositiveEquals?: boolean | undefined
  isPositiveIn?: boolean[] | undefined
  orderBy?: Order | undefined
  threadIdEquals?: string | undefined
  updatedAtGreaterThanOrEqual?: FilterTime | undefined
  updatedAtLessThanOrEqual?: FilterTime | undefined
  userIdEquals?: string | undefined
}

/** The variables that the service sets on every turn. */
export const reservedVars = [
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
] as const

/** The types of a tool's arguments. */
export const argTypes = [
  "str",
  "int",
  "float",
  "bool",
  "list",
  "dict",
] as const

export const completionChecks: Readonly<Record<string, Check>> = {
  sessionCompleteOnEnd: "boolean",
  sessionCompletePath: "string",
  sessionCompleteTimeoutMs: "number",
  pageLifecycleAware: "boolean",
  hiddenGraceMs: "number",
  completeOnHiddenGrace: "boolean",
  completeOnBfcache: "boolean",
  crossTabPresence: "boolean",
  presenceChannelPrefix: "string",
  presenceHeartbeatMs: "number",
  presenceStaleMs: "number",
}

export const sessionChecks: Readonly<Record<string, Check>> = {
  kind: ["widget", "conversation", "agent", "admin"],
  onTokenNeeded: "function",
  tokenLifeMs: "number",
  region: regions,
  genieUrl: "address",
  allowInsecureTransport: "boolean",
  partnerId: "id",
  subjectId: "string",
  threadId: "string",
  brainStallMs: "number",
  toolSpiralLimit: "count",
  traceContext: "trace",
  onAuditEvent: "function",
  logger: "function",
}

export const timeoutChecks: Readonly<Record<string, Check>> = {
  overall: "number",
  serverConnect: "number",
  joinRoom: "number",
  joinComplete: "number",
  agent: "number",
  asr: "number",
  firstFrame: "number",
  prepareIdle: "number",
  whepTry: "number",
  whepTries: "count",
  whepBackoff: "number",
  whepRelease: "number",
  recover: "number",
  mediaLost: "number",
  healthTick: "number",
  videoStall: "number",
  coldAttempts: "count",
  coldBackoff: "number",
}

export const avatarChecks: Readonly<Record<string, Check>> = {
  conversationManagerUrl: "socket",
  srsBaseUrl: "address,empty",
  turnCredentials: "object",
  onRelayNeeded: "function",
  iceServers: "array",
  iceTransportPolicy: ["relay", "all"],
  preferredVideoCodec: "string",
  preferredAudioCodec: "string",
  isFirefox: "boolean",
  allowPrivateHosts: "boolean",
  stickyId: "string",
  entryId: "string",
  contextId: "string",
  contextType: "string",
  disclosureText: "string",
  requireDisclosureAck: "boolean",
  videoEl: "element",
  audioEl: "element",
  noiseProcessor: "function",
  micStartMode: ["immediate", "deferred"],
  localVadThreshold: { is: "number", max: 4080 },
  maxAsrBitrateKbps: "count",
  onBeforeSend: "function",
  onAgentAction: "function",
  agentActions: "object",
  maxTurnsPerMinute: "count",
  idleTimeoutMs: "number",
  maxReconnectAttempts: "integer",
  reconnectionDelay: "number",
  reconnectionDelayMax: "number",
  reconnectWindowMs: "number",
  timeouts: "limits",
  networkAware: "boolean",
  statsIntervalMs: "number",
  debug: "boolean",
  hardToolSpiralLimit: "count",
  recoverFromSpiral: "boolean",
  completeOnServerEnd: "boolean",
}

export const chatChecks: Readonly<Record<string, Check>> = {
  onErrorSegment: ["throw", "warn"],
  onResponse: "function",
}

export const agentChecks: Readonly<Record<string, Check>> = {
  mode: ["avatar", "chat"],
}

export const visitorChecks: Readonly<Record<string, Check>> = {
  kind: ["widget", "conversation", "agent", "admin"],
  region: regions,
  genieUrl: "address",
  allowInsecureTransport: "boolean",
  onResponse: "function",
}

export const turnChecks: Readonly<Record<string, Check>> = {
  forceExperience: ["markdown", "summarization", "flashcards", "avatar_only"],
  modelType: ["fast"],
}

export const converseChecks: Readonly<Record<string, Check>> = {
  threadId: "string",
  sse: "boolean",
}
