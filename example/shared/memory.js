// What this tab keeps of a conversation for a reload. The service knows a visitor by
// the token that the thread was begun with, and does not list threads for it.

/** The conversation with an agent on a page of that name. */
export class Memory {
  #key

  constructor(page, agent) {
    this.#key = `agentruntime ${page} ${agent}`
  }

  /** { threadId, token, log }, or undefined. */
  read() {
    try {
      const conversation = JSON.parse(sessionStorage.getItem(this.#key))
      return conversation?.log?.entries ? conversation : undefined
    } catch {
      return undefined // no storage here, or something else is in it
    }
  }

  write(conversation) {
    try {
      sessionStorage.setItem(this.#key, JSON.stringify(conversation))
    } catch {
      // Full, or not allowed: the conversation goes on without.
    }
  }

  forget() {
    try {
      sessionStorage.removeItem(this.#key)
    } catch {
      // There was none.
    }
  }
}
