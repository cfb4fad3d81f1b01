import type { Kickoff } from "../generated/events.js"
import { AgentError, localError } from "./errors.js"
import { capabilityStates, type Token } from "./inputs.js"
import { isPrivate } from "./privatehost.js"
import { argTypes, capabilityNames, completionChecks, reservedVars, sessionChecks, timeoutChecks, type Check } from "../generated/settings.js"
import { checkNames, injected, sessionOptions } from "./unknown.js"

export type { Capabilities, CapabilityName, CapabilityState, Injected, OwnToken, RequestVars, Token, TraceContext, TraceSource } from "./inputs.js"
export { argTypes } from "../generated/settings.js"
export type { AuditActor, AuditEvent, CompletionSettings, Region, ResponseInfo, SessionSettings, TokenKind, TurnCredentials } from "../generated/settings.js"

/** Options with the token that they need, as `token` or as `ks`. */
export type WithToken<Settings> = Settings & ({ token: Token; ks?: Token | undefined } | { ks: Token; token?: Token | undefined })

/** Whether an option of a page would replace a part of the runtime. */
export const isInjected = (name: string): boolean => (injected as readonly string[]).includes(name)

/** Removes the options of a page that would replace parts of the runtime, and says so in one line of the log. */
export const withoutInjected = (...from: PlainOptions[]): PlainOptions[] => effective(from, (name) => !isInjected(name))

/** The options that have an effect, and one line about the others: to the logger of the options, or to the console without one. */
export function effective(from: readonly PlainOptions[], counts: (name: string) => boolean): PlainOptions[] {
  const options = [...new Set(from.flatMap((given) => Object.keys(given).filter((name) => !counts(name))))]
  if (options.length > 0) {
    const message = `these options have no effect and can be removed: ${options.join(", ")}`
    const logger = from.map(({ logger }) => logger).find((logger) => typeof logger === "function") as ((level: string, message: string, data: object) => void) | undefined
    if (logger) logger("info", message, { options })
    else console.info(`agentruntime: ${message}`)
  }
  return from.map((given) => Object.fromEntries(Object.entries(given).filter(([name]) => counts(name))))
}

/** Options in the form that the Go program takes. */
export type PlainOptions = Record<string, unknown>

// Constructors throw before the Go program is loaded, so options are checked here too, by
// the tables in settings.ts, which are generated from Go's tags. The cases in
// cmd/wasm/testdata test both sides.

/** Returns the options without those that are undefined or null. */
export function givenOf(options: unknown): PlainOptions {
  if (typeof options !== "object" || options === null) throw bad("the options must be an object")
  return readable("the options", () => Object.fromEntries(Object.entries(options).filter(([, value]) => value != null)))
}

/**
 * Returns the result of read. Exceptions of getters and proxies become `bad_request`,
 * whose message does not repeat them because they may contain secrets.
 */
export function readable<T>(what: string, read: () => T): T {
  try {
    return read()
  } catch (reason) {
    throw reason instanceof AgentError ? reason : bad(`${what} cannot be read`)
  }
}

/** Copies the options of a method; null and undefined become `{}`. */
export function optionsOf<T extends object>(options: T | null | undefined): T {
  return readable("the options", () => ({ ...options }) as T)
}

/** Checks the options named in the tables and converts them to the form that the Go program takes. */
export function plainOf(given: PlainOptions, ...tables: Readonly<Record<string, Check>>[]): PlainOptions {
  const plain = { ...given }
  for (const [name, check] of tables.flatMap((table) => Object.entries(table))) {
    if (name in given) plain[name] = readable(name, () => checked(name, given[name], check, given))
  }
  return plain
}

function checked(name: string, value: unknown, check: Check, given: PlainOptions): unknown {
  if (typeof check !== "string") {
    if (!("max" in check)) oneOf(name, value, check)
    else if ((checked(name, value, check.is, given) as number) > check.max) throw bad(`${name} must be at most ${check.max}`)
    return value
  }
  switch (check) {
    case "address":
    case "address,empty":
    case "socket":
      return addressOf(name, value, check, given["allowInsecureTransport"] === true)
    case "element":
      checkElement(name, value)
      return value
    case "trace":
      return traceOf(value)
    case "limits":
      if (typeof value !== "object") throw bad(`${name} must be an object`)
      checkNames(value as object, Object.keys(timeoutChecks), `${name}.`)
      return plainOf(givenOf(value), timeoutChecks)
  }
  const { is, called } = kinds[check]
  if (!is(value)) throw bad(`${name} must be ${called}`)
  return check === "id" ? String(value) : value
}

/** Makes a function of a trace context. Throws `bad_request` for one that is not valid; of a function, the program checks what it returns. */
export function traceOf(value: unknown): () => unknown {
  const plain = (context: unknown) => (typeof context === "string" ? { traceparent: context } : context)
  if (typeof value === "function") return () => plain(value())
  const context = readable("traceContext", () => ({ ...(plain(value) as { traceparent?: unknown; tracestate?: unknown }) }))
  const { traceparent, tracestate = "" } = context
  if (!/^00-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/.test(String(traceparent)) || typeof tracestate !== "string" || !/^[ -~]{0,512}$/.test(tracestate)) {
    throw bad("traceContext must be a W3C traceparent, alone or in an object with a tracestate, or a function that returns one")
  }
  return () => ({ traceparent, tracestate })
}

const kinds = {
  string: { is: (value: unknown) => typeof value === "string", called: "a string" },
  id: { is: (value: unknown) => typeof value === "string" || Number.isSafeInteger(value), called: "a string or an integer" },
  boolean: { is: (value: unknown) => typeof value === "boolean", called: "a boolean" },
  number: { is: (value: unknown) => Number.isFinite(value) && (value as number) >= 0, called: "a number, 0 or more" },
  count: { is: (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0, called: "an integer, 0 or more" },
  integer: { is: (value: unknown) => Number.isSafeInteger(value), called: "an integer" },
  array: { is: (value: unknown) => Array.isArray(value), called: "an array" },
  object: { is: (value: unknown) => typeof value === "object", called: "an object" },
  function: { is: (value: unknown) => typeof value === "function", called: "a function" },
}

/** Throws `bad_request` for a name that is neither an option of a session nor one of more. */
export function checkOptions(given: PlainOptions, more: readonly string[] = []): void {
  checkNames(given, [...sessionOptions, ...more])
}

/** Checks the token and the service's address, and converts them. */
export function plainPlace(given: PlainOptions): PlainOptions & { token: string } {
  const token = given["token"] ?? given["ks"]
  return { ...plainOf({ ...toldBy(token), ...given }, sessionChecks), token: tokenOf(token) }
}

/** Checks the options that all sessions have and those in `checks`, and converts them. */
export function plainSession(options: PlainOptions, checks: Readonly<Record<string, Check>>): PlainOptions {
  const [given] = withoutInjected(options) as [PlainOptions]
  const { kickoff } = given
  checkOptions(given)
  checkConversationKind(given)
  const plain = plainPlace(plainOf(given, completionChecks, checks))
  return {
    ...plain,
    ...plainAgentOptions(given),
    partnerId: plain["partnerId"] || partnerOf(plain.token),
    ...(kickoff !== undefined && { kickoff: readable("kickoff", () => kickoffOf(kickoff)) }),
  }
}

/** Checks variables and capabilities, if given, and removes undefined values. */
export function plainAgentOptions(given: PlainOptions): PlainOptions {
  return {
    ...("requestVars" in given && { requestVars: plainVars(given["requestVars"]) }),
    ...("capabilities" in given && { capabilities: plainCapabilities(given["capabilities"]) }),
  }
}

/** Throws `wrong_token_scope` for an admin token, where the kind is known: such a token must not be in a page. */
export function checkConversationKind(given: PlainOptions): void {
  const { kind } = plainOf({ ...toldBy(given["token"] ?? given["ks"]), ...given }, { kind: sessionChecks["kind"]! })
  if (kind === "admin") throw localError("wrong_token_scope", "an admin token must not be used to converse; use a conversation or agent token")
}

/** Returns kind and account of a token that is given as an object. */
function toldBy(token: unknown): PlainOptions {
  if (typeof token !== "object" || token === null) return {}
  const { kind, partnerId } = readable("token", () => ({ ...token }) as PlainOptions)
  return { ...(kind != null && { kind }), ...(partnerId != null && { partnerId }) }
}

/** Like PartnerOf of runtime/session: the account in a token, "" if it can't be read. Both are tested with runtime/session/testdata/partners.json. */
function partnerOf(token: string): string {
  try {
    const [, base64 = ""] = /^([^.=]*)=*(?:\.|$)/.exec(token) ?? []
    return /^v2\|(\d+)\|/.exec(atob(base64.replaceAll("-", "+").replaceAll("_", "/")))?.[1] ?? ""
  } catch {
    return ""
  }
}

/** Throws `bad_request` unless element is a media element, null or undefined. */
export function checkElement(name: string, element: unknown): void {
  if (element == null) return
  const like = element as { srcObject?: unknown; play?: unknown }
  if (typeof element === "object" && like.srcObject !== undefined && typeof like.play === "function") return
  throw bad(`${name} must be a media element: it needs srcObject and play()`)
}

/** Returns the text of a token. Throws `bad_request` without one. */
export function tokenOf(token: unknown): string {
  const text = readable("token", () => (typeof token === "object" && token !== null ? (token as { ks?: unknown }).ks : token))
  if (typeof text !== "string" || text === "") throw bad("token is required: a string, or an object with ks")
  return text
}

/** Returns prompt variables without undefined ones. Throws `validation_error` for an invalid one. */
export function plainVars(vars: unknown): PlainOptions {
  const entries = readable("requestVars", () => {
    if (typeof vars !== "object" || vars === null || Array.isArray(vars)) throw localError("validation_error", "requestVars must be an object")
    return Object.entries(vars).filter(([, value]) => value !== undefined)
  })
  for (const [name, value] of entries) {
    if ((reservedVars as readonly string[]).includes(name) || /^(sys__user_obj|secrets)\./.test(name)) throw localError("validation_error", `the variable ${name} is reserved`)
    if (value !== null && !["string", "number", "boolean"].includes(typeof value)) {
      throw localError("validation_error", `the variable ${name} must be a string, a number, a boolean or null`)
    }
    // JSON.stringify would write null, which clears the variable.
    if (typeof value === "number" && !Number.isFinite(value)) throw localError("validation_error", `the variable ${name} must be a finite number`)
  }
  return Object.fromEntries(entries)
}

/** Returns capabilities without undefined ones. Throws `bad_request` or `unknown_capability`. */
export function plainCapabilities(capabilities: unknown): PlainOptions {
  if (!isRecord("capabilities", capabilities)) throw bad("capabilities must be an object")
  const entries = readable("capabilities", () => Object.entries(capabilities))
  for (const [name, state] of entries) {
    if (!(capabilityNames as readonly string[]).includes(name)) throw localError("unknown_capability", `there is no capability ${name}`)
    oneOf(`the capability ${name}`, state, capabilityStates)
  }
  return Object.fromEntries(entries.filter(([, state]) => state !== undefined))
}

/** Checks an address and returns its text. */
function addressOf(name: string, address: unknown, check: "address" | "address,empty" | "socket", allowInsecure: boolean): string {
  const text = address instanceof URL ? address.href : (address as string)
  if (text === "" && check === "address,empty") return text
  let url: URL
  try {
    url = new URL(text)
  } catch {
    throw bad(`${name} must be a URL`)
  }
  const schemes = check === "socket" ? ["https:", "http:", "wss:", "ws:"] : ["https:", "http:"]
  if (!schemes.includes(url.protocol)) throw bad(`${name} must begin with one of ${schemes.join(", ")}`)
  if (url.username || url.password) throw bad(`${name} must not have a user or password in it`)
  if (/[?#]/.test(String(text))) throw bad(`${name} must not have a query or fragment: paths are appended to it`)
  if (/^(http|ws):$/.test(url.protocol) && !allowInsecure && !isPrivate(url.hostname)) {
    throw localError("insecure_transport", `${name} uses ${url.protocol} to a public host`)
  }
  return text
}

function kickoffOf(kickoff: unknown): Kickoff | undefined {
  const { text, echo = false } = (typeof kickoff === "string" ? { text: kickoff } : kickoff) as Partial<Kickoff>
  if (typeof text !== "string" || typeof echo !== "boolean") throw bad("kickoff must be a string or {text, echo}")
  return text.trim() === "" ? undefined : { text, echo, sent: false }
}

/** Throws `bad_request` for an invalid schema of a tool's arguments. */
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

/** Whether value is an array. Throws `bad_request` for a revoked proxy. */
export function isArray(what: string, value: unknown): value is unknown[] {
  return readable(what, () => Array.isArray(value))
}

function isRecord(what: string, value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !isArray(what, value)
}

/** Throws code unless value is undefined or one of values. */
export function oneOf(name: string, value: unknown, values: readonly string[], code: "bad_request" | "validation_error" = "bad_request"): void {
  if (value !== undefined && !values.includes(value as string)) throw localError(code, `${name} must be one of ${values.join(", ")}`)
}

/** Returns a `bad_request`. */
export function bad(detail: string): Error {
  return localError("bad_request", detail)
}
