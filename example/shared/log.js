// The messages of the conversation. The log is not a live region: each complete answer
// is copied to the announcer, which screen readers read.
import { AnswerButtons, drawWidget, errorMessage, GrowingMarkdown, icon, renderMarkdown } from "/js/dist/ui.js"
import { make } from "./dom.js"

// The log scrolls with new content while it is this close to its end, in CSS pixels.
const scrollTolerance = 60

export class Log {
  #element = make("div", { id: "log", role: "log", ariaLive: "off", ariaLabel: "Conversation", tabIndex: 0 })
  #turns = make("div", { className: "turns" })
  #chips = make("div", { className: "suggestions", hidden: true })
  #latest = make("button", { type: "button", className: "latest", hidden: true }, icon("down"), "Latest")
  #announcer = make("p", { id: "announcer", className: "hidden", role: "status", ariaAtomic: "false" }) // only what is added is announced
  #actions
  #following = true
  #entries = []
  #questions = []

  /** Is drawn in `place`. Actions are ask(text, byKeyboard), submit(values), which returns a text, and rate(id, good), which returns a promise. */
  constructor(place, actions) {
    const element = this.#element
    this.#actions = actions
    element.append(this.#turns, this.#chips)
    place.append(make("section", { id: "conversation", ariaLabel: "Conversation" }, make("h2", { className: "hidden" }, "Conversation"), element, this.#latest, this.#announcer))
    this.#latest.addEventListener("click", () => this.scrollToEnd())
    let last = 0
    element.addEventListener("scroll", () => {
      const { scrollTop } = element
      const atEnd = element.scrollHeight - scrollTop - element.clientHeight < scrollTolerance
      // New content increases the distance to the end too, but only the visitor scrolls up.
      if (atEnd || scrollTop < last) this.#following = atEnd
      this.#latest.hidden = this.#following
      last = scrollTop
    })
    const grown = new ResizeObserver(() => this.#following && this.scrollToEnd())
    grown.observe(this.#turns)
    grown.observe(this.#chips)
    grown.observe(element)
  }

  get empty() {
    return this.#entries.length === 0
  }

  /** Whether its content is being replaced. */
  set busy(busy) {
    this.#element.ariaBusy = String(busy)
  }

  /** Scrolls to the end, and again when content is added. */
  scrollToEnd() {
    this.#following = true
    this.#latest.hidden = true
    this.#element.scrollTop = this.#element.scrollHeight
  }

  /** Announces a text to screen readers only; with `more` it continues the previous announcement. */
  announce(text, { more = false } = {}) {
    if (!more) this.#announcer.replaceChildren()
    // A new element each time, because an unchanged text would not be announced again.
    this.#announcer.append(make("span", {}, more ? ` ${text}` : text))
  }

  /** Adds a message of the visitor, before an answer that is still empty. */
  addUserMessage(text) {
    const turn = article("You", "you", make("div", { className: "text" }, text))
    const last = this.#entries.at(-1)
    const unanswered = last instanceof Answer && last.empty
    this.#entries.splice(unanswered ? -1 : this.#entries.length, 0, { who: "you", text })
    if (unanswered) last.element.before(turn)
    else this.#turns.append(turn)
    this.scrollToEnd()
  }

  /** Adds an empty answer. */
  addAnswer(name) {
    const answer = new Answer(name, this, this.#actions)
    this.#entries.push(answer)
    this.#turns.append(answer.element)
    return answer
  }

  /** Removes an answer that stayed empty. */
  remove(answer) {
    this.#entries = this.#entries.filter((entry) => entry !== answer)
    answer.element.remove()
  }

  /** Adds a message of the page. */
  addNote(...content) {
    const note = make("div", { className: "note" }, ...content)
    this.#turns.append(note)
    this.announce(texts(note).join(" ")) // textContent would join the labels of buttons
    return note
  }

  /** Replaces the suggested questions at the end of the log. */
  suggest(questions, title = "Ask next") {
    const at = [...this.#chips.querySelectorAll("button")].indexOf(document.activeElement)
    this.#questions = questions
    this.#chips.hidden = questions.length === 0
    const list = make("ul", { ariaLabel: title })
    for (const question of questions) {
      const chip = make("button", { type: "button", className: "chip" }, question)
      chip.addEventListener("click", ({ detail }) => this.#actions.ask(question, detail === 0))
      list.append(make("li", {}, chip))
    }
    this.#chips.replaceChildren(make("p", { ariaHidden: "true" }, title), list)
    if (at >= 0) [...list.querySelectorAll("button")].slice(0, at + 1).at(-1)?.focus() // the focus was on one of the old buttons
  }

  clear() {
    this.#entries = []
    this.suggest([])
    this.#turns.replaceChildren()
    this.#announcer.replaceChildren()
    this.scrollToEnd()
  }

  /** Plain data for restore. */
  toJSON() {
    return { entries: this.#entries, questions: this.#questions }
  }

  restore({ entries, questions }, name) {
    for (const { who, text, widgets, id, rating, outcome } of entries) {
      if (who === "you") {
        this.addUserMessage(text)
        continue
      }
      const answer = this.addAnswer(name)
      if (text) answer.text = text
      for (const widget of widgets) answer.widget(widget)
      answer.end({ silently: true })
      if (outcome) answer.addRemark(outcome)
      if (id) answer.showRating(id, rating)
    }
    this.suggest(questions)
    this.scrollToEnd()
  }
}

/** One answer of the agent. */
class Answer {
  element
  #log
  #actions
  #body = make("div", { className: "text agent-markdown" })
  #growing = new GrowingMarkdown(this.#body)
  #widgets = make("div", { className: "widgets" })
  #buttons = new AnswerButtons(() => this.#growing.text, {
    tell: (text, problem) => (problem ? this.#log.addNote(text) : this.#log.announce(text)),
    rate: (id, good) => this.#rate(id, good),
  })
  #placeholder = make("p", { className: "dots", ariaHidden: "true" }, make("span"), make("span"), make("span"))
  #widgetData = []
  #announced = [0, 0] // lengths of the announced text and of the announced names of widgets
  #id
  #rating
  #outcome

  constructor(name, log, actions) {
    this.#log = log
    this.#actions = actions
    Object.assign(this.#buttons.root, { role: "group", ariaLabel: "About this answer", hidden: true })
    this.element = article(name, "agent", this.#placeholder, this.#body, this.#widgets, this.#buttons.root)
    this.name = name
  }

  /** Whether it has no text yet. */
  get wordless() {
    return this.#growing.text === ""
  }

  get empty() {
    return this.wordless && this.#widgetData.length === 0
  }

  set text(text) {
    this.#placeholder.remove()
    this.#growing.set(text)
  }

  widget(widget) {
    this.#placeholder.remove()
    this.#widgetData.push(widget)
    this.#widgets.append(drawWidget(widget, { markdown: renderMarkdown, onAction: ({ kind, values }) => (kind === "submit" ? this.#actions.submit(values) : undefined) }))
  }

  /** The answer is complete for now; an avatar may continue it. */
  end({ silently = false } = {}) {
    this.#placeholder.remove()
    this.#growing.end()
    this.#buttons.root.hidden = this.#growing.text === ""
    const names = [...this.#widgets.children].map((widget) => widget.ariaLabel ?? widget.querySelector("summary, strong").textContent)
    const parts = [[...this.#body.children].map((block) => block.textContent).join("\n"), names.join(", ")]
    const news = parts.map((part, i) => part.slice(this.#announced[i])).join(" ").trim()
    const more = this.#announced[0] > 0
    this.#announced = parts.map((part) => part.length)
    if (news !== "" && !silently) this.#log.announce(more ? news : `${this.name}: ${news}`, { more })
  }

  /** Adds a remark on an answer that did not end by itself. */
  addRemark(text) {
    this.#placeholder.remove()
    this.#outcome = text
    this.element.append(make("p", { className: "remark" }, text))
  }

  /** Shows an error with a button for `retry()`, which returns false if it can't be tried now. */
  fail(text, retry) {
    this.#placeholder.remove()
    this.#outcome = text
    const button = make("button", { type: "button" }, icon("again"), "Try again")
    const remark = make("div", { className: "remark", role: "alert" }, make("p", {}, text), button)
    remark.dataset.bad = ""
    button.addEventListener("click", () => {
      if (retry()) button.remove()
    })
    this.element.append(remark)
  }

  /** Adds the buttons of a rating, for the message with that id. */
  showRating(id, rating) {
    if (this.#id) return // a further sentence of the same message
    this.#id = id
    this.#rating = rating
    this.#buttons.rateable(id, rating)
  }

  async #rate(id, good) {
    try {
      await this.#actions.rate(id, good)
    } catch (error) {
      throw errorMessage(error)
    }
    this.#rating = good
  }

  toJSON() {
    return { who: "agent", text: this.#growing.text, widgets: this.#widgetData, id: this.#id, rating: this.#rating, outcome: this.#outcome }
  }
}

/** The texts in an element, one by one. */
function texts(element) {
  return [...element.childNodes].flatMap((node) => (node.nodeType === Node.TEXT_NODE ? [node.data] : texts(node)))
}

function article(name, who, ...content) {
  const turn = make("article", { className: "turn", ariaLabel: name }, make("p", { className: "who" }, name), ...content)
  turn.dataset.who = who
  return turn
}
