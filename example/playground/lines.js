// A list of timed lines with a filter and an export.
import { $, make } from "../shared/dom.js"

// How many lines are kept.
const maxLines = 2000

export class Lines {
  #list
  #filter
  #all = [] // { time, name, text }

  /** `list` is the id of the list, `name` that of its controls: the filter, the export and the clearing. */
  constructor(list, name) {
    this.#list = $(list)
    this.#filter = $(`${name}-filter`)
    this.#filter.addEventListener("input", () => this.#show())
    $(`${name}-export`).addEventListener("click", () => save(`${list}.json`, JSON.stringify(this.#all, null, 2)))
    $(`${name}-clear`).addEventListener("click", () => {
      this.#all = []
      this.#show()
    })
  }

  add(name, text) {
    const line = lineOf(new Date(), name, text)
    this.#all.push(line)
    if (this.#all.length > maxLines) this.#all.shift()
    if (!this.#matches(line)) return
    this.#list.prepend(drawn(line))
    if (this.#list.children.length > maxLines) this.#list.lastElementChild.remove()
  }

  /** Shows other lines in place of these: times, names and texts. All are kept, and the newest that match are shown. */
  fill(lines) {
    this.#all = lines.map((line) => lineOf(...line))
    this.#show()
  }

  #matches = ({ name, text }) => `${name} ${text}`.toLowerCase().includes(this.#filter.value.toLowerCase())

  #show() {
    this.#list.replaceChildren(...this.#all.filter(this.#matches).slice(-maxLines).reverse().map(drawn))
  }
}

const lineOf = (time, name, text) => ({ time: time.toISOString(), name, text })
const drawn = ({ time, name, text }) => make("li", {}, make("time", {}, time.slice(11, 23)), " ", make("b", {}, name), ` ${text}`)

/** Shows what was said, with more nodes at the end of a line. */
export function showSaid(lines) {
  $("said").replaceChildren(...lines.map(({ who, text, interrupted, more = [] }) => {
    const line = make("li", {}, text, interrupted ? make("span", { className: "soft" }, " (interrupted)") : "", ...more)
    line.dataset.who = who
    return line
  }))
}

/** Saves a text as a file. */
export function save(name, text) {
  const href = URL.createObjectURL(new Blob([text]))
  make("a", { href, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(href), 1000) // the browser has begun to read it by then
}
