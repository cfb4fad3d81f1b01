/**
 * agentruntime/element: an agent in one tag, `<agent-avatar widget-id="…">` or
 * `<agent-chat widget-id="…">` (docs/elements.md). Importing it defines both; on a server
 * it does nothing.
 */
import { AgentElement } from "./element/agentelement.js"

export { AgentElement } from "./element/agentelement.js"
export type { Modes } from "./element/attributes.js"
export { english, type Labels } from "./element/labels.js"
export type { AgentElementEvents, AnySession, SessionOptions } from "./element/session.js"
export type { Mode, Phase, Said } from "./element/state.js"
export type { Source } from "./session/source.js"

/** An agent with a face, and with `modes="face text"` in text too. */
export class AgentAvatarElement extends AgentElement {
  protected override readonly defaultModes = ["face"] as const
}

/** An agent in text. */
export class AgentChatElement extends AgentElement {
  protected override readonly defaultModes = ["text"] as const
}

declare global {
  interface HTMLElementTagNameMap {
    "agent-avatar": AgentAvatarElement
    "agent-chat": AgentChatElement
  }
}

for (const [name, kind] of Object.entries({ "agent-avatar": AgentAvatarElement, "agent-chat": AgentChatElement })) {
  // The module may be loaded twice, as by hot replacement.
  if (globalThis.customElements && !customElements.get(name)) customElements.define(name, kind)
}
