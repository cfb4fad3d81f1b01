// Shared by the tests of conversations: a session whose events are recorded.
import { AgentSession, appInit } from "/js/dist/index.js"
import { agents, Recording, service } from "/e2e/pagetest/page/tools.js"

export { AvatarSession, ChatSession } from "/js/dist/index.js"
export { LevelMeter, picture } from "/e2e/pagetest/page/measure.js"
export { failure } from "/e2e/pagetest/page/tools.js"

const names = [
  "stateChange", "transportChanged", "modeChanged", "transcript", "turnStart", "turnEnd", "toolCall", "toolCallResult", "responsePending",
  "responseSettled", "avatarStartTalking", "avatarStopTalking", "mediaReady", "warning", "error", "ended",
]

/** The result of appInit for an agent. */
export const arrive = (agent) => appInit({ widgetId: agents[agent], ...service.addresses })

/**
 * Makes a session with an agent, in text by default, and connects it.
 * @param {{agent?: string} & Partial<import("/js/dist/index.js").AgentSettings>} [options]
 */
export async function connect({ agent = "silent", avatar, ...options } = {}) {
  const init = await arrive(agent)
  const video = document.getElementById("video")
  const talk = new Talk(
    new AgentSession({ ...init, ...service.session, mode: "chat", avatar: { micStartMode: "deferred", videoEl: video, ...avatar }, ...options }),
  )
  await talk.session.connect()
  return talk
}

class Talk extends Recording {
  constructor(session) {
    super(session, names)
  }

  /** The session's changes of state, transport and mode, and its ends, in their order. */
  get changes() {
    return this.events
      .map(({ name, payload }) => {
        if (name === "stateChange") return payload.state
        if (name === "transportChanged") return `transport ${payload.mode}`
        if (name === "modeChanged") return `mode ${payload.mode}${payload.threadContinuity ? "" : ", another thread"}`
        return name === "ended" ? `ended ${payload.reason}` : ""
      })
      .filter(Boolean)
  }

  /** Resolves with the text of the first speech that contains words, when it has ended. */
  async spoken(words, from = 0) {
    const { text } = await this.until("avatarStopTalking", ({ text }) => text.includes(words), from)
    return text
  }
}
