/**
 * agentruntime/analytics: reports page loads and clicks in the service's format
 * (docs/parts.md#analytics). It is off until the page turns it on, and sends nothing of a
 * conversation.
 */
import { localError } from "./core/errors.js"
import { checkFunction } from "./core/part.js"

/** Where events are sent, unless `endpoint` says otherwise. */
export const DEFAULT_ANALYTICS_URL = "https://analytics.kaltura.com/api_v3/index.php"

/** The numbers of the events. */
export const EVENT_TYPES = Object.freeze({ pageLoad: 10003, buttonClicked: 10002 } as const)

/** The numbers of the applications that host a page. */
export const HOSTING_APPLICATIONS = Object.freeze({
  genieChat: 23,
  agents: 25,
  modelsSdk: 26,
  conversationManager: 27,
  avatarVideos: 28,
  agenticAvatarsStudio: 29,
  kaiVendor: 31,
} as const)

/** The kinds of pages. */
export const PAGE_TYPES = Object.freeze(["View", "Create", "Edit", "Participate", "List", "Analytics", "Admin", "Error", "Login", "Registration", "Custom"] as const)

type Value = string | number | boolean | null | undefined

const commonNames = ["partnerId", "ks", "entryId", "sessionId", "referrer", "userId", "hostingKalturaApplication", "hostingKalturaApplicationVer", "customId1", "customId2"] as const
const pageNames = ["pageType", "pageName", "pageValue", "pageInfo"] as const
const buttonNames = ["buttonType", "buttonName", "buttonValue", "buttonInfo"] as const

/** The fields of these names. */
type Fields<Names extends readonly string[]> = { [Name in Names[number]]?: Value }

/** What every event has. */
export interface AnalyticsFields extends Fields<typeof commonNames> {
  /** A token of the visitor. It is in the body of the request, never in its address. */
  ks?: string | null | undefined
}

/** What is said of a page. */
export interface PageLoadFields extends Fields<typeof pageNames> {
  pageType: (typeof PAGE_TYPES)[number]
}

/** What is said of a button. */
export interface ButtonClickedFields extends Fields<typeof buttonNames> {}

/** Options of {@link Analytics}. */
export interface AnalyticsOptions extends AnalyticsFields {
  /** Whether events are sent. Default false. */
  enabled?: boolean | undefined
  /** Default {@link DEFAULT_ANALYTICS_URL}. */
  endpoint?: string | undefined
  /** Default: that of the page. */
  fetch?: typeof globalThis.fetch | undefined
  /** Default: `navigator.sendBeacon`. */
  sendBeacon?: ((url: string, data: string) => boolean) | undefined
}

/** How an event was sent: by `sendBeacon`, by `fetch`, or not at all. */
export interface AnalyticsResult {
  readonly ok: boolean
  readonly transport: "beacon" | "fetch" | "none" | "disabled"
}

/** The fields of an event for a page; all values are texts. Throws `bad_request` for an unknown `pageType`. */
export function buildPageLoadParams(common: AnalyticsFields = {}, fields: PageLoadFields): Record<string, string> {
  if (!PAGE_TYPES.includes(fields?.pageType)) throw localError("bad_request", `pageType must be one of ${PAGE_TYPES.join(", ")}`)
  return params(EVENT_TYPES.pageLoad, common, pageNames, fields)
}

/** The fields of an event for a click; all values are texts. */
export function buildButtonClickedParams(common: AnalyticsFields = {}, fields: ButtonClickedFields = {}): Record<string, string> {
  return params(EVENT_TYPES.buttonClicked, common, buttonNames, fields)
}

function params<Names extends readonly string[]>(eventType: number, common: AnalyticsFields, names: Names, fields: Fields<Names>): Record<string, string> {
  const all: [string, Value][] = [
    ["service", "analytics"],
    ["action", "trackEvent"],
    ["eventType", eventType],
    ...commonNames.map((name): [string, Value] => [name, common?.[name]]),
    ...names.map((name): [string, Value] => [name, fields?.[name as Names[number]]]),
  ]
  return Object.fromEntries(all.filter(([, value]) => value !== undefined && value !== null).map(([name, value]) => [name, String(value)]))
}

/** Reports page loads and clicks. The constructor throws `bad_request` for bad options. */
export class Analytics {
  readonly #options: AnalyticsOptions

  constructor(options: AnalyticsOptions = {}) {
    const { enabled, endpoint, fetch, sendBeacon } = options ?? {}
    if (enabled !== undefined && typeof enabled !== "boolean") throw localError("bad_request", "enabled must be a boolean")
    const url = endpoint === undefined ? undefined : URL.canParse(endpoint) ? new URL(endpoint) : null
    if (url === null || (url && (!/^https?:$/.test(url.protocol) || url.username || url.password))) throw localError("bad_request", "endpoint must be an http or https address without a login")
    checkFunction("fetch", fetch)
    checkFunction("sendBeacon", sendBeacon)
    this.#options = { ...options }
  }

  get enabled(): boolean {
    return this.#options.enabled === true
  }

  /** Reports that a page was loaded. Throws `bad_request` at once for an unknown `pageType`; the promise never rejects. */
  pageLoad(fields: PageLoadFields): Promise<AnalyticsResult> {
    return this.#send(buildPageLoadParams(this.#options, fields))
  }

  /** Reports that a button was clicked. The promise never rejects. */
  buttonClicked(fields: ButtonClickedFields = {}): Promise<AnalyticsResult> {
    return this.#send(buildButtonClickedParams(this.#options, fields))
  }

  async #send(fields: Record<string, string>): Promise<AnalyticsResult> {
    if (!this.enabled) return { ok: false, transport: "disabled" }
    const { endpoint = DEFAULT_ANALYTICS_URL, fetch = globalThis.fetch, sendBeacon = pageBeacon() } = this.#options
    const text = new URLSearchParams(fields).toString()
    try {
      if (sendBeacon?.(endpoint, text)) return { ok: true, transport: "beacon" }
    } catch {
      // Refused, as a beacon of more than 64 KiB is.
    }
    if (typeof fetch !== "function") return { ok: false, transport: "none" }
    try {
      const { ok } = await fetch(endpoint, { method: "POST", keepalive: true, headers: { "Content-Type": "application/x-www-form-urlencoded" }, body: text })
      return { ok, transport: "fetch" }
    } catch {
      return { ok: false, transport: "fetch" }
    }
  }
}

function pageBeacon(): AnalyticsOptions["sendBeacon"] {
  const { navigator } = globalThis
  return typeof navigator?.sendBeacon === "function" ? (url, data) => navigator.sendBeacon(url, data) : undefined
}
