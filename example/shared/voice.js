import { $ } from "./dom.js"

/** The buttons for both voices: the visitor's microphone, and what the agent says. */
export class Voice {
  #session

  /** `session()` is the avatar session to speak through; `attempt(action)` tells what goes wrong. */
  constructor(session, attempt) {
    this.#session = session
    $("mic").addEventListener("click", () => attempt(() => this.#toggleMicrophone()))
    $("sound").addEventListener("click", () => attempt(() => this.#toggleSound()))
  }

  /** Shows what is on. */
  show() {
    const session = this.#session()
    press("mic", Boolean(session?.micStarted && session.micEnabled), "Microphone on", "Microphone off")
    press("sound", Boolean(session?.audioOutputMuted), "Unmute the agent", "Mute the agent")
  }

  async #toggleMicrophone() {
    const session = this.#session()
    if (!session.micStarted) await session.startMic()
    else if (session.micEnabled) session.mute()
    else session.unmute()
    this.show()
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
