// The panels beside the conversation and the client tools that change them: notes, a
// guide with pages, and a question about the weather.
import { make } from "./dom.js"
import { guide } from "./guide.js"

// Less than the ten seconds that the service waits for a tool.
const answerTimeoutMs = 9000

const choices = ["Sunny", "Cloudy", "Rainy", "Snowy"]

export class ToolPanel {
  #talk
  #announcer = make("p", { id: "announcer", className: "hidden", role: "status" })
  #notes = make("ul", { className: "notes" })
  #page = make("div", { className: "page", tabIndex: 0 })
  #position = make("span", { className: "place" })
  #index = 0

  /** Questions are in `talk`, the other panels in `beside`. */
  constructor(talk, beside) {
    const previous = make("button", { type: "button" }, "Previous page")
    const next = make("button", { type: "button" }, "Next page")
    previous.addEventListener("click", () => this.#turn(this.#index - 1))
    next.addEventListener("click", () => this.#turn(this.#index + 1))
    this.#page.role = "group"
    this.#page.ariaLabel = "Page of the guide"
    this.#talk = talk
    talk.append(this.#announcer)
    beside.append(
      make("section", { className: "panel", ariaLabel: "Notes" }, make("h2", {}, "Notes"), this.#notes),
      make("section", { className: "panel guide", ariaLabel: "Guide" },
        make("h2", {}, "Guide"), this.#page, make("div", { className: "row" }, previous, this.#position, next),
      ),
    )
    this.#turn(0)
  }

  /** Registers the client tools with the session of an element. */
  register(session, element) {
    const tool = (name, schema, run) =>
      session.onToolCall(name, async ({ args, toolMetadata: { id, waitForResponse } }) => {
        const result = await run(args)
        if (waitForResponse) await session.respondToTool(id, result)
        return result
      }, schema)
    tool("save_note", { note: { type: "str", required: true } }, ({ note }) => this.#save(note))
    tool("get_weather", { place: { type: "str", required: true } }, ({ place }) => this.#weather(place, element))
    tool("go_to_page", { page: { type: "int", required: true } }, ({ page }) => this.#goTo(page))
    tool("highlight", { text: { type: "str", required: true } }, ({ text }) => this.#highlight(text))
  }

  #save(note) {
    const remove = make("button", { type: "button", ariaLabel: `Remove the note: ${note}` }, "Remove")
    const line = make("li", {}, make("span", {}, note), remove)
    remove.addEventListener("click", () => line.remove())
    this.#notes.append(line)
    this.#announce(`Note saved: ${note}`)
    return { status: "saved", notes: this.#notes.children.length }
  }

  // Asks the visitor, because a page has no weather data.
  async #weather(place, element) {
    const { promise, resolve } = Promise.withResolvers()
    const buttons = choices.map((choice) => {
      const button = make("button", { type: "button" }, choice)
      button.addEventListener("click", () => resolve(choice.toLowerCase()))
      return button
    })
    const text = `The agent asks you: what is the weather in ${place}?`
    const question = make("section", { className: "panel question", ariaLabel: "A question" }, make("p", {}, text), make("div", { className: "row" }, ...buttons))
    this.#talk.append(question)
    this.#announce(text)
    if (!element.shadowRoot.activeElement?.value) buttons[0].focus() // the visitor writes nothing
    const timer = setTimeout(() => resolve("unknown"), answerTimeoutMs)
    const weather = await promise
    clearTimeout(timer)
    const focused = question.contains(document.activeElement)
    question.remove()
    if (focused) element.focus()
    this.#announce(weather === "unknown" ? "You did not tell the agent about the weather." : `You told the agent: ${weather}.`)
    return { place, weather }
  }

  /** Announces a text to screen readers. */
  #announce(text) {
    this.#announcer.replaceChildren(make("span", {}, text)) // a new element, because an unchanged text would not be announced again
  }

  #goTo(page) {
    if (page < 1 || page > guide.length) return { status: `there are ${guide.length} pages` }
    this.#turn(page - 1)
    this.#page.scrollIntoView({ block: "nearest" })
    this.#announce(`The guide shows page ${page}: ${guide[page - 1].title}`)
    return { status: "done" }
  }

  #turn(to) {
    this.#index = (to + guide.length) % guide.length
    const { title, text } = guide[this.#index]
    this.#page.replaceChildren(make("h3", {}, title), ...text.map((paragraph) => make("p", {}, paragraph)))
    this.#position.textContent = `${this.#index + 1} of ${guide.length}`
  }

  // Shows the page of the guide that contains the text, and marks it.
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
    this.#announce(`Highlighted on page ${found + 1}: ${text}`)
    return { status: "done", page: found + 1 }
  }
}
