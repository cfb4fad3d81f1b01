// The module that is downloaded when a conversation begins, with captions, Markdown and widgets.
import type { AvatarSession } from "../session/avatar.js"
import { codeOf, messageOf } from "../core/errors.js"
import { MIC_ERROR_CODES } from "../generated/events.js"
import { controlEvents } from "../ui/activity.js"
import { ERROR_MESSAGES, messageKey, PERMANENT_ERRORS } from "../ui/messages.js"
import { attachTapToTalk } from "../ui/taptotalk.js"
import { toggleMicrophone, toggleSound } from "../ui/voicecontrols.js"
import { ConversationView } from "./conversationview.js"
import { Devices } from "./devices.js"
import type { Host } from "./host.js"
import { errorText, type Text } from "./labels.js"
import { optionsOf, type Made } from "./make.js"
import { noPicture, Picture } from "./picture.js"
import { Sharing } from "./sharing.js"
import { faceOf, listen, say, type AnySession } from "./session.js"
import { NewConversation, TranscriptTools } from "./tools.js"
import { View } from "./view.js"

export { makeSession } from "./make.js"

/** What there is to say about errors. */
export const failures = {
  /** The labels, in English. */
  labels: { errors: ERROR_MESSAGES as Record<string, string> },
  /** The codes of errors that another attempt can't avoid. */
  permanent: PERMANENT_ERRORS,
}

/** The error of every turn in text on a thread of another visitor; with a face, connecting fails. */
const threadDenied = "thread_access_denied"

/** Adds the parts that only a conversation has: the menus of devices, the buttons over the picture, those of the transcript and of what the visitor shows; and makes the button for tap-to-talk work. */
export function addParts({ element, screen, update }: Host, conversation: () => Conversation | undefined): void {
  const { frame, stage, controls, composer } = screen
  const face = () => conversation()?.face
  const failed = (reason: unknown) => conversation()?.microphoneFailed(reason)
  const tell = (text: string, problem: boolean) => conversation()?.view.tell(text, problem)
  const text = () => conversation()?.view.text ?? ""
  attachTapToTalk(controls.tap.root, face, failed)
  const menus = new Devices(controls.devices.root, face, failed)
  const view = new View(frame, stage.video)
  const tools = new TranscriptTools(text, tell)
  const fresh = new NewConversation(() => element.startNew(), () => text() !== "" && optionsOf(element).threadId === undefined)
  const sharing = new Sharing(face, tell)
  controls.root.after(menus.root)
  stage.root.append(view.root, sharing.preview)
  composer.root.prepend(sharing.root)
  frame.append(fresh.root, tools.root)
  screen.add(menus, view, fresh, tools, sharing)
  update({}) // until they are drawn, their buttons have no names, and none is hidden
}

/** One conversation of an element, with one session: what the visitor does in it, and what it changes of what is shown. */
export class Conversation {
  /** What is said and shown in it. */
  readonly view: ConversationView
  readonly #host: Host
  readonly #made: Made
  readonly #signal: AbortSignal
  readonly #faces = new WeakSet<AvatarSession>()
  /** The visitor has turned the microphone off, which holds for a face after a switch too. */
  #muted = false
  /** The sentence for an answer without text. */
  #noAnswer: Text = (labels) => labels.empty
  /** Aborts the turn that was sent last. */
  #turn: AbortController | undefined
  #left = false

  /** `signal` is aborted at the end of the conversation. */
  constructor(host: Host, made: Made, signal: AbortSignal) {
    this.#host = host
    this.#made = made
    this.#signal = signal
    const { session, access } = made
    this.#attach(session, new Picture(host, () => this.face?.paused === true, signal))
    this.view = new ConversationView(host, session, access, signal)
    signal.addEventListener("abort", () => this.#turn?.abort())
  }

  /** The session, until it is freed. */
  get session(): AnySession | undefined {
    return this.#left ? undefined : this.#made.session
  }

  /** The session with a face, if the conversation is in that mode. */
  get face(): AvatarSession | undefined {
    return faceOf(this.session)
  }

  /** Resolves when the agent is connected, or when the conversation was ended first. */
  async connect(): Promise<void> {
    const { element, update } = this.#host
    const { session } = this.#made
    const signal = this.#signal
    update({ step: 1 })
    element.dispatchEvent(new CustomEvent("sessionCreated", { detail: { session } }))
    if (signal.aborted) return // the page has ended it; a session with a face would connect nevertheless
    await session.connect()
    if (signal.aborted) return
    update({ phase: "live", gated: false })
    this.#showVoice()
  }

  /** Frees the session. */
  leave(): void {
    if (this.#left) return
    this.#left = true
    this.#made.session.dispose().catch(() => {}) // it rejects when the program, and so the session, has ended
  }

  /** Sends a text as if it was typed. Rejects with the error that is shown. */
  async send(text: string): Promise<void> {
    const { screen, update, report, warn } = this.#host
    const { composer } = screen
    const turn = (this.#turn = new AbortController())
    const spoken = this.face !== undefined
    update({ message: undefined })
    try {
      const answer = await say(this.#made.session, text, turn.signal)
      if (answer === false) composer.restore(text) // it waited for words that can't be interrupted, until the conversation ended
      else if (typeof answer === "object" && answer.empty) update({ message: this.#noAnswer })
    } catch (reason) {
      if (turn.signal.aborted && codeOf(reason) !== threadDenied) {
        if (spoken) composer.restore(text) // it waited too, until the visitor pressed stop
        return
      }
      if (spoken) report(reason) // of a turn in text there is an event already
      if (!this.#left && this.#host.state.phase === "live") {
        update({ message: errorText(codeOf(reason)) })
        warn(messageOf(reason), codeOf(reason))
      }
      throw reason
    }
  }

  /** Stops the answer. */
  stop(): void {
    const { phase, tapping } = this.#host.state
    this.#turn?.abort()
    this.view.activity.stopWaiting()
    if (phase === "live" && !tapping) this.face?.interrupt() // the window interrupts the agent itself
  }

  async switchMode(): Promise<void> {
    const { session } = this
    if (!session || !("switchMode" in session)) return
    try {
      await session.switchMode(this.#host.state.mode === "face" ? "chat" : "avatar")
    } catch (reason) {
      if (!this.#left && !this.#signal.aborted) this.#host.update({ message: errorText(codeOf(reason)) })
    }
  }

  /** Turns on the sound that the browser plays only after a click. */
  unlock(): void {
    void this.#attempt((face) => face.startPlayback())
  }

  /** Confirms the disclosure. */
  agree(): void {
    this.face?.acknowledgeDisclosure()
    this.#host.update({ gated: false })
  }

  toggleMicrophone(): void {
    void this.#attempt((face) => {
      this.#muted = face.micStarted && face.micEnabled
      return toggleMicrophone(face)
    })
  }

  retryMicrophone(): void {
    this.#host.update({ microphoneProblem: undefined })
    void this.#attempt((face) => face.startMic())
  }

  toggleSound(): void {
    void this.#attempt(toggleSound)
  }

  microphoneFailed(reason: unknown): void {
    const { report, update, warn } = this.#host
    report(reason)
    update({ microphoneProblem: errorText(messageKey(codeOf(reason))) })
    warn(messageOf(reason), codeOf(reason))
  }

  /** Calls the session with a face, if there is one; an error is shown as one of the microphone. */
  async #attempt(act: (face: AvatarSession) => unknown): Promise<void> {
    const { face } = this
    try {
      if (face) await act(face)
    } catch (reason) {
      if (face !== this.face) return
      this.microphoneFailed(reason)
    }
    this.#showVoice()
  }

  /** Shows the state of the session's microphone and sound. */
  #showVoice(): void {
    const { face } = this
    if (!face) return
    const microphone = this.#host.element.microphone === "none" ? "none" : face.micStarted && face.micEnabled ? "on" : "off"
    const { playbackBlocked, audioOutputMuted, capabilities, tapToTalkActive } = face
    this.view.activity.update()
    this.#host.update({ microphone, blocked: playbackBlocked !== null, sound: !audioOutputMuted, tapToTalk: capabilities.tapToTalk, tapping: tapToTalkActive })
  }

  #attach(session: AnySession, picture: Picture): void {
    const { element, update, report, warn, over } = this.#host
    const signal = this.#signal
    // Without the signal: some events follow the end of the session.
    session.onAny((name, detail) => {
      if (name === "error") report(detail, { once: signal.aborted })
      else element.dispatchEvent(new CustomEvent(String(name), { detail }))
    }, { lasting: true })
    listen(session, signal, {
      stateChange: () => {
        if (!("transport" in session)) return
        update({ switching: (session.state as string) === "switching", mode: session.mode === "avatar" ? "face" : "text" })
        this.#showVoice()
      },
      transportChanged: ({ mode, transport }) => {
        if (mode === "avatar") this.#attachFace(transport, picture)
        picture.forget()
        update({ mode: mode === "avatar" ? "face" : "text", picture: false, missing: false, unheard: false })
      },
      modeChanged: ({ threadContinuity }) => {
        if (!threadContinuity && this.view.said.length > 0) update({ message: (labels) => labels.forgotten })
      },
      warning: ({ code, message, detail, requestVarKeys }) => {
        if (code === "playback_blocked") return
        if (code === "media_no_video") update(this.#host.state.picture ? { missing: true } : { message: noPicture })
        if ((MIC_ERROR_CODES as readonly string[]).includes(code)) update({ microphoneProblem: errorText(messageKey(code)) })
        if (code === "empty_turn_with_request_vars") {
          // The session warns once, and sends the variables with every later turn too.
          this.#noAnswer = errorText("client_variables_disabled")
          update({ message: this.#noAnswer })
        }
        const more = requestVarKeys ? `variables: ${requestVarKeys.join(", ")}` : detail
        warn(more ? `${message} (${more})` : message, code)
      },
      mediaRecovering: ({ channel }) => {
        if (channel !== "stv") return update({ unheard: true })
        picture.lose()
        update({ missing: this.#host.state.picture })
      },
      mediaRecovered: ({ channel }) => {
        if (channel !== "stv") update({ unheard: false })
        else if (!picture.countsFrames) update({ missing: false })
      },
      reconnected: () => update({ unheard: false }),
      error: (error) => {
        // No turn can succeed, but the thread is not over: it is another visitor's.
        if (codeOf(error) === threadDenied) session.disconnect({ final: false, reason: threadDenied })
      },
      ended: ({ reason }) => over(reason),
    })
    const face = faceOf(session)
    if (face) this.#attachFace(face, picture)
  }

  #attachFace(face: AvatarSession, picture: Picture): void {
    if (this.#faces.has(face)) return
    this.#faces.add(face)
    const { element, update } = this.#host
    if (!this.#host.state.sound) face.muteAudioOutput()
    if (this.#muted) face.mute()
    listen(face, this.#signal, {
      stateChange: ({ state }) => {
        if (state === "reconnecting" || state === "resuming") update({ phase: "reconnecting" })
        else if (state === "connected" && this.#host.state.phase === "reconnecting") {
          const state = this.#host.state
          update({ phase: "live", missing: state.missing || (state.picture && picture.countsFrames && picture.stands) })
        }
      },
      streamReady: () => update({ step: 2 }),
      disclosure: () => update({ gated: element.options.requireDisclosureAck === true }),
      micStarted: () => update({ microphoneProblem: undefined }),
    })
    for (const event of controlEvents) listen(face, this.#signal, { [event]: () => this.#showVoice() })
  }
}
