// Generated from the options of each session by "go generate ./runtime/event"; don't edit.

/** The options of sessions of every kind, and what else the reply of `appInit` has, which can be spread into them. */
export const sessionNames: readonly string[] = [
  "agentActions",
  "allowInsecureTransport",
  "allowPrivateHosts",
  "audioEl",
  "avatar",
  "avatars",
  "brainStallMs",
  "capabilities",
  "chat",
  "completeOnBfcache",
  "completeOnHiddenGrace",
  "completeOnServerEnd",
  "contextId",
  "contextType",
  "conversationManagerUrl",
  "crossTabPresence",
  "debug",
  "disclosureText",
  "embedConfig",
  "entryId",
  "genieUrl",
  "hardToolSpiralLimit",
  "hiddenGraceMs",
  "iceServers",
  "iceTransportPolicy",
  "idleTimeoutMs",
  "isFirefox",
  "kickoff",
  "kind",
  "ks",
  "localVadThreshold",
  "logger",
  "maxAsrBitrateKbps",
  "maxReconnectAttempts",
  "maxTurnsPerMinute",
  "micConstraints",
  "micStartMode",
  "mode",
  "networkAware",
  "noiseProcessor",
  "onAgentAction",
  "onAuditEvent",
  "onBeforeSend",
  "onErrorSegment",
  "onRelayNeeded",
  "onResponse",
  "onTokenNeeded",
  "pageLifecycleAware",
  "partnerId",
  "preferredAudioCodec",
  "preferredVideoCodec",
  "presenceChannelPrefix",
  "presenceHeartbeatMs",
  "presenceStaleMs",
  "reconnectWindowMs",
  "reconnectionDelay",
  "reconnectionDelayMax",
  "recoverFromSpiral",
  "region",
  "requestVars",
  "requireDisclosureAck",
  "sessionCompleteOnEnd",
  "sessionCompletePath",
  "sessionCompleteTimeoutMs",
  "srsBaseUrl",
  "statsIntervalMs",
  "stickyId",
  "subjectId",
  "threadId",
  "timeouts",
  "tokenLifeMs",
  "toolSpiralLimit",
  "traceContext",
  "turnCredentials",
  "turnServerUrl",
  "videoEl",
  "widgetConfig",
]

/** The names in `agentActions`. */
export const actionNames: readonly string[] = [
  "genui",
  "navigate",
  "structuredDataForm",
  "toolCall",
]

/** The addresses among the options of `appInit`. */
export const appInitNames: readonly string[] = [
  "agenticUrl",
  "allowInsecureTransport",
  "genieUrl",
  "ovpUrl",
  "region",
]

/** The options of a turn without a session, besides those of sessions. */
export const turnNames: readonly string[] = [
  "capabilities",
  "forceExperience",
  "modelType",
  "requestVars",
  "sse",
  "threadId",
  "userMessage",
]

/**
 * TokenKind is the kind of a token. It can't be read from the token, so the creator of the
 * token passes it on; calls that the kind does not allow are rejected without a request.
 */
export type TokenKind = "widget" | "conversation" | "agent" | "admin"

/** Names of what an agent can be allowed to do. */
export const capabilityNames = [
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
