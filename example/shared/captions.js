// Captions arrive about this long before their sound, in milliseconds.
const lead = 400
// The last line stays this long after the end, in milliseconds.
const hold = 2000
// The longest line in characters: about two lines on a phone.
const room = 94

/** Shows captions in `line`, in time with the sound. */
export class Captions {
  #line
  #text = ""
  #fresh = true // the next piece begins an utterance
  #timers = new Set()

  constructor(line) {
    this.#line = line
  }

  /** Takes a timed piece of the utterance now playing. */
  add(piece) {
    const fresh = this.#fresh
    this.#fresh = false
    this.#later(lead, () => {
      const next = fresh ? piece : `${this.#text} ${piece}`
      this.#show(next.length > room ? piece : next)
    })
  }

  /** The utterance has ended: the line is cleared after a while. */
  end() {
    this.#fresh = true
    this.#later(hold, () => {
      if (this.#fresh) this.#show("")
    })
  }

  /** The agent was interrupted: the rest of the captions is dropped. */
  clear() {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
    this.#fresh = true
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
