// Connects a session of any kind with the log and the field for messages.
import { Composer, errorMessage, safeLink, SpokenTranscript } from "/js/dist/ui.js"
import { $, make } from "./dom.js"

/** Sends the visitor's texts to the session, and shows the session's events in the log. */
export class SessionView {
  /** The field for messages of the present session; without one, nothing can be sent. */
  composer = new Composer(undefined)
  #log
  #status
  #save
  #renew
  #session
  #name
  #listeners // an AbortController for the listeners
  #transcript
  #answers = new Map() // by the id of the transcript's entry
  #sending = false // a text was sent and its answer is not over
  #answering = false
  #variablesRefused = false // the agent accepts no variables: it answers them with empty turns
  #answer // the current or last one
  #questions = []
  #unconfirmed = [] // texts in the log without a transcript event of the session
  #lastText = "" // the last text
  #messages = new Map() // speechId → id of the message, for ratings
  #again = false // the next text is in the log already

  /** `save()` is called after each message, `renew()` when the session must be replaced. */
  constructor({ log, status, save, renew }) {
    this.#log = log
    this.#status = status
    this.#save = save
    this.#renew = renew
    const foot = make("div", { className: "foot" },
      make("p", { id: "disclosure" }, "You are talking to an AI, not to a person."),
      make("p", { id: "status", role: "status" }),
      make("p", { id: "hint" }, "Enter sends, Shift+Enter begins a line, Escape stops an answer."),
    )
    $("talk").append(make("div", { id: "composer" }, this.composer.root, foot))
    // Escape stops the agent, wherever the focus is.
    document.addEventListener("keydown", ({ key, defaultPrevented }) => {
      if (key !== "Escape") return
      if (!defaultPrevented) this.composer.stop() // in the field, it has done so
      this.#status("")
    })
  }

  /** Shows the events of a session, with the name of its agent. */
  attach(session, name) {
    this.detach()
    this.#session = session
    this.#name = name
    this.#listeners = new AbortController()
    const { signal } = this.#listeners
    const on = (event, listener) => session.on(event, listener, { signal })
    this.#replaceComposer(session, {
      onSend: (text, signal) => this.#ask(text, signal),
      onError: (error) => this.#status(errorMessage(error), true),
      labels: { placeholder: `Ask ${name} something` },
    })
    this.#transcript = new SpokenTranscript(session)
    this.#transcript.onChange((change) => this.#said(change))
    on("turnStart", ({ isNewTurn }) => this.#begin(isNewTurn))
    on("turnEnd", () => this.#end())
    on("widget", (widget) => this.#widget(widget))
    on("responsePending", () => this.#status(`${name} is answering.`))
    on("responseSettled", () => this.#status(""))
    on("brainStalled", () => this.#status(`${name} needs longer than usual.`))
    on("warning", ({ code }) => {
      if (code === "empty_turn_with_request_vars") this.#variablesRefused = true
    })
    on("oauthRequired", (request) => this.#consent(request))
    on("transportChanged", ({ transport }) => {
      transport.on("disclosure", ({ disclosureText }) => ($("disclosure").textContent = disclosureText), { signal })
      transport.on("brainSegment", ({ speechId, messageId }) => messageId && this.#messages.set(speechId, messageId), { signal })
    })
  }

  /** Removes the listeners and resets the state. */
  detach() {
    this.#listeners?.abort()
    this.#transcript?.destroy()
    this.#answers.clear()
    this.#replaceComposer(undefined, {})
    this.#session = this.#answer = undefined
    this.#unconfirmed = []
    this.#questions = []
    this.#messages.clear()
    this.#variablesRefused = false
    this.#sending = this.#answering = this.#again = false
    this.#status("")
  }

  /** Shows a field for another session, with the text that is not sent yet. */
  #replaceComposer(session, options) {
    const last = this.composer
    this.composer = new Composer(session, options)
    const { field, root } = this.composer
    field.value = last.field.value
    field.setAttribute("aria-describedby", "hint")
    root.querySelector(".stop").addEventListener("click", () => this.#status(""))
    last.root.replaceWith(root)
    last.destroy()
  }

  /** Sends a text, and shows how the turn ends. */
  async #ask(text, signal) {
    const session = this.#session
    const again = this.#again
    this.#sending = true
    this.#again = false
    this.#answer = undefined
    this.#lastText = text
    this.#unconfirmed.push(text)
    this.#log.suggest([])
    if (!again) this.#log.addUserMessage(text)
    this.#log.scrollToEnd()
    try {
      const turn = await session.sendText(text, { signal })
      if (session !== this.#session) return // another conversation has begun
      if (this.#variablesRefused) throw { code: "client_variables_disabled" }
      if (turn.messageId) this.#answer?.showRating(turn.messageId)
      if (turn.empty) this.#log.addNote(`${this.#name} had nothing to say.`)
    } catch (error) {
      if (session !== this.#session) return
      this.#confirm(text)
      if (this.#answering) this.#end() // a switch of the mode ends a turn without turnEnd
      const answer = this.#answer ?? this.#log.addAnswer(this.#name)
      if (signal.aborted) answer.addRemark("You stopped this answer.")
      else if (error.code === "aborted") answer.addRemark("This answer was cut short.")
      else answer.fail(errorMessage(error), () => this.#retry(text))
      // A session keeps its variables, which this agent does not accept, and its token,
      // which has expired: both need a new session.
      if (["client_variables_disabled", "unauthorized"].includes(error.code)) this.#renew()
    }
    this.#sending = false
    this.#save()
  }

  /** Sends a text of the log again; returns false while another turn is under way. */
  #retry(text) {
    if (this.#sending || !this.#session) return false
    this.#again = true
    this.composer.send(text)
    return true
  }

  // Only what was really said is in the log: a sentence from the moment it is heard, and
  // of an interrupted answer only the spoken part.
  #said({ entry, kind }) {
    const { id, who, text, speechId, open } = entry
    if (who === "user") {
      // Texts that waited for the end of an opening are sent as one turn, a line each.
      const news = this.#confirm(text) ? [] : text.split("\n").filter((line) => !this.#confirm(line))
      if (news.length > 0) this.#log.addUserMessage(news.join("\n"))
      return
    }
    if (kind === "removed") return this.#drop(this.#answers.get(id))
    if (!this.#answers.has(id)) {
      // An answer that has a text belongs to another entry: an opening has no turn.
      if (!this.#answer?.wordless) this.#answer = this.#log.addAnswer(this.#name)
      this.#answers.set(id, this.#answer)
    }
    const answer = this.#answers.get(id)
    answer.text = text
    if (speechId !== null || !open) answer.end()
    if (this.#messages.has(speechId)) answer.showRating(this.#messages.get(speechId))
  }

  /** Removes an answer without content. */
  #drop(answer) {
    if (!answer?.empty) return
    this.#log.remove(answer)
    if (answer === this.#answer) this.#answer = undefined
  }

  /** Removes a text from the unconfirmed ones; returns whether it was one. */
  #confirm(text) {
    const at = this.#unconfirmed.indexOf(text)
    if (at >= 0) this.#unconfirmed.splice(at, 1)
    return at >= 0
  }

  #begin(isNewTurn) {
    this.#answering = true
    if (!isNewTurn && this.#answer) return
    if (!this.#answer?.empty) this.#answer = this.#log.addAnswer(this.#name)
    this.#questions = []
  }

  #end() {
    this.#answering = false
    this.#status("")
    this.#drop(this.#answer) // empty if the voice has not begun yet
    this.#answer?.end()
    this.#log.suggest(this.#questions)
    this.#save()
  }

  #widget(widget) {
    if (widget.followups) this.#questions = widget.followups.questions
    else (this.#answer ??= this.#log.addAnswer(this.#name)).widget(widget)
  }

  // The visitor gives the permission on a page of the service, and asks again.
  #consent({ authUrl, toolDisplayName, toolName }) {
    const tool = toolDisplayName || toolName || "something of yours"
    const again = make("button", { type: "button" }, "Ask again")
    const text = this.#lastText
    again.addEventListener("click", () => this.#sending || this.composer.send(text))
    this.#log.addNote(
      make("p", {}, `${this.#name} asks for your permission to use: ${tool}.`),
      make("div", { className: "row" }, safeLink(authUrl, { class: "button main" }, "Allow it"), again),
    )
  }
}
