import { make } from "./dom.js"

// The number of events in the list, the newest first.
const maxEntries = 300

/** A panel with a list of events. */
export class Events {
  #list = make("ol", { id: "events", ariaLive: "off" })

  constructor(place) {
    place.append(make("details", { className: "panel" }, make("summary", {}, "Events"), this.#list))
  }

  add(name, payload) {
    const detail = typeof payload === "string" ? payload : JSON.stringify(payload ?? {})
    this.#list.prepend(make("li", {}, `${new Date().toISOString().slice(11, 23)} ${name} ${detail}`))
    if (this.#list.children.length > maxEntries) this.#list.lastElementChild.remove()
  }

  /** Shows the events of a session, but not each piece of a text. */
  listen(session) {
    session.onAny((name, payload) => ["transcript", "brainSegment", "speechChunk"].includes(name) || this.add(name, payload))
  }
}
