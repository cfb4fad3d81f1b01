// The time from a caption to its sound, in milliseconds.
const leadMs = 400
// The time that the last line is shown after the end, in milliseconds.
const holdMs = 2000
// The longest line in characters: about two lines on a phone.
const maxLength = 94

/** Shows captions in `line`, in time with the sound. */
export class Captions {
  #line
  #text = ""
  #first = true // the next piece begins an utterance
  #timers = new Set()

  constructor(line) {
    this.#line = line
  }

  /** Adds a timed piece of the utterance that is playing. */
  add(piece) {
    const first = this.#first
    this.#first = false
    this.#later(leadMs, () => {
      const next = first ? piece : `${this.#text} ${piece}`
      this.#show(next.length > maxLength ? piece : next)
    })
  }

  /** The utterance has ended: the line is cleared after a while. */
  end() {
    this.#first = true
    this.#later(holdMs, () => {
      if (this.#first) this.#show("")
    })
  }

  /** The agent was interrupted: the rest of the captions is dropped. */
  clear() {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
    this.#first = true
    this.#show("")
  }

  #show(text) {
    this.#text = text
    this.#line.textContent = text
  }

  #later(ms, f) {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      f()
    }, ms)
    this.#timers.add(timer)
  }
}
