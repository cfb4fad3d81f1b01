import type { Kickoff } from "./events.js"
import { AgentError, localError } from "./errors.js"

/** A token, or an object that has one, such as appInit's reply. */
export type Token = string | { ks: string }

/** Options with the token that they need, as `token` or as `ks`. */
export type WithToken<Settings> = Settings & ({ token: Token; ks?: Token | undefined } | { ks: Token; token?: Token | undefined })

/** The service's regions: US and EU. */
export type Region = "nvp1" | "frp2"

/** The relay's, from `appInit`. `expiry` is in seconds since 1970. */
export interface TurnCredentials {
  username: string
  credential: string
  expiry?: number | undefined
}

/** What a token was minted as, when that is known; `appInit` tells. */
export type TokenKind = "widget" | "conversation" | "agent" | "admin"

/** Prompt variables. In an update `""` or null clears one, and one that is undefined stays. Numbers are finite. */
export type RequestVars = Record<string, string | number | boolean | null | undefined>

/** States of a capability; `disabled` is a veto. */
export type CapabilityState = "on" | "off" | "disabled"

/** Capabilities by name. */
export type Capabilities = Partial<Record<CapabilityName, CapabilityState | undefined>>

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

/** What `onResponse` learns of an HTTP reply. */
export interface ResponseInfo {
  method: string
  /** That of the request, without the query. */
  path: string
  status: number
  /** The status is a 2xx. An error may be inside all the same. */
  ok: boolean
  /** Counts the requests of one call, from 1. */
  attempt: number
  /** The service's id of the request, for a support case. */
  requestId?: string
  /** With names in lower case. */
  headers: Record<string, string>
}

/** Where the conversation service is. */
export interface Place {
  /** `"nvp1"` (US, default) or `"frp2"` (EU): where `genieUrl` is when not given. */
  region?: Region | undefined
  /** The brain's host, from `appInit`. */
  genieUrl?: string | URL | undefined
  /** Allow http: and ws: to public hosts. For tests only. Default false. */
  allowInsecureTransport?: boolean | undefined
}

/** When the service is told that a conversation is over (session-api A.1.1, 56 to 67). Times are in ms. */
export interface CompletionSettings {
  /** Tell the service when the conversation is over. Default true. */
  sessionCompleteOnEnd?: boolean | undefined
  /** Default `/thread/session_completed`. */
  sessionCompletePath?: string | undefined
  /** Default 5000; no limit when the page goes away. */
  sessionCompleteTimeoutMs?: number | undefined
  /** Listen to the page's life. Default true. */
  pageLifecycleAware?: boolean | undefined
  /** Hidden that long with nothing said is over. Default 30000. */
  hiddenGraceMs?: number | undefined
  /** Default true. */
  completeOnHiddenGrace?: boolean | undefined
  /** Tell it when the page goes into the back-forward cache. Default true. */
  completeOnBfcache?: boolean | undefined
  /** Not while another tab has the thread. Default true. */
  crossTabPresence?: boolean | undefined
  /** Default `kaltura-agents:thread`. */
  presenceChannelPrefix?: string | undefined
  /** Period in which a tab tells the others that it has the thread. Default 4000. */
  presenceHeartbeatMs?: number | undefined
  /** A tab that was silent that long has the thread no more. Default 12000. */
  presenceStaleMs?: number | undefined
}

/** What sessions of every kind can be told. */
export interface SessionSettings extends Place, CompletionSettings, Unneeded {
  /** Default: read from the token. */
  partnerId?: string | number | undefined
  /** An opaque id of the visitor for audit events; nothing personal. */
  subjectId?: string | undefined

  /** Continues a stored dialogue. */
  threadId?: string | undefined
  /** What the agent may do, beside what is on by itself. */
  capabilities?: Capabilities | undefined
  /** Prompt variables. */
  requestVars?: RequestVars | undefined
  /** The first user turn, sent by the session itself, once. `echo` shows it as a transcript. */
  kickoff?: string | (Pick<Kickoff, "text"> & Partial<Pick<Kickoff, "echo">>) | null | undefined

  onAuditEvent?: ((event: AuditEvent) => void) | undefined
  /** Receives diagnostics; nothing in them is secret. */
  logger?: ((level: string, message: string, data?: Record<string, unknown>) => void) | undefined

  /** Period of `brainStalled`, in ms. Default 12000; 0 is off. */
  brainStallMs?: number | undefined
  /** Tool calls in a turn before `toolSpiralDetected`. Default 10; 0 is off. */
  toolSpiralLimit?: number | undefined
}

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

/**
 * What other clients have injected. This runtime has it itself: given here it is
 * ignored, with one line in the log.
 */
export interface Unneeded {
  /** @deprecated not needed */
  socketFactory?: unknown
  /** @deprecated not needed */
  rtcConstructor?: unknown
  /** @deprecated not needed */
  rtcRtpReceiverConstructor?: unknown
  /** @deprecated not needed */
  mediaStreamConstructor?: unknown
  /** @deprecated not needed */
  fetch?: unknown
  /** @deprecated not needed */
  getUserMedia?: unknown
  /** @deprecated not needed */
  getAudioContext?: unknown
  /** @deprecated not needed */
  now?: unknown
  /** @deprecated not needed */
  transportFactories?: unknown
}

const unneeded: readonly string[] = [
  "socketFactory",
  "rtcConstructor",
  "rtcRtpReceiverConstructor",
  "mediaStreamConstructor",
  "fetch",
  "getUserMedia",
  "getAudioContext",
  "now",
  "transportFactories",
] satisfies (keyof Unneeded)[]

/** Options in the one form that the Go side takes. */
export type PlainOptions = Record<string, unknown>

// The checks are those of the Go side, which may not be there yet. The tables in
// cmd/wasm/testdata hold both to the same answers.

/** The options that were given: undefined and null are as good as nothing. */
export function givenOf(options: unknown): PlainOptions {
  if (typeof options !== "object" || options === null) throw bad("the options must be an object")
  return readable("the options", () => Object.fromEntries(Object.entries(options).filter(([, value]) => value != null)))
}

/**
 * What read returns. A getter or a proxy may throw anything; whatever is no
 * AgentError becomes `bad_request`, which does not repeat it: it may be secret.
 */
export function readable<T>(what: string, read: () => T): T {
  try {
    return read()
  } catch (reason) {
    throw reason instanceof AgentError ? reason : bad(`${what} cannot be read`)
  }
}

/** The options of a method, for which null is as good as nothing. */
export function optionsOf<T extends object>(options: T | null | undefined): T {
  return readable("the options", () => ({ ...options }) as T)
}

/** Checks who asks, and where, and brings it into one form. */
export function plainPlace(given: PlainOptions): PlainOptions {
  oneOf("region", given["region"], ["nvp1", "frp2"])
  checkScalars(given)
  return { ...given, ...plainAddresses(given, ["genieUrl"]), token: tokenOf(given["token"] ?? given["ks"]) }
}

/** Checks what sessions of every kind take, and brings it into one form. */
export function plainSession(given: PlainOptions): PlainOptions {
  checkFunctions(given, ["onAuditEvent", "logger"])
  const { partnerId, kickoff } = given
  return {
    ...plainPlace(given),
    ...plainAsked(given),
    ...(partnerId !== undefined && { partnerId: readable("partnerId", () => String(partnerId)) }),
    ...(kickoff !== undefined && { kickoff: readable("kickoff", () => kickoffOf(kickoff)) }),
  }
}

/** What a session or a turn asks of the agent: variables and capabilities, as far as given, without what is undefined. */
export function plainAsked(given: PlainOptions): PlainOptions {
  return {
    ...("requestVars" in given && { requestVars: plainVars(given["requestVars"]) }),
    ...("capabilities" in given && { capabilities: plainCapabilities(given["capabilities"]) }),
  }
}

const scalarKinds = {
  text: { is: (value: unknown) => typeof value === "string", called: "a string" },
  id: { is: (value: unknown) => typeof value === "string" || Number.isSafeInteger(value), called: "a string or an integer" },
  yesNo: { is: (value: unknown) => typeof value === "boolean", called: "a boolean" },
  amount: { is: (value: unknown) => Number.isFinite(value) && (value as number) >= 0, called: "a number, 0 or more" },
  count: { is: (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0, called: "an integer, 0 or more" },
  integer: { is: (value: unknown) => Number.isSafeInteger(value), called: "an integer" },
}

/** What the options are that stand for themselves, of sessions of every kind. */
const scalars: Record<keyof typeof scalarKinds, readonly string[]> = {
  text: ["subjectId", "threadId", "entryId", "contextId", "contextType", "stickyId", "disclosureText", "preferredVideoCodec", "sessionCompletePath", "presenceChannelPrefix"],
  id: ["partnerId"],
  yesNo: [
    "allowInsecureTransport",
    "allowPrivateHosts",
    "sessionCompleteOnEnd",
    "pageLifecycleAware",
    "completeOnHiddenGrace",
    "completeOnBfcache",
    "completeOnServerEnd",
    "crossTabPresence",
    "requireDisclosureAck",
    "isFirefox",
    "networkAware",
    "recoverFromSpiral",
    "debug",
    "sse",
  ],
  amount: [
    "sessionCompleteTimeoutMs",
    "hiddenGraceMs",
    "presenceHeartbeatMs",
    "presenceStaleMs",
    "brainStallMs",
    "idleTimeoutMs",
    "statsIntervalMs",
    "reconnectionDelay",
    "reconnectionDelayMax",
    "reconnectWindowMs",
    "localVadThreshold",
  ],
  count: ["toolSpiralLimit", "hardToolSpiralLimit", "maxTurnsPerMinute", "maxAsrBitrateKbps"],
  integer: ["maxReconnectAttempts"],
}

/** Throws `bad_request` for an option of another kind than it should be. */
function checkScalars(given: PlainOptions): void {
  for (const [kind, names] of Object.entries(scalars)) checkKinds(given, names, kind as keyof typeof scalars)
}

/** Throws `bad_request` for what is given under one of the names and not of that kind. */
export function checkKinds(given: PlainOptions, names: readonly string[], kind: keyof typeof scalarKinds): void {
  const { is, called } = scalarKinds[kind]
  for (const name of names) {
    if (name in given && !is(given[name])) throw bad(`${name} must be ${called}`)
  }
}

const kinds: readonly TokenKind[] = ["widget", "conversation", "agent", "admin"]

/** Checks what a token is said to be. */
export function checkKind(given: PlainOptions): void {
  oneOf("kind", given["kind"], kinds)
}

/** The same where the token is to talk: an admin's must not be in a page. */
export function checkTalking(given: PlainOptions): void {
  checkKind(given)
  if (given["kind"] === "admin") throw localError("wrong_token_scope", "an admin token is not for talking; use a conversation or agent token")
}

/** Says once that options are of no use here. */
export function logUnneeded(...options: PlainOptions[]): void {
  const names = unneeded.filter((name) => options.some((some) => name in some))
  if (names.length === 0) return
  const message = `not needed and ignored: ${names.join(", ")}`
  const { logger } = options[0] as SessionSettings
  if (logger) logger("info", message)
  else console.info("agentruntime:", message)
}

/** The text of a token. */
export function tokenOf(token: unknown): string {
  const text = readable("token", () => (typeof token === "object" && token !== null ? (token as { ks?: unknown }).ks : token))
  if (typeof text !== "string" || text === "") throw bad("token is required: a string, or an object with ks")
  return text
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

/** Prompt variables without those that are undefined. Throws `validation_error` for what can't be one. */
export function plainVars(vars: unknown): PlainOptions {
  const entries = readable("requestVars", () => {
    if (typeof vars !== "object" || vars === null || Array.isArray(vars)) throw localError("validation_error", "requestVars must be an object")
    return Object.entries(vars).filter(([, value]) => value !== undefined)
  })
  for (const [name, value] of entries) {
    if (reserved.has(name) || /^(sys__user_obj|secrets)\./.test(name)) throw localError("validation_error", `the variable ${name} is reserved`)
    if (value !== null && !["string", "number", "boolean"].includes(typeof value)) {
      throw localError("validation_error", `the variable ${name} is no string, number, boolean or null`)
    }
    // JSON has no such number: it would be null, which clears the variable.
    if (typeof value === "number" && !Number.isFinite(value)) throw localError("validation_error", `the variable ${name} is ${value}`)
  }
  return Object.fromEntries(entries)
}

/** Capabilities without those that are undefined. Throws `bad_request` or `unknown_capability`. */
function plainCapabilities(capabilities: unknown): PlainOptions {
  if (!isRecord("capabilities", capabilities)) throw bad("capabilities must be an object")
  const entries = readable("capabilities", () => Object.entries(capabilities))
  for (const [name, state] of entries) {
    if (!(capabilityNames as readonly string[]).includes(name)) throw localError("unknown_capability", `there is no capability ${name}`)
    oneOf(`the capability ${name}`, state, ["on", "off", "disabled"])
  }
  return Object.fromEntries(entries.filter(([, state]) => state !== undefined))
}

/** Checks the addresses of those names and returns their texts. */
export function plainAddresses(given: PlainOptions, names: readonly string[]): PlainOptions {
  const insecure = given["allowInsecureTransport"] === true
  const addresses: PlainOptions = {}
  for (const name of names.filter((name) => name in given)) {
    const address = given[name]
    const text = address instanceof URL ? address.href : address
    if (!(name === "srsBaseUrl" && text === "")) checkAddress(name, text, insecure)
    addresses[name] = text
  }
  return addresses
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

/** The types of a tool's arguments. */
export const argTypes = ["str", "int", "float", "bool", "list", "dict"] as const

/** Throws `bad_request` for what is no schema of a tool's arguments. */
export function checkSchema(schema: unknown): void {
  if (schema == null) return
  if (!isRecord("the schema of a tool", schema)) throw bad("the schema of a tool must be an object")
  for (const [name, rule] of readable("the schema of a tool", () => Object.entries(schema))) {
    if (!isRecord("the schema of a tool", rule)) throw bad(`the rule for the argument ${name} must be an object`)
    const { type, required, enum: allowed } = readable("the schema of a tool", () => ({ ...rule }))
    if (type !== null && type !== "") oneOf(`the type of the argument ${name}`, type, argTypes)
    if (required != null && typeof required !== "boolean") throw bad(`required of the argument ${name} must be a boolean`)
    if (allowed != null && !isArray(`enum of the argument ${name}`, allowed)) throw bad(`enum of the argument ${name} must be an array`)
  }
}

/** Whether value is an array; a proxy that was revoked throws when it is asked. */
export function isArray(what: string, value: unknown): value is unknown[] {
  return readable(what, () => Array.isArray(value))
}

function isRecord(what: string, value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !isArray(what, value)
}

/** Throws `bad_request` for what is given and no function. */
export function checkFunctions(given: PlainOptions, names: readonly string[]): void {
  for (const name of names) {
    if (name in given && typeof given[name] !== "function") throw bad(`${name} must be a function`)
  }
}

/** Throws for a value that is given and none of these. */
export function oneOf(name: string, value: unknown, values: readonly string[], code: "bad_request" | "validation_error" = "bad_request"): void {
  if (value !== undefined && !values.includes(value as string)) throw localError(code, `${name} must be one of ${values.join(", ")}`)
}

/** The error of an option that can't be right. */
export function bad(detail: string): Error {
  return localError("bad_request", detail)
}
