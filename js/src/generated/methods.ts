// Generated from the methods that the Go programs export by "go generate ./runtime/event"; don't edit.

/** The names of the methods of a kind of object: those that return at once, those that return a promise, and those that return a sequence. */
export interface MethodNames {
  sync: string
  async: string
  stream: string
}

/** The methods of every session. */
export interface SessionMethods extends MethodNames {
  sync:
    | "addConsentHandler"
    | "addToolHandler"
    | "disconnect"
    | "omitEvents"
    | "properties"
    | "redact"
    | "removeHandler"
    | "setDynamicPrompt"
    | "setToken"
    | "updateRequestVars"
  async:
    | "completeThread"
    | "connect"
    | "respondToTool"
    | "settle"
  stream: never
}

/** The methods of a live session, besides those of every session. */
export interface AvatarMethods extends MethodNames {
  sync:
    | "acknowledgeDisclosure"
    | "elements"
    | "endTapToTalk"
    | "interrupt"
    | "keepAlive"
    | "measureLevel"
    | "measureSpeech"
    | "mute"
    | "muteAudioOutput"
    | "notifyHtmlElementClick"
    | "pause"
    | "sendCameraShot"
    | "sendScreenShot"
    | "setAudioEl"
    | "setAudioOutputVolume"
    | "setVideoEl"
    | "startTapToTalk"
    | "submitStructuredDataForm"
    | "unmute"
    | "unmuteAudioOutput"
  async:
    | "getStats"
    | "prepare"
    | "resume"
    | "setAsrBandwidth"
    | "setAudioOutput"
    | "speak"
    | "startMic"
    | "startPlayback"
    | "switchMic"
    | "waitForCapacity"
  stream: never
}

/** The methods of a chat session, besides those of every session. */
export interface ChatMethods extends MethodNames {
  sync: never
  async:
    | "sendText"
  stream:
    | "streamText"
}

/** The methods of an agent session, besides those of every session. */
export interface AgentMethods extends MethodNames {
  sync: never
  async:
    | "sendText"
    | "switchMode"
  stream: never
}

/** The methods of a program, besides those that make its sessions and end it. */
export interface ProgramMethods extends MethodNames {
  sync: never
  async:
    | "appInit"
    | "assistantStatus"
    | "converseOnce"
    | "feedbackAdd"
    | "followupsSuggested"
    | "messageGet"
    | "messageList"
    | "messageShare"
    | "threadClearAnalysis"
    | "threadDelete"
    | "threadGet"
    | "threadList"
    | "threadRename"
    | "threadSetAnalysis"
    | "threadTranscript"
  stream:
    | "converse"
    | "messageAll"
    | "threadAll"
}
