import { $ } from "./dom.js"

// A press of the tap-to-talk button that is longer than this, in milliseconds, ends when
// it is released. A shorter one keeps the window open until the next press.
const holdMs = 400

/** The buttons for the microphone, for tap-to-talk, and for the agent's sound. */
export class VoiceControls {
  #session

  /** `session()` returns the avatar session, if there is one; `attempt(action)` shows errors. */
  constructor(session, attempt) {
    this.#session = session
    $("mic").addEventListener("click", () => attempt(() => this.#toggleMicrophone()))
    $("sound").addEventListener("click", () => attempt(() => this.#toggleSound()))
    this.#addTapListeners(() => attempt(() => this.#tap()))
  }

  /** Updates the buttons. */
  update() {
    const session = this.#session()
    const tapToTalk = Boolean(session?.capabilities.tapToTalk)
    $("mic").hidden = tapToTalk
    $("tap").hidden = !tapToTalk
    setPressed("mic", Boolean(session?.micStarted && session.micEnabled), "Microphone on", "Microphone off")
    setPressed("tap", Boolean(session?.tapToTalkActive), "Listening. Tap when done", "Tap or hold to talk")
    const blocked = Boolean(session?.playbackBlocked)
    setPressed("sound", !blocked && !session?.audioOutputMuted, "Sound on", blocked ? "Turn the sound on" : "Sound off")
  }

  async #toggleMicrophone() {
    const session = this.#session()
    if (!session.micStarted) await session.startMic()
    else if (session.micEnabled) session.mute()
    else session.unmute()
    this.update()
  }

  // Keys and screen readers cause only a click; a pointer is down for some time before it.
  #addTapListeners(tap) {
    let since // when the press began that opened the window
    $("tap").addEventListener("pointerdown", ({ button, pointerId }) => {
      since = undefined
      if (button !== 0 || this.#session()?.tapToTalkActive) return
      since = performance.now()
      $("tap").setPointerCapture(pointerId) // it may be released outside the button
      tap()
    })
    $("tap").addEventListener("click", () => {
      const short = performance.now() - since < holdMs
      since = undefined
      if (!short) tap()
    })
    $("tap").addEventListener("contextmenu", (event) => event.preventDefault()) // a long touch would open it
  }

  async #tap() {
    const session = this.#session()
    if (session.tapToTalkActive) return session.endTapToTalk()
    if (!session.micStarted) await session.startMic()
    if (!session.tapToTalkActive) session.startTapToTalk()
  }

  async #toggleSound() {
    const session = this.#session()
    if (session.playbackBlocked) await session.startPlayback() // some browsers play sound only after a click
    else if (session.audioOutputMuted) session.unmuteAudioOutput()
    else session.muteAudioOutput()
    this.update()
  }
}

/** Shows a button as pressed or not. */
export function setPressed(id, pressed, on, off) {
  $(id).setAttribute("aria-pressed", String(pressed))
  $(id).textContent = pressed ? on : off
}
