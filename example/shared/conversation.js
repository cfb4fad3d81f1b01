// One conversation at a time with the selected agent, and the parts of the page around
// it. The page makes the session: see chat/main.js and agent/main.js.
import { Composer } from "./composer.js"
import { Desk } from "./desk.js"
import { $, icon, make } from "./dom.js"
import { Events } from "./events.js"
import { Log } from "./log.js"
import { Memory } from "./memory.js"
import { farewell, sentence } from "./sentences.js"
import { agentName, readService } from "./service.js"
import { Talk } from "./talk.js"

export class Conversation {
  /** The connected session, or undefined. */
  session
  composer
  log
  #page // its name
  #api // appInit and visitor
  #create
  #events = new Events($("events"))
  #shown // names of the events that are listed
  #changed
  #service
  #talk
  #desk
  #memory
  #visitor // its calls beside the conversation
  #token // which the visitor's thread belongs to
  #opening // identifies the latest call of #connect

  /**
   * `create(options)` makes a session that is not connected yet; `stop()` is called
   * for an answer that is stopped, beside what sendText hears by its signal;
   * `changed()` when there is another session, or none.
   */
  constructor({ page, api, create, stop = () => {}, changed = () => {}, events }) {
    this.#page = page
    this.#api = api
    this.#create = create
    this.#changed = changed
    this.#shown = events
    this.composer = new Composer({
      ask: (text) => this.#talk.ask(text),
      stop: () => {
        this.#talk.stop()
        stop()
      },
    })
    this.log = new Log($("log"), $("announcer"), {
      ask: (text, byKeyboard) => {
        if (!this.session) return // it is not there yet
        if (byKeyboard) this.composer.focus() // the button is removed
        this.#talk.ask(text)
      },
      submit: async (values) => this.#submit(values),
      rate: (id, good) => this.#visitor.feedback.add(id, good),
    })
    this.#talk = new Talk({ log: this.log, composer: this.composer, status, save: () => this.#save(), renew: () => this.renew() })
    this.#desk = new Desk($("desk"), this.log, { idle: () => this.composer.text === "" })
    $("agent").addEventListener("change", () => this.open())
    $("new").addEventListener("click", () => this.#startAnew())
    addEventListener("pagehide", () => this.#save())
  }

  /** Reads the service's information and opens the first conversation. */
  async begin() {
    try {
      this.#service = await readService()
    } catch (error) {
      return this.#failed(error, () => this.begin())
    }
    await this.open()
  }

  /** Opens the conversation with the selected agent where it was left. */
  async open() {
    this.#leave({ final: false })
    const name = agentName()
    this.#memory = new Memory(this.#page, name)
    const before = this.#memory.read()
    this.log.clear()
    if (before) this.log.restore(before.log, name)
    this.#token = before?.token
    await this.#connect(before?.threadId)
    if (this.log.empty && this.session) await this.#suggest()
  }

  /** Goes on with another session in the same thread. */
  async renew() {
    const { threadId } = this.session
    this.#leave({ final: false })
    await this.#connect(threadId)
  }

  async #connect(threadId) {
    const opening = (this.#opening = {})
    const name = agentName()
    try {
      const token = this.#token && { token: this.#token } // a new one is made of it, or without it
      const init = await this.#api.appInit({ widgetId: $("agent").value, ...token, ...this.#service.addresses })
      if (opening !== this.#opening) return // another was opened meanwhile
      this.#token = init.ks
      const options = { ...init, ...this.#service.session }
      this.#visitor = this.#api.visitor(options)
      const session = this.#create({ ...options, threadId })
      this.#events.follow(session, this.#shown)
      this.#talk.follow(session, name)
      this.#desk.serve(session)
      session.on("ended", ({ reason }) => session === this.session && this.#ended(reason))
      await session.connect()
      if (opening !== this.#opening) return session.disconnect({ final: false })
      this.session = session
      this.composer.enabled = true
      $("new").disabled = false
      this.#changed()
      if (document.activeElement === document.body) this.composer.focus()
    } catch (error) {
      this.#events.add("connect", `${error.code ?? ""} ${error.message}`)
      if (opening === this.#opening) this.#failed(error, () => this.#connect(threadId))
    }
  }

  async #suggest() {
    const { session } = this
    const questions = await this.#visitor.followups.suggested().catch(() => []) // a page can do without
    if (session === this.session && this.log.empty) this.log.suggest(questions.map(textOf), "Ask something, for example")
  }

  async #startAnew() {
    this.#leave({ final: true })
    this.#memory.forget()
    await this.open()
    this.composer.focus()
  }

  #leave(how) {
    this.#opening = undefined
    const { session } = this
    if (session && !how.final) this.#save()
    this.session = undefined
    this.composer.enabled = false
    this.#talk.leave()
    session?.disconnect(how)
    this.#changed()
  }

  #ended(reason) {
    const { threadId } = this.session
    this.#leave({ final: false })
    this.#failed({ text: farewell(reason) }, () => this.#connect(threadId), "Go on")
  }

  #save() {
    if (this.session && !this.log.empty) this.#memory.write({ threadId: this.session.threadId, token: this.#token, log: this.log })
  }

  #submit(values) {
    try {
      this.session.updateRequestVars(values)
    } catch (error) {
      return sentence(error)
    }
    return `Thank you. ${agentName()} knows it from your next message on.`
  }

  #failed(error, retry, label = "Try again") {
    this.log.suggest([]) // nothing can be asked now
    const button = make("button", { type: "button" }, icon("again"), label)
    const note = this.log.note(make("p", {}, error.text ?? sentence(error)), button)
    button.addEventListener("click", () => {
      note.remove()
      retry()
    })
    // What had the focus may be disabled now.
    if ([document.body, $("text"), $("send")].includes(document.activeElement)) button.focus()
  }
}

/** Shows the status above the composer. */
export function status(text, bad = false) {
  $("status").textContent = text
  $("status").toggleAttribute("data-bad", bad)
}

/** The text of a suggested question, which the service may send as a record. */
const textOf = (question) => (typeof question === "string" ? question : question.question)
