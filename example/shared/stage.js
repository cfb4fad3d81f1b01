// The frame of a page with a face: the picture and its captions, what is going on, the buttons
// below, and the field for typed messages.
import { load } from "/js/dist/index.js"
import { Captions, Composer, ControlBar, drawCaptions, endMessage, ERROR_MESSAGES, errorMessage, PERMANENT_ERRORS } from "/js/dist/ui.js"
import { $, status } from "./dom.js"
import { showPicture } from "./picture.js"
import { readService } from "./service.js"

export class Stage {
  /** The avatar session, undefined without a conversation. */
  session

  #page
  #service
  #controls = document.querySelectorAll("#controls button") // those of the page
  #bar // the others
  #composer
  #refusal // why there is no microphone, shown until it starts or the visitor is answered
  #lost // why there is no picture, shown until there is one

  /**
   * Shows the agents. `open(service)` returns the session that the start button begins, with
   * the listeners of the page; `connected()` is called after its connect, and `ended()` at
   * its end. `agent` is the name of the agent that is selected at first.
   */
  constructor({ open, connected = () => {}, ended = () => {}, agent }) {
    this.#page = { open, connected, ended, agent }
    $("start").addEventListener("click", () => this.#start())
    $("agent").addEventListener("change", () => {
      if ($("start").hidden) status("") // this one may exist
      $("start").hidden = false
    })
    showPicture(() => this.#found())
    this.#showParts()
    load().catch((error) => status(errorMessage(error), true)) // before it is needed
    attempt(() => this.#read()).then(() => {
      $("start").disabled = false
      $("start").focus()
    })
  }

  async #start() {
    if ($("stage").dataset.state !== "idle") return // clicked again before the button was hidden
    this.#show("busy")
    status("Connecting…")
    try {
      await this.#read()
      this.session = await this.#page.open(this.#service)
      this.#listen(this.session)
      await this.session.connect()
      await this.#page.connected()
    } catch (error) {
      this.#end(errorMessage(error), error.code)
    }
  }

  /** Reads the information of the service, unless it is there: it may have been away when the page was opened. */
  async #read() {
    this.#service ??= await readService(this.#page.agent)
  }

  /** Shows what is wrong with the microphone or the picture, or nothing. */
  #showProblem() {
    status(this.#refusal ?? this.#lost ?? "", this.#refusal !== undefined)
  }

  /** There is a picture again. */
  #found() {
    if (this.#lost === undefined) return
    this.#lost = undefined
    this.#showProblem()
  }

  /** Shows the field for messages and the buttons; without a session, nothing can be sent, and there are no buttons. */
  #showParts(session) {
    this.#composer?.destroy()
    this.#bar?.destroy()
    const onError = (error) => status(errorMessage(error), true)
    this.#composer = new Composer(session, { onError, labels: $("composer").dataset })
    this.#bar = new ControlBar(session, { onError, controls: ["microphone", "volume", "devices", "end"] })
    $("composer").append(this.#composer.root)
    $("controls").append(this.#bar.root)
  }

  #listen(session) {
    this.#showParts(session)
    const showProblem = () => this.#showProblem()
    drawCaptions(new Captions(session), $("caption"))
    session.on("disclosure", ({ disclosureText }) => ($("disclosure").textContent = disclosureText))
    session.on("mediaReady", () => {
      this.#show("live")
      showProblem()
    })
    session.on("stateChange", ({ state }) => {
      this.#enable(state === "connected")
      $("agent").disabled = state !== "disconnected"
      if (state === "reconnecting") status("The connection was lost. Reconnecting…")
      if (state !== "connected") return
      this.#composer.field.focus()
      showProblem()
    })
    session.on("mediaRecovering", ({ channel }) => {
      if (channel !== "stv") return
      this.#lost = "The picture was lost. It is being brought back."
      showProblem()
    })
    session.on("mediaRecovered", ({ channel }) => channel === "stv" && this.#found())
    session.on("responsePending", () => {
      this.#refusal = undefined
      status("Thinking…")
    })
    session.on("responseSettled", showProblem)
    session.on("micStarted", () => {
      this.#refusal = undefined
      showProblem()
    })
    session.on("warning", (warning) => {
      if (/^(mic|devices)_/.test(warning.code)) this.#refusal = errorMessage(warning)
      if (warning.code === "media_no_video") this.#lost = errorMessage(warning)
      if (warning.code !== "playback_blocked") status(errorMessage(warning), true)
    })
    session.on("ended", ({ reason }) => this.#end(endMessage(reason), Object.hasOwn(ERROR_MESSAGES, reason) ? reason : undefined))
  }

  /** Shows the end, with the code of its error if it has one. */
  #end(text, code) {
    this.#show("idle")
    this.#refusal = this.#lost = undefined
    status(text, code !== undefined)
    this.#enable(false)
    $("agent").disabled = false
    $("start").hidden = PERMANENT_ERRORS.has(code)
    $($("start").hidden ? "agent" : "start").focus()
    this.#page.ended()
    this.session?.disconnect()
    this.session = undefined
    this.#showParts()
  }

  #enable(enabled) {
    for (const control of this.#controls) control.disabled = !enabled
  }

  #show(state) {
    $("stage").dataset.state = state
  }
}

/** Does something and shows its error. */
export async function attempt(action) {
  try {
    await action()
  } catch (error) {
    status(errorMessage(error), true)
  }
}
