// The messages of the conversation. The log itself is silent for screen readers: the
// announcer reads each answer when it is complete.
import { icon, make } from "./dom.js"
import { GrowingText } from "./markdown.js"
import { sentence } from "./sentences.js"
import { draw } from "./widgets.js"

// The log scrolls with new content while it is this close to its end, in CSS pixels.
const nearEnd = 60
// How long a button shows its success, in milliseconds.
const doneFor = 2000

export class Log {
  #element
  #turns = make("div", { className: "turns" })
  #chips = make("div", { className: "suggestions", hidden: true })
  #latest = make("button", { type: "button", className: "latest", hidden: true }, icon("down"), "Latest")
  #announcer
  #actions
  #following = true
  #entries = []
  #questions = []

  /** Actions are ask(text, byKeyboard), submit(values) and rate(id, good); the last two return promises. */
  constructor(element, announcer, actions) {
    this.#element = element
    this.#announcer = announcer
    this.#actions = actions
    element.append(this.#turns, this.#chips)
    element.after(this.#latest)
    this.#latest.addEventListener("click", () => this.follow())
    let last = 0
    element.addEventListener("scroll", () => {
      const { scrollTop } = element
      const atEnd = element.scrollHeight - scrollTop - element.clientHeight < nearEnd
      // New content moves the end away too; only the visitor scrolls up.
      if (atEnd || scrollTop < last) this.#following = atEnd
      this.#latest.hidden = this.#following
      last = scrollTop
    })
    const grown = new ResizeObserver(() => this.#following && this.follow())
    grown.observe(this.#turns)
    grown.observe(this.#chips)
    grown.observe(element)
  }

  get empty() {
    return this.#entries.length === 0
  }

  /** Scrolls to the end, and keeps it in view. */
  follow() {
    this.#following = true
    this.#latest.hidden = true
    this.#element.scrollTop = this.#element.scrollHeight
  }

  /** Announces a text to screen readers only. */
  announce(text) {
    // An unchanged text would not be announced again.
    this.#announcer.replaceChildren(make("span", {}, text))
  }

  /** Adds a message of the visitor, before an answer that is still empty. */
  you(text) {
    const turn = article("You", "you", make("div", { className: "text" }, text))
    const last = this.#entries.at(-1)
    const early = last instanceof Answer && last.empty
    this.#entries.splice(early ? -1 : this.#entries.length, 0, { who: "you", text })
    if (early) last.element.before(turn)
    else this.#turns.append(turn)
    this.follow()
  }

  /** Adds an empty answer. */
  answer(name) {
    const answer = new Answer(name, this, this.#actions)
    this.#entries.push(answer)
    this.#turns.append(answer.element)
    return answer
  }

  /** Removes an answer that stayed empty. */
  drop(answer) {
    this.#entries = this.#entries.filter((entry) => entry !== answer)
    answer.element.remove()
  }

  /** Adds a note of the page itself. */
  note(...content) {
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
    this.follow()
  }

  /** Plain data for restore. */
  toJSON() {
    return { entries: this.#entries, questions: this.#questions }
  }

  restore({ entries, questions }, name) {
    for (const { who, text, widgets, id, rating, outcome } of entries) {
      if (who === "you") {
        this.you(text)
        continue
      }
      const answer = this.answer(name)
      if (text) answer.add(text)
      for (const widget of widgets) answer.widget(widget)
      answer.end({ silently: true })
      if (outcome) answer.remark(outcome)
      if (id) answer.rateable(id, rating)
    }
    this.suggest(questions)
    this.follow()
  }
}

/** One answer of the agent. */
class Answer {
  element
  #log
  #actions
  #body = make("div", { className: "text markdown" })
  #growing = new GrowingText(this.#body)
  #widgets = make("div", { className: "widgets" })
  #tools = make("div", { className: "about", hidden: true })
  #waiting = make("p", { className: "dots", ariaHidden: "true" }, make("span"), make("span"), make("span"))
  #shown = []
  #announced = [0, 0] // lengths of the announced text and of the announced names of widgets
  #id
  #rating
  #outcome

  constructor(name, log, actions) {
    this.#log = log
    this.#actions = actions
    this.#tools.role = "group"
    this.#tools.ariaLabel = "About this answer"
    this.#tools.append(this.#copyButton())
    this.element = article(name, "agent", this.#waiting, this.#body, this.#widgets, this.#tools)
    this.name = name
  }

  get empty() {
    return this.#growing.text === "" && this.#shown.length === 0
  }

  add(text) {
    this.#waiting.remove()
    this.#growing.add(text)
  }

  /** Adds a sentence. */
  say(sentence) {
    this.add(this.#growing.text === "" ? sentence : ` ${sentence}`)
  }

  widget(widget) {
    const element = draw(widget, this.#actions)
    if (element === undefined) return
    this.#waiting.remove()
    this.#shown.push(widget)
    this.#widgets.append(element)
  }

  /** The answer is complete for now; an avatar may continue it. */
  end({ silently = false } = {}) {
    this.#waiting.remove()
    this.#growing.end()
    this.#tools.hidden = this.#growing.text === ""
    const names = [...this.#widgets.children].map((widget) => widget.ariaLabel ?? widget.querySelector("summary, strong").textContent)
    const parts = [this.#body.textContent, names.join(", ")]
    const news = parts.map((part, i) => part.slice(this.#announced[i])).join(" ").trim()
    this.#announced = parts.map((part) => part.length)
    if (news !== "" && !silently) this.#log.announce(`${this.name}: ${news}`)
  }

  /** Adds a remark on an answer that did not end by itself. */
  remark(text) {
    this.#waiting.remove()
    this.#outcome = text
    this.element.append(make("p", { className: "remark" }, text))
  }

  /** Shows an error with a button for `retry()`, which returns false if it can't be tried now. */
  fail(text, retry) {
    this.#waiting.remove()
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
  rateable(id, rating) {
    if (this.#id) return // another sentence of the same message
    this.#id = id
    this.#rating = rating
    const buttons = [true, false].map((good) => {
      const label = good ? "Good answer" : "Bad answer"
      const button = make("button", { type: "button", ariaLabel: label, title: label }, icon(good ? "good" : "bad"))
      button.addEventListener("click", () => this.#rate(good, mark))
      return button
    })
    const mark = () => buttons.forEach((button, i) => (button.ariaPressed = String(this.#rating === (i === 0))))
    mark()
    this.#tools.append(...buttons)
  }

  async #rate(good, mark) {
    const before = this.#rating
    this.#rating = good
    mark()
    try {
      await this.#actions.rate(this.#id, good)
      this.#log.announce("Thank you.")
    } catch (error) {
      this.#rating = before
      mark()
      this.#log.note(sentence(error))
    }
  }

  #copyButton() {
    const button = make("button", { type: "button", ariaLabel: "Copy", title: "Copy" }, icon("copy"))
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(this.#growing.text)
      } catch {
        this.#log.note("The browser did not let this page copy.")
        return
      }
      button.dataset.done = ""
      this.#log.announce("Copied.")
      setTimeout(() => delete button.dataset.done, doneFor)
    })
    return button
  }

  toJSON() {
    return { who: "agent", text: this.#growing.text, widgets: this.#shown, id: this.#id, rating: this.#rating, outcome: this.#outcome }
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
