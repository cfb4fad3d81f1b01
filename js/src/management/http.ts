import { isPrivate } from "../core/privatehost.js"
import { AgentError, checkSignal, localError } from "../core/errors.js"
import { textUpTo } from "../core/textupto.js"
import { bases } from "../generated/management.js"
import { regions, type Region } from "../generated/settings.js"
import { bad, cleaner, fault, hiddenRefusal, isText, refusal, type Clean } from "./fault.js"
import { callChecks, given, settingsOf, type CallSettings, type Checks } from "./given.js"
import { checkedToken, textOfToken, type Ks, type Scope } from "./token.js"
import { uuidv4 } from "../compat/ids.js"
import { meta, type Meta } from "./small.js"

/** The four HTTP services of a deployment, by the options with their addresses. */
export type Host = "agenticUrl" | "genieUrl" | "ovpUrl" | "messagingUrl"

/** What `onResponse` gets for each reply, also of attempts that are repeated. */
export interface ResponseReport {
  method: string
  /** The path, without a query. */
  path: string
  status: number
  requestId: string
  /** How long it took, in milliseconds. */
  ms: number
  /** Counted from 1. */
  attempt: number
}

/** What `onAuditEvent` gets, for a journal of what was done. */
export interface AuditEvent extends Meta {
  /** Such as `clone.consent`. */
  type: string
}

/** Options of `Management` and `Sessions`. */
export interface ManagementOptions {
  /** The account. */
  partnerId: number | string
  /** The account's admin secret, for minting tokens. It is sent to the session API only. */
  adminSecret?: string
  /** Returns the admin secret, for example from a vault; called for each token, and preferred to `adminSecret`. */
  getAdminSecret?: () => string | Promise<string>
  /** `nvp1` (US, default) or `frp2` (EU). */
  region?: Region
  /** The addresses of the services. Default: those of the region. */
  agenticUrl?: string | URL
  genieUrl?: string | URL
  ovpUrl?: string | URL
  messagingUrl?: string | URL
  /** Allows http to a public host, for tests: tokens and the secret travel unencrypted. */
  allowInsecureTransport?: boolean
  /** Used instead of the global `fetch`. */
  fetch?: typeof fetch
  /** Gets warnings. Default: none are written. */
  logger?: { warn?: (message: string) => void }
  /** Called for each reply. An exception ends the call, which rejects with it. */
  onResponse?: (report: ResponseReport) => void
  onAuditEvent?: (event: AuditEvent) => void
  /** The time for one attempt of a call, in milliseconds; default 30000. It does not limit an answer that is streamed. */
  timeoutMs?: number
}

const optionChecks: Checks<ManagementOptions> = {
  partnerId: "any", adminSecret: "string", getAdminSecret: "function", region: "any", agenticUrl: "any", genieUrl: "any", ovpUrl: "any", messagingUrl: "any",
  allowInsecureTransport: "boolean", fetch: "function", logger: "object", onResponse: "function", onAuditEvent: "function", timeoutMs: "any",
}

/** One request of a service. */
export interface Request extends CallSettings {
  at: Host
  /** Behind the base address. */
  path: string
  /** JSON, or a form with a file. */
  body?: Record<string, unknown> | FormData | URLSearchParams
  ks?: Ks | undefined
  /** Which tokens it takes; default `admin`. */
  scope?: Scope
  method?: "GET" | "POST"
  /** Makes a create safe to repeat. */
  idempotencyKey?: string | undefined
  /** Whether an error status inside the reply is a result. */
  statusInReply?: boolean
  /** Default: `KS`, and `Bearer` for the messaging service. */
  auth?: "KS" | "Bearer" | "none"
}

const retries = 3
const firstDelay = 200
const longestDelay = 10_000
const maxReply = 10 << 20

/** Sends requests: addresses, tokens, repetition, and errors. */
export class Http {
  readonly partnerId: string
  readonly endpoints: Readonly<Record<Host, string | null> & { region: Region }>
  readonly #secret: () => unknown
  readonly #seen = new Set<string>()
  readonly #fetch: typeof fetch
  readonly #timeoutMs: number
  readonly #onResponse: ManagementOptions["onResponse"]
  readonly #onAuditEvent: ManagementOptions["onAuditEvent"]

  constructor(options: ManagementOptions) {
    const { partnerId, adminSecret, getAdminSecret, region = "nvp1", timeoutMs = 30_000 } = given("the options", options, optionChecks)
    if (!/^[1-9]\d*$/.test(String(partnerId ?? ""))) throw bad("partnerId is required: the number of the account")
    if (!regions.includes(region)) throw bad(`the region must be one of ${regions.join(", ")}`)
    if (!(Number.isFinite(timeoutMs) && timeoutMs > 0)) throw bad("timeoutMs must be a positive number of milliseconds")
    this.partnerId = String(partnerId)
    const address = (host: Host) => (options[host] == null ? bases[region][host] : checkedAddress(host, String(options[host]), options))
    this.endpoints = Object.freeze({ region, agenticUrl: address("agenticUrl"), genieUrl: address("genieUrl"), ovpUrl: address("ovpUrl"), messagingUrl: address("messagingUrl") })
    this.#secret = getAdminSecret ?? (() => adminSecret)
    this.#fetch = options.fetch ?? ((...args) => globalThis.fetch(...args))
    this.#timeoutMs = timeoutMs
    this.#onResponse = options.onResponse
    this.#onAuditEvent = options.onAuditEvent
  }

  /** Removes the secret, and a token, from what an error has in it. */
  cleanerFor(ks: string): Clean {
    return cleaner([...this.#seen, ks])
  }

  /** The admin secret, for a token that is minted. */
  async secret(): Promise<string> {
    const secret = await this.#secret()
    if (!isText(secret)) throw fault("no_secret", "minting a token needs the admin secret: set adminSecret or getAdminSecret")
    this.#seen.add(secret)
    return secret
  }

  /** `_meta` of a result. */
  meta<T extends object>(source: string, more?: T): Meta & T {
    return meta({ partnerId: this.partnerId, source, ...more }) as Meta & T
  }

  audit(type: string, source: string, more: object): void {
    this.#onAuditEvent?.({ ...this.meta(source, more), type })
  }

  /** Calls the session API without a token. */
  session(action: string, fields: Record<string, string>): Promise<unknown> {
    return this.request({ at: "ovpUrl", path: `/service/session/action/${action}`, body: new URLSearchParams({ format: "1", ...fields }), scope: "any", auth: "none" })
  }

  /** Calls a service of the media API, whose token is in the body. */
  ovp<T = Record<string, unknown>>(service: string, action: string, fields: Record<string, unknown>, ks: Ks, settings?: CallSettings): Promise<T> {
    const { signal } = settingsOf(settings, callChecks)
    const token = checkedToken(ks, "admin", `${service}/${action}`)
    return this.request({ at: "ovpUrl", path: `/service/${service}/action/${action}`, body: { ...fields, ks: token, format: 1 }, ks, auth: "none", signal })
  }

  /** Uploads a file to the media API, in a form that has the token. */
  ovpUpload(path: string, form: (token: string) => FormData, ks: Ks, settings?: CallSettings): Promise<unknown> {
    const { signal } = settingsOf(settings, callChecks)
    return this.request({ at: "ovpUrl", path, body: form(checkedToken(ks, "admin", "uploadtoken/upload")), ks, auth: "none", signal })
  }

  /** Calls several services of the media API in one request. Rejects with `ovp_error` for the first one that failed. */
  async multirequest(calls: readonly ({ service: string; action: string } & Record<string, unknown>)[], ks: Ks, settings?: CallSettings): Promise<Record<string, unknown>[]> {
    const { signal } = settingsOf(settings, callChecks)
    const token = checkedToken(ks, "admin", "multirequest")
    const body = { apiVersion: "19.14.0", format: 1, ...Object.fromEntries(calls.map((call, i) => [String(i), { ks: token, ...call }])) }
    const replies = await this.request<unknown>({ at: "ovpUrl", path: "/service/multirequest", body, ks, auth: "none", signal })
    if (!Array.isArray(replies) || replies.length !== calls.length) throw fault("invalid_response", "the reply to the multirequest does not have a result for each call", { instance: "/service/multirequest" })
    for (const [i, reply] of replies.entries()) {
      const { service, action } = calls[i]!
      const error = hiddenRefusal({ status: 200, body: reply, instance: "/service/multirequest", requestId: "" }, this.cleanerFor(token))
      if (error) throw fault("ovp_error", `${service}/${action}: ${error.detail}`, { title: error.title, status: 200, instance: "/service/multirequest", body: { service, action, index: i, reply: error.body } })
    }
    return replies as Record<string, unknown>[]
  }

  /** Sends a request, again where that is safe, and resolves with what the reply has in it. */
  async request<T>(request: Request): Promise<T> {
    const call = this.#prepared(request)
    const repeatable = call.method === "GET" || request.idempotencyKey !== undefined
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#attempt(call, attempt, request.signal)
      if ("value" in outcome) return outcome.value as T
      const { error, wait = 0 } = outcome
      const again = error.code === "network_error" || error.code === "timeout" || (repeatable && [429, 502, 503, 504].includes(error.status ?? 0))
      if (!again || attempt > retries || wait > longestDelay) throw error
      const delay = Math.min(firstDelay * 2 ** (attempt - 1), longestDelay) * (0.5 + Math.random() / 2)
      // Up to twice as long as the service asks, so that clients refused together don't return in the same second.
      await pause(Math.max(delay, wait * (1 + Math.random())), request.signal)
    }
  }

  /** Sends a request once, and resolves with its reply, whose body is not read. There is no limit of time. */
  async stream(request: Request): Promise<Response> {
    const call = this.#prepared(request)
    const response = await this.#send(call, 1, request.signal)
    if (response.status < 200 || response.status > 299) throw refusal(await this.#replyOf(response, call, request.signal), call.clean)
    if (!response.body) throw fault("server_error", "the reply has no body to read", { status: response.status, instance: call.path })
    return response
  }

  #prepared({ at, path, body, ks, scope = "admin", method = "POST", idempotencyKey, auth, statusInReply = false, signal }: Request): Prepared {
    checkSignal(signal)
    const base = this.endpoints[at]
    if (base === null) throw fault("region_unavailable", `the region ${this.endpoints.region} has no ${at}: give one to use it`)
    const token = auth === "none" ? "" : checkedToken(ks, scope, path.split("?", 1)[0]!)
    const headers: Record<string, string> = { accept: "application/json" }
    if (token !== "") headers["authorization"] = `${auth ?? (at === "messagingUrl" ? "Bearer" : "KS")} ${token}`
    if (idempotencyKey !== undefined) headers["idempotency-key"] = idempotencyKey
    const encoded = body instanceof FormData || body instanceof URLSearchParams ? body : JSON.stringify(body ?? {})
    if (typeof encoded === "string" && method === "POST") headers["content-type"] = "application/json"
    return { url: `${base}${path.startsWith("/") ? "" : "/"}${path}`, path: `/${path.split("?", 1)[0]!.replace(/^\//, "")}`, method, headers, body: method === "GET" ? null : encoded, statusInReply, clean: this.cleanerFor(textOfToken(ks)) }
  }

  async #send(call: Prepared, attempt: number, signal: AbortSignal | undefined): Promise<Response> {
    const began = performance.now()
    let response: Response
    try {
      response = await this.#fetch(call.url, { method: call.method, headers: call.headers, body: call.body, redirect: "manual", signal: signal ?? null })
    } catch (cause) {
      throw failure(cause, call, signal)
    }
    this.#onResponse?.({ method: call.method, path: call.path, status: response.status, requestId: requestIdOf(response), ms: Math.round(performance.now() - began), attempt })
    return response
  }

  async #attempt(call: Prepared, attempt: number, signal: AbortSignal | undefined): Promise<{ value: unknown } | { error: ReturnType<typeof fault>; wait?: number }> {
    const timer = new AbortController()
    const late = setTimeout(() => timer.abort(fault("timeout", `${call.path} was not answered within ${this.#timeoutMs} ms`, { status: 0, retryable: true, instance: call.path })), this.#timeoutMs)
    const abort = () => timer.abort(signal!.reason)
    signal?.addEventListener("abort", abort)
    if (signal?.aborted) abort()
    try {
      const response = await this.#send(call, attempt, timer.signal)
      const reply = await this.#replyOf(response, call, timer.signal)
      if (response.status < 200 || response.status > 299) return { error: refusal(reply, call.clean), wait: retryAfter(response.headers.get("retry-after") ?? "") }
      const hidden = call.statusInReply ? undefined : hiddenRefusal(reply, call.clean)
      return hidden ? { error: hidden } : { value: reply.body }
    } catch (cause) {
      if (!(cause instanceof AgentError)) throw cause // of the page's own function
      return { error: cause.code === "aborted" && !signal?.aborted ? (timer.signal.reason as AgentError) : cause }
    } finally {
      clearTimeout(late)
      signal?.removeEventListener("abort", abort)
    }
  }

  async #replyOf(response: Response, call: Prepared, signal: AbortSignal | undefined) {
    const tooLarge = () => fault("response_too_large", "the reply is larger than 10 MiB", { status: response.status, instance: call.path })
    const text = await textUpTo(response, maxReply, tooLarge).catch((cause: unknown) => {
      throw failure(cause, call, signal)
    })
    const reply = { status: response.status, text, headers: response.headers, instance: call.path, requestId: requestIdOf(response) }
    if (text.trim() === "") return { ...reply, body: null }
    // A text in quotes, too; but the first and last cells of CSV may have quotes of their own.
    const looks = /\bjson\b/.test(response.headers.get("content-type") ?? "") || /^\s*[[{]/.test(text)
    if (looks || /^\s*"/.test(text)) {
      try {
        return { ...reply, body: JSON.parse(text) as unknown }
      } catch {
        // The text of a refusal is worth more than the reason why it can't be parsed.
        if (looks && response.ok) throw fault("invalid_response", "the reply is not the JSON that it begins as", { status: response.status, instance: call.path, requestId: reply.requestId })
      }
    }
    return { ...reply, body: text }
  }
}

interface Prepared {
  url: string
  /** Without a query. */
  path: string
  method: string
  headers: Record<string, string>
  body: BodyInit | null
  statusInReply: boolean
  clean: Clean
}

const requestIdOf = ({ headers }: Response): string => headers.get("x-request-id") ?? headers.get("x-kaltura-request-id") ?? uuidv4()

/** How many milliseconds a Retry-After asks to wait, which is a number of seconds or a date; 0 for anything else. */
const retryAfter = (value: string): number => (/^\d+$/.test(value) ? Number(value) * 1000 : Math.max(0, Date.parse(value) - Date.now()) || 0)

/** The error of a request without a reply. */
function failure(cause: unknown, call: Prepared, signal: AbortSignal | undefined): ReturnType<typeof fault> {
  if (cause instanceof Error && cause.name === "AgentError") return cause as ReturnType<typeof fault>
  if (signal?.aborted || (cause instanceof Error && cause.name === "AbortError")) return fault("aborted", "the caller cancelled", { status: 0, instance: call.path, cause: signal?.reason })
  // What a runtime puts into the cause, such as the address, can have a secret in it.
  const reason = cause instanceof Error ? ((cause.cause as { code?: unknown } | undefined)?.code ?? cause.message) : String(cause)
  return fault("network_error", `${call.path} got no reply: ${call.clean(String(reason))}`, { status: 0, retryable: true, instance: call.path })
}

/** Waits, or rejects with `aborted`. */
function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer)
      reject(localError("aborted", "the caller cancelled", { status: 0, cause: signal!.reason }))
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort)
      resolve()
    }, ms)
    signal?.addEventListener("abort", abort, { once: true })
    if (signal?.aborted) abort()
  })
}

/** Returns an address without the slash at its end. Throws `bad_request` or `insecure_transport`. */
function checkedAddress(name: Host, address: string, { allowInsecureTransport = false, logger }: ManagementOptions): string {
  if (!URL.canParse(address)) throw bad(`${name} must be an address such as https://example.com`)
  const url = new URL(address)
  if (url.protocol !== "https:" && url.protocol !== "http:") throw bad(`${name} must begin with https://`)
  if (url.username !== "" || url.password !== "") throw bad(`${name} must not have a user name or a password in it`)
  if (url.protocol === "http:") {
    if (!isPrivate(url.hostname) && !allowInsecureTransport) throw fault("insecure_transport", `${name} must begin with https://, because tokens are sent to it; allowInsecureTransport permits http for tests`)
    logger?.warn?.(`${name} is http: tokens are sent to ${url.host} unencrypted`)
  }
  return address.replace(/\/$/, "")
}
