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
      "about": "The first transport."
    },
    {
      "name": "avatar",
      "type": "AvatarSettings & OwnToken",
      "about": "For the avatar alone."
    },
    {
      "name": "chat",
      "type": "ChatSettings & OwnToken",
      "about": "For turns in text alone."
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
      "about": "The relay, from `appInit`: a host, which stands for its addresses over UDP, TCP and TLS, or an address with a port or a transport, which is used as it is."
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
      "about": "Returns a new login to the relay, because that of the connect may have expired. It is called before the session is rebuilt or resumed, and before a repair of the picture when the login's expiry has passed. It has 5 s."
    },
    {
      "name": "iceServers",
      "type": "RTCIceServer[]",
      "check": "array",
      "about": "Used in place of what `turnServerUrl` gives."
    },
    {
      "name": "iceTransportPolicy",
      "type": "\"relay\" | \"all\"",
      "values": [
        "relay",
        "all"
      ],
      "about": "For the avatar's media. Default relay, in Firefox all."
    },
    {
      "name": "preferredVideoCodec",
      "type": "string",
      "check": "string",
      "about": "The only codec to offer, such as VP8."
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
      "about": "Holds the start until `acknowledgeDisclosure()`."
    },
    {
      "name": "videoEl",
      "type": "HTMLMediaElement | null",
      "check": "element",
      "about": "Shows the picture, and plays the voice unless AudioEl is set."
    },
    {
      "name": "audioEl",
      "type": "HTMLMediaElement | null",
      "check": "element",
      "about": "Plays the voice."
    },
    {
      "name": "micConstraints",
      "type": "MediaTrackConstraints | false",
      "about": "Merged over echo cancellation, noise suppression and automatic gain; false is none of them."
    },
    {
      "name": "noiseProcessor",
      "type": "(stream: MediaStream) => Promised<MediaStream | { stream: MediaStream; stop(): void } | null | undefined | false>",
      "check": "function",
      "about": "The page's own audio processing; something falsy leaves the microphone's stream as it is."
    },
    {
      "name": "micStartMode",
      "type": "\"immediate\" | \"deferred\"",
      "values": [
        "immediate",
        "deferred"
      ],
      "preset": "\"immediate\"",
      "about": "Says when the microphone is asked for: immediate, beside connecting, or deferred, with `startMic()`."
    },
    {
      "name": "localVadThreshold",
      "type": "number",
      "check": "number",
      "preset": "300",
      "about": "The level at which `localSpeakingChanged` turns true, 0 to 4080."
    },
    {
      "name": "maxAsrBitrateKbps",
      "type": "number",
      "check": "count",
      "about": "Caps the microphone's sender, in kbit/s; 0 is no cap."
    },
    {
      "name": "onBeforeSend",
      "type": "(text: string, about: SendInfo) => Promised<string | false | void>",
      "check": "function",
      "about": "Changes a typed text or blocks it, with an error, in a page with false or a throw: the text is refused with `guardrail_blocked`."
    },
    {
      "name": "onAgentAction",
      "type": "(action: AgentAction) => Promised<boolean | void>",
      "check": "function",
      "about": "May veto what the agent starts, with an error, in a page with false or a throw."
    },
    {
      "name": "agentActions",
      "type": "AgentActions",
      "check": "object",
      "about": "The policy that is asked before `onAgentAction`."
    },
    {
      "name": "maxTurnsPerMinute",
      "type": "number",
      "check": "count",
      "about": "Bounds the typed turns in any 60 s; 0 is any number."
    },
    {
      "name": "idleTimeoutMs",
      "type": "number",
      "check": "number",
      "preset": "900000",
      "about": "Ends the session when nothing happens for that long; 0 is never."
    },
    {
      "name": "maxReconnectAttempts",
      "type": "number",
      "check": "integer",
      "preset": "-1",
      "about": "Bounds the tries to reconnect the socket. With 0 the session ends with its socket. A negative number, the default, leaves the bound to `reconnectWindowMs`; events then have 0 for it."
    },
    {
      "name": "reconnectionDelay",
      "type": "number",
      "check": "number",
      "preset": "250",
      "about": "The wait before the first try to reconnect, on average."
    },
    {
      "name": "reconnectionDelayMax",
      "type": "number",
      "check": "number",
      "preset": "2000",
      "about": "The longest wait between tries."
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
      "about": "Single time limits."
    },
    {
      "name": "networkAware",
      "type": "boolean",
      "check": "boolean",
      "preset": "true",
      "about": "Reacts to the browser's online and offline."
    },
    {
      "name": "statsIntervalMs",
      "type": "number",
      "check": "number",
      "about": "The period of `connectionQuality`; 0 is off."
    },
    {
      "name": "debug",
      "type": "boolean",
      "check": "boolean",
      "preset": "false",
      "about": "Mirrors typed texts to the service's debug event."
    },
    {
      "name": "hardToolSpiralLimit",
      "type": "number",
      "check": "count",
      "about": "The number of tool calls with nothing to hear or see before a rebuild. Default three times `toolSpiralLimit`; 0 is off."
    },
    {
      "name": "recoverFromSpiral",
      "type": "boolean",
      "check": "boolean",
      "preset": "true",
      "about": "Asks the lost question again after that."
    },
    {
      "name": "completeOnServerEnd",
      "type": "boolean",
      "check": "boolean",
      "preset": "false",
      "about": "Tells the service of the end although it ended the conversation."
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
      "about": "Says what an error inside a good reply does: throw fails the turn, warn emits a warning and keeps its text."
    },
    {
      "name": "onResponse",
      "type": "(response: ResponseInfo) => void",
      "check": "function",
      "about": "Called for every HTTP reply to a turn, in order with the events, before those of its segments."
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
      "about": "The route of the request."
    },
    {
      "name": "sessionCompleteTimeoutMs",
      "type": "number",
      "check": "number",
      "preset": "5000",
      "about": "Bounds the request, except when the page is unloaded."
    },
    {
      "name": "pageLifecycleAware",
      "type": "boolean",
      "check": "boolean",
      "preset": "true",
      "about": "Listens to the page: hiding, showing and leaving."
    },
    {
      "name": "hiddenGraceMs",
      "type": "number",
      "check": "number",
      "preset": "30000",
      "about": "How long a page may be hidden, without activity, before the conversation counts as ended; 0 is immediately."
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
      "about": "Reports it when the page enters the back-forward cache."
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
      "about": "Begins the name of the channel between tabs."
    },
    {
      "name": "presenceHeartbeatMs",
      "type": "number",
      "check": "number",
      "preset": "4000",
      "about": "The period in which a tab announces its thread to the others."
    },
    {
      "name": "presenceStaleMs",
      "type": "number",
      "check": "number",
      "preset": "12000",
      "about": "The time after its last message when a tab is ignored."
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
      "about": "What the token was minted as, from `appInit`. An admin's is refused with `wrong_token_scope`."
    },
    {
      "name": "onTokenNeeded",
      "type": "() => Promised<string>",
      "check": "function",
      "about": "Returns a new conversation token. It is called when the service refuses the present one, with `unauthorized` otherwise, and ahead of its end with `tokenLifeMs`. It has 10 s."
    },
    {
      "name": "tokenLifeMs",
      "type": "number",
      "check": "number",
      "about": "How long each token is valid, from when the session gets it; 0 is not known. `onTokenNeeded` is called when a fifth of it is left."
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
      "about": "What the agent may do. With an avatar they are merged over avatar and generate_followup_questions on; in text they go with every turn as given."
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
      "about": "The period of `brainStalled`; 0 is off."
    },
    {
      "name": "toolSpiralLimit",
      "type": "number",
      "check": "count",
      "preset": "10",
      "about": "The number of tool calls in a turn before `toolSpiralDetected`; 0 is off."
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
      "about": "Receives diagnostics; nothing in them is secret."
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
      "about": "Bounds the time from the open socket to ServerConnected."
    },
    {
      "name": "joinRoom",
      "type": "number",
      "check": "number",
      "preset": "5000",
      "about": "Bounds the time from Join to ClientConfig."
    },
    {
      "name": "joinComplete",
      "type": "number",
      "check": "number",
      "preset": "20000",
      "about": "Bounds the time from Join to its end."
    },
    {
      "name": "agent",
      "type": "number",
      "check": "number",
      "preset": "10000",
      "about": "Bounds each of ShowAgent and AskPermissions."
    },
    {
      "name": "asr",
      "type": "number",
      "check": "number",
      "preset": "30000",
      "about": "Bounds each of ASRReady and ASRAnswer."
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
      "about": "The number of tries."
    },
    {
      "name": "whepBackoff",
      "type": "number",
      "check": "number",
      "preset": "1000",
      "about": "The wait between tries."
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
      "about": "Bounds one recovery of the avatar's peer."
    },
    {
      "name": "mediaLost",
      "type": "number",
      "check": "number",
      "preset": "120000",
      "about": "Bounds the time without a picture that repairs and a rebuild did not bring back."
    },
    {
      "name": "healthTick",
      "type": "number",
      "check": "number",
      "preset": "1000",
      "about": "The period of the check of the peers."
    },
    {
      "name": "videoStall",
      "type": "number",
      "check": "number",
      "preset": "4000",
      "about": "How long no new bytes of the picture may come."
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
      "about": "The wait between them."
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
