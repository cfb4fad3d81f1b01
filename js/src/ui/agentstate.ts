import { sharedActivity, type ActivitySession } from "./activity.js"
import { make, type Texts } from "./dom.js"
import { sharedLevels, type VoiceSession } from "./levels.js"
import { partLabels } from "./ownlabels.js"
import type { PartLabels } from "./partlabels.js"
import { VoiceBars } from "./voicebars.js"

/** Options of {@link AgentState}. */
export interface AgentStateOptions {
  /** Texts in place of the English ones: `activities`. */
  labels?: Texts<PartLabels> | undefined
  /** Whether bars beside the text show the voice of the side that is heard. Default true. */
  bars?: boolean | undefined
}

/** Says what the agent is doing, in words and with bars of the voice; the attribute `data-is` has the activity. */
export class AgentState {
  readonly root = make("p", { class: "agent-state", part: "state" })
  readonly #ends: (() => void)[] = []

  /** Throws a `TypeError` without a session. */
  constructor(session: ActivitySession & VoiceSession, { labels, bars = true }: AgentStateOptions = {}) {
    const { activities } = partLabels(labels)
    const [activity, leave] = sharedActivity(session)
    const words = make("span")
    const voice = bars ? this.#bars(session) : undefined
    this.root.append(words)
    const show = () => {
      const { current } = activity
      this.root.dataset["is"] = current
      words.textContent = activities[current]
      if (voice) voice.side = current === "listening" || current === "hearing" ? "visitor" : "agent"
    }
    this.#ends.push(activity.onChange(show), leave)
    show()
  }

  /** Removes the listeners and the element. */
  destroy(): void {
    for (const end of this.#ends) end()
    this.root.remove()
  }

  #bars(session: VoiceSession): VoiceBars {
    const [levels, leave] = sharedLevels(session)
    const bars = new VoiceBars(levels)
    this.#ends.push(() => bars.destroy(), leave)
    this.root.append(bars.root)
    return bars
  }
}
