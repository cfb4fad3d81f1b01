/** What several parts of one session use together, such as its levels: it is made for the first and ended by the last of them. */
export type Shared<Thing> = WeakMap<object, { thing: Thing; users: number }>

/** Returns the thing of a session, and the function to call when it is no longer used. */
export function share<Session extends object, Thing extends { destroy(): void }>(all: Shared<Thing>, session: Session, make: (session: Session) => Thing): [thing: Thing, leave: () => void] {
  let entry = all.get(session)
  if (!entry) all.set(session, (entry = { thing: make(session), users: 0 }))
  const { thing } = entry
  entry.users++
  let left = false
  const leave = () => {
    if (left) return
    left = true
    if (--entry.users > 0) return
    all.delete(session)
    thing.destroy()
  }
  return [thing, leave]
}
