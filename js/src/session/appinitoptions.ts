import type { TraceSource } from "../core/inputs.js"
import type { AppInitAddresses } from "../generated/settings.js"
import type { CallOptions } from "../core/signals.js"

/** Options of `appInit`: a widget id or a token, and the service's address. */
export type AppInitOptions = AppInitAddresses & CallOptions & (ByWidget | ByToken) & {
  /** The W3C trace context of the request with the token, as for a session. */
  traceContext?: TraceSource | undefined
}

interface ByWidget {
  /** The public id of the agent's widget. */
  widgetId: string
  /** Tried first. When it has expired, a new one is requested with the widget id. */
  token?: string | undefined
  /**
   * Whether the visitor's token is kept in the tab's `sessionStorage` and used again after a reload, for up to 12 hours, so
   * that a page can continue a thread whose id it has kept. Default true; without effect with a `token`, in a worker and on
   * a server.
   */
  keepToken?: boolean | undefined
}

interface ByToken {
  /** A widget token, or an agent token made for this visitor. */
  token: string
  widgetId?: string | undefined
  keepToken?: boolean | undefined
}
