// Chunks arrive about this long before they are heard.
const lead = 400
// The last line stays this long after the end.
const hold = 2000
// About two lines on a phone.
const room = 94

/** Shows in `line` what the agent is saying, as it is heard. */
export class Captions {
  #line
  #text = ""
  #timers = new Set()

  constructor(line) {
    this.#line = line
  }

  /** Takes a timed piece of the utterance now playing. */
  add(piece) {
    this.#later(lead, () => {
      const next = this.#text === "" ? piece : `${this.#text} ${piece}`
      this.#show(next.length > room ? piece : next)
    })
  }

  /** The utterance is over: the line goes after a while. */
  end() {
    this.#later(hold, () => this.#show(""))
  }

  /** The agent was cut: what it would have said is not shown. */
  clear() {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
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
