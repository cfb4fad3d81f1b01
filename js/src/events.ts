// Generated from the events.go of each session, runtime/event and runtime/converse by "go generate ./runtime/event"; don't edit.

import type { ErrorCode, WarningCode } from "./codes.js"
import type { AgentError } from "./errors.js"

/** Events of a live session, by name, with their payloads. */
export interface AvatarEvents {
  /** `stateChange` is emitted at every change of state. */
  stateChange: StateChanged
  /** `streamReady` says that the signalling is connected, long before pictures; once per connect. */
  streamReady: StreamReady
  /** `capacityChanged` is emitted for every capacity reply. */
  capacityChanged: CapacityChanged
  /** `track` is emitted for every incoming track, also without elements. */
  track: TrackAdded
  /** `videoMetadata` tells the picture's size once it is known. */
  videoMetadata: Picture
  /**
   * `mediaReady` is emitted once per connect: the event to hide a spinner on. `degraded` means
   * that no picture came.
   */
  mediaReady: MediaReady
  /** `disclosure` precedes any speech of the avatar; once per connect. */
  disclosure: Disclosure
  /**
   * `connectTimings` follows the state connected, once per successful connect: milliseconds
   * from the connect call, by phase.
   */
  connectTimings: Timings
  /** `connectivityChanged` reports a peer's, the socket's or the network's state. */
  connectivityChanged: ConnectivityChanged
  /** `mediaRecovering` is emitted when the repair of a peer begins. */
  mediaRecovering: MediaRecovering
  /** `mediaRecovered` ends a repair that worked. */
  mediaRecovered: MediaRecovered
  /**
   * `reconnecting` says that the socket is lost, or (`cold`) that a full rebuild began.
   * `attempt` is the number of the attempt that comes next, `maxAttempts` 0 when only the time
   * is bounded.
   */
  reconnecting: Reconnecting
  /** `reconnected` ends a reconnection; `recovered` means that the service kept the session. */
  reconnected: Reconnected
  /** `connectionQuality` is measured every statsIntervalMs, per channel. */
  connectionQuality: ConnectionQuality
  /** `micStarted` says that the microphone is attached. */
  micStarted: Nothing
  /**
   * `devicesChanged` says that a microphone or a speaker was plugged in or taken away: list the
   * devices again. A page emits it, also before it connects.
   */
  devicesChanged: Nothing
  /**
   * `hardwareMuteChanged` reports a mute by the system or the device; the muted side waits 5 s.
   * `track` is the device's.
   */
  hardwareMuteChanged: HardwareMuteChanged
  /** `localSpeakingChanged` reports that the level of the microphone crossed the threshold. */
  localSpeakingChanged: LocalSpeakingChanged
  /**
   * `localMicLevel` is the level of the microphone, 0 to 1, every 50 ms while the event has a
   * listener.
   */
  localMicLevel: LocalMicLevel
  /** `tapToTalkStarted` opens a tap-to-talk window. */
  tapToTalkStarted: Nothing
  /** `tapToTalkEnded` closes it. */
  tapToTalkEnded: Nothing
  /** `userStartedTalking` says that the service has detected the visitor's speech. */
  userStartedTalking: Nothing
  /** `smartTurnStatus` is the service's estimate of the end of a turn. */
  smartTurnStatus: SmartTurnStatus
  /** `speechChunk` comes about 400 ms before it sounds; it is not filtered by utterance. */
  speechChunk: SpeechChunk
  /** `avatarStartTalking` says that the avatar begins to talk. */
  avatarStartTalking: Nothing
  /** `avatarStopTalking` carries the text that was really spoken. */
  avatarStopTalking: AvatarStopTalking
  /** `interrupted` says that the visitor cut the avatar. */
  interrupted: Nothing
  /**
   * `turnUnconfirmed` says that a typed turn was sent and that the service has shown no sign of
   * it, though speak() answered true: it may be lost. It comes once for a turn: when the
   * session is rebuilt or ends, or after a minute. A turn that the service is known to
   * acknowledge is sent again by itself after a lost connection.
   */
  turnUnconfirmed: TurnUnconfirmed
  /** `toolSpiralRecovering` precedes a forced rebuild. */
  toolSpiralRecovering: ToolSpiralRecovering
  /** `spiralRecovered` says that the lost question was asked again. */
  spiralRecovered: SpiralRecovered
  /** `agentActionDenied` says that the policy or the hook refused something. */
  agentActionDenied: AgentActionDenied
  /** `idleWarning` precedes the end of an idle session. */
  idleWarning: IdleWarning
  /** `timeWarning` is the service's time limit coming near, in seconds. */
  timeWarning: TimeWarning
  /**
   * `timeExpired` says which time ran out: idle_timeout, pause_expiry, or the service's limit
   * (empty).
   */
  timeExpired: TimeExpired
  /** `resumeReady` says that the pause expired, so that resuming rebuilds the session. */
  resumeReady: ResumeReady
  /** `resumed` confirms a resume. */
  resumed: Nothing
  /** `responsePending` says that the brain was prompted; strictly paired with `responseSettled`. */
  responsePending: Nothing
  /** `responseSettled` ends `responsePending`. */
  responseSettled: Nothing
  /** `brainStalled` is emitted every brainStallMs of silence; `count` grows. */
  brainStalled: BrainStalled
  /** `brainSegment` is every piece the brain pushes that passed the action gate. */
  brainSegment: Segment
  /** `widget` is a widget of the answer, put together from its pieces and read. */
  widget: Widget
  /**
   * `turnStart` begins a piece of speech, or a turn in text. `speechId` is null where nothing
   * is spoken.
   */
  turnStart: TurnStarted
  /** `turnEnd` ends it, once. */
  turnEnd: TurnEnded
  /**
   * `transcript` is what was said: "user" once per turn; "final" a whole sentence before its
   * sound, in text a piece of the answer as it streams; "partial" a timed piece of the
   * utterance now playing.
   */
  transcript: Transcript
  /** `toolCall` is emitted once per distinct call and turn, before its handlers. */
  toolCall: ToolCall
  /** `toolCallResult` is emitted for every handler that returned something or failed. */
  toolCallResult: ToolCallResult
  /** `toolCallInvalid` replaces `toolCall` when the arguments don't fit the schema. */
  toolCallInvalid: ToolCallInvalid
  /** `toolSpiralDetected` is emitted once per turn that calls too many tools. */
  toolSpiralDetected: ToolSpiralDetected
  /** `oauthRequired` asks the visitor to authorise a tool; once per URL and turn. */
  oauthRequired: OAuthRequired
  /** `oauthRequiredResult` is emitted for every handler of `oauthRequired`. */
  oauthRequiredResult: OAuthRequiredResult
  /**
   * `sessionCompleted` is emitted once per attempt to tell the service that the conversation is
   * over.
   */
  sessionCompleted: SessionCompleted
  /** `warning` is something a page may want to know and need not act on. */
  warning: Warning
  /**
   * `error` is a problem that ends the session, or an attempt or a turn that failed: only a
   * fatal code, or the event ended after it, means the end.
   */
  error: AgentError | Error
  /** `ended` is emitted once for every end of a session, with its reason. */
  ended: Ended
}

/** Events of a chat session, by name, with their payloads. */
export interface ChatEvents {
  /** `stateChange` is emitted at every change of state. */
  stateChange: ChatStateChanged
  /**
   * `transcript` is what was said: "user" once per turn; "final" a whole sentence before its
   * sound, in text a piece of the answer as it streams; "partial" a timed piece of the
   * utterance now playing.
   */
  transcript: Transcript
  /**
   * `turnStart` begins a piece of speech, or a turn in text. `speechId` is null where nothing
   * is spoken.
   */
  turnStart: TurnStarted
  /** `turnEnd` ends it, once. */
  turnEnd: TurnEnded
  /** `responsePending` says that the brain was prompted; strictly paired with `responseSettled`. */
  responsePending: Nothing
  /** `responseSettled` ends `responsePending`. */
  responseSettled: Nothing
  /** `brainStalled` is emitted every brainStallMs of silence; `count` grows. */
  brainStalled: BrainStalled
  /** `brainSegment` is every piece the brain pushes that passed the action gate. */
  brainSegment: Segment
  /** `widget` is a widget of the answer, put together from its pieces and read. */
  widget: Widget
  /** `toolCall` is emitted once per distinct call and turn, before its handlers. */
  toolCall: ToolCall
  /** `toolCallResult` is emitted for every handler that returned something or failed. */
  toolCallResult: ToolCallResult
  /** `toolCallInvalid` replaces `toolCall` when the arguments don't fit the schema. */
  toolCallInvalid: ToolCallInvalid
  /** `toolSpiralDetected` is emitted once per turn that calls too many tools. */
  toolSpiralDetected: ToolSpiralDetected
  /** `oauthRequired` asks the visitor to authorise a tool; once per URL and turn. */
  oauthRequired: OAuthRequired
  /** `oauthRequiredResult` is emitted for every handler of `oauthRequired`. */
  oauthRequiredResult: OAuthRequiredResult
  /**
   * `sessionCompleted` is emitted once per attempt to tell the service that the conversation is
   * over.
   */
  sessionCompleted: SessionCompleted
  /** `warning` is something a page may want to know and need not act on. */
  warning: Warning
  /**
   * `error` is a problem that ends the session, or an attempt or a turn that failed: only a
   * fatal code, or the event ended after it, means the end.
   */
  error: AgentError | Error
  /** `ended` is emitted once for every end of a session, with its reason. */
  ended: Ended
}

/** Events of an agent session, by name, with their payloads. */
export interface AgentEvents {
  /**
   * `stateChange` is emitted at every change of state. `reason` is user_requested or
   * transport_failed.
   */
  stateChange: AgentStateChanged
  /**
   * `transportChanged` comes before the new transport connects, so that its own listeners can
   * be attached, and again with the old one when a switch fails.
   */
  transportChanged: TransportChanged
  /**
   * `modeChanged` follows a switch. Without `threadContinuity` the conversation goes on in a
   * new thread.
   */
  modeChanged: ModeChanged
  /**
   * `transcript` is what was said: "user" once per turn; "final" a whole sentence before its
   * sound, in text a piece of the answer as it streams; "partial" a timed piece of the
   * utterance now playing.
   */
  transcript: Transcript
  /**
   * `turnStart` begins a piece of speech, or a turn in text. `speechId` is null where nothing
   * is spoken.
   */
  turnStart: TurnStarted
  /** `turnEnd` ends it, once. */
  turnEnd: TurnEnded
  /** `toolCall` is emitted once per distinct call and turn, before its handlers. */
  toolCall: ToolCall
  /** `toolCallResult` is emitted for every handler that returned something or failed. */
  toolCallResult: ToolCallResult
  /** `toolCallInvalid` replaces `toolCall` when the arguments don't fit the schema. */
  toolCallInvalid: ToolCallInvalid
  /** `oauthRequired` asks the visitor to authorise a tool; once per URL and turn. */
  oauthRequired: OAuthRequired
  /** `oauthRequiredResult` is emitted for every handler of `oauthRequired`. */
  oauthRequiredResult: OAuthRequiredResult
  /** `widget` is a widget of the answer, put together from its pieces and read. */
  widget: Widget
  /** `responsePending` says that the brain was prompted; strictly paired with `responseSettled`. */
  responsePending: Nothing
  /** `responseSettled` ends `responsePending`. */
  responseSettled: Nothing
  /** `agentActionDenied` says that the policy or the hook refused something. */
  agentActionDenied: AgentActionDenied
  /** `speechChunk` comes about 400 ms before it sounds; it is not filtered by utterance. */
  speechChunk: SpeechChunk
  /** `avatarStartTalking` says that the avatar begins to talk. */
  avatarStartTalking: Nothing
  /** `avatarStopTalking` carries the text that was really spoken. */
  avatarStopTalking: AvatarStopTalking
  /** `interrupted` says that the visitor cut the avatar. */
  interrupted: Nothing
  /**
   * `turnUnconfirmed` says that a typed turn was sent and that the service has shown no sign of
   * it, though speak() answered true: it may be lost. It comes once for a turn: when the
   * session is rebuilt or ends, or after a minute. A turn that the service is known to
   * acknowledge is sent again by itself after a lost connection.
   */
  turnUnconfirmed: TurnUnconfirmed
  /**
   * `mediaReady` is emitted once per connect: the event to hide a spinner on. `degraded` means
   * that no picture came.
   */
  mediaReady: MediaReady
  /**
   * `connectTimings` follows the state connected, once per successful connect: milliseconds
   * from the connect call, by phase.
   */
  connectTimings: Timings
  /** `mediaRecovering` is emitted when the repair of a peer begins. */
  mediaRecovering: MediaRecovering
  /** `mediaRecovered` ends a repair that worked. */
  mediaRecovered: MediaRecovered
  /** `warning` is something a page may want to know and need not act on. */
  warning: Warning
  /**
   * `error` is a problem that ends the session, or an attempt or a turn that failed: only a
   * fatal code, or the event ended after it, means the end.
   */
  error: AgentError | Error
  /** `ended` is emitted once for every end of a session, with its reason. */
  ended: Ended
}

/** Milliseconds from the connect call, by phase. */
export type Timings = Partial<Record<TimingPhase, number>>

/** The payload of events without data. */
export type Nothing = Record<string, never>

/** AvatarState is where a session is in its life. */
export type AvatarState = "idle" | "preparing" | "connecting" | "connected" | "reconnecting" | "resuming" | "disconnecting" | "disconnected" | "error"

/** `stateChange` is emitted at every change of state. */
export interface StateChanged {
  state: AvatarState
}

/** `streamReady` says that the signalling is connected, long before pictures; once per connect. */
export interface StreamReady {
  finalUrl: string
  agentName?: string
  hostName?: string
}

/** `capacityChanged` is emitted for every capacity reply. */
export interface CapacityChanged {
  available: boolean
  details?: unknown
}

/** `track` is emitted for every incoming track, also without elements. */
export interface TrackAdded {
  track: MediaStreamTrack
  streams?: readonly MediaStream[]
}

/** Picture is the size of the decoded picture in pixels, 0×0 when it is not known. */
export interface Picture {
  videoWidth: number
  videoHeight: number
}

/** AvatarMode says whether the service sends a picture. */
export type AvatarMode = "video" | "audio"

/**
 * `mediaReady` is emitted once per connect: the event to hide a spinner on. `degraded` means
 * that no picture came.
 */
export interface MediaReady {
  mode: AvatarMode
  videoWidth?: number
  videoHeight?: number
  degraded?: boolean
}

/** Provenance says what made the voice and the picture. */
export interface Provenance {
  generatedBy: string
  /** always "synthetic" */
  voice: string
  sessionId?: string
}

/** Disclosure is the notice that the visitor talks to a machine. */
export interface Disclosure {
  type: string
  disclosureText: string
  /** RFC 3339 */
  firedAt: string
  synthetic: boolean
  provenance: Provenance
  /** always "session" */
  scope: string
}

/** ConnectivityState is a state of a peer (that of ICE), of the socket or of the network. */
export type ConnectivityState = "new" | "checking" | "connected" | "completed" | "disconnected" | "failed" | "closed" | "recover_failed" | "reconnect_retry" | "online" | "offline"

/** `connectivityChanged` reports a peer's, the socket's or the network's state. */
export interface ConnectivityChanged {
  channel: "socket" | "network" | MediaChannel
  state: ConnectivityState
  reason?: string
  recoverable?: boolean
  attempt?: number
  maxAttempts?: number
  detail?: string
}

/** MediaChannel names a peer in events. */
export type MediaChannel = "asr" | "stv" | "voice"

/** RepairReason is what is wrong with a peer: its state, or what it does not do. */
export type RepairReason = "no candidates" | "no bytes" | "stalled"

/** `mediaRecovering` is emitted when the repair of a peer begins. */
export interface MediaRecovering {
  channel: MediaChannel
  state: ConnectivityState | RepairReason
}

/** `mediaRecovered` ends a repair that worked. */
export interface MediaRecovered {
  channel: MediaChannel
  method: "ice-restart" | "re-subscribe"
}

/**
 * `reconnecting` says that the socket is lost, or (`cold`) that a full rebuild began. `attempt`
 * is the number of the attempt that comes next, `maxAttempts` 0 when only the time is bounded.
 */
export interface Reconnecting {
  reason: string
  attempt: number
  maxAttempts: number
  cold?: boolean
}

/** `reconnected` ends a reconnection; `recovered` means that the service kept the session. */
export interface Reconnected {
  recovered: boolean
}

/** `connectionQuality` is measured every statsIntervalMs, per channel. */
export interface ConnectionQuality {
  channel: MediaChannel
  rttMs: number
  packetLossPct: number
  jitterMs: number
  bitrateKbps: number
}

/**
 * `hardwareMuteChanged` reports a mute by the system or the device; the muted side waits 5 s.
 * `track` is the device's.
 */
export interface HardwareMuteChanged {
  muted: boolean
  track: MediaStreamTrack
}

/** `localSpeakingChanged` reports that the level of the microphone crossed the threshold. */
export interface LocalSpeakingChanged {
  speaking: boolean
}

/**
 * `localMicLevel` is the level of the microphone, 0 to 1, every 50 ms while the event has a
 * listener.
 */
export interface LocalMicLevel {
  level: number
}

/** `smartTurnStatus` is the service's estimate of the end of a turn. */
export interface SmartTurnStatus {
  status: string
  timeoutMs?: number
  probability?: number
}

/** `speechChunk` comes about 400 ms before it sounds; it is not filtered by utterance. */
export interface SpeechChunk {
  text: string
  durationMs: number
  speechId: string
}

/** `avatarStopTalking` carries the text that was really spoken. */
export interface AvatarStopTalking {
  text: string
}

/**
 * `turnUnconfirmed` says that a typed turn was sent and that the service has shown no sign of
 * it, though speak() answered true: it may be lost. It comes once for a turn: when the session
 * is rebuilt or ends, or after a minute. A turn that the service is known to acknowledge is
 * sent again by itself after a lost connection.
 */
export interface TurnUnconfirmed {
  text: string
  /** `clientTurnId` is the id under which it was sent. */
  clientTurnId: string
}

/** `toolSpiralRecovering` precedes a forced rebuild. */
export interface ToolSpiralRecovering {
  count: number
  limit: number
  lastTurnText: string
}

/** `spiralRecovered` says that the lost question was asked again. */
export interface SpiralRecovered {
  text: string
}

/** `agentActionDenied` says that the policy or the hook refused something. */
export interface AgentActionDenied {
  type: string
  reason: string
  /** `toolName` is set for tool calls. */
  toolName?: string
}

/** `idleWarning` precedes the end of an idle session. */
export interface IdleWarning {
  inMs: number
}

/** `timeWarning` is the service's time limit coming near, in seconds. */
export interface TimeWarning {
  remainingTime: number
}

/**
 * `timeExpired` says which time ran out: idle_timeout, pause_expiry, or the service's limit
 * (empty).
 */
export interface TimeExpired {
  type?: "idle_timeout" | "pause_expiry"
}

/** `resumeReady` says that the pause expired, so that resuming rebuilds the session. */
export interface ResumeReady {
  ready: boolean
}

/** `brainStalled` is emitted every brainStallMs of silence; `count` grows. */
export interface BrainStalled {
  afterMs: number
  count: number
}

/**
 * SegmentType names what a segment is. The set is open: an unknown type is passed on, never an
 * error.
 */
export type SegmentType = "init_response" | "think" | "text" | "avatar" | "avatar-filler" | "tool" | "tool_response" | "unisphere-tool" | "share" | "thread" | "error" | "interruption" | "user-interruption" | "keepalive" | (string & {})

/** SegmentMetadata describes widgets and interruptions. */
export interface SegmentMetadata {
  widgetName?: string
  runtimeName?: string
  subtype?: string
  tool_name?: string
  tool_display_name?: string
  /** `extra` holds the other keys, as they came. */
  extra?: Record<string, unknown>
}

/** SegmentTool describes a tool call. */
export interface SegmentTool {
  id: string
  name: string
  args?: unknown
  /** api, client, csv, code */
  type: string
  wait_for_response: boolean
  /** `extra` holds the other keys, as they came. */
  extra?: Record<string, unknown>
}

/** What a segment of any type has. */
export interface AnySegment {
  role: string
  /** position in the message */
  segmentNumber: number
  /** seconds since the turn began */
  et: number
  speechId?: string
  threadId?: string
  messageId?: string
  segmentStart?: boolean
  segmentEnd?: boolean
  isFinal?: boolean
  /** `openingPhrase` is set on the init_response of a live session only. */
  openingPhrase?: string
  metadata?: SegmentMetadata
  tool_metadata?: SegmentTool
  /**
   * `extra` holds the keys of the object that have no field above, as they came: the service
   * may add keys that an application knows before this runtime does.
   */
  extra?: Record<string, unknown>
}

/** A segment of the answer that is spoken or shown. */
export interface SpokenSegment extends AnySegment {
  type: "text" | "avatar" | "avatar-filler"
  content: string
}

/** A segment of another type; the service may send types that are not listed. */
export interface OtherSegment extends AnySegment {
  type: "init_response" | "think" | "tool" | "tool_response" | "unisphere-tool" | "share" | "thread" | "error" | "interruption" | "user-interruption" | "keepalive"
  /**
   * `content` is a string for most types, and for spoken ones always; an object for
   * interruption, and sometimes for widgets and share. what is not a string is a
   * json.RawMessage
   */
  content: unknown
}

/** Segment is one piece of brain output. */
export type Segment = SpokenSegment | OtherSegment

/** Flashcard is a question and its answer, or a term and its definition. */
export interface Flashcard {
  front: string
  back: string
  label?: string
}

/** Flashcards are cards with two sides. */
export interface Flashcards {
  title?: string
  cards: Flashcard[]
}

/** Followups are questions that the user may ask next. */
export interface Followups {
  questions: string[]
}

/** Source is one of them. */
export interface Source {
  title?: string
  url?: string
  snippet?: string
  /** `score` is the relevance, if the service tells. */
  score?: number
}

/** `sources` are what an answer is based on. */
export interface Sources {
  sources: Source[]
}

/** `summary` is a text with its main points. */
export interface Summary {
  title?: string
  summary: string
  bullets: string[]
}

/** Video is one of the service's media items. */
export interface Video {
  entryId?: string
  title?: string
  thumbnailUrl?: string
  url?: string
  /** `duration` is in seconds. */
  duration?: number
  description?: string
  alt?: string
}

/** VideoGallery is a choice of videos. */
export interface VideoGallery {
  title?: string
  videos: Video[]
}

/** ShowLink is a page that the agent wants to show. */
export interface ShowLink {
  url?: string
  label?: string
  description?: string
}

/** ExternalVideo is a video of another host. */
export interface ExternalVideo {
  /** `url` is absolute, http or https. */
  url?: string
  title?: string
  provider?: string
  poster?: string
  description?: string
}

/** FormField is one thing to fill in. */
export interface FormField {
  key: string
  /** `type` is str, int, float, bool, list, dict, email, phone or text. */
  type: string
  label?: string
  /** `knownValue` is what the service knows already, absent if nothing. */
  knownValue?: unknown
  required: boolean
  description?: string
}

/** UserPropertiesForm asks the user for data. */
export interface UserPropertiesForm {
  title?: string
  fields: FormField[]
}

/** GalleryItem is one slide. */
export interface GalleryItem {
  id?: string
  title?: string
  description?: string
  imageUrl?: string
  url?: string
  alt?: string
}

/** ContentGallery is a row of slides. */
export interface ContentGallery {
  title?: string
  items: GalleryItem[]
}

/**
 * Widget is a structured answer. Of the fields behind `speechId` the one of its runtime is set;
 * `body` is set for a runtime that is none of the nine, `raw` when the text of the widget has
 * no structure.
 */
export interface Widget {
  /** `runtime` is the normalised name: followups, sources, … */
  runtime: string
  widgetName?: string
  /** `speechId` is the speech it came with; none in a turn in text. */
  speechId?: string
  flashcards?: Flashcards
  followups?: Followups
  sources?: Sources
  summary?: Summary
  videoGallery?: VideoGallery
  showLink?: ShowLink
  externalVideo?: ExternalVideo
  userPropertiesForm?: UserPropertiesForm
  contentGallery?: ContentGallery
  body?: unknown
  raw?: string
}

/**
 * `turnStart` begins a piece of speech, or a turn in text. `speechId` is null where nothing is
 * spoken.
 */
export interface TurnStarted {
  speechId: string | null
  turnId: string
  isNewTurn: boolean
}

/** `turnEnd` ends it, once. */
export interface TurnEnded {
  speechId: string | null
  turnId?: string
}

/** `word` is one word of a partial transcript, in milliseconds from the start of the utterance. */
export interface Word {
  word: string
  startMs: number
}

/**
 * `transcript` is what was said: "user" once per turn; "final" a whole sentence before its
 * sound, in text a piece of the answer as it streams; "partial" a timed piece of the utterance
 * now playing.
 */
export interface Transcript {
  type: "user" | "final" | "partial"
  text: string
  speechId: string | null
  words?: Word[]
}

/** ToolMetadata tells how a call is answered. */
export interface ToolMetadata {
  id?: string
  waitForResponse: boolean
  type?: string
}

/** ToolCall is a client command of the brain. */
export interface ToolCall {
  name: string
  args: Record<string, unknown>
  raw: string
  toolMetadata: ToolMetadata
  /** `fusedArgs` are argument objects that came in the same piece and belong to other tools. */
  fusedArgs?: Record<string, unknown>[]
}

/** `toolCallResult` is emitted for every handler that returned something or failed. */
export interface ToolCallResult {
  call: ToolCall
  ok: boolean
  value?: unknown
  error?: AgentError
}

/** `toolCallInvalid` replaces `toolCall` when the arguments don't fit the schema. */
export interface ToolCallInvalid {
  call: ToolCall
  errors: string[]
}

/** `toolSpiralDetected` is emitted once per turn that calls too many tools. */
export interface ToolSpiralDetected {
  count: number
  limit: number
}

/** `oauthRequired` asks the visitor to authorise a tool; once per URL and turn. */
export interface OAuthRequired {
  authUrl: string
  toolName?: string
  toolDisplayName?: string
}

/** `oauthRequiredResult` is emitted for every handler of `oauthRequired`. */
export interface OAuthRequiredResult {
  result: OAuthRequired
  ok: boolean
  value?: unknown
  error?: AgentError
}

/**
 * `sessionCompleted` is emitted once per attempt to tell the service that the conversation is
 * over.
 */
export interface SessionCompleted {
  reason: string
  sent: boolean
  suppressed: boolean
  peers: number
}

/** `warning` is something a page may want to know and need not act on. */
export interface Warning {
  code: WarningCode
  message: string
  detail?: string
  /** `kind` is video or audio for playback_blocked and media_attach_failed. */
  kind?: "video" | "audio"
  /** `requestVarKeys` are names only. */
  requestVarKeys?: string[]
}

/**
 * EndReason is why a session has ended. After a loss it is the code of the error event before;
 * what the page gave to disconnect() stands for itself.
 */
export type EndReason = "disconnect" | "stop" | "pagehide" | "idle_timeout" | "conversation_ended" | "io server disconnect" | "parse error" | ErrorCode

/** `ended` is emitted once for every end of a session, with its reason. */
export interface Ended {
  reason?: EndReason
}

/** Kickoff is the first user turn of a session, which it sends by itself. */
export interface Kickoff {
  text: string
  /** `echo` shows the text as a user transcript. */
  echo: boolean
  /** `sent` is set in a snapshot once it has left. */
  sent: boolean
}

/**
 * AgentAbilities are what the service said the agent can do; before it said so all are false
 * but `interruptions`.
 */
export interface AgentAbilities {
  screenShare: boolean
  cameraAnalysis: boolean
  webSearch: boolean
  interruptions: boolean
  tapToTalk: boolean
}

/** `configuration` is what ClientConfig carries. */
export interface Configuration {
  configuration: Record<string, unknown>
  nluFeatures: Record<string, unknown>
  languageCode: string
  forwardLoopMode: boolean
  imaginativeAiMode: boolean
  isTapToTalk: boolean
  /** true when absent */
  interruptionsEnabled?: boolean
  pauseConversationEnabled: boolean
  showTranscription: boolean
  agentPersonaName: string | null
  userName: string | null
  isWebSearchEnabled: boolean
  isScreenShareEnabled: boolean
  isCameraAnalysisEnabled: boolean
  youtubeUrl: string
  audioMode: boolean
  phoneMode: boolean
  shouldAggregateCurrentTurn: boolean
  initialHtml: string
  visualPhotos: unknown[]
  visualVideos: unknown[]
}

/** Snapshot is what can be read of a session at any time. */
export interface Snapshot {
  state: AvatarState
  mode: AvatarMode
  speaking: boolean
  responsePending: boolean
  paused: boolean
  timings: Timings
  tapToTalkActive: boolean
  kickoff: Kickoff | null
  capabilities: AgentAbilities
  clientConfig: Configuration | null
  partnerId: string
  stickyId: string
  micEnabled: boolean
  micStarted: boolean
  threadId?: string
  audioOutputMuted: boolean
  audioOutputVolume: number
  disclosure: Disclosure | null
  /** `gated` says that the disclosure holds the start. */
  gated: boolean
}

/** ChatState is where a session is in its life. */
export type ChatState = "idle" | "connected" | "closed"

/** `stateChange` is emitted at every change of state. */
export interface ChatStateChanged {
  state: ChatState
}

/** ChatSnapshot is what can be read of a session at any time. */
export interface ChatSnapshot {
  state: ChatState
  /** `threadId` is the dialogue's id: the one given, or that of the first reply. */
  threadId?: string
  partnerId: string
  kickoff: Kickoff | null
  /** `responsePending` says that the brain was asked and has shown nothing yet. */
  responsePending: boolean
}

/** AgentState is the phase of a session. */
export type AgentState = "idle" | "connecting" | "connected" | "switching" | "failed" | "closed"

/**
 * `stateChange` is emitted at every change of state. `reason` is user_requested or
 * transport_failed.
 */
export interface AgentStateChanged {
  state: AgentState
  reason?: "user_requested" | "transport_failed"
}

/** AgentMode is the kind of transport. */
export type AgentMode = "avatar" | "chat"

/**
 * `transportChanged` comes before the new transport connects, so that its own listeners can be
 * attached, and again with the old one when a switch fails.
 */
export interface TransportChanged {
  mode: AgentMode
}

/**
 * `modeChanged` follows a switch. Without `threadContinuity` the conversation goes on in a new
 * thread.
 */
export interface ModeChanged {
  mode: AgentMode
  threadContinuity: boolean
}

/** AgentSnapshot is what can be read of a session at any time. */
export interface AgentSnapshot {
  state: AgentState
  mode: AgentMode
  threadId?: string
  /** `timings` are those of the avatar's connect, empty without one. */
  timings: Timings
}

/** MalformedWidget is a widget that began like JSON and was none when another followed. */
export interface MalformedWidget {
  runtime: string
  widgetName?: string
  speechId?: string
  raw: string
}

/** TurnCall is a tool call parsed from a segment. */
export interface TurnCall {
  name: string
  /** `args` is an object, empty if the call has none. */
  args: Record<string, unknown>
  /**
   * `fusedArgs` are earlier argument objects in the same segment that belong to other tools, in
   * order.
   */
  fusedArgs?: Record<string, unknown>[]
  /** `id` is the invocation to answer, empty if the call has none. */
  id?: string
  /** `type` is the kind of tool: api, client, csv or code. */
  type?: string
  /** `waitForResponse` says that the brain waits for an answer. */
  waitForResponse: boolean
  /** `raw` is the content the call was parsed from. */
  raw: string
}

/** TurnWarning tells of a turn that went well and may not be what was wanted. */
export interface TurnWarning {
  code: WarningCode
  message: string
  /** `requestVarKeys` are the names of the variables that were sent. */
  requestVarKeys?: string[]
}

/** ChatTurn is an answer as a whole. */
export interface ChatTurn {
  /** `text` is the spoken pieces in one, without the widgets. */
  text: string
  /** `threadId` continues the conversation. */
  threadId: string
  /** `messageId` is for feedback. */
  messageId: string
  /** `segments` are all pieces as they came. */
  segments: Segment[]
  widgets: Widget[]
  /** `malformedWidgets` are widgets that could not be read. */
  malformedWidgets?: MalformedWidget[]
  /**
   * `toolCalls` are the distinct calls. Those of which only the result tells the name stay with
   * the call they came with.
   */
  toolCalls: TurnCall[]
  /** `oauthRequired` are the authorisations that tools wait for. */
  oauthRequired: OAuthRequired[]
  /** `errors` are the error segments, where they don't fail the turn. */
  errors: Segment[]
  /**
   * `spiralStopped` says that the turn was left because it called tools only. That of a session
   * never is.
   */
  spiralStopped: boolean
  /**
   * `truncated` says that it has more than is kept: 20,000 segments in a session, 2,000 without
   * one, where it is left; and 4 MiB.
   */
  truncated: boolean
  /**
   * `empty` says that it brought nothing at all, which is how the service refuses variables
   * that it does not allow.
   */
  empty: boolean
  /** `warnings` are for the developer. A session has none: it emits them. */
  warnings?: TurnWarning[]
}

/** TimingPhase is a phase of a connect. */
export type TimingPhase = "micRequested" | "socketOpen" | "serverConnected" | "joinComplete" | "stvNewSessionReply" | "iceConnectedStv" | "asrReady" | "mediaReady" | "approved" | "connected" | "whepSent" | "whepAnswer" | "firstTrack" | "firstFrame"

/** The codes after which the service has ended the session. */
export const FATAL_ERROR_CODES = ["capacity_unavailable", "tier_exceeded", "bad_request", "peer_removed", "unsupported_client"] as const

/** The codes of a microphone that is missing, as errors and as warnings. */
export const MIC_ERROR_CODES = ["mic_not_started", "mic_permission_denied", "mic_not_found", "mic_in_use", "mic_attach_failed", "devices_permission_denied", "noise_processor_failed"] as const

/** The opening phrase of an agent without an opening turn. */
export const SILENT_OPENING = "<blank>"

/** The text in its place in `transcript`, `speechChunk` and `avatarStopTalking`. */
export const SILENT_OPENING_LABEL = "[silence]"
