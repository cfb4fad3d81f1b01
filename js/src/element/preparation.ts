import type { AppInitResult } from "../session/appinit.js"
import type { AvatarSession } from "../session/avatar.js"
import type { Made } from "./make.js"

/** How long an early reply of `appInit` may be used, in ms, because its token expires. */
const replyMs = 5 * 60_000

/** What a start would wait for, requested ahead: the reply of `appInit`, and the session of a face. Each is used once. */
export class Preparation {
  readonly #request: (signal?: AbortSignal) => Promise<AppInitResult>
  #asked: { at: number; reply: Promise<AppInitResult> } | undefined
  #prepared: { init: AppInitResult; made: Promise<Made<AvatarSession>> } | undefined

  constructor(request: (signal?: AbortSignal) => Promise<AppInitResult>) {
    this.#request = request
  }

  /** Requests the reply, unless that was done. It is undefined when it has been dropped meanwhile. */
  async load(): Promise<AppInitResult | undefined> {
    const asked = (this.#asked ??= { at: Date.now(), reply: this.#request() })
    try {
      const reply = await asked.reply
      return this.#asked === asked ? reply : undefined
    } catch (reason) {
      if (this.#asked === asked) this.#asked = undefined
      throw reason
    }
  }

  /** The reply for a start: the early one, or another one where that is too old. */
  take(signal: AbortSignal): Promise<AppInitResult> {
    const asked = this.#asked
    this.#asked = undefined
    return asked && Date.now() - asked.at < replyMs ? asked.reply : this.#request(signal)
  }

  /** Makes the session for the early reply, and opens its connection. */
  async prepare(make: (init: AppInitResult) => Promise<Made<AvatarSession>> | undefined): Promise<void> {
    const init = this.#asked && (await this.load())
    const made = init && !this.#prepared && make(init)
    if (!made) return
    const prepared = (this.#prepared = { init, made })
    const { session } = await made
    if (prepared === this.#prepared) await session.prepare()
  }

  /** The session for a start with this reply, if there is one. */
  async takeSession(init: AppInitResult): Promise<Made | undefined> {
    const prepared = this.#prepared
    if (prepared?.init !== init) return void this.dropSession()
    this.#prepared = undefined
    return prepared.made.catch(() => undefined)
  }

  /** The reply is not used: another agent may be meant, or another visitor. */
  drop(): void {
    this.#asked = undefined
    this.dropSession()
  }

  /** What the session was made with has changed, or it is not needed any more. */
  dropSession(): void {
    this.#prepared?.made.then(({ session }) => session.dispose()).catch(() => {}) // it rejects when the program, and so the session, has ended
    this.#prepared = undefined
  }
}
