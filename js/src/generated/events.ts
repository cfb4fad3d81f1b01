// Generated from runtime/event, the sessions and runtime/converse by "go generate ./runtime/event"; don't edit.

import type { ErrorCode, Timings, WarningCode } from "./codes.js"
import type { AgentError } from "../core/errors.js"

export type { TimingPhase, Timings } from "./codes.js"

/** Events of a live session, by name, with their payloads. */
export interface AvatarEvents {
  /** `stateChange` is emitted at every change of state. */
  stateChange: StateChanged
  /**
   * `streamReady` reports that the signalling is connected, long before the first picture; once
   * per connect.
   */
  streamReady: StreamReady
  /** `capacityChanged` is emitted for every capacity reply. */
  capacityChanged: CapacityChanged
  /** `track` is emitted for every incoming track, whether or not an element plays it. */
  track: TrackAdded
  /** `videoMetadata` reports the picture's size once it is known. */
  videoMetadata: VideoMetadata
  /**
   * `mediaReady` is emitted once per connect, when the media can be played and a page can hide
   * its spinner. `degraded` means that no picture arrived.
   */
  mediaReady: MediaReady
  /** `disclosure` is emitted before any speech of the avatar, once per connect. */
  disclosure: Disclosure
  /**
   * `connectTimings` is emitted after the state connected, once per successful connect, with
   * the milliseconds from the connect call to each phase.
   */
  connectTimings: Timings
  /** `connectivityChanged` reports a peer's, the socket's or the network's state. */
  connectivityChanged: ConnectivityChanged
  /** `mediaRecovering` is emitted when the repair of a peer begins. */
  mediaRecovering: MediaRecovering
  /** `mediaRecovered` is emitted when the repair of a peer has succeeded. */
  mediaRecovered: MediaRecovered
  /**
   * `reconnecting` reports that the socket is lost or, with `cold`, that a full rebuild began.
   * `attempt` is the number of the next attempt, `maxAttempts` the most that are made; if only
   * the time is bounded, how many it is enough for.
   */
  reconnecting: Reconnecting
  /**
   * `reconnected` reports that the session is connected again. `recovered` means that the
   * service kept the session; otherwise it was rebuilt.
   */
  reconnected: Reconnected
  /** `connectionQuality` is emitted every statsIntervalMs for each channel. */
  connectionQuality: ConnectionQuality
  /** `micStarted` reports that the microphone is attached. */
  micStarted: Nothing
  /**
   * `controlsChanged` reports that a call of the page or program has changed micEnabled,
   * audioOutputMuted or audioOutputVolume, or has begun a pause; in pages also, that it has
   * changed micError or playbackBlocked.
   */
  controlsChanged: Nothing
  /**
   * `devicesChanged` reports that a microphone or a speaker was plugged in or removed: list the
   * devices again. It is emitted in pages only, also before the session connects.
   */
  devicesChanged: Nothing
  /**
   * `hardwareMuteChanged` reports, in pages only, that the system or the device muted or
   * unmuted the microphone; a mute is reported after 5 s, and ends when another microphone is
   * used, or none. `track` is the device's track.
   */
  hardwareMuteChanged: HardwareMuteChanged
  /**
   * `localSpeakingChanged` reports, in pages only, that the level of the microphone crossed the
   * threshold.
   */
  localSpeakingChanged: LocalSpeakingChanged
  /**
   * `localMicLevel` reports, in pages only, the level of the microphone, 0 to 1, every 50 ms
   * while the event has a listener.
   */
  localMicLevel: LocalMicLevel
  /** `tapToTalkStarted` is emitted when a tap-to-talk window opens. */
  tapToTalkStarted: Nothing
  /** `tapToTalkEnded` is emitted when a tap-to-talk window closes. */
  tapToTalkEnded: Nothing
  /** `userStartedTalking` reports that the service has detected the visitor's speech. */
  userStartedTalking: Nothing
  /** `smartTurnStatus` is the service's estimate of the end of the visitor's turn. */
  smartTurnStatus: SmartTurnStatus
  /**
   * `speechChunk` is emitted about 400 ms before its text is heard. Late chunks of other
   * utterances are not filtered out.
   */
  speechChunk: SpeechChunk
  /**
   * `avatarStartTalking` reports that the avatar begins to talk. It is not emitted for an
   * opening that is not spoken.
   */
  avatarStartTalking: Utterance
  /** `avatarStopTalking` carries the text that was really spoken. */
  avatarStopTalking: AvatarStopTalking
  /** `interrupted` reports that the visitor interrupted the avatar. */
  interrupted: Nothing
  /**
   * `turnUnconfirmed` reports that a typed turn may be lost: it was sent and speak() returned
   * true, but the service has not confirmed it. It is emitted once per turn: when the session
   * is rebuilt or ends, or after a minute. If the service acknowledges turns, the session
   * itself sends unconfirmed ones again after a lost connection.
   */
  turnUnconfirmed: TurnUnconfirmed
  /**
   * `toolSpiralRecovering` is emitted before a rebuild that is forced because `count` tool
   * calls in a row gave the visitor nothing to see or hear.
   */
  toolSpiralRecovering: ToolSpiralRecovering
  /**
   * `spiralRecovered` is emitted when the unanswered question was sent again, after the rebuild
   * that `toolSpiralRecovering` announced.
   */
  spiralRecovered: SpiralRecovered
  /** `agentActionDenied` reports that agentActions or onAgentAction refused an action of the agent. */
  agentActionDenied: AgentActionDenied
  /**
   * `idleWarning` reports that an idle session ends in `inMs` milliseconds: a minute before
   * that, or at once where idleTimeoutMs is less.
   */
  idleWarning: IdleWarning
  /** `timeWarning` reports that the service ends the conversation in `remainingTime` seconds. */
  timeWarning: TimeWarning
  /**
   * `timeExpired` reports that a time limit was reached. `type` is idle_timeout, pause_expiry,
   * or absent for the limit of the service.
   */
  timeExpired: TimeExpired
  /** `resumeReady` reports that the pause expired, so that resume() connects the media again. */
  resumeReady: ResumeReady
  /** `resumed` confirms a resume. */
  resumed: Nothing
  /**
   * `responsePending` reports that the brain was prompted. Exactly one `responseSettled`
   * follows it.
   */
  responsePending: Nothing
  /** `responseSettled` follows `responsePending` when the answer begins, or when none will come. */
  responseSettled: Nothing
  /**
   * `brainStalled` is emitted every brainStallMs while nothing of an expected answer arrives.
   * `afterMs` is brainStallMs, `count` the number of the event since something arrived, from 1:
   * `afterMs` times `count` is the time waited so far.
   */
  brainStalled: BrainStalled
  /**
   * `brainSegment` is emitted for every segment from the brain, except those that agentActions
   * or onAgentAction refused.
   */
  brainSegment: Segment
  /**
   * `widget` is emitted when a widget of the answer is complete: its segments are joined and
   * parsed. One that can't be read has an error, and its text.
   */
  widget: Widget
  /**
   * `turnStart` marks the beginning of an utterance of the agent, or of a turn in text.
   * `speechId` is null when nothing is spoken.
   */
  turnStart: TurnStarted
  /** `turnEnd` marks the end of the utterance or turn that `turnStart` began. It is emitted once. */
  turnEnd: TurnEnded
  /**
   * `transcript` carries what was said. "user" is the visitor's text, once per turn. "final" is
   * a whole sentence of the agent before it is spoken or, in text, a piece of the answer as it
   * streams. "partial" is a piece of the utterance that is playing, with the times of its
   * words.
   */
  transcript: Transcript
  /**
   * `toolCall` is emitted before the handlers of a call run. A call that is repeated unchanged
   * in the same turn is ignored.
   */
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
   * `sessionCompleted` is emitted once per attempt to report the end of the conversation to the
   * service. `suppressed` means that `peers` other tabs still have the thread.
   */
  sessionCompleted: SessionCompleted
  /** `warning` reports a problem that does not end the session. */
  warning: Warning
  /**
   * `error` reports a problem that ends the session, or an attempt or a turn that failed. The
   * session ends only if the code is fatal, or if the event ended follows.
   */
  error: AgentError | Error
  /** `ended` is emitted once for every end of a session, with its reason. */
  ended: Ended
  /**
   * `turnTimings` is emitted once for each turn, when it is over: at the end of its speech or,
   * if nothing is spoken, of its text; when it is interrupted; or when the next turn begins.
   * The turn began `durationMs` before. In a page, the first sound and the first frame are
   * measured only while the live session itself has a listener for this event.
   */
  turnTimings: TurnTimings
}

/** Events of a chat session, by name, with their payloads. */
export interface ChatEvents extends Pick<
  AvatarEvents,
  "responsePending" | "responseSettled" | "brainStalled" | "brainSegment" | "widget"
  | "turnStart" | "turnEnd" | "transcript" | "toolCall" | "toolCallResult" | "toolCallInvalid"
  | "toolSpiralDetected" | "oauthRequired" | "oauthRequiredResult" | "sessionCompleted"
  | "warning" | "error" | "ended" | "turnTimings"
> {
  /** `stateChange` is emitted at every change of state. */
  stateChange: ChatStateChanged
}

/** Events of an agent session, by name, with their payloads. */
export interface AgentEvents extends Pick<
  AvatarEvents,
  "transcript" | "turnStart" | "turnEnd" | "turnTimings" | "turnUnconfirmed" | "toolCall"
  | "toolCallResult" | "toolCallInvalid" | "oauthRequired" | "oauthRequiredResult" | "widget"
  | "responsePending" | "responseSettled" | "agentActionDenied" | "speechChunk"
  | "avatarStartTalking" | "avatarStopTalking" | "interrupted" | "mediaReady"
  | "connectTimings" | "mediaRecovering" | "mediaRecovered" | "warning" | "error" | "ended"
> {
  /**
   * `stateChange` is emitted at every change of state. `reason` is user_requested or
   * transport_failed.
   */
  stateChange: AgentStateChanged
  /**
   * `transportChanged` is emitted before a transport connects, so that listeners can be
   * attached to the transport itself, and again with the old transport when a switch fails.
   */
  transportChanged: TransportChanged
  /**
   * `modeChanged` is emitted after a successful switch. If `threadContinuity` is false, the
   * conversation continues in a new thread.
   */
  modeChanged: ModeChanged
}

/** The payload of events without data. */
export type Nothing = Record<string, never>

/** AvatarState is where a session is in its life. */
export type AvatarState = "idle" | "preparing" | "connecting" | "connected" | "reconnecting" | "resuming" | "disconnecting" | "disconnected" | "error"

/** The payload of `stateChange`. */
export interface StateChanged {
  state: AvatarState
}

/** The payload of `streamReady`. */
export interface StreamReady {
  finalUrl: string
  agentName?: string
  hostName?: string
}

/** The payload of `capacityChanged`. */
export interface CapacityChanged {
  available: boolean
  details?: unknown
}

/** The payload of `track`. */
export interface TrackAdded {
  track: MediaStreamTrack
  streams?: readonly MediaStream[]
}

/** The payload of `videoMetadata`. */
export interface VideoMetadata {
  videoWidth: number
  videoHeight: number
}

/** AvatarMode is video if the service sends a picture, otherwise audio. */
export type AvatarMode = "video" | "audio"

/** The payload of `mediaReady`. */
export interface MediaReady {
  mode: AvatarMode
  videoWidth?: number
  videoHeight?: number
  degraded?: boolean
}

/** Provenance is the origin of the voice and the picture. */
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

/** ConnectivityState is the ICE state of a peer, or the state of the socket or the network. */
export type ConnectivityState = "new" | "checking" | "connected" | "completed" | "disconnected" | "failed" | "closed" | "recover_failed" | "reconnect_retry" | "online" | "offline"

/** The payload of `connectivityChanged`. */
export interface ConnectivityChanged {
  channel: "socket" | "network" | MediaChannel
  state: ConnectivityState
  reason?: string
  recoverable?: boolean
  attempt?: number
  maxAttempts?: number
  detail?: string
}

/** MediaChannel identifies a peer in events. */
export type MediaChannel = "asr" | "stv" | "voice"

/** RepairReason is why a peer is repaired, other than its state. */
export type RepairReason = "no candidates" | "no bytes" | "stalled"

/** The payload of `mediaRecovering`. */
export interface MediaRecovering {
  channel: MediaChannel
  state: ConnectivityState | RepairReason
}

/** The payload of `mediaRecovered`. */
export interface MediaRecovered {
  channel: MediaChannel
  method: "ice-restart" | "re-subscribe"
}

/** The payload of `reconnecting`. */
export interface Reconnecting {
  reason: string
  attempt: number
  maxAttempts: number
  cold?: boolean
}

/** The payload of `reconnected`. */
export interface Reconnected {
  recovered: boolean
}

/** The payload of `connectionQuality`. */
export interface ConnectionQuality {
  channel: MediaChannel
  rttMs: number
  packetLossPct: number
  jitterMs: number
  bitrateKbps: number
}

/** The payload of `hardwareMuteChanged`. */
export interface HardwareMuteChanged {
  muted: boolean
  track: MediaStreamTrack
}

/** The payload of `localSpeakingChanged`. */
export interface LocalSpeakingChanged {
  speaking: boolean
}

/** The payload of `localMicLevel`. */
export interface LocalMicLevel {
  level: number
}

/** The payload of `smartTurnStatus`. */
export interface SmartTurnStatus {
  status: string
  timeoutMs?: number
  probability?: number
}

/** The payload of `speechChunk`. */
export interface SpeechChunk {
  text: string
  durationMs: number
  speechId: string
}

/**
 * Utterance has the ids of something that the avatar says. `turnId` is absent if the utterance
 * is no answer, such as the opening phrase.
 */
export interface Utterance {
  speechId: string
  turnId?: string
}

/** The payload of `avatarStopTalking`. */
export interface AvatarStopTalking {
  text: string
  speechId: string
  turnId?: string
}

/** The payload of `turnUnconfirmed`. */
export interface TurnUnconfirmed {
  text: string
  /**
   * `typed` is the part of the text that a log may show: without the kickoff, unless that has
   * echo.
   */
  typed: string
  /** `repeated` is true if a transcript has repeated the text. */
  repeated: boolean
  /** `clientTurnId` is the id that was sent with the turn. */
  clientTurnId: string
}

/** The payload of `toolSpiralRecovering`. */
export interface ToolSpiralRecovering {
  count: number
  limit: number
  lastTurnText: string
}

/** The payload of `spiralRecovered`. */
export interface SpiralRecovered {
  text: string
}

/** The payload of `agentActionDenied`. */
export interface AgentActionDenied {
  type: string
  reason: string
  /** `toolName` is set for tool calls. */
  toolName?: string
}

/** The payload of `idleWarning`. */
export interface IdleWarning {
  inMs: number
}

/** The payload of `timeWarning`. */
export interface TimeWarning {
  remainingTime: number
}

/** The payload of `timeExpired`. */
export interface TimeExpired {
  type?: "idle_timeout" | "pause_expiry"
}

/** The payload of `resumeReady`. */
export interface ResumeReady {
  ready: boolean
}

/** The payload of `brainStalled`. */
export interface BrainStalled {
  afterMs: number
  count: number
}

/**
 * SegmentType is the type of a segment. The set is open: an unknown type is passed on, and is
 * never an error.
 */
export type SegmentType = "init_response" | "think" | "text" | "avatar" | "avatar-filler" | "tool" | "tool_response" | "unisphere-tool" | "navigate" | "share" | "thread" | "error" | "interruption" | "user-interruption" | "keepalive" | (string & {})

/** SegmentMetadata describes widgets and interruptions. */
export interface SegmentMetadata {
  widgetName?: string
  runtimeName?: string
  subtype?: string
  tool_name?: string
  tool_display_name?: string
  /** `extra` has the other keys, unchanged. */
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
  /** `extra` has the other keys, unchanged. */
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
   * `extra` has the keys of the object without a field above, unchanged: the service may add
   * keys that an application can use before this runtime supports them.
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
  type: "init_response" | "think" | "tool" | "tool_response" | "unisphere-tool" | "navigate" | "share" | "thread" | "error" | "interruption" | "user-interruption" | "keepalive"
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

/** Source is one source of an answer. */
export interface Source {
  title?: string
  url?: string
  snippet?: string
  /** `score` is the relevance, if the service sends it. */
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

/** FormField is one field of a form. */
export interface FormField {
  key: string
  /** `type` is str, int, float, bool, list, dict, email, phone or text. */
  type: string
  label?: string
  /** `knownValue` is the value that the service already has, absent if it has none. */
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

/** Markdown is a text with Markdown. */
export interface Markdown {
  title?: string
  text: string
}

/** GradedOption is one answer to choose. */
export interface GradedOption {
  text: string
  correct: boolean
  /** `feedback` is what to say to somebody who chose it. */
  feedback?: string
}

/**
 * GradedQuestion is a question with answers to choose from. If none of them is marked as
 * correct, a page can't grade the choice.
 */
export interface GradedQuestion {
  title?: string
  question: string
  options: GradedOption[]
  /** `explanation` is for the time after the choice. */
  explanation?: string
}

/**
 * Widget is a structured answer. Of the fields after `speechId` only the field of its runtime
 * is set. Instead of it, `body` is set for a runtime that is not known, or for JSON without any
 * key of the runtime, and `raw` for text without structure. `error` and `raw` are set for a
 * widget that can't be read.
 */
export interface Widget {
  /** `runtime` is the normalised name: followups, sources, … */
  runtime: string
  widgetName?: string
  /** `speechId` is the id of the speech to which it belongs; absent in a turn in text. */
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
  markdown?: Markdown
  gradedQuestion?: GradedQuestion
  body?: unknown
  raw?: string
  /** `error` is why the widget can't be read: its content began like JSON, but is not valid. */
  error?: string
}

/** The payload of `turnStart`. */
export interface TurnStarted {
  speechId: string | null
  turnId: string
  isNewTurn: boolean
}

/** The payload of `turnEnd`. */
export interface TurnEnded {
  speechId: string | null
  turnId?: string
}

/**
 * `word` is one word of a partial transcript. `startMs` is in milliseconds from the start of
 * the utterance.
 */
export interface Word {
  word: string
  startMs: number
}

/** The payload of `transcript`. */
export interface Transcript {
  type: "user" | "final" | "partial"
  text: string
  speechId: string | null
  words?: Word[]
}

/**
 * ToolMetadata describes how a call is answered. With `waitForResponse` the brain waits for
 * respondToTool() with this `id`.
 */
export interface ToolMetadata {
  id?: string
  waitForResponse: boolean
  type?: string
}

/** ToolCall is a call of a client tool by the brain. */
export interface ToolCall {
  name: string
  args: Record<string, unknown>
  raw: string
  toolMetadata: ToolMetadata
  /**
   * `fusedArgs` are argument objects that came in the same segment and belong to calls of other
   * tools.
   */
  fusedArgs?: Record<string, unknown>[]
}

/** The payload of `toolCallResult`. */
export interface ToolCallResult {
  call: ToolCall
  ok: boolean
  value?: unknown
  error?: AgentError
}

/** The payload of `toolCallInvalid`. */
export interface ToolCallInvalid {
  call: ToolCall
  errors: string[]
}

/** The payload of `toolSpiralDetected`. */
export interface ToolSpiralDetected {
  count: number
  limit: number
}

/** The payload of `oauthRequired`. */
export interface OAuthRequired {
  authUrl: string
  toolName?: string
  toolDisplayName?: string
}

/** The payload of `oauthRequiredResult`. */
export interface OAuthRequiredResult {
  result: OAuthRequired
  ok: boolean
  value?: unknown
  error?: AgentError
}

/** The payload of `sessionCompleted`. */
export interface SessionCompleted {
  reason: string
  sent: boolean
  suppressed: boolean
  peers: number
}

/** The payload of `warning`. */
export interface Warning {
  code: WarningCode
  message: string
  detail?: string
  /** `kind` is video or audio for playback_blocked and media_attach_failed. */
  kind?: "video" | "audio"
  /** `requestVarKeys` are the names of the variables, for empty_turn_with_request_vars. */
  requestVarKeys?: string[]
}

/**
 * EndReason is why a session ended: the code of the error event before it, the reason that the
 * page gave to disconnect(), or one of the other values.
 */
export type EndReason = "disconnect" | "stop" | "pagehide" | "idle_timeout" | "conversation_ended" | "io server disconnect" | "parse error" | ErrorCode

/** The payload of `ended`. */
export interface Ended {
  reason?: EndReason
}

/** TurnMark is something that happens in a turn. */
export type TurnMark = "userSpeechEnd" | "sent" | "transcript" | "firstSegment" | "firstText" | "firstSound" | "firstFrame" | "textEnd" | "speechEnd" | "interrupted"

/**
 * ToolTiming has the times of a call of a client tool, in milliseconds from the beginning of
 * the turn.
 */
export interface ToolTiming {
  id?: string
  name: string
  called: number
  /** `returned` is when the last handler returned, `answered` when respondToTool succeeded. */
  returned?: number
  answered?: number
}

/** The payload of `turnTimings`. */
export interface TurnTimings {
  /** `turnId` is absent for a turn that was not answered. */
  turnId?: string
  /** `speechId` is that of the turn's last utterance. */
  speechId?: string
  /** `clientTurnId` is the id that was sent with a typed turn. */
  clientTurnId?: string
  /** `threadId` and `messageId` are the service's. */
  threadId?: string
  messageId?: string
  /** `from` is what began the turn: a text, the visitor's voice, or the agent itself. */
  from: "typed" | "spoken" | "agent"
  outcome: "answered" | "interrupted" | "empty" | "failed" | "ended"
  /** `durationMs` is the time from the beginning of the turn to this event. */
  durationMs: number
  /**
   * `marks` has the milliseconds from the beginning of the turn, which is the end of the
   * visitor's speech, or when the text was sent. What did not happen is absent.
   */
  marks: Partial<Record<TurnMark, number>>
  /** `estimated` are the marks that were derived from messages of the service. */
  estimated: TurnMark[]
  /**
   * `speechEndBy` is what has found the end of the visitor's speech: the session's own
   * detector, the end of the source of a native microphone, or the service.
   */
  speechEndBy?: "detector" | "source" | "service"
  /** `tools` are the client tools that were called. */
  tools: ToolTiming[]
}

/** Kickoff is the first user turn, which the session sends by itself. */
export interface Kickoff {
  text: string
  /** `echo` shows the text as a user transcript. */
  echo: boolean
  /** `sent` is true in a snapshot once the kickoff was sent. */
  sent: boolean
}

/**
 * AgentAbilities are the agent's abilities as the service reported them. Before that, only
 * `interruptions` is true.
 */
export interface AgentAbilities {
  screenShare: boolean
  cameraAnalysis: boolean
  webSearch: boolean
  interruptions: boolean
  tapToTalk: boolean
}

/** `configuration` is the agent's configuration from the event clientConfiguration. */
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

/** Snapshot is the part of a session's state that can be read at any time. */
export interface Snapshot {
  state: AvatarState
  mode: AvatarMode
  /** `speaking` is true while the avatar talks. */
  speaking: boolean
  /** `responsePending` reports that a turn was sent and its answer has not begun. */
  responsePending: boolean
  paused: boolean
  /** `timings` are the milliseconds from the connect call, by phase. */
  timings: Timings
  tapToTalkActive: boolean
  kickoff: Kickoff | null
  /** `capabilities` are what the agent can do, as the service reports it. */
  capabilities: AgentAbilities
  clientConfig: Configuration | null
  partnerId: string
  stickyId: string
  /** `micEnabled` is true while the microphone is not muted. */
  micEnabled: boolean
  /** `micStarted` is true while a microphone is attached. */
  micStarted: boolean
  threadId?: string
  audioOutputMuted: boolean
  audioOutputVolume: number
  disclosure: Disclosure | null
  /** `gated` is true while the start waits for the acknowledgement of the disclosure. */
  gated: boolean
}

/** ChatState is the phase of a session. */
export type ChatState = "idle" | "connected" | "closed"

/** The payload of `stateChange`. */
export interface ChatStateChanged {
  state: ChatState
}

/** ChatSnapshot is the part of a session's state that can be read at any time. */
export interface ChatSnapshot {
  state: ChatState
  /** `threadId` is the dialogue's id: the one given, or that of the first reply. */
  threadId?: string
  partnerId: string
  kickoff: Kickoff | null
  /** `responsePending` reports that a turn was sent and its answer has not begun. */
  responsePending: boolean
}

/** AgentState is the phase of a session. */
export type AgentState = "idle" | "connecting" | "connected" | "switching" | "failed" | "closed"

/** The payload of `stateChange`. */
export interface AgentStateChanged {
  state: AgentState
  reason?: "user_requested" | "transport_failed"
}

/** AgentMode is the kind of transport. */
export type AgentMode = "avatar" | "chat"

/** The payload of `transportChanged`. */
export interface TransportChanged {
  mode: AgentMode
}

/** The payload of `modeChanged`. */
export interface ModeChanged {
  mode: AgentMode
  threadContinuity: boolean
}

/** AgentSnapshot is the part of a session's state that can be read at any time. */
export interface AgentSnapshot {
  state: AgentState
  /** `mode` is that of the transport that carries the conversation; during a switch the old one. */
  mode: AgentMode
  threadId?: string
  /** `timings` are those of the avatar's connect, empty without an avatar. */
  timings: Timings
}

/** MalformedWidget is a widget that began like JSON but was not valid when another followed. */
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
  /** `id` is the id with which the call is answered, empty if the call has none. */
  id?: string
  /** `type` is the kind of tool: api, client, csv or code. */
  type?: string
  /** `waitForResponse` reports that the brain waits for an answer. */
  waitForResponse: boolean
  /** `raw` is the content the call was parsed from. */
  raw: string
}

/** TurnWarning reports a turn that succeeded but may not have the intended result. */
export interface TurnWarning {
  code: WarningCode
  message: string
  /** `requestVarKeys` are the names of the variables that were sent. */
  requestVarKeys?: string[]
}

/** ChatTurn is an answer as a whole. */
export interface ChatTurn {
  /** `text` is the text of all spoken segments in one, without the widgets. */
  text: string
  /** `threadId` is the id with which the conversation can be continued. */
  threadId: string
  /** `messageId` is the id of the answer, for feedback. */
  messageId: string
  /** `segments` are all segments in the order in which they arrived. */
  segments: Segment[]
  widgets: Widget[]
  /** `malformedWidgets` are widgets that could not be read. */
  malformedWidgets?: MalformedWidget[]
  /**
   * `toolCalls` are the distinct calls. If only the result of a call has its tool's name, its
   * arguments are in fusedArgs of the call with which they arrived.
   */
  toolCalls: TurnCall[]
  /** `oauthRequired` are the authorisations that tools wait for. */
  oauthRequired: OAuthRequired[]
  /** `errors` are the error segments. They fail the turn unless onErrorSegment selects otherwise. */
  errors: Segment[]
  /**
   * `spiralStopped` reports that the turn was stopped because it called tools too often. A
   * session never stops a turn for that.
   */
  spiralStopped: boolean
  /**
   * `truncated` reports that the answer exceeds what is kept: 4 MiB, and 20,000 segments in a
   * session or 2,000 without one. Without a session the turn is stopped there.
   */
  truncated: boolean
  /**
   * `empty` reports that the answer had no content at all, which is how the service refuses
   * variables that it does not allow.
   */
  empty: boolean
  /** `warnings` are for the developer. A session emits them as events instead. */
  warnings?: TurnWarning[]
}

/** VideoStats are what was received of the picture. */
export interface VideoStats {
  /** without headers */
  bytesReceived: number
  packetsReceived: number
  packetsLost: number
  /** `jitter` of the packets, in seconds; the latest value. */
  jitter: number
  framesDecoded: number
  framesDropped: number
  freezeCount: number
  /** `totalFreezesDuration` is in seconds. */
  totalFreezesDuration: number
  /** `frameWidth` and `frameHeight` are the size of the latest frame, in pixels. */
  frameWidth: number
  frameHeight: number
}

/** InboundStats are what was received of one kind of media. */
export interface InboundStats {
  /** without headers */
  bytesReceived: number
  packetsReceived: number
  packetsLost: number
  /** `jitter` of the packets, in seconds; the latest value. */
  jitter: number
}

/**
 * MicrophoneStats are what was sent of the microphone. Loss, jitter and round trip are what the
 * service has reported about it.
 */
export interface MicrophoneStats {
  /** without headers */
  bytesSent: number
  packetsSent: number
  packetsLost: number
  /** `jitter` and `roundTripTime` are in seconds; the latest values. */
  jitter: number
  roundTripTime: number
}

/**
 * SessionStats are what a session's media has received and sent since the session began, or the
 * same of one peer. Names, units and meanings are those of the W3C's "Identifiers for WebRTC's
 * Statistics API". What is not measured is 0: natively nothing decodes, so the figures of
 * frames are 0.
 */
export interface SessionStats {
  video: VideoStats
  audio: InboundStats
  microphone: MicrophoneStats
  /**
   * `currentRoundTripTime` is that of the picture's and the voice's connection to the service,
   * otherwise that of the microphone's, in seconds.
   */
  currentRoundTripTime: number
  /** `candidateType` is how that connection reaches the service: host, srflx, prflx or relay. */
  candidateType: string
}

/** The codes after which the service has ended the session. */
export const FATAL_ERROR_CODES = ["capacity_unavailable", "tier_exceeded", "bad_request", "peer_removed", "unsupported_client"] as const

/** The codes of a microphone that is missing, as errors and as warnings. */
export const MIC_ERROR_CODES = ["mic_not_started", "mic_permission_denied", "mic_not_found", "mic_in_use", "mic_attach_failed", "devices_permission_denied", "noise_processor_failed"] as const

/** The opening phrase of an agent without an opening turn. */
export const SILENT_OPENING = "<blank>"

/** The text in its place in `transcript`, `speechChunk` and `avatarStopTalking`. */
export const SILENT_OPENING_LABEL = "[silence]"
