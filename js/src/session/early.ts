import type { AppInitOptions } from "./appinitoptions.js"
import { defaultRegion, initPath, regions, startWidgetSession } from "../generated/regions.js"

/** Requests that were begun before the program makes them. */
export interface EarlyInit {
  /** The `fetch` of the program: it answers a request that was begun with its reply, once, and does all others. */
  readonly fetch: typeof fetch
  /** Aborts what the program has not taken over. */
  end(): void
}

/** How the program makes its requests (internal/fetch). */
const common = { method: "POST", credentials: "omit", cache: "no-store", redirect: "error", referrerPolicy: "strict-origin" } as const

/**
 * Begins the requests of `appInit`, which need no program, so that they run while it is downloaded. All rules stay in the
 * program, which makes the same requests and takes these for its own if they are equal. So nothing is begun unless the program
 * would surely accept the addresses: a known region, https or this machine. Returns undefined then.
 */
export function beginInit({ widgetId, token, region, agenticUrl, genieUrl, ovpUrl }: AppInitOptions, signal?: AbortSignal): EarlyInit | undefined {
  const known = regions[region ?? defaultRegion]
  const given = [agenticUrl, genieUrl, ovpUrl].filter((address) => address !== undefined)
  const texts = [widgetId, token].every((text) => text === undefined || typeof text === "string")
  const signals = signal === undefined || (signal instanceof AbortSignal && !signal.aborted)
  if (!known || !texts || !signals || !given.every(certain)) return undefined
  const begun = new Map<string, Promise<Response>>()
  const ending = new AbortController()
  const end = () => ending.abort()
  signal?.addEventListener("abort", end, { signal: ending.signal })

  const begin = (url: string, headers: Record<string, string>, body?: string): Promise<Response> => {
    const reply = fetch(url, { ...common, headers, signal: ending.signal, ...(body !== undefined && { body }) })
    reply.catch(() => {}) // the program reports it
    begun.set(keyOf(url, headers["authorization"], body), reply)
    return reply
  }
  const init = (ks: string) => begin(under(agenticUrl ?? known.agenticUrl, initPath), { authorization: `KS ${ks}` })
  if (token) init(token)
  else if (widgetId) {
    const url = under(ovpUrl ?? known.ovpUrl, startWidgetSession)
    const body = String(new URLSearchParams({ format: "1", widgetId }))
    const widget = begin(url, { "content-type": "application/x-www-form-urlencoded" }, body)
    // The program gets this reply once the next request is begun, so that it does not make that itself.
    const next = widget.then(async (reply) => {
      const { ks } = (await reply.clone().json().catch(() => ({}))) ?? {}
      if (typeof ks === "string" && ks !== "") init(ks)
      return reply
    })
    next.catch(() => {})
    begun.set(keyOf(url, undefined, body), next)
  }

  return {
    fetch: (url, request: RequestInit = {}) => {
      const { headers, body } = request as { headers?: Record<string, string>; body?: Uint8Array<ArrayBuffer> }
      const key = keyOf(String(url), headers?.["authorization"], body && new TextDecoder().decode(body))
      const reply = begun.get(key)
      if (!reply) return fetch(url, request)
      begun.delete(key)
      request.signal?.addEventListener("abort", end, { signal: ending.signal })
      return reply
    },
    end,
  }
}

/** Whether the program accepts an address, without a warning or an error. */
function certain(address: string | URL): boolean {
  const text = String(address)
  if (!URL.canParse(text) || /[?#@\s]/.test(text)) return false
  const { protocol, hostname } = new URL(text)
  return protocol === "https:" || (protocol === "http:" && ["localhost", "127.0.0.1", "[::1]"].includes(hostname))
}

function under(address: string | URL, path: string): string {
  return String(address).replace(/\/$/, "") + path
}

function keyOf(url: string, authorization = "", body = ""): string {
  return JSON.stringify([url, authorization, body])
}
