import { Scope, type SessionLike } from "./listen.js"

/** The session that carries the conversation: that of an `AgentSession` is its present transport. */
export const transportOf = <Session extends object>(session: Session): Session => ((session as { transport?: Session }).transport ?? session)

/**
 * The events of an `AgentSession` after which its transport may be another one: the first and, after a switch that failed, the old one
 * are there at `transportChanged`, the one that a switch leads to only at `modeChanged`.
 */
const transportEvents = ["transportChanged", "modeChanged"] as const

/**
 * Calls a function with the session that carries the conversation, now and whenever an `AgentSession` has another one. What the
 * function adds to the scope is ended before the next call. Returns the function that ends it.
 */
export function eachTransport<Session extends SessionLike>(session: Session, bind: (carrier: Session, scope: Scope) => void): () => void {
  const [outer, inner] = [new Scope(), new Scope()]
  const again = () => {
    inner.end()
    bind(transportOf(session), inner)
  }
  for (const event of transportEvents) outer.listen(session, event, again)
  again()
  return () => {
    outer.end()
    inner.end()
  }
}
