/**
 * How long a token is used again, in ms. It is half of the life that the local service gives to a widget's token, so that
 * a conversation that begins with one has as much time.
 */
const keptFor = 12 * 60 * 60 * 1000

/**
 * The token of a visitor of a widget, kept in the tab for a reload: a service that gives every visitor a token of their own
 * lets a thread be continued only with the token that it was begun with. In a worker and on a server nothing is kept.
 */
export class KeptToken {
  readonly #key: string

  /** `place` is everything that the token depends on: it is sent to no other address. */
  constructor(place: readonly unknown[]) {
    this.#key = `agentruntime visitor ${JSON.stringify(place)}`
  }

  read(): string | undefined {
    const { token, since } = this.#entry()
    return typeof token === "string" && typeof since === "number" && Date.now() - since < keptFor ? token : undefined
  }

  /** Keeps the token of a reply; one that was made from the last one does not live longer than that. */
  write(reply: { ks: string }, renewed: boolean): void {
    const { since } = this.#entry()
    this.#try((storage) => storage.setItem(this.#key, JSON.stringify({ token: reply.ks, since: renewed && typeof since === "number" ? since : Date.now() })))
  }

  remove(): void {
    this.#try((storage) => storage.removeItem(this.#key))
  }

  #entry(): { token?: unknown; since?: unknown } {
    return this.#try((storage) => JSON.parse(storage.getItem(this.#key) ?? "{}") as object) ?? {}
  }

  /** Does nothing where there is no storage, or where the page may not use it. */
  #try<T>(use: (storage: Storage) => T): T | undefined {
    try {
      return typeof document === "undefined" ? undefined : use(sessionStorage)
    } catch {
      return undefined
    }
  }
}
