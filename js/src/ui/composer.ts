import type { CallOptions } from "../core/signals.js"
import { sharedActivity, type ActivitySession, type AgentActivity } from "./activity.js"
import { ComposerForm } from "./composerform.js"
import { composing, type Texts } from "./dom.js"
import { partLabels } from "./ownlabels.js"
import type { PartLabels } from "./partlabels.js"
import { transportOf } from "./transports.js"

/** What {@link Composer} uses of a session of any kind, or of a fake of a test. */
export interface ComposerSession extends ActivitySession {
  /** Of an `AvatarSession`. */
  speak?(text: string, options?: CallOptions): Promise<unknown>
  /** Of the other sessions. */
  sendText?(text: string, options?: CallOptions): Promise<unknown>
  interrupt?(): void
}

/** Options of {@link Composer}. */
export interface ComposerOptions {
  /** Texts in place of the English ones: `message`, `placeholder`, `send`, `stop`. */
  labels?: Texts<PartLabels> | undefined
  /**
   * Sends a text, for a page that does more than sending it; it may return a promise. The signal is aborted when the visitor stops the
   * answer. A text for which it returns or resolves to false was not sent, and is in the field again. Default: sends it as a turn of the session.
   */
  onSend?: ((text: string, signal: AbortSignal) => unknown) | undefined
  /** Called with the error when a text could not be sent; the text is in the field again. */
  onError?: ((error: unknown) => void) | undefined
}

/**
 * A field for typed messages. Enter or its button sends the text as a turn of the visitor while the session is connected; during an
 * answer a button stops it, as Escape does in the field.
 */
export class Composer {
  readonly root: HTMLFormElement
  /** The field, for its focus and its text. */
  readonly field: HTMLTextAreaElement
  readonly #form: ComposerForm
  readonly #send: ComposerOptions["onSend"]
  readonly #failed: (error: unknown) => void
  #session: ComposerSession | undefined
  #labels: PartLabels
  #activity: AgentActivity | undefined
  #leave: (() => void) | undefined
  /** Aborts the turn that was sent last. */
  #turn: AbortController | undefined

  /** Without a session, nothing can be sent until {@link follow} is called with one. */
  constructor(session: ComposerSession | undefined, { labels, onSend, onError = () => {} }: ComposerOptions = {}) {
    this.#labels = partLabels(labels)
    this.#send = onSend
    this.#failed = onError
    this.#form = new ComposerForm((text) => void this.send(text).catch(() => {}), () => this.stop())
    this.root = this.#form.root
    this.field = this.#form.field
    this.field.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || composing(event) || !this.#activity?.busy) return
      event.preventDefault() // it would also close a dialog around the field
      this.stop()
    })
    this.follow(session)
  }

  /** Sends to another session from now on, or to none; what is in the field stays. */
  follow(session: ComposerSession | undefined): void {
    const leaveLast = this.#leave // afterwards, so that the same session keeps its activity
    this.#leave = this.#activity = this.#turn = undefined
    this.#session = session
    if (session) {
      const [activity, leave] = sharedActivity(session)
      const unlisten = activity.onBusyChange(() => this.#draw())
      this.#activity = activity
      this.#leave = () => (unlisten(), leave())
    }
    leaveLast?.()
    this.#draw()
  }

  /** Shows other texts. */
  rename(labels?: Texts<PartLabels>): void {
    this.#labels = partLabels(labels)
    this.#draw()
  }

  /** Sends a text as if it was typed. A text that was not sent is in the field again; rejects with the error of the session, if there was one. */
  async send(text: string): Promise<void> {
    const session = this.#session
    if (!session) throw new TypeError("a text can be sent only in a session")
    const turn = (this.#turn = new AbortController())
    const { signal } = turn
    const spoken = this.#spoken
    try {
      const sent = this.#send ? this.#send(text, signal) : session.speak ? session.speak(text, { signal }) : session.sendText!(text, { signal })
      if ((await sent) === false) this.#form.restore(text) // the session ended first
    } catch (reason) {
      if (spoken || !signal.aborted) this.#form.restore(text) // a turn in text that was stopped had been sent
      if (signal.aborted) return
      this.#failed(reason)
      throw reason
    }
  }

  /** Stops the answer, if there is one. */
  stop(): void {
    if (!this.#session || !this.#activity?.busy) return
    this.#turn?.abort()
    this.#activity.stopWaiting()
    this.#draw()
    try {
      transportOf(this.#session).interrupt?.()
    } catch (reason) {
      this.#failed(reason)
    }
  }

  /** Removes the listeners and the element. */
  destroy(): void {
    this.#leave?.()
    this.root.remove()
  }

  /** A typed turn is answered with a voice now: it can be withdrawn until it is sent, and interrupts. */
  get #spoken(): boolean {
    return this.#session !== undefined && transportOf(this.#session).speak !== undefined
  }

  #draw(): void {
    const { current = "connecting" } = this.#activity ?? {}
    const busy = this.#activity?.busy === true
    const ready = !["connecting", "reconnecting", "over"].includes(current)
    this.#form.draw({ labels: this.#labels, ready, busy, interrupts: this.#spoken })
  }
}
