import { attachTapToTalk } from "/js/dist/ui.js"
import { $ } from "./dom.js"

/** The buttons for the microphone, for tap-to-talk, and for the agent's sound. */
export class VoiceControls {
  #session

  /** `session()` returns the avatar session, if there is one; `attempt(action)` shows errors. */
  constructor(session, attempt) {
    this.#session = session
    $("mic").addEventListener("click", () => attempt(() => this.#toggleMicrophone()))
    $("sound").addEventListener("click", () => attempt(() => this.#toggleSound()))
    attachTapToTalk($("tap"), session, (reason) => attempt(() => Promise.reject(reason)))
  }

  /** Updates the buttons. */
  update() {
    const session = this.#session()
    const tapToTalk = Boolean(session?.capabilities.tapToTalk)
    $("mic").hidden = tapToTalk
    $("tap").hidden = !tapToTalk
    setPressed("mic", Boolean(session?.micStarted && session.micEnabled))
    setPressed("tap", Boolean(session?.tapToTalkActive))
    $("tap").textContent = session?.tapToTalkActive ? "Listening. Tap when done" : "Tap or hold to talk"
    const blocked = Boolean(session?.playbackBlocked)
    setPressed("sound", !blocked && !session?.audioOutputMuted)
    $("sound").textContent = blocked ? "Turn the sound on" : "Sound"
    if (blocked) $("sound").removeAttribute("aria-pressed") // the name says what a click does
  }

  async #toggleMicrophone() {
    const session = this.#session()
    if (!session.micStarted) await session.startMic()
    else if (session.micEnabled) session.mute()
    else session.unmute()
    this.update()
  }

  async #toggleSound() {
    const session = this.#session()
    if (session.playbackBlocked) await session.startPlayback() // some browsers play sound only after a click
    else if (session.audioOutputMuted) session.unmuteAudioOutput()
    else session.muteAudioOutput()
    this.update()
  }
}

/** Shows a button as pressed or not. Its name is the same in both states. */
export function setPressed(id, pressed) {
  $(id).setAttribute("aria-pressed", String(pressed))
}
