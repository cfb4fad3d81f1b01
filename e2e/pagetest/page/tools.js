// What the scripts of all tests' pages share: the addresses and agents of the
// service, a session's events on record, and what the page holds.

/** What the service tells a page: addresses, agents, options of a session. */
export const service = await (await fetch("/service.json")).json()

/** The widget ids by the names of the agents. */
export const agents = Object.fromEntries(service.agents.map(({ name, widgetId }) => [name, widgetId]))

/** A session, or whatever has `on`, and the events of those names that it emitted. */
export class Recording {
  events = []
  #waiting = new Set()

  constructor(session, names) {
    this.session = session
    for (const name of names) session.on(name, (payload) => this.#note({ name, payload, at: performance.now() }))
  }

  #note(event) {
    this.events.push(event)
    for (const check of this.#waiting) check()
  }

  /** The place behind the last event. */
  get now() {
    return this.events.length
  }

  /** Resolves to the first event with that name that fits, from a place on. */
  until(name, fits = () => true, from = 0) {
    const find = () => this.events.slice(from).find((event) => event.name === name && fits(event.payload))
    return new Promise((resolve) => {
      const check = () => {
        const event = find()
        if (event === undefined) return
        this.#waiting.delete(check)
        resolve(event.payload)
      }
      this.#waiting.add(check)
      check()
    })
  }

  /** When the first event with that name came, from a place on, on the clock of performance.now(). */
  when(name, from = 0) {
    return this.events.slice(from).find((event) => event.name === name).at
  }

  /** The payloads of all events with that name, from a place on. */
  all(name, from = 0) {
    return this.events.slice(from).filter((event) => event.name === name).map((event) => event.payload)
  }
}

/** How a promise is rejected, as plain data. */
export function failure(promise) {
  return promise.then(
    (value) => ({ value: value ?? null }),
    (e) => ({ code: e.code, phase: e.phase, status: e.status, retryable: e.retryable, message: e.message, title: e.title }),
  )
}

/** What the page holds. */
export const held = () => watched.count()

/** Resolves when a condition holds, looking at it with each frame. */
export async function settled(condition, ms = 10_000) {
  const end = performance.now() + ms
  while (!(await condition()) && performance.now() < end) await new Promise((resolve) => requestAnimationFrame(resolve))
}
