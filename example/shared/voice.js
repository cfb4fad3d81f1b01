import { $ } from "./dom.js"

// A press that lasts longer than this is held, in milliseconds: its release is its
// end. After a shorter one the agent listens until the next press.
const held = 400

/** The buttons for the microphone, for tap-to-talk, and for the agent's sound. */
export class Voice {
  #session

  /** `session()` is the avatar session to speak through; `attempt(action)` shows errors. */
  constructor(session, attempt) {
    this.#session = session
    $("mic").addEventListener("click", () => attempt(() => this.#toggleMicrophone()))
    $("sound").addEventListener("click", () => attempt(() => this.#toggleSound()))
    this.#listenForTaps(() => attempt(() => this.#tap()))
  }

  /** Updates the buttons. */
  show() {
    const session = this.#session()
    const taps = Boolean(session?.capabilities.tapToTalk) // which the agent decides
    $("mic").hidden = taps
    $("tap").hidden = !taps
    press("mic", Boolean(session?.micStarted && session.micEnabled), "Microphone on", "Microphone off")
    press("tap", Boolean(session?.tapToTalkActive), "Listening. Tap when done", "Tap or hold to talk")
    press("sound", !session?.audioOutputMuted, "Sound on", "Sound off")
  }

  async #toggleMicrophone() {
    const session = this.#session()
    if (!session.micStarted) await session.startMic()
    else if (session.micEnabled) session.mute()
    else session.unmute()
    this.show()
  }

  // Keys and screen readers only click; a pointer is down for a while before.
  #listenForTaps(tap) {
    let since // when the pointer went down that made the agent listen
    $("tap").addEventListener("pointerdown", ({ button, pointerId }) => {
      since = undefined
      if (button !== 0 || this.#session()?.tapToTalkActive) return
      since = performance.now()
      $("tap").setPointerCapture(pointerId) // it may be released elsewhere
      tap()
    })
    $("tap").addEventListener("click", () => {
      const short = performance.now() - since < held
      since = undefined
      if (!short) tap()
    })
    $("tap").addEventListener("contextmenu", (event) => event.preventDefault()) // holding a finger down would open it
  }

  async #tap() {
    const session = this.#session()
    if (session.tapToTalkActive) return session.endTapToTalk()
    if (!session.micStarted) await session.startMic()
    if (!session.tapToTalkActive) session.startTapToTalk()
  }

  #toggleSound() {
    const session = this.#session()
    if (session.audioOutputMuted) session.unmuteAudioOutput()
    else session.muteAudioOutput()
    this.show()
  }
}

/** Shows a button as pressed or not. */
export function press(id, pressed, on, off) {
  $(id).setAttribute("aria-pressed", String(pressed))
  $(id).textContent = pressed ? on : off
}
