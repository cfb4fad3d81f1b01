import type { Region, TurnCredentials } from "./options.js"
import type { Program } from "./program.js"

/** Options of `appInit`: a widget id or a token, and the service's address. */
export type AppInitOptions = AppInitAddresses & (ByWidget | ByToken)

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

interface AppInitAddresses {
  /** `"nvp1"` (US, default) or `"frp2"` (EU). An address given below wins over it. */
  region?: Region | undefined
  /** Address of the agent service. */
  agenticUrl?: string | URL
  /** Address of the conversation service. */
  genieUrl?: string | URL
  /** Address of the session service, which turns a widget id into a token. */
  ovpUrl?: string | URL
  /** Allow plain http to public hosts. For tests only. */
  allowInsecureTransport?: boolean
  /** Ends the call with code `aborted`. */
  signal?: AbortSignal | undefined
}

/** What a session needs to connect: spread it into the session's options. */
export interface AppInitResult {
  /** Account id. */
  partnerId: string
  /** The conversation token. */
  ks: string
  /** `"widget"` when the token was requested with the widget id. It has no threads. */
  kind?: "widget"
  /** Origin of the control socket. */
  conversationManagerUrl: string
  /** Base address of the media service. */
  srsBaseUrl: string
  /** Host of the TURN relay, or its full address. */
  turnServerUrl: string
  turnCredentials?: TurnCredentials
  avatars: AvatarPreview[]
  /** Display settings, as the service has them. */
  widgetConfig?: unknown
  embedConfig?: unknown
  /** Address of the conversation service: the one given, or the region's. */
  genieUrl: string
}

/** Media to show until the avatar's picture arrives. */
export interface AvatarPreview {
  id: string
  previewImageUrl: string
  loadingVideoUrl: string
}

/** Calls `appInit` in the program that find loads. */
export async function requestInit(find: (wait: { signal: AbortSignal | undefined }) => Promise<Program>, options: AppInitOptions): Promise<AppInitResult> {
  const { signal, ...rest } = options ?? {}
  const running = await find({ signal })
  const request = {
    ...rest,
    agenticUrl: address(options?.agenticUrl),
    genieUrl: address(options?.genieUrl),
    ovpUrl: address(options?.ovpUrl),
  }
  return running.call((go) => go.appInit(signal, request) as Promise<AppInitResult>, signal)
}

/** Returns the text of a URL object; the Go program checks it. */
function address<T>(url: T | URL): T | string {
  return url instanceof URL ? url.href : url
}
