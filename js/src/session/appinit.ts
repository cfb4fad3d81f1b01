import { beginInit } from "./early.js"
import { isLoading } from "../core/load.js"
import type { ErrorCode } from "../generated/codes.js"
import { appInitNames } from "../generated/names.js"
import { AgentError } from "../core/errors.js"
import { KeptToken } from "./kept.js"
import type { AppInitOptions } from "./appinitoptions.js"
import { bad, givenOf, traceOf } from "../core/options.js"
import type { Program } from "../core/program.js"
import type { AppInitResult } from "../generated/settings.js"
import { checkNames, injected } from "../core/unknown.js"

export type { AppInitOptions } from "./appinitoptions.js"
export type { AppInitResult, AvatarPreview } from "../generated/settings.js"

/** The errors of a kept token that does not fit what the service has now: its agent was deleted or changed, for example. */
const outdated: readonly string[] = ["api_exception", "agent_not_found", "intellect_not_found", "genie_id_mismatch"] satisfies ErrorCode[]

/** Calls `appInit` in the program that find loads. */
export async function requestInit(find: (wait: { signal: AbortSignal | undefined }) => Promise<Program>, options: AppInitOptions): Promise<AppInitResult> {
  const { signal, ...rest } = options ?? {}
  checkInit(rest)
  const loading = find({ signal })
  const { keepToken: _, traceContext, ...known } = rest
  const trace = traceContext == null ? undefined : traceOf(traceContext)
  const request = {
    ...known,
    ...(trace && { traceContext: trace }),
    agenticUrl: address(options?.agenticUrl),
    genieUrl: address(options?.genieUrl),
    ovpUrl: address(options?.ovpUrl),
  }
  const call = async (kept?: { token: string }) => {
    const early = isLoading() && !trace ? beginInit({ ...known, ...kept } as AppInitOptions, signal) : undefined
    try {
      const running = await loading
      return await running.call((go) => go.appInit(signal, { ...request, ...kept }, ...(early ? [early.fetch] : [])) as Promise<AppInitResult>, signal)
    } finally {
      early?.end()
    }
  }
  if (rest.keepToken === false || rest.token) return call()
  const kept = new KeptToken([rest.widgetId, rest.region, request.agenticUrl, request.ovpUrl])
  const token = kept.read()
  try {
    const result = await call(token === undefined ? undefined : { token })
    kept.write(result, token !== undefined)
    // The program does not know the kind of a token that it is given.
    return token === undefined ? result : Object.assign(result, { kind: "widget" as const })
  } catch (error) {
    if (token === undefined || !(error instanceof AgentError) || !outdated.includes(error.code)) throw error
    kept.remove()
    return requestInit(find, options)
  }
}

/** Throws `bad_request` for unknown options, and without a widget and a token. */
function checkInit(options: object): void {
  const given = givenOf(options)
  // What pages of the reference client pass to replace its parts is ignored here.
  checkNames(given, ["widgetId", "token", "keepToken", "traceContext", ...appInitNames, ...injected])
  if (given["keepToken"] !== undefined && typeof given["keepToken"] !== "boolean") throw bad("keepToken must be a boolean")
  if (!given["widgetId"] && !given["token"]) throw bad("a widgetId or a token is required")
}

/** Returns the text of a URL object; the Go program checks it. */
function address<T>(url: T | URL): T | string {
  return url instanceof URL ? url.href : url
}
