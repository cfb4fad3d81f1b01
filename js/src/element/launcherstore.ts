import type { Said } from "./state.js"

/** How much is kept of what was said, the latest turns, in characters: storage is limited, and is written at each turn. */
const most = 100_000

/** A conversation that can be continued. */
export interface Kept {
  thread: string
  said: readonly Said[]
}

/**
 * What a launcher keeps in the browser. A conversation is kept in the tab, as its token is: a service may let a thread be
 * continued only with the token that it was begun with. That it has greeted is kept for all tabs.
 */
export class LauncherStore {
  readonly #conversation: string
  readonly #greeted: string

  /** `place` is everything that tells one agent from another. */
  constructor(place: readonly unknown[]) {
    this.#conversation = `agentruntime conversation ${JSON.stringify(place)}`
    this.#greeted = `agentruntime greeted ${JSON.stringify(place)}`
  }

  get kept(): Kept | undefined {
    return attempt(() => {
      const kept = JSON.parse(sessionStorage.getItem(this.#conversation) ?? "null") as Kept | null
      return typeof kept?.thread === "string" && Array.isArray(kept.said) ? kept : undefined
    })
  }

  set kept(kept: Kept | undefined) {
    let left = most
    let first = kept?.said.length ?? 0
    while (first > 0 && (left -= kept!.said[first - 1]!.text.length) >= 0) first--
    attempt(() => {
      if (kept) sessionStorage.setItem(this.#conversation, JSON.stringify({ ...kept, said: kept.said.slice(first) }))
      else sessionStorage.removeItem(this.#conversation)
    })
  }

  get greeted(): boolean {
    return attempt(() => localStorage.getItem(this.#greeted)) != null
  }

  setGreeted(): void {
    attempt(() => localStorage.setItem(this.#greeted, "1"))
  }
}

/** Undefined where there is no storage, or where the page may not use it. */
function attempt<T>(use: () => T): T | undefined {
  try {
    return use()
  } catch {
    return undefined
  }
}
