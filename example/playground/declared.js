// Generated from the Go declarations by "go generate ./runtime/event"; don't edit.

/** The options, by the interface that has them. */
export const options = {
  "AgentSettings": [
    {
      "name": "mode",
      "type": "AgentMode",
      "values": [
        "avatar",
        "chat"
      ],
      "preset": "\"avatar\"",
      "about": "The transport that the session starts with."
    },
    {
      "name": "avatar",
      "type": "AvatarSettings & OwnToken",
      "about": "The options that only the avatar uses."
    },
    {
      "name": "chat",
      "type": "ChatSettings & OwnToken",
      "about": "The options that only turns in text use."
    }
  ],
  "AvatarSettings": [
    {
      "name": "conversationManagerUrl",
      "type": "string | URL",
      "check": "socket",
      "preset": "\"https://conversation.avatar.us.kaltura.ai\"",
      "about": "The host of the control socket, from `appInit`. Its default is the same in every region."
    },
    {
      "name": "srsBaseUrl",
      "type": "string | URL",
      "check": "address,empty",
      "about": "The media host, from `appInit`."
    },
    {
      "name": "turnServerUrl",
      "type": "string",
      "about": "The relay, from `appInit`: a host, which is tried over UDP, TCP and TLS, or an address with a port or a transport, which is used unchanged."
    },
    {
      "name": "turnCredentials",
      "type": "TurnCredentials",
      "check": "object",
      "about": "The login to the relay."
    },
    {
      "name": "onRelayNeeded",
      "type": "() => Promised<TurnCredentials | null | undefined>",
      "check": "function",
      "about": "Returns a new login to the relay within 5 s. It is called before the session is rebuilt, or is resumed after an expired pause, because the login may have expired, and before a connect or a repair of the picture if it has expired."
    },
    {
      "name": "iceServers",
      "type": "RTCIceServer[]",
      "check": "array",
      "about": "Used in place of `turnServerUrl` and `turnCredentials`."
    },
    {
      "name": "iceTransportPolicy",
      "type": "\"relay\" | \"all\"",
      "values": [
        "relay",
        "all"
      ],
      "about": "The policy for the avatar's media. Default: relay; all in Firefox or without ICE servers."
    },
    {
      "name": "preferredVideoCodec",
      "type": "string",
      "check": "string",
      "about": "The only codec to offer, such as VP8."
    },
    {
      "name": "preferredAudioCodec",
      "type": "string",
      "check": "string",
      "about": "The only codec to offer for the voice, such as opus, G722 or PCMU. One that is not supported is ignored, with a warning in the log."
    },
    {
      "name": "isFirefox",
      "type": "boolean",
      "check": "boolean",
      "about": "Applies Firefox's rules. Default: from the user agent."
    },
    {
      "name": "allowPrivateHosts",
      "type": "boolean",
      "check": "boolean",
      "preset": "false",
      "about": "Allows media at private addresses, for development against a local service."
    },
    {
      "name": "stickyId",
      "type": "string",
      "check": "string",
      "about": "Keeps a session on one server over a page reload: 16 characters of a-z and 0-9. Default random."
    },
    {
      "name": "entryId",
      "type": "string",
      "check": "string",
      "about": "The media item that the session is about."
    },
    {
      "name": "contextId",
      "type": "string",
      "check": "string",
      "about": "The scope of the session (sys__context_id)."
    },
    {
      "name": "contextType",
      "type": "string",
      "check": "string",
      "about": "The kind of that scope (sys__context_type)."
    },
    {
      "name": "disclosureText",
      "type": "string",
      "check": "string",
      "preset": "\"You are talking to an AI avatar.\"",
      "about": "The notice of the `disclosure` event."
    },
    {
      "name": "requireDisclosureAck",
      "type": "boolean",
      "check": "boolean",
      "preset": "false",
      "about": "Delays the start of the conversation until `acknowledgeDisclosure()` is called."
    },
    {
      "name": "videoEl",
      "type": "HTMLMediaElement | null",
      "check": "element",
      "about": "The element that shows the picture, and plays the voice unless `audioEl` is set."
    },
    {
      "name": "audioEl",
      "type": "HTMLMediaElement | null",
      "check": "element",
      "about": "The element that plays the voice."
    },
    {
      "name": "micConstraints",
      "type": "MediaTrackConstraints | false",
      "about": "Merged over the default constraints, which request echo cancellation, noise suppression and automatic gain control; with false none of these is requested."
    },
    {
      "name": "noiseProcessor",
      "type": "(stream: MediaStream) => Promised<MediaStream | { stream: MediaStream; stop(): void } | null | undefined | false>",
      "check": "function",
      "about": "The page's own audio processing. It gets the microphone's stream and returns the stream to send; a falsy result leaves the microphone's stream as it is."
    },
    {
      "name": "micStartMode",
      "type": "\"immediate\" | \"deferred\"",
      "values": [
        "immediate",
        "deferred"
      ],
      "preset": "\"immediate\"",
      "about": "When the microphone is requested: immediate, while connecting, or deferred, by `startMic()`."
    },
    {
      "name": "localVadThreshold",
      "type": "number",
      "check": "number",
      "preset": "300",
      "about": "The level at which `localSpeakingChanged` turns true."
    },
    {
      "name": "maxAsrBitrateKbps",
      "type": "number",
      "check": "count",
      "about": "Limits the bitrate of the microphone, in kbit/s; 0 means no limit."
    },
    {
      "name": "onBeforeSend",
      "type": "(text: string, about: SendInfo) => Promised<string | false | void>",
      "check": "function",
      "about": "May change a typed text, or block it with an error (in a page by returning false or by throwing). A blocked text is refused with `guardrail_blocked`. There is no time limit, so that it can ask the visitor: the text waits until then, or until its call is aborted."
    },
    {
      "name": "onAgentAction",
      "type": "(action: AgentAction) => Promised<boolean | void>",
      "check": "function",
      "about": "May refuse an action of the agent with an error (in a page by returning false or by throwing). There is no time limit, so that it can ask the visitor: the rest of the answer waits until then."
    },
    {
      "name": "agentActions",
      "type": "AgentActions",
      "check": "object",
      "about": "The policy that is applied before `onAgentAction` is called."
    },
    {
      "name": "maxTurnsPerMinute",
      "type": "number",
      "check": "count",
      "about": "Bounds the typed turns in any 60 s; 0 means no limit."
    },
    {
      "name": "idleTimeoutMs",
      "type": "number",
      "check": "number",
      "preset": "900000",
      "about": "Ends the session when nothing happens for that long; 0 means never."
    },
    {
      "name": "maxReconnectAttempts",
      "type": "number",
      "check": "integer",
      "preset": "-1",
      "about": "Bounds the attempts to reconnect the socket. With 0 the session ends when its socket is lost. With a negative number, the default, only `reconnectWindowMs` bounds them, and events report how many it has time for."
    },
    {
      "name": "reconnectionDelay",
      "type": "number",
      "check": "number",
      "preset": "250",
      "about": "The average wait before the first attempt to reconnect."
    },
    {
      "name": "reconnectionDelayMax",
      "type": "number",
      "check": "number",
      "preset": "2000",
      "about": "The longest wait between attempts."
    },
    {
      "name": "reconnectWindowMs",
      "type": "number",
      "check": "number",
      "preset": "22000",
      "about": "Bounds the time without a connection."
    },
    {
      "name": "timeouts",
      "type": "Timeouts",
      "check": "limits",
      "about": "The time limits to replace."
    },
    {
      "name": "networkAware",
      "type": "boolean",
      "check": "boolean",
      "preset": "true",
      "about": "Reacts to the browser's events online and offline."
    },
    {
      "name": "statsIntervalMs",
      "type": "number",
      "check": "number",
      "about": "The interval of `connectionQuality`; 0 turns it off."
    },
    {
      "name": "debug",
      "type": "boolean",
      "check": "boolean",
      "preset": "false",
      "about": "Also sends typed texts to the service as debug events."
    },
    {
      "name": "hardToolSpiralLimit",
      "type": "number",
      "check": "count",
      "about": "The number of tool calls in a row, with nothing to hear or see in between, that causes a rebuild. Default three times `toolSpiralLimit`; 0 turns it off."
    },
    {
      "name": "recoverFromSpiral",
      "type": "boolean",
      "check": "boolean",
      "preset": "true",
      "about": "Sends the unanswered question again after a rebuild that `hardToolSpiralLimit` caused."
    },
    {
      "name": "completeOnServerEnd",
      "type": "boolean",
      "check": "boolean",
      "preset": "false",
      "about": "Reports the end to the service even if the service itself ended the conversation."
    }
  ],
  "ChatSettings": [
    {
      "name": "onErrorSegment",
      "type": "\"throw\" | \"warn\"",
      "values": [
        "throw",
        "warn"
      ],
      "preset": "\"throw\"",
      "about": "Selects how an error segment in a successful reply is handled: throw fails the turn, warn emits a warning and keeps the turn's text."
    },
    {
      "name": "onResponse",
      "type": "(response: ResponseInfo) => void",
      "check": "function",
      "about": "Called for every HTTP reply to a turn, in order with the events and before the events of its segments."
    }
  ],
  "CompletionSettings": [
    {
      "name": "sessionCompleteOnEnd",
      "type": "boolean",
      "check": "boolean",
      "preset": "true",
      "about": "Reports the end of the conversation to the service."
    },
    {
      "name": "sessionCompletePath",
      "type": "string",
      "check": "string",
      "preset": "\"/thread/session_completed\"",
      "about": "The path of the request that reports the end."
    },
    {
      "name": "sessionCompleteTimeoutMs",
      "type": "number",
      "check": "number",
      "preset": "5000",
      "about": "Bounds that request, except one that is sent because the page is hidden or unloaded."
    },
    {
      "name": "pageLifecycleAware",
      "type": "boolean",
      "check": "boolean",
      "preset": "true",
      "about": "Reacts when the page is hidden, shown or unloaded."
    },
    {
      "name": "hiddenGraceMs",
      "type": "number",
      "check": "number",
      "preset": "30000",
      "about": "How long a page may be hidden, without activity, before the conversation counts as ended; with 0 it ends at once."
    },
    {
      "name": "completeOnHiddenGrace",
      "type": "boolean",
      "check": "boolean",
      "preset": "true",
      "about": "Reports the end when `hiddenGraceMs` is over."
    },
    {
      "name": "completeOnBfcache",
      "type": "boolean",
      "check": "boolean",
      "preset": "true",
      "about": "Reports the end when the page enters the back-forward cache."
    },
    {
      "name": "crossTabPresence",
      "type": "boolean",
      "check": "boolean",
      "preset": "true",
      "about": "Suppresses the report while another tab has the thread."
    },
    {
      "name": "presenceChannelPrefix",
      "type": "string",
      "check": "string",
      "preset": "\"kaltura-agents:thread\"",
      "about": "The prefix of the name of the channel between tabs."
    },
    {
      "name": "presenceHeartbeatMs",
      "type": "number",
      "check": "number",
      "preset": "4000",
      "about": "The interval at which a tab announces its thread to the others."
    },
    {
      "name": "presenceStaleMs",
      "type": "number",
      "check": "number",
      "preset": "12000",
      "about": "How long after its last message another tab still counts."
    }
  ],
  "SessionSettings": [
    {
      "name": "kind",
      "type": "TokenKind",
      "values": [
        "widget",
        "conversation",
        "agent",
        "admin"
      ],
      "about": "The kind of the token, from `appInit`. An admin token is refused with `wrong_token_scope`."
    },
    {
      "name": "onTokenNeeded",
      "type": "() => Promised<string>",
      "check": "function",
      "about": "Returns a new conversation token within 10 s. It is called when the service refuses the present token and, with `tokenLifeMs`, before that expires. Without it a refused token fails with `unauthorized`."
    },
    {
      "name": "tokenLifeMs",
      "type": "number",
      "check": "number",
      "about": "How long each token is valid after the session got it; 0 means unknown. `onTokenNeeded` is called when a fifth of that time is left."
    },
    {
      "name": "region",
      "type": "Region",
      "values": [
        "nvp1",
        "frp2"
      ],
      "about": "Picks the default of `genieUrl`: nvp1 (US, the default) or frp2 (EU)."
    },
    {
      "name": "genieUrl",
      "type": "string | URL",
      "check": "address",
      "about": "The brain's host, from `appInit`."
    },
    {
      "name": "allowInsecureTransport",
      "type": "boolean",
      "check": "boolean",
      "preset": "false",
      "about": "Allows http: and ws: to public hosts. For tests only."
    },
    {
      "name": "partnerId",
      "type": "string | number",
      "check": "id",
      "about": "The account's id. Default: read from the token."
    },
    {
      "name": "subjectId",
      "type": "string",
      "check": "string",
      "about": "An opaque id of the visitor for audit events; nothing personal."
    },
    {
      "name": "threadId",
      "type": "string",
      "check": "string",
      "about": "Continues a stored dialogue."
    },
    {
      "name": "capabilities",
      "type": "Capabilities",
      "about": "What the agent may do. With an avatar they override the defaults avatar and generate_followup_questions, both on; in text every turn sends them as given."
    },
    {
      "name": "requestVars",
      "type": "RequestVars",
      "about": "The variables of the prompt: strings, numbers, booleans and null."
    },
    {
      "name": "kickoff",
      "type": "string | (Pick<Kickoff, \"text\"> & Partial<Pick<Kickoff, \"echo\">>) | null",
      "about": "The first user turn, which the session sends by itself, once. With `echo` it is shown as a transcript."
    },
    {
      "name": "brainStallMs",
      "type": "number",
      "check": "number",
      "preset": "12000",
      "about": "The interval of `brainStalled`; 0 turns it off."
    },
    {
      "name": "toolSpiralLimit",
      "type": "number",
      "check": "count",
      "preset": "10",
      "about": "The number of tool calls in a turn that causes `toolSpiralDetected`; 0 turns it off."
    },
    {
      "name": "traceContext",
      "type": "TraceSource",
      "check": "trace",
      "about": "The W3C trace context of requests with a token; a function must not wait."
    },
    {
      "name": "onAuditEvent",
      "type": "(event: AuditEvent) => void",
      "check": "function",
      "about": "Receives redacted security events."
    },
    {
      "name": "logger",
      "type": "(level: string, message: string, data?: Record<string, unknown>) => void",
      "check": "function",
      "about": "Receives diagnostics; nothing in them is secret. Natively LogTo makes it of a *slog.Logger."
    }
  ],
  "Timeouts": [
    {
      "name": "overall",
      "type": "number",
      "check": "number",
      "preset": "30000",
      "about": "Bounds a whole connect, a cold rebuild, or the rebuild after an expired pause. Its deadline is fixed once, when the handshake starts."
    },
    {
      "name": "serverConnect",
      "type": "number",
      "check": "number",
      "preset": "10000",
      "about": "Bounds the time from opening the socket to the event onServerConnected."
    },
    {
      "name": "joinRoom",
      "type": "number",
      "check": "number",
      "preset": "5000",
      "about": "Bounds the time from the event join to clientConfiguration."
    },
    {
      "name": "joinComplete",
      "type": "number",
      "check": "number",
      "preset": "20000",
      "about": "Bounds the time from the event join to joinComplete."
    },
    {
      "name": "agent",
      "type": "number",
      "check": "number",
      "preset": "10000",
      "about": "Bounds the wait for each of the events showAgent and askPermissions."
    },
    {
      "name": "asr",
      "type": "number",
      "check": "number",
      "preset": "30000",
      "about": "Bounds the wait for each of the events asr-webrtc-ready and asr-webrtc-answer, also for the latter after an ICE restart, and the answer to an offer of the voice in audio mode."
    },
    {
      "name": "firstFrame",
      "type": "number",
      "check": "number",
      "preset": "6000",
      "about": "Bounds the time from the media answer to the first painted frame."
    },
    {
      "name": "prepareIdle",
      "type": "number",
      "check": "number",
      "preset": "60000",
      "about": "The life of a prepared socket that is not used."
    },
    {
      "name": "whepTry",
      "type": "number",
      "check": "number",
      "preset": "5000",
      "about": "Bounds one WHEP POST with its body."
    },
    {
      "name": "whepTries",
      "type": "number",
      "check": "count",
      "preset": "3",
      "about": "The number of WHEP POSTs before a subscription fails."
    },
    {
      "name": "whepBackoff",
      "type": "number",
      "check": "number",
      "preset": "1000",
      "about": "The average wait between them."
    },
    {
      "name": "whepRelease",
      "type": "number",
      "check": "number",
      "preset": "3000",
      "about": "Bounds one WHEP DELETE."
    },
    {
      "name": "recover",
      "type": "number",
      "check": "number",
      "preset": "15000",
      "about": "Bounds one recovery of the avatar's peer, and the wait for the confirmation of a resume that the service has announced."
    },
    {
      "name": "mediaLost",
      "type": "number",
      "check": "number",
      "preset": "120000",
      "about": "Bounds the time without a picture despite repairs and a rebuild; the session then ends with media_recover_failed."
    },
    {
      "name": "healthTick",
      "type": "number",
      "check": "number",
      "preset": "1000",
      "about": "The interval between checks of the peers."
    },
    {
      "name": "videoStall",
      "type": "number",
      "check": "number",
      "preset": "4000",
      "about": "How long no new video bytes may arrive before the picture is repaired."
    },
    {
      "name": "coldAttempts",
      "type": "number",
      "check": "count",
      "preset": "2",
      "about": "The number of full rebuilds before the session gives up."
    },
    {
      "name": "coldBackoff",
      "type": "number",
      "check": "number",
      "preset": "500",
      "about": "The average wait between full rebuilds."
    }
  ]
}

/** The interfaces of the options of each kind of session. */
export const groups = {
  "agent": [
    "SessionSettings",
    "AgentSettings",
    "CompletionSettings"
  ],
  "avatar": [
    "SessionSettings",
    "AvatarSettings",
    "Timeouts",
    "CompletionSettings"
  ],
  "chat": [
    "SessionSettings",
    "ChatSettings",
    "CompletionSettings"
  ]
}
