// Connects a session of either kind with the log and the composer.
import { make, outward } from "./dom.js"
import { sentence } from "./sentences.js"

/** Sends the visitor's texts to the session, and shows the session's events in the log. */
export class Talk {
  #log
  #composer
  #status
  #save
  #renew
  #session
  #name
  #listening // aborts the listeners
  #speech // speechId of the last sentence
  #pending = false // a text was sent and not answered yet
  #answering = false
  #speaking = false // an avatar speaks, also after the end of its answer
  #refusing = false // the agent takes no variables and answers with empty turns
  #answer // the current or last one
  #questions = []
  #typed = [] // texts that were shown when they were sent, and not yet repeated by the session
  #asked = "" // the last text
  #messages = new Map() // speechId → id of the message, for ratings
  #abort // aborts the current typed turn

  /** `save()` is called after each message, `renew()` when the session can't be used any more. */
  constructor({ log, composer, status, save, renew }) {
    this.#log = log
    this.#composer = composer
    this.#status = status
    this.#save = save
    this.#renew = renew
  }

  /** Uses that session from now on, with an agent of that name. */
  follow(session, name) {
    this.leave()
    this.#session = session
    this.#name = name
    this.#listening = new AbortController()
    const { signal } = this.#listening
    const on = (event, listener) => session.on(event, listener, { signal })
    on("transcript", (transcript) => this.#transcript(transcript))
    on("turnStart", ({ isNewTurn }) => this.#begin(isNewTurn))
    on("turnEnd", () => this.#end())
    on("widget", (widget) => this.#widget(widget))
    on("avatarStartTalking", () => this.#busy({ speaking: true }))
    on("avatarStopTalking", () => {
      this.#busy({ speaking: false })
      this.#answer?.end() // of an opening there is no other end
    })
    on("interrupted", () => this.#busy({ speaking: false }))
    on("responsePending", () => {
      this.#busy({ pending: true })
      this.#status(`${name} is answering.`)
    })
    on("responseSettled", () => this.#settle())
    on("brainStalled", () => this.#status(`${name} needs longer than usual.`))
    on("warning", ({ code }) => {
      if (code === "empty_turn_with_request_vars") this.#refusing = true
    })
    on("oauthRequired", (ask) => this.#consent(ask))
    on("transportChanged", ({ transport }) => {
      transport.on("brainSegment", ({ speechId, messageId }) => messageId && this.#messages.set(speechId, messageId), { signal })
    })
  }

  /** Hears no more of the session. */
  leave() {
    this.#listening?.abort()
    this.#abort?.abort()
    this.#session = this.#answer = this.#abort = undefined
    this.#typed = []
    this.#questions = []
    this.#messages.clear()
    this.#refusing = false
    this.#busy({ answering: false, speaking: false })
    this.#settle()
  }

  /** Asks something; again when it is in the log already. */
  async ask(text, { again = false } = {}) {
    const session = this.#session
    const abort = (this.#abort = new AbortController())
    this.#answer = undefined
    this.#asked = text
    this.#typed.push(text)
    this.#log.suggest([])
    if (!again) this.#log.you(text)
    this.#log.follow()
    try {
      const turn = await session.sendText(text, { signal: abort.signal })
      if (session !== this.#session) return // another conversation has begun
      if (this.#refusing) throw { code: "client_variables_disabled" }
      if (turn.messageId) this.#answer?.rateable(turn.messageId)
      if (turn.empty) this.#log.note(`${this.#name} had nothing to say.`)
    } catch (error) {
      if (session !== this.#session) return
      this.#known(text)
      if (this.#answering) this.#end() // a switch leaves a turn without its end
      const answer = this.#answer ?? this.#log.answer(this.#name)
      if (abort.signal.aborted) answer.remark("You stopped this answer.")
      else if (error.code === "aborted") answer.remark("This answer was cut short.")
      else answer.fail(sentence(error), () => this.#again(text))
      // Variables stay with a session, and this agent takes none; a token stays with
      // it too, and ends some day.
      if (["client_variables_disabled", "unauthorized"].includes(error.code)) this.#renew()
    }
    this.#save()
  }

  /** Asks once more what is in the log already; false while there is no time for it. */
  #again(text) {
    if (this.#pending || this.#answering || !this.#session) return false
    this.ask(text, { again: true })
    return true
  }

  /** Stops the answer that is being written. */
  stop() {
    this.#abort?.abort()
    this.#settle() // also for unrecognised speech, which gets no answer
  }

  #settle() {
    this.#busy({ pending: false })
    this.#status("")
  }

  #transcript({ type, text, speechId }) {
    if (type === "user") {
      // Texts that waited for an opening to end leave as one, a line each.
      const news = this.#known(text) ? [] : text.split("\n").filter((line) => !this.#known(line))
      if (news.length > 0) this.#log.you(news.join("\n"))
    } else if (type === "final" && text !== "[silence]") {
      // An opening is spoken without a turn.
      if (speechId && speechId !== this.#speech && !this.#answering) this.#answer = undefined
      this.#speech = speechId
      this.#answer ??= this.#log.answer(this.#name)
      if (speechId) this.#answer.say(text) // sentences, without what is between them
      else this.#answer.add(text)
      if (this.#messages.has(speechId)) this.#answer.rateable(this.#messages.get(speechId))
    }
  }

  /** Whether a text is in the log since it was typed. */
  #known(text) {
    const at = this.#typed.indexOf(text)
    if (at >= 0) this.#typed.splice(at, 1)
    return at >= 0
  }

  #busy({ pending = this.#pending, answering = this.#answering, speaking = this.#speaking }) {
    this.#pending = pending
    this.#answering = answering
    this.#speaking = speaking
    this.#composer.busy = pending || answering || speaking
  }

  #begin(isNewTurn) {
    this.#busy({ answering: true })
    if (!isNewTurn && this.#answer) return
    if (!this.#answer?.empty) this.#answer = this.#log.answer(this.#name)
    this.#questions = []
  }

  #end() {
    this.#busy({ answering: false })
    this.#status("")
    if (this.#answer?.empty) {
      this.#log.drop(this.#answer) // nothing was said
      this.#answer = undefined
    }
    this.#answer?.end()
    this.#log.suggest(this.#questions)
    this.#save()
  }

  #widget(widget) {
    if (widget.followups) this.#questions = widget.followups.questions
    else (this.#answer ??= this.#log.answer(this.#name)).widget(widget)
  }

  // The visitor allows it on a page of the service, and asks once more.
  #consent({ authUrl, toolDisplayName, toolName }) {
    const tool = toolDisplayName || toolName || "something of yours"
    const again = make("button", { type: "button" }, "Ask again")
    const asked = this.#asked
    again.addEventListener("click", () => this.#answering || this.ask(asked))
    this.#log.note(
      make("p", {}, `${this.#name} asks for your permission to use: ${tool}.`),
      make("div", { className: "row" }, outward(authUrl, { className: "button main" }, "Allow it"), again),
    )
  }
}
