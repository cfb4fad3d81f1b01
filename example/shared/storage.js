// Saves a conversation in the tab for a reload. appInit keeps its token there too: a thread belongs to the token that it was begun
// with.

/** The conversation with an agent on a page of that name. */
export class SavedConversation {
  #key

  constructor(page, agent) {
    this.#key = `agentruntime ${page} ${agent}`
  }

  /** { threadId, said }, or undefined. */
  read() {
    try {
      const conversation = JSON.parse(sessionStorage.getItem(this.#key))
      return conversation?.said ? conversation : undefined
    } catch {
      return undefined // no storage, or a value of another format
    }
  }

  write(conversation) {
    try {
      sessionStorage.setItem(this.#key, JSON.stringify(conversation))
    } catch {
      // The storage is full or not allowed; the conversation works without it.
    }
  }

  remove() {
    try {
      sessionStorage.removeItem(this.#key)
    } catch {
      // There is no storage.
    }
  }
}
