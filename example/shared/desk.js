// The panels beside the conversation, and the client tools for them: notes, a guide
// with pages, and a question about the weather for the visitor.
import { icon, make } from "./dom.js"
import { guide } from "./guide.js"

// The service waits ten seconds for the answer of a tool; this is a little less.
const patience = 9000

const skies = ["Sunny", "Cloudy", "Rainy", "Snowy"]

export class Desk {
  #log
  #idle
  #notes = make("ul", { className: "notes" })
  #page = make("div", { className: "page", tabIndex: 0 })
  #place = make("span", { className: "place" })
  #at = 0

  /** `idle()` is true while the visitor is not typing; then a question may take the focus. */
  constructor(element, log, { idle }) {
    this.#log = log
    this.#idle = idle
    const previous = make("button", { type: "button" }, "Previous page")
    const next = make("button", { type: "button" }, "Next page")
    previous.addEventListener("click", () => this.#turn(this.#at - 1))
    next.addEventListener("click", () => this.#turn(this.#at + 1))
    this.#page.role = "group"
    this.#page.ariaLabel = "Page of the guide"
    element.append(
      make("section", { className: "panel", ariaLabel: "Notes" }, make("h2", {}, "Notes"), this.#notes),
      make("section", { className: "panel guide", ariaLabel: "Guide" },
        make("h2", {}, "Guide"), this.#page, make("div", { className: "row" }, previous, this.#place, next),
      ),
    )
    this.#turn(0)
  }

  /** Registers the client tools with a session. */
  serve(session) {
    const tool = (name, schema, run) =>
      session.onToolCall(name, async ({ args, toolMetadata: { id, waitForResponse } }) => {
        const result = await run(args)
        if (waitForResponse) await session.respondToTool(id, result)
        return result
      }, schema)
    tool("save_note", { note: { type: "str", required: true } }, ({ note }) => this.#save(note))
    tool("get_weather", { place: { type: "str", required: true } }, ({ place }) => this.#weather(place))
    tool("go_to_page", { page: { type: "int", required: true } }, ({ page }) => this.#goTo(page))
    tool("highlight", { text: { type: "str", required: true } }, ({ text }) => this.#highlight(text))
  }

  #save(note) {
    const remove = make("button", { type: "button", ariaLabel: `Remove the note: ${note}` }, "Remove")
    const line = make("li", {}, make("span", {}, note), remove)
    remove.addEventListener("click", () => line.remove())
    this.#notes.append(line)
    this.#log.announce(`Note saved: ${note}`)
    return { status: "saved", notes: this.#notes.children.length }
  }

  // The visitor answers, because a page has no weather data.
  async #weather(place) {
    const { promise, resolve } = deferred()
    const back = document.activeElement
    const buttons = skies.map((sky) => {
      const button = make("button", { type: "button", className: "chip" }, sky)
      button.addEventListener("click", () => resolve(sky.toLowerCase()))
      return button
    })
    const question = this.#log.note(
      make("p", {}, `The agent asks you: what is the weather in ${place}?`),
      make("div", { className: "row" }, ...buttons),
    )
    if (this.#idle()) buttons[0].focus()
    const timer = setTimeout(() => resolve("unknown"), patience)
    const weather = await promise
    clearTimeout(timer)
    if (question.contains(document.activeElement)) back.focus()
    question.replaceChildren(make("p", {}, weather === "unknown" ? "Nobody told the agent about the weather." : `You told the agent: ${weather}.`))
    return { place, weather }
  }

  #goTo(page) {
    if (page < 1 || page > guide.length) return { status: `there are ${guide.length} pages` }
    this.#turn(page - 1)
    this.#page.scrollIntoView({ block: "nearest" })
    this.#log.announce(`The guide shows page ${page}: ${guide[page - 1].title}`)
    return { status: "done" }
  }

  #turn(to) {
    this.#at = (to + guide.length) % guide.length
    const { title, text } = guide[this.#at]
    this.#page.replaceChildren(make("h3", {}, title), ...text.map((paragraph) => make("p", {}, paragraph)))
    this.#place.textContent = `${this.#at + 1} of ${guide.length}`
  }

  // Shows the page of the guide that has the words, and marks them.
  #highlight(text) {
    const wanted = text.toLowerCase()
    const found = guide.findIndex((page) => [page.title, ...page.text].some((part) => part.toLowerCase().includes(wanted)))
    if (wanted === "" || found < 0) return { status: "not found" }
    this.#turn(found)
    for (const part of this.#page.children) {
      const at = part.textContent.toLowerCase().indexOf(wanted)
      if (at < 0) continue
      const whole = part.textContent
      part.replaceChildren(whole.slice(0, at), make("mark", {}, whole.slice(at, at + wanted.length)), whole.slice(at + wanted.length))
      part.scrollIntoView({ block: "nearest" })
      break
    }
    this.#log.announce(`Highlighted on page ${found + 1}: ${text}`)
    return { status: "done", page: found + 1 }
  }
}

function deferred() {
  let resolve
  const promise = new Promise((settle) => (resolve = settle))
  return { promise, resolve }
}
