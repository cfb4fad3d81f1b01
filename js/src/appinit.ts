import { beginInit } from "./early.js"
import { isLoading } from "./load.js"
import { appInitNames } from "./names.js"
import { bad, givenOf } from "./options.js"
import type { Program } from "./program.js"
import type { CallOptions } from "./session.js"
import type { AppInitAddresses, AppInitResult } from "./settings.js"
import { checkNames, injected } from "./unknown.js"

export type { AppInitResult, AvatarPreview } from "./settings.js"

/** Options of `appInit`: a widget id or a token, and the service's address. */
export type AppInitOptions = AppInitAddresses & CallOptions & (ByWidget | ByToken)

interface ByWidget {
  /** The public id of the agent's widget. */
  widgetId: string
  /** Tried first. When it has expired, a new one is requested with the widget id. */
  token?: string
}

interface ByToken {
  /** A widget token, or an agent token made for this visitor. */
  token: string
  widgetId?: string
}

/** Calls `appInit` in the program that find loads. */
export async function requestInit(find: (wait: { signal: AbortSignal | undefined }) => Promise<Program>, options: AppInitOptions): Promise<AppInitResult> {
  const { signal, ...rest } = options ?? {}
  checkInit(rest)
  const loading = find({ signal })
  const early = isLoading() ? beginInit(rest as AppInitOptions, signal) : undefined
  const request = {
    ...rest,
    agenticUrl: address(options?.agenticUrl),
    genieUrl: address(options?.genieUrl),
    ovpUrl: address(options?.ovpUrl),
  }
  try {
    const running = await loading
    return await running.call((go) => go.appInit(signal, request, ...(early ? [early.fetch] : [])) as Promise<AppInitResult>, signal)
  } finally {
    early?.end()
  }
}

/** Throws `bad_request` for unknown options, and without a widget and a token. */
function checkInit(options: object): void {
  const given = givenOf(options)
  // What pages of the reference client pass to replace its parts is ignored here.
  checkNames(given, ["widgetId", "token", ...appInitNames, ...injected])
  if (!given["widgetId"] && !given["token"]) throw bad("a widgetId or a token is required")
}

/** Returns the text of a URL object; the Go program checks it. */
function address<T>(url: T | URL): T | string {
  return url instanceof URL ? url.href : url
}
