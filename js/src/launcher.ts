/**
 * agentruntime/launcher: `<agent-launcher widget-id="…">`, a button in the corner of the
 * window that opens an agent in a panel (docs/elements.md). Importing it defines the tag, and
 * downloads nothing of the agent before the visitor comes near the button; on a server it does nothing.
 */
import { AgentLauncherElement } from "./element/launcherelement.js"

export { AgentLauncherElement, type AgentLauncherEvents } from "./element/launcherelement.js"
export { LAUNCHER_LABELS, type LauncherLabels } from "./element/launcherlabels.js"

declare global {
  interface HTMLElementTagNameMap {
    "agent-launcher": AgentLauncherElement
  }
}

// The module may be loaded twice, as by hot replacement.
if (globalThis.customElements && !customElements.get("agent-launcher")) customElements.define("agent-launcher", AgentLauncherElement)
