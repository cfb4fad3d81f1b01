import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import * as compat from "../src/compat.js"
import * as index from "../src/index.js"
import * as management from "../src/management.js"
import { injected, sessionOptions } from "../src/core/unknown.js"

const text = readFileSync(new URL("../../../docs/moving.md", import.meta.url), "utf8") // seen from the bundled test

/** The names in the first column of the table under a heading. */
function namesUnder(heading: string): string[] {
  const section = text.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? ""
  const table = section.slice(section.indexOf("| Reference name")).split("\n\n")[0]!
  const rows = table.split("\n").filter((line) => line.startsWith("| `"))
  return rows.flatMap((row) => [...row.split("|")[1]!.matchAll(/`(\w+)`/g)].map(([, name]) => name!))
}

test("docs/moving.md names each export of agentruntime/compat once, and nothing else", () => {
  const own = Object.keys(compat).filter((name) => !(name in index))
  assert.deepEqual(namesUnder("Names").sort(), own.sort())
  for (const name of namesUnder("What is not here")) assert.ok(!(name in compat), name)
})

/** The exports of the reference's base entry and umbrella entry (spec: page-helpers G.1). */
const reference = `KalturaAvatarSession KalturaScriptedVideoSession CaptionService TranscriptTracker Emitter KalturaError
  apportion thumbnailUrl playerEmbedUrl externalEmbedUrl parseToolCall parseToolResponseName segmentKind validateToolArgs turnServers iceConfig
  buildJoin buildStvNewSession whepUrl whepUrlHasPrivateIp buildTextEntered isAudioMode modelTypeWire classifyAgentAction redact safeText safeUrl
  renderSafeLink sanitizeJson clampInbound assertCapability assertCapabilityState validateCapabilities mergeCapabilityWrite resolveCapabilities
  EMBED_HOSTS CAPACITY_BACKOFF DEFAULT_CM_URL EXPERIENCES MODEL_TYPES CAPABILITIES CAPABILITY_STATE CAPABILITY_DEFAULTS CAPABILITY_INFO
  Management Sessions inspectKs summarizeReport parseCsv parseSlideNumber uuidv4 randId meta collectConverse parseConverseStream`.split(/\s+/)

test("each export of the reference is here, or docs/moving.md says why not", () => {
  const absent = namesUnder("What is not here")
  for (const name of reference) assert.ok(name in compat || absent.includes(name), name)
})

/** The methods of the reference's management client. spec: management-api E.2 to E.4 */
const calls = {
  sessions: "createAdminToken createConversationToken createAgentToken createWidgetToken revoke",
  application: "generateProfile resolveWidgetId appInit getCustomPrompts",
  agents: "list get create update delete getEmbedScript",
  avatars: "list get create update clone delete listTemplates",
  catalog: "list get createVoice createVisual createFace createBackground importVoiceFromElevenLabs importVoiceFromCartesia update delete",
  avatarSessions: "create initClient say interrupt keepAlive end",
  intellects: `list get add update create delete getCapabilities setCapability setCapabilities resolveCapabilities setClientVariablesEnabled setPrompts previewPrompt
    snapshot restore diffSnapshots setBrainConfig getBrainConfig brainConfigAvailable`,
  "intellects.secrets": "listNames has set delete replaceAll validate",
  intellectConfig: `patch setCapability setCapabilities setToolIds setSkillIds setThreadStartTools setModelConfiguration setOpeningPhrase setAvatarSummaryConfig setSecrets
    listSecretNames setUserPropertiesForms clearUserPropertiesForms setAllowClientVariables setMetadata setKnowledgeIds setMcpServers setBrainConfig describe audit`,
  tools: "add get list update delete findReferencingIntellects",
  skills: "add get list update delete",
  conversations: "stream send status",
  threads: "list get rename setAnalysis clearAnalysis push delete transcript",
  messages: "list get share report reportSummary",
  feedback: "add list",
  followups: "getSuggested list",
  knowledge: `search getLinkage setEnabled list addRecord createRecord getRecord updateRecord deleteRecord linkRecords addSource removeSource listCategoryEntries createCategory
    findCategory findOrCreateCategory linkCategory attachEntry detachEntry uploadDocument uploadMarkdown corpusStatus indexStatus isIndexed entryStatus linkAvailable`,
  lifecycle: "create get list update delete match listObjects listEvents describeFields audit",
  insightSettings: "create get list update delete",
  emailTemplates: "create get list update delete",
  "": "converse converseOnce provision setForcedLanguage doctor",
}

test("docs/moving.md names each export of agentruntime/management once, and each method of the reference is there", () => {
  assert.deepEqual(namesUnder("On servers").sort(), Object.keys(management).filter((name) => name !== "AgentError").sort())
  const client = new management.Management({ partnerId: 1 })
  const all = Object.entries(calls).flatMap(([resource, names]) => names.split(/\s+/).map((name) => [...resource.split(".").filter(Boolean), name]))
  for (const path of all) assert.equal(typeof path.reduce<any>((value, name) => value[name], client), "function", path.join("."))
  assert.ok(text.includes(`has all ${all.length} methods of the reference's`), `docs/moving.md has to say ${all.length}`)
})

// --- The count. spec: session §A.1 to A.3, page-helpers G.1, F.5

const words = (text: string): string[] => text.trim().split(/\s+/)

const completion = `sessionCompleteOnEnd sessionCompletePath sessionCompleteTimeoutMs pageLifecycleAware hiddenGraceMs completeOnHiddenGrace completeOnBfcache
  crossTabPresence presenceChannelPrefix presenceHeartbeatMs presenceStaleMs`

/** The options, methods, properties and events of the reference's sessions. */
const sessions = {
  avatar: {
    class: compat.KalturaAvatarSession,
    options: words(`token conversationManagerUrl region genieUrl srsBaseUrl turnServerUrl turnCredentials allowInsecureTransport partnerId stickyId subjectId
      threadId entryId contextId contextType requestVars kickoff disclosureText requireDisclosureAck
      videoEl audioEl micStartMode micConstraints noiseProcessor localVadThreshold maxAsrBitrateKbps preferredVideoCodec isFirefox
      socketFactory rtcConstructor rtcRtpReceiverConstructor mediaStreamConstructor fetch getUserMedia getAudioContext now
      onBeforeSend onAgentAction agentActions maxTurnsPerMinute idleTimeoutMs onAuditEvent
      maxReconnectAttempts reconnectionDelay reconnectionDelayMax reconnectWindowMs timeouts networkAware statsIntervalMs logger debug
      brainStallMs toolSpiralLimit hardToolSpiralLimit recoverFromSpiral completeOnServerEnd ${completion}`),
    methods: words(`connect prepare disconnect stop completeThread waitForCapacity speak interrupt startTapToTalk endTapToTalk acknowledgeDisclosure getDisclosure
      setToken mute unmute startMic switchMic listDevices setAudioOutput setAsrBandwidth pause resume getStickyId keepAlive sendScreenShot setDynamicPrompt
      updateRequestVars notifyHtmlElementClick submitStructuredDataForm onToolCall onOAuthRequired respondToTool setVideoEl setAudioEl muteAudioOutput
      unmuteAudioOutput setAudioOutputVolume startPlayback`),
    getters: words(`state mode speaking responsePending paused timings tapToTalkActive kickoff capabilities clientConfig partnerId micEnabled micStarted threadId
      videoEl audioEl avatarStream audioOutputMuted audioOutputVolume`),
    events: words(`stateChange streamReady capacityChanged track videoMetadata mediaReady disclosure connectTimings connectivityChanged mediaRecovering mediaRecovered
      reconnecting reconnected connectionQuality micStarted hardwareMuteChanged localSpeakingChanged localMicLevel tapToTalkStarted tapToTalkEnded userStartedTalking
      smartTurnStatus responsePending responseSettled brainStalled brainSegment turnStart turnEnd transcript speechChunk avatarStartTalking avatarStopTalking
      interrupted toolCall toolCallResult toolCallInvalid toolSpiralDetected toolSpiralRecovering spiralRecovered oauthRequired oauthRequiredResult
      agentActionDenied idleWarning timeWarning timeExpired resumeReady resumed sessionCompleted warning error ended`),
  },
  chat: {
    class: compat.KalturaChatSession,
    options: words(`token region genieUrl threadId requestVars capabilities kickoff onErrorSegment partnerId subjectId fetch logger onResponse onAuditEvent
      allowInsecureTransport now brainStallMs toolSpiralLimit ${completion}`),
    methods: words("connect sendText onToolCall onOAuthRequired respondToTool setDynamicPrompt updateRequestVars completeThread disconnect"),
    getters: words("state threadId partnerId kickoff"),
    events: words(`stateChange transcript turnStart turnEnd responsePending responseSettled brainStalled toolCall toolCallResult toolCallInvalid toolSpiralDetected
      oauthRequired oauthRequiredResult sessionCompleted warning error ended`),
  },
  agent: {
    class: compat.KalturaAgentSession,
    options: words("mode token requestVars threadId logger onAuditEvent subjectId partnerId allowInsecureTransport region kickoff avatar chat transportFactories"),
    methods: words("connect switchMode sendText onToolCall onOAuthRequired respondToTool setDynamicPrompt updateRequestVars disconnect"),
    getters: words("state mode threadId timings transport"),
    events: words(`stateChange transportChanged modeChanged ended transcript turnStart turnEnd toolCall toolCallResult toolCallInvalid oauthRequired
      oauthRequiredResult error warning responsePending responseSettled agentActionDenied speechChunk avatarStartTalking avatarStopTalking interrupted mediaReady
      connectTimings mediaRecovering mediaRecovered`),
  },
} as const

/** The events of a kind of session, as the generated docs have them. */
function eventsOf(kind: string): string[] {
  const docs = readFileSync(new URL("../../../docs/events.md", import.meta.url), "utf8")
  const section = docs.split("\n## ").find((each) => each.includes(`\`${kind}\``)) ?? ""
  return Array.from(section.matchAll(/^- `(\w+)`/gm), ([, name]) => name!)
}

/** The property of a class, from the prototype that has it. */
function memberOf(of: unknown, name: string): PropertyDescriptor | undefined {
  for (let at = (of as { prototype: object }).prototype; at; at = Object.getPrototypeOf(at) as object) {
    const found = Object.getOwnPropertyDescriptor(at, name)
    if (found) return found
  }
  return undefined
}

test("docs/moving.md counts what the reference has, and all of it is accepted or has its reason", () => {
  const events = { avatar: eventsOf("AvatarEvents"), chat: eventsOf("ChatEvents"), agent: eventsOf("AgentEvents") }
  const listed = new Set([...text.split("\n## ")[1]!.matchAll(/`(\w+)`/g)].map(([, name]) => name!)) // parts of a page's own
  const rows = Object.entries(sessions).map(([kind, { class: of, options, methods, getters, events: emitted }]) => {
    const ignored = options.filter((name) => (injected as readonly string[]).includes(name))
    for (const name of options) assert.ok(sessionOptions.includes(name), `${kind}: the option ${name}`)
    for (const name of ignored) assert.ok(listed.has(name), `${kind}: why ${name} is ignored`)
    for (const name of methods) assert.equal(typeof memberOf(of, name)?.value, "function", `${kind}: the method ${name}`)
    for (const name of getters) assert.ok(memberOf(of, name)?.get, `${kind}: the property ${name}`)
    for (const name of emitted) assert.ok(events[kind as keyof typeof events].includes(name), `${kind}: the event ${name}`)
    return `| \`${of.name}\` | ${options.length} | ${ignored.length} | ${methods.length} | ${getters.length} | ${emitted.length} |`
  })
  for (const row of rows) assert.ok(text.includes(row), `docs/moving.md has to say ${row}`)
  const absent = reference.filter((name) => !(name in compat))
  const sentence = `Of the ${reference.length} names that the reference's base entry and umbrella entry export, ${reference.length - absent.length} are exports of`
  assert.ok(text.replaceAll("\n", " ").includes(sentence), `docs/moving.md has to say: ${sentence}`)
})
