import type { SessionOptions } from "./session.js"
import type { AttributeProperties } from "./attributes.js"
import type { Screen } from "./screen.js"
import type { Said, State } from "./state.js"

/** What a conversation reads of its element, besides the attributes. */
interface HostElement extends HTMLElement, AttributeProperties {
  readonly options: SessionOptions
  readonly history: readonly Said[]
  readonly transcript: readonly Said[]
  startNew(): void
}

/** The element of a conversation. */
export interface Host {
  readonly element: HostElement
  readonly screen: Screen
  readonly state: State
  /** Changes what is shown. */
  update(change: Partial<State>): void
  /** Reports an error to the page, as an event; with `once` not if the last one that was reported has the same code. */
  report(error: unknown, how?: { once: boolean }): void
  /** Writes a line about an error or a warning to the console. */
  warn(text: string, code: string | undefined): void
  /** The session has ended. */
  over(reason: string | undefined): void
}
