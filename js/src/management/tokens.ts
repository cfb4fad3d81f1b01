import { bad, fault, isText } from "./fault.js"
import { given, type Checks } from "./given.js"
import type { Http } from "./http.js"
import { meta, type Meta } from "./small.js"
import { MintedToken, textOfToken, type Ks, type MintedKind } from "./token.js"

/** Limits of what a token can be used for. Texts must not have a comma or white space in them. */
export interface Restrictions {
  /** A role; for sessions of an administrator only. */
  role?: string
  /** How many actions it is good for. */
  actionsLimit?: number
  /** The address, or the prefix of addresses, from which it is valid. */
  ipRestrict?: string
  /** The path for which it is valid; `*` at its end stands for any rest. */
  uriRestrict?: string
  /** Groups tokens: revoking one revokes all of them. */
  sessionGroupId?: string
}

const restrictionChecks: Checks<Restrictions> = { role: "string", actionsLimit: "any", ipRestrict: "string", uriRestrict: "string", sessionGroupId: "string" }

export interface AdminTokenInput {
  /** The owner of what is made with the token. */
  userId: string
  /** Whole seconds; default 3600, at most 604800. */
  ttlSeconds?: number
}

const adminChecks: Checks<AdminTokenInput> = { userId: "any", ttlSeconds: "number" }

export interface UserTokenInput {
  /** The end user, whose threads the token reaches. */
  userId?: string
  /** Whole seconds; default 1800, at most 86400. */
  ttlSeconds?: number
  /** `admin` makes a session of an administrator, which must stay on the server and needs a userId. Default `user`. */
  sessionType?: "user" | "admin"
  restrictions?: Restrictions
  /** Privileges that are added as they are, as a list or joined by commas. */
  extraPrivileges?: string | readonly string[]
}

export interface ConversationTokenInput extends UserTokenInput {
  /** The id of the intellect that answers. */
  configId: number | string
  /** Labels the threads; without it they have the agent `default`. */
  agentId?: string
}

/** What conversation and agent tokens are made of. */
export const tokenChecks: Checks<ConversationTokenInput> = {
  configId: "any", agentId: "string", userId: "string", ttlSeconds: "number", sessionType: "any", restrictions: "object", extraPrivileges: "any",
}

export interface AgentTokenInput extends UserTokenInput {
  agentId: string
  /** The id of the intellect that answers. {@link Management} reads it from the agent when it is missing. */
  configId?: number | string
}

// Lives of tokens, in seconds.
const lives = { admin: { usual: 3600, most: 604_800 }, user: { usual: 1800, most: 86_400 } }
const lookupLife = 60

const playbackRole = "PLAYBACK_BASE_ROLE"

// The privilege of administrators alone.
const disabling = /\bdisableentitlement\b/i

// Privileges of which a token has at most one.
const single = ["setrole", "agentid", "geniegpcid", "iprestrict", "urirestrict", "sessionid", "actionslimit"]

/** Finds the intellect of an agent with an admin token. */
type ConfigOf = (agentId: string, ks: MintedToken) => Promise<number>

/**
 * Mints and revokes tokens. Only this class has the admin secret, and sends it to the session API only.
 */
export class SessionCalls {
  readonly #http: Http
  readonly #configOf: ConfigOf | undefined

  /** @internal */
  constructor(http: Http, configOf?: ConfigOf) {
    this.#http = http
    this.#configOf = configOf
  }

  /**
   * Mints a token that manages the account; it must stay on the server. Rejects with `bad_request` without a userId,
   * `ttl_too_long`, `no_secret`, and `session_failed` when the service returns none.
   */
  async createAdminToken(input?: AdminTokenInput): Promise<MintedToken> {
    const { userId, ttlSeconds } = given("the input", input, adminChecks)
    if (!isText(userId)) throw bad("an admin token needs a userId: it becomes the owner of what is made with the token")
    return this.#mint("admin", "disableentitlement", userId, true, ttlSeconds)
  }

  /** Mints a token for conversations with an intellect. Rejects like `createAdminToken`, and with `entitlement_violation`. */
  async createConversationToken(input: ConversationTokenInput): Promise<MintedToken> {
    if (!isId(given("the input", input, tokenChecks).configId)) throw bad("a conversation token needs a configId")
    return this.#user("conversation", input)
  }

  /**
   * Mints a token for conversations with one agent. Without a configId a `Management` reads the agent's own, which takes
   * another token and a call, and rejects with `intellect_not_found` for an agent without one; `Sessions` alone can't,
   * and then the service answers as its default persona.
   */
  async createAgentToken(input: AgentTokenInput): Promise<MintedToken> {
    if (!isText(given("the input", input, tokenChecks as Checks<AgentTokenInput>).agentId)) throw bad("an agent token needs an agentId")
    privilegesOf(input) // what is wrong is refused before the look-up
    secondsOf("agent", input.ttlSeconds)
    if (input.configId != null || !this.#configOf) return this.#user("agent", input)
    const admin = await this.#mint("admin", "disableentitlement", input.userId || "management", true, lookupLife)
    return this.#user("agent", { ...input, configId: await this.#configOf(input.agentId, admin) })
  }

  /** Exchanges a widget id for the token that every visitor gets. Needs no secret. */
  async createWidgetToken(input: { widgetId: string }): Promise<MintedToken> {
    const { widgetId } = given("the input", input, { widgetId: "any" })
    if (!isText(widgetId)) throw bad("a widget token needs a widgetId")
    const ks = this.#checked(await this.#http.session("startWidgetSession", { widgetId }), "startWidgetSession")
    return new MintedToken({ ks, kind: "widget", privileges: `widget:${widgetId}`, expiresAt: 0, admin: false, partnerId: this.#http.partnerId })
  }

  /** Ends a token, and all with the same `sessionGroupId`. */
  async revoke(token: Ks): Promise<{ revokedAt: string; partnerId: string; _meta: Meta }> {
    const ks = textOfToken(token)
    if (ks === "") throw bad("there is no token to revoke")
    await this.#http.session("end", { ks })
    const { partnerId } = this.#http
    const _meta = meta({ partnerId, source: "session/end", scope: "token" })
    return { revokedAt: _meta.generatedAt, partnerId, _meta }
  }

  #user(kind: "conversation" | "agent", input: Partial<ConversationTokenInput>): Promise<MintedToken> {
    return this.#mint(kind, privilegesOf(input), input.userId, input.sessionType === "admin", input.ttlSeconds)
  }

  async #mint(kind: MintedKind, privileges: string, userId: string | undefined, admin: boolean, ttlSeconds?: number): Promise<MintedToken> {
    const seconds = secondsOf(kind, ttlSeconds)
    const began = Math.floor(Date.now() / 1000) // the service's time begins later, so that expiresAt is never too late
    const reply = await this.#http.session("start", {
      secret: await this.#http.secret(), partnerId: this.#http.partnerId, ...(userId && { userId }),
      type: admin ? "2" : "0", expiry: String(seconds), privileges,
    })
    const ks = this.#checked(reply, "session/start")
    return new MintedToken({ ks, kind, privileges, expiresAt: began + seconds, admin, partnerId: this.#http.partnerId })
  }

  #checked(reply: unknown, call: string): string {
    const ks = textOfToken(reply)
    if (!ks.startsWith("djJ8")) throw fault("session_failed", `${call} returned no token`)
    return ks
  }
}

/** The life of a token, as it is sent. */
function secondsOf(kind: MintedKind, ttlSeconds?: number): number {
  const { usual, most } = kind === "admin" ? lives.admin : lives.user
  const seconds = ttlSeconds ?? usual
  if (!Number.isInteger(seconds) || seconds < 1) throw bad("ttlSeconds must be a whole number of seconds, at least 1")
  if (seconds > most) throw fault("ttl_too_long", `ttlSeconds must be at most ${most} for this kind of token`)
  return seconds
}

const isId = (value: unknown): boolean => (typeof value === "number" ? Number.isSafeInteger(value) && value >= 0 : isText(value))

/** The privileges of a conversation or agent token, as they are sent. */
function privilegesOf(input: Partial<ConversationTokenInput>): string {
  const { agentId, configId, userId, sessionType = "user", restrictions, extraPrivileges } = input
  if (sessionType !== "user" && sessionType !== "admin") throw bad("sessionType must be user or admin")
  const admin = sessionType === "admin"
  if (admin && !isText(userId)) throw bad("a session of an administrator needs a userId: it becomes the owner of what is made with the token")
  const { role, actionsLimit, ipRestrict, uriRestrict, sessionGroupId } = given("restrictions", restrictions ?? {}, restrictionChecks)
  if (role != null && !admin) throw bad("restrictions.role is for sessionType admin only")
  if (actionsLimit != null && !(Number.isInteger(actionsLimit) && actionsLimit > 0)) throw bad("restrictions.actionsLimit must be a positive integer")
  const entries = [
    ["agentId", "agentid", agentId], ["configId", "geniegpcid", configId], ["", "setrole", admin ? undefined : playbackRole],
    ["restrictions.role", "setrole", role], ["restrictions.actionsLimit", "actionslimit", actionsLimit], ["restrictions.ipRestrict", "iprestrict", ipRestrict],
    ["restrictions.uriRestrict", "urirestrict", uriRestrict], ["restrictions.sessionGroupId", "sessionid", sessionGroupId],
  ].flatMap(([name, key, value]) => {
    if (value == null || value === "") return []
    if (disabling.test(String(value))) throw fault("entitlement_violation", `${name} must not disable entitlement; use an admin token on the server`)
    if (/[,\s]/.test(String(value))) throw bad(`${name} must not have a comma or white space in it`)
    return [`${key}:${value}`]
  })
  const keys = entries.map((entry) => entry.split(":")[0]!)
  const listed = typeof extraPrivileges === "string" ? extraPrivileges.split(",") : (extraPrivileges ?? [])
  if (!Array.isArray(listed)) throw bad("extraPrivileges must be an array of privileges, or a text with commas between them")
  const extra = listed.filter((entry) => entry !== "")
  for (const entry of extra) {
    if (typeof entry !== "string" || /[,\s]/.test(entry)) throw bad("each of extraPrivileges must be a key, or key:value, without a comma or white space in it")
    if (disabling.test(entry)) throw fault("entitlement_violation", "extraPrivileges must not disable entitlement; use an admin token on the server")
    const key = entry.split(":")[0]!.toLowerCase()
    if (single.includes(key) && keys.includes(key)) throw bad(`extraPrivileges must not have a second ${key}`)
    keys.push(key)
  }
  return [...entries, ...extra].join(",")
}

