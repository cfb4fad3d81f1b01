// One conversation at a time with the selected agent, and the parts of the page around
// it. The page makes the session: see chat/main.js and agent/main.js.
import { endMessage, errorMessage, icon, PERMANENT_ERRORS } from "/js/dist/ui.js"
import { $, make, status } from "./dom.js"
import { Events } from "./events.js"
import { Log } from "./log.js"
import { agentName, readService } from "./service.js"
import { SessionView } from "./sessionview.js"
import { SavedConversation } from "./storage.js"
import { ToolPanel } from "./toolpanel.js"

export class Conversation {
  /** The connected session, or undefined. */
  session
  log
  #page // its name
  #api // appInit and visitor
  #create
  #events
  #changed
  #service
  #view
  #tools
  #saved
  #visitor // calls outside of the conversation
  #token // the token to which the thread belongs
  #opening // identifies the latest call of #connect

  /**
   * `create(options)` makes a session that is not connected yet; `changed()` is called
   * when the session was replaced or has ended.
   */
  constructor({ page, api, create, changed = () => {} }) {
    this.#page = page
    this.#api = api
    this.#create = create
    this.#changed = changed
    this.log = new Log($("talk"), {
      ask: (text, byKeyboard) => {
        if (!this.session) return // not connected
        if (byKeyboard) this.#view.composer.field.focus() // the button is removed
        this.#view.composer.send(text)
      },
      submit: async (values) => this.#submit(values),
      rate: (id, good) => this.#visitor.feedback.add(id, good),
    })
    this.#view = new SessionView({ log: this.log, status, save: () => this.#save(), renew: () => this.renew() })
    this.#tools = new ToolPanel($("beside"), this.log, { idle: () => this.#view.composer.field.value.trim() === "" })
    this.#events = new Events($("beside"))
    $("agent").addEventListener("change", () => this.open())
    $("new").addEventListener("click", () => this.#startNew())
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

  /** Opens the conversation with the selected agent, with the saved thread and log. */
  async open() {
    this.#leave({ final: false })
    const name = agentName()
    this.#saved = new SavedConversation(this.#page, $("agent").value)
    const before = this.#saved.read()
    this.log.clear()
    if (before) this.log.restore(before.log, name)
    this.#token = before?.token
    await this.#connect(before?.threadId)
    if (this.log.empty && this.session) await this.#suggest()
  }

  /** Replaces the session by a new one in the same thread. */
  async renew() {
    const { threadId } = this.session
    this.#leave({ final: false })
    await this.#connect(threadId)
  }

  async #connect(threadId) {
    const opening = (this.#opening = {})
    const name = agentName()
    try {
      // The saved token is tried first; when it has expired, the widget id gets a new one.
      const token = this.#token && { token: this.#token }
      const init = await this.#api.appInit({ widgetId: $("agent").value, ...token, ...this.#service.addresses })
      if (opening !== this.#opening) return // a later call has replaced this one
      this.#token = init.ks
      const options = { ...init, ...this.#service.session }
      this.#visitor = this.#api.visitor(options)
      const session = this.#create({ ...options, threadId })
      this.#events.listen(session)
      this.#view.attach(session, name)
      this.#tools.register(session)
      session.on("ended", ({ reason }) => session === this.session && this.#ended(reason))
      await session.connect()
      if (opening !== this.#opening) return session.disconnect({ final: false })
      this.session = session
      $("new").disabled = false
      this.#changed()
      if (document.activeElement === document.body) this.#view.composer.field.focus()
    } catch (error) {
      this.#events.add("connect", `${error.code ?? ""} ${error.message}`)
      if (opening === this.#opening) this.#failed(error, () => this.#connect(threadId))
    }
  }

  async #suggest() {
    const { session } = this
    const questions = await this.#visitor.followups.suggested().catch(() => []) // the suggestions are optional
    if (session === this.session && this.log.empty) this.log.suggest(questions.map(textOf), "Ask something, for example")
  }

  async #startNew() {
    this.#leave({ final: true })
    this.#saved.remove()
    await this.open()
    this.#view.composer.field.focus()
  }

  #leave(how) {
    this.#opening = undefined
    const { session } = this
    if (session && !how.final) this.#save()
    this.session = undefined
    this.#view.detach()
    session?.disconnect(how)
    this.#changed()
  }

  #ended(reason) {
    const { threadId } = this.session
    this.#leave({ final: false })
    this.#failed({ code: reason, text: endMessage(reason) }, () => this.#connect(threadId), "Go on")
  }

  #save() {
    if (this.session && !this.log.empty) this.#saved.write({ threadId: this.session.threadId, token: this.#token, log: this.log })
  }

  #submit(values) {
    try {
      this.session.updateRequestVars(values)
    } catch (error) {
      return errorMessage(error)
    }
    return `Thank you. ${agentName()} knows it from your next message on.`
  }

  #failed(error, retry, label = "Try again") {
    this.log.suggest([]) // nothing can be sent now
    const text = make("p", {}, error.text ?? errorMessage(error))
    if (PERMANENT_ERRORS.has(error.code)) return this.log.addNote(text)
    const button = make("button", { type: "button" }, icon("again"), label)
    const note = this.log.addNote(text, button)
    button.addEventListener("click", () => {
      note.remove()
      retry()
    })
    if (document.activeElement === document.body) button.focus() // the field that had the focus is gone
  }
}

/** The text of a suggested question, which the service may send as a record. */
const textOf = (question) => (typeof question === "string" ? question : question.question)
