import { make } from "./dom.js"
import type { VoiceLevels } from "./levels.js"

/** Whose voice is shown. */
export type Side = "agent" | "visitor"

/** How many bars there are: the middle one is the present level, those beside it are earlier ones. */
const count = 5

/** How often the bars change, in ms; in the second value for visitors who prefer reduced motion. */
const periodMs = [50, 400] as const

/** What a level is multiplied with, because speech seldom reaches the highest one. */
const gain = 1.8

/**
 * Bars that show how loud one side is, from its real level: no sound, no movement. They are decoration for assistive technology,
 * which gets the agent's state as a text.
 */
export class VoiceBars {
  readonly root = make("span", { class: "agent-bars", part: "bars", "aria-hidden": "true" }, ...Array.from({ length: count }, () => make("i")))
  readonly #levels: Pick<VoiceLevels, Side>
  readonly #heard: number[] = []
  readonly #timer: ReturnType<typeof setInterval> | undefined
  /** Whose voice the bars show. */
  side: Side

  constructor(levels: Pick<VoiceLevels, Side>, side: Side = "agent") {
    this.#levels = levels
    this.side = side
    if (typeof AudioContext === "undefined") return // there are no levels
    const reduced = typeof matchMedia === "function" && matchMedia("(prefers-reduced-motion: reduce)").matches
    this.#timer = setInterval(() => this.#draw(), periodMs[reduced ? 1 : 0])
  }

  /** Stops the bars and removes them. */
  destroy(): void {
    clearInterval(this.#timer)
    this.root.remove()
  }

  #draw(): void {
    if (this.root.checkVisibility?.() === false) return
    const middle = (count - 1) / 2
    this.#heard.unshift(Math.min(1, (this.#levels[this.side] ?? 0) * gain))
    this.#heard.length = Math.min(this.#heard.length, middle + 1)
    Array.from(this.root.children, (bar, i) => {
      const level = this.#heard[Math.abs(i - middle)] ?? 0
      ;(bar as HTMLElement).style.setProperty("--level", level.toFixed(2))
    })
  }
}
