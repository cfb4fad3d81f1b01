import { make } from "./dom.js"

// So many events are shown, the newest first.
const most = 300

/** Shows events in a list. */
export class Events {
  #list

  constructor(list) {
    this.#list = list
  }

  add(name, payload) {
    const detail = typeof payload === "string" ? payload : JSON.stringify(payload ?? {})
    this.#list.prepend(make("li", {}, `${new Date().toISOString().slice(11, 23)} ${name} ${detail}`))
    if (this.#list.children.length > most) this.#list.lastElementChild.remove()
  }

  /** Shows every event of those names that a session emits. */
  follow(session, names, options) {
    for (const name of names) session.on(name, (payload) => this.add(name, payload), options)
  }
}
