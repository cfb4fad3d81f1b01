import type { RecordedTurn, RecordingEntry } from "./format.js"

/** Makes turns from the entries of a recording, in order, as runtime/replay does. */
export class TurnBuilder {
  readonly #turns: RecordedTurn[] = []
  /** When the visitor began to talk; 0 if typing. */
  #talking = 0
  /** The agent's turn that is under way; the fields below belong to it. */
  #agent: RecordedTurn | undefined
  #written = ""
  #spoken = ""
  #speaking = false
  /** The service has sent all of it, which it does before it is spoken. */
  #answerIsThere = false

  add({ t, event, data }: RecordingEntry): void {
    const { type, text = "", speechId, name = "", runtime = "", args, cold, recovered } = (data ?? {}) as {
      type?: string
      text?: string
      speechId?: string | null
      name?: string
      runtime?: string
      args?: unknown
      cold?: boolean
      recovered?: boolean
    }
    if (event === "userStartedTalking") this.#talking = t
    else if (event === "transcript" && type === "user") {
      this.#end()
      this.#turns.push({ by: "visitor", text, startMs: this.#talking || t, endMs: t })
      this.#talking = 0
    } else if (event === "transcript" && type === "final") {
      this.#begin(t)
      // A piece of an answer in text may end in a word.
      this.#written = typeof speechId === "string" ? joined(this.#written, text) : this.#written + text
    } else if (event === "toolCall") (this.#begin(t).tools ??= []).push({ name, args })
    else if (event === "widget") (this.#begin(t).widgets ??= []).push(runtime)
    if (!this.#agent) return
    if (event === "avatarStartTalking") this.#speaking = true
    else if (event === "interrupted") {
      this.#agent.interrupted = true
      this.#answerIsThere = true
    } else if (event === "turnEnd") this.#answerIsThere = true
    else if (event === "avatarStopTalking") {
      this.#spoken = joined(this.#spoken, text)
      this.#speaking = false
    } else if ((event === "reconnecting" && cold) || (event === "reconnected" && !recovered)) {
      // The session that spoke is gone.
      this.#answerIsThere = true
      this.#speaking = false
    } else return
    this.#agent.endMs = t
    if (this.#answerIsThere && !this.#speaking) this.#end()
  }

  /** The turns so far. One that is under way is the last one. */
  get turns(): RecordedTurn[] {
    return this.#agent ? [...this.#turns, this.#present(this.#agent)] : [...this.#turns]
  }

  #begin(t: number): RecordedTurn {
    if (!this.#agent) {
      this.#agent = { by: "agent", text: "", startMs: t, endMs: t }
      this.#written = this.#spoken = ""
      this.#speaking = this.#answerIsThere = false
    }
    this.#agent.endMs = t
    return this.#agent
  }

  #end(): void {
    if (this.#agent) this.#turns.push(this.#present(this.#agent))
    this.#agent = undefined
  }

  /** The agent's turn with its text: what was spoken, or what was written if the service did not say what was spoken. */
  #present(turn: RecordedTurn): RecordedTurn {
    return { ...turn, text: this.#spoken || this.#written.trim() }
  }
}

const joined = (a: string, b: string) => `${a} ${b.trim()}`.trim()
