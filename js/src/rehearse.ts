import { localError } from "./errors.js"
import type { Program } from "./program.js"

/** How long after the load a page is left alone, in ms: one that connects at once has begun by then. */
const delayMs = 300

/** The programs that have rehearsed, or had no occasion. */
const rehearsed = new WeakSet<Program>()

/**
 * Has the program connect once without a network (cmd/wasm/rehearsal_js.go) while the page
 * is idle, so that the engine has compiled what a connect needs. It ends as soon as
 * there is a real session.
 */
export function rehearse(program: Program): void {
  // Safari has no idle callbacks, and compiles programs before they start.
  if (rehearsed.has(program) || typeof requestIdleCallback === "undefined") return
  rehearsed.add(program)
  /** Resolves when the page is idle; rejects when there are more sessions than that. */
  const idle = async (sessions: number) => {
    await new Promise<void>((resolve) => requestIdleCallback(() => resolve()))
    if (program.callSync((go) => go.holds()).sessions > sessions) throw localError("aborted", "the page has a session")
  }
  const connect = async () => {
    await idle(0)
    let ended: Promise<void> | undefined
    const end = () => (ended ??= program.call(() => methods["dispose"]?.() as Promise<void>))
    const slice = () =>
      idle(1).catch((reason) => {
        end().catch(() => {})
        throw reason
      })
    const methods = program.callSync((go) => go.rehearsal({ ...options, idle: slice }, () => {}))
    await program.call(() => methods["connect"]?.() as Promise<void>).finally(end)
  }
  setTimeout(() => connect().catch(() => {}), delayMs)
}

/** No address is asked. Without a relay, the policy leaves the peer without candidates. */
const options = {
  token: "rehearsal",
  conversationManagerUrl: "https://rehearsal.invalid",
  iceTransportPolicy: "relay",
  micStartMode: "deferred",
  pageLifecycleAware: false,
  networkAware: false,
  logger: () => {},
}
