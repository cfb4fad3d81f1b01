import { bad, fault, isObject } from "./fault.js"
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
