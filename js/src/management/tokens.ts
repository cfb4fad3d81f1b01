import { bad, fault, isObject, isText } from "./fault.js"
import type { Http } from "./http.js"
import { meta, type Meta } from "./small.js"

/** The kinds of minted tokens. */
export type MintedKind = "admin" | "conversation" | "agent" | "widget"

/** A token as a call takes it: the text, or what a method of {@link Sessions} returned. */
export type Ks = string | { readonly ks: string }

/**
 * A minted token. Its text is in `ks`, which no log, copy or `JSON.stringify` of the object shows: pass `token.ks` on.
 */
export class MintedToken {
  readonly kind: MintedKind
  /** False for a token that may read and change everything of the account. */
  readonly entitlementEnforced: boolean
  readonly privileges: string
  /** The end of its life, in seconds since 1970; 0 if it is not known. */
  readonly expiresAt: number
  readonly scope: Meta & { kind: MintedKind; privileges: string; entitlementEnforced: boolean }
  readonly #ks: string
  readonly #admin: boolean

  /** @internal */
  constructor({ ks, kind, privileges, expiresAt, admin, partnerId }: { ks: string; kind: MintedKind; privileges: string; expiresAt: number; admin: boolean; partnerId: string }) {
    const entitlementEnforced = kind !== "admin"
    this.kind = kind
    this.entitlementEnforced = entitlementEnforced
    this.privileges = privileges
    this.expiresAt = expiresAt
    this.scope = meta({ partnerId, source: kind === "widget" ? "session/startWidgetSession" : "session/start", kind, privileges, entitlementEnforced })
    this.#ks = ks
    this.#admin = admin
  }

  /** The text of the token, which is secret. */
  get ks(): string {
    return this.#ks
  }

  /** Whether its life is over; false when that is not known. */
  isExpired(): boolean {
    return this.secondsRemaining() <= 0
  }

  /** The rest of its life; `Infinity` when that is not known. */
  secondsRemaining(): number {
    return this.expiresAt === 0 ? Infinity : Math.max(0, this.expiresAt - Math.floor(Date.now() / 1000))
  }

  /** @internal Whether it is a session of an administrator, which every call takes. */
  static isAdmin(token: unknown): boolean {
    return token instanceof MintedToken && token.#admin
  }
}

/** The text of a token; `""` if there is none. */
export function textOfToken(ks: unknown): string {
  const text = isObject(ks) ? ks["ks"] : ks
  return typeof text === "string" ? text : ""
}

/** Which tokens a call takes. `any` checks nothing. */
export type Scope = "admin" | "users" | "conversation" | "any"

const accepted: Readonly<Record<Exclude<Scope, "any">, { kinds: readonly string[]; needs: string }>> = {
  admin: { kinds: ["admin"], needs: "an admin token" },
  users: { kinds: ["admin", "conversation", "agent"], needs: "an admin, conversation or agent token" },
  conversation: { kinds: ["conversation", "agent"], needs: "a conversation or agent token" },
}

/** The text of a token for a call. Throws `bad_request` without one, and `wrong_token_scope` for one whose kind is known and does not fit. */
export function checkedToken(ks: unknown, scope: Scope, call: string): string {
  const text = textOfToken(ks)
  if (text === "" && scope !== "any") throw bad(`${call} needs a token: pass the text of one, or what sessions returned`)
  if (scope === "any") return text
  const { kinds, needs } = accepted[scope]
  const kind = ks instanceof MintedToken ? ks.kind : kindOf(ks, text)
  if (kind === undefined || kinds.includes(kind) || MintedToken.isAdmin(ks)) return text
  throw fault("wrong_token_scope", `${call} needs ${needs}; this is a token of the kind ${kind}`)
}

function kindOf(ks: unknown, text: string): string | undefined {
  if (isObject(ks) && typeof ks["kind"] === "string") return ks["kind"]
  const found = inspectKs(text)
  return found.ok && found.kind !== "opaque" && found.kind !== "session" ? found.kind : undefined
}

/** What can be read from a token without its key. */
export type InspectedKs =
  | { ok: false }
  | { ok: boolean; partnerId: string; kind: "opaque"; disableEntitlement: null; encrypted: true }
  | { ok: true; partnerId: string; kind: "conversation" | "agent" | "admin" | "session"; disableEntitlement: boolean; encrypted: false }

/** Returns what can be read from a token: its account, and its privileges if they are not encrypted. Sends nothing. */
export function inspectKs(ks: unknown): InspectedKs {
  if (typeof ks !== "string" || !ks.startsWith("djJ8")) return { ok: false }
  let plain: string
  try {
    plain = atob(ks.split("=", 1)[0]!.replaceAll("-", "+").replaceAll("_", "/"))
  } catch {
    plain = ""
  }
  const partnerId = /^v2\|(\d+)\|/.exec(plain)?.[1] ?? ""
  const found = kindsOf.filter(([privilege]) => privilege.test(plain)).map(([, kind]) => kind)
  const readable = found.length > 0 || /^[\x20-\x7e]+$/.test(plain.slice(`v2|${partnerId}|`.length))
  if (!readable || partnerId === "") return { ok: partnerId !== "", partnerId, kind: "opaque", disableEntitlement: null, encrypted: true }
  return { ok: true, partnerId, kind: found[0] ?? "session", disableEntitlement: found.includes("admin"), encrypted: false }
}

/** The privileges that say what a token is for; the first that it has. */
const kindsOf = [[/\bgeniegpcid\b/i, "conversation"], [/\bagentid\b/i, "agent"], [/\bdisableentitlement\b/i, "admin"]] as const

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

export interface AdminTokenInput {
  /** The owner of what is made with the token. */
  userId: string
  /** Seconds; default 3600, at most 604800. */
  ttlSeconds?: number
}

export interface UserTokenInput {
  /** The end user, whose threads the token reaches. */
  userId?: string
  /** Seconds; default 1800, at most 86400. */
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
const single = ["setrole", "agentid", "geniegpcid"]

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
  async createAdminToken({ userId, ttlSeconds }: AdminTokenInput = {} as AdminTokenInput): Promise<MintedToken> {
    if (!isText(userId)) throw bad("an admin token needs a userId: it becomes the owner of what is made with the token")
    return this.#mint("admin", "disableentitlement", userId, true, ttlSeconds)
  }

  /** Mints a token for conversations with an intellect. Rejects like `createAdminToken`, and with `entitlement_violation`. */
  async createConversationToken(input: ConversationTokenInput): Promise<MintedToken> {
    if (!isId(input?.configId)) throw bad("a conversation token needs a configId")
    return this.#user("conversation", input)
  }

  /**
   * Mints a token for conversations with one agent. Without a configId a `Management` reads the agent's own, which takes
   * another token and a call, and rejects with `intellect_not_found` for an agent without one; `Sessions` alone can't,
   * and then the service answers as its default persona.
   */
  async createAgentToken(input: AgentTokenInput): Promise<MintedToken> {
    if (!isText(input?.agentId)) throw bad("an agent token needs an agentId")
    privilegesOf(input) // before the look-up
    if (input.configId != null || !this.#configOf) return this.#user("agent", input)
    const admin = await this.#mint("admin", "disableentitlement", input.userId || "management", true, lookupLife)
    return this.#user("agent", { ...input, configId: await this.#configOf(input.agentId, admin) })
  }

  /** Exchanges a widget id for the token that every visitor gets. Needs no secret. */
  async createWidgetToken({ widgetId }: { widgetId: string } = {} as never): Promise<MintedToken> {
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
    const { usual, most } = kind === "admin" ? lives.admin : lives.user
    const seconds = Math.trunc(ttlSeconds ?? usual)
    if (!Number.isFinite(seconds) || seconds < 1) throw bad("ttlSeconds must be a positive number of seconds")
    if (seconds > most) throw fault("ttl_too_long", `ttlSeconds must be at most ${most} for this kind of token`)
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

const isId = (value: unknown): boolean => (typeof value === "number" ? Number.isSafeInteger(value) && value >= 0 : isText(value))

/** The privileges of a conversation or agent token, as they are sent. */
function privilegesOf(input: Partial<ConversationTokenInput>): string {
  const { agentId, configId, userId, sessionType = "user", restrictions = {}, extraPrivileges = [] } = input
  if (sessionType !== "user" && sessionType !== "admin") throw bad("sessionType must be user or admin")
  const admin = sessionType === "admin"
  if (admin && !isText(userId)) throw bad("a session of an administrator needs a userId: it becomes the owner of what is made with the token")
  const { role, actionsLimit, ipRestrict, uriRestrict, sessionGroupId } = restrictions
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
  const extra = (typeof extraPrivileges === "string" ? extraPrivileges.split(",") : [...extraPrivileges]).filter((entry) => entry !== "")
  for (const entry of extra) {
    if (typeof entry !== "string" || /[,\s]/.test(entry)) throw bad("each of extraPrivileges must be a key, or key:value, without a comma or white space in it")
    if (disabling.test(entry)) throw fault("entitlement_violation", "extraPrivileges must not disable entitlement; use an admin token on the server")
    const key = entry.split(":")[0]!.toLowerCase()
    if (single.includes(key) && entries.some((known) => known.startsWith(`${key}:`))) throw bad(`extraPrivileges must not have a second ${key}`)
  }
  return [...entries, ...extra].join(",")
}

