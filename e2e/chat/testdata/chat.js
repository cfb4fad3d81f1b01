// Shared by the tests of turns in text: a session whose events are recorded.
import { appInit, ChatSession } from "/js/dist/chat.js"
import { agents, Recording, service } from "/e2e/pagetest/page/tools.js"

export { converse, converseOnce, visitor } from "/js/dist/chat.js"

const names = [
  "stateChange", "transcript", "turnStart", "turnEnd", "responsePending", "responseSettled", "brainStalled", "brainSegment", "widget",
  "toolCall", "toolCallResult", "toolCallInvalid", "toolSpiralDetected", "oauthRequired", "sessionCompleted", "warning", "error", "ended",
]

/**
 * The result of appInit for an agent, with the service's options for sessions.
 * @param {{agent?: string} & Partial<import("/js/dist/chat.js").AppInitOptions>} [options]
 */
export async function arrive({ agent = "receptionist", ...init } = {}) {
  const who = init.token === undefined ? { widgetId: agents[agent] } : {}
  return { ...(await appInit({ ...who, ...service.addresses, ...init })), ...service.session }
}

/**
 * Makes a session with an agent; options go to the session, init to appInit.
 * @param {{agent?: string, init?: object} & Partial<import("/js/dist/chat.js").ChatSettings>} [options]
 */
export async function open({ agent = "receptionist", init, ...options } = {}) {
  return new Talk(new ChatSession({ ...(await arrive({ agent, ...init })), ...options }))
}

/** The same, connected. */
export async function connect(options) {
  const talk = await open(options)
  await talk.session.connect()
  return talk
}

class Talk extends Recording {
  constructor(session) {
    super(session, names)
  }

  /** The names of the events in their order, with states, codes and types; repetitions in a row are listed once. */
  get order() {
    const all = this.events
      .filter(({ name }) => name !== "brainSegment")
      .map(({ name, payload }) => [name, payload.state ?? payload.code ?? (name === "transcript" ? payload.type : "")].filter(Boolean).join(" "))
    return all.filter((name, i) => name !== all[i - 1])
  }
}
