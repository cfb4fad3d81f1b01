import { fault } from "./fault.js"

/** Throws in a page, where every visitor could read the secret of the account. */
export function checkServer(): void {
  const { window } = globalThis as { window?: { document?: unknown } }
  if (window?.document === undefined) return
  throw fault("bad_request", "agentruntime/management is for servers: it takes the admin secret, which must not be in a page. Import it on the server, and give the page a token")
}
