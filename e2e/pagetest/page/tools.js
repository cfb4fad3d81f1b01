// Shared by the scripts of all tests: the addresses and agents of the service, recordings
// of a session's events, and counts of the page's resources.

/** The data of the service for pages: addresses, agents, options of a session. */
export const service = await (await fetch("/service.json")).json()

/** The widget ids by the names of the agents. */
export const agents = Object.fromEntries(service.agents.map(({ name, widgetId }) => [name, widgetId]))

/** A session, or another object with `on`, and the events with the given names that it has emitted. */
export class Recording {
  /** @type {{name: string, payload: any, at: number}[]} */
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

  /** The index after the last event. */
  get now() {
    return this.events.length
  }

  /**
   * Resolves to the payload of the first event with that name for which fits is true, from an index on.
   * @param {string} name
   * @param {(payload: any) => unknown} [fits]
   * @returns {Promise<any>}
   */
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

  /** The time of the first event with that name from an index on, on the clock of performance.now(). */
  when(name, from = 0) {
    return this.events.slice(from).find((event) => event.name === name)?.at ?? NaN
  }

  /** The payloads of all events with that name, from an index on. */
  all(name, from = 0) {
    return this.events.slice(from).filter((event) => event.name === name).map((event) => event.payload)
  }
}

/** Resolves to the error of a rejected promise as plain data, or to the value of a resolved one. */
export function failure(promise) {
  return promise.then(
    (value) => ({ value: value ?? null }),
    (e) => ({ code: e.code, phase: e.phase, status: e.status, retryable: e.retryable, message: e.message, title: e.title }),
  )
}

/** The counts of the page's resources. */
export const held = () => watched.count()

/** Resolves when a condition is true, which is checked with each frame, or after ms milliseconds. */
export async function settled(condition, ms = 10_000) {
  const end = performance.now() + ms
  while (!(await condition()) && performance.now() < end) await new Promise((resolve) => requestAnimationFrame(resolve))
}
