// Shared by the tests of a live session: one whose events are recorded.
import { appInit, AvatarSession } from "/js/dist/index.js"
import { LevelMeter } from "/e2e/pagetest/page/measure.js"
import { agents, Recording, service } from "/e2e/pagetest/page/tools.js"

export { LevelMeter, picture, relayed } from "/e2e/pagetest/page/measure.js"
export { agents, failure, held, settled } from "/e2e/pagetest/page/tools.js"

/** The events that are recorded. */
const names = [
  "stateChange", "streamReady", "capacityChanged", "track", "videoMetadata", "mediaReady", "disclosure", "connectTimings",
  "connectivityChanged", "mediaRecovering", "mediaRecovered", "reconnecting", "reconnected", "connectionQuality", "micStarted",
  "userStartedTalking", "responsePending", "responseSettled", "turnStart", "turnEnd", "transcript", "speechChunk",
  "avatarStartTalking", "avatarStopTalking", "interrupted", "toolCall", "toolCallResult", "resumed", "resumeReady",
  "timeExpired", "sessionCompleted", "warning", "error", "ended",
]

/** The result of appInit for an agent. */
export const arrive = (agent, init = {}) => appInit({ widgetId: agents[agent], ...service.addresses, ...init })

/**
 * Makes a session with an agent; options go to the session, init to appInit.
 * @param {{agent?: string, init?: object} & Partial<import("/js/dist/index.js").AvatarSettings>} [options]
 */
export async function open({ agent = "receptionist", init, ...options } = {}) {
  const reply = await arrive(agent, init)
  return new Talk(new AvatarSession({ ...reply, ...service.session, micStartMode: "deferred", ...options }))
}

/** A session and its recorded events. */
class Talk extends Recording {
  constructor(session) {
    super(session, names)
  }

  /** The texts of one type of transcript. */
  texts(type, from = 0) {
    return this.all("transcript", from).filter((t) => t.type === type).map((t) => t.text)
  }

  /** Resolves when the agent has finished speaking. */
  async silence(from = 0) {
    await this.until("avatarStopTalking", undefined, from)
  }

  /**
   * Makes the agent tell a long story. Resolves when its voice is audible, with the time in ms since the service's event.
   * This delay of the media and of a busy machine also applies to the end of a speech.
   */
  async story(meter) {
    const from = this.now
    const loud = meter.loud()
    await this.session.speak("Tell me a long story.")
    await this.until("avatarStartTalking", undefined, from)
    const at = await loud
    return Math.max(0, at - this.when("avatarStartTalking", from))
  }

  /** Measures the voice that arrives. */
  async meter() {
    const { track } = await this.until("track", ({ track }) => track.kind === "audio")
    return LevelMeter.at(track)
  }
}
