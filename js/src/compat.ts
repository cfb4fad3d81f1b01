/**
 * agentruntime/compat: everything of `agentruntime`, and the same classes under
 * the names of the service's reference client, so that a page
 * written for it only has to change an import.
 */
export * from "./index.js"
export { AgentSession as KalturaAgentSession } from "./agentsession.js"
export { AvatarSession as KalturaAvatarSession } from "./avatar.js"
export { ChatSession as KalturaChatSession } from "./chatsession.js"
export { AgentError as KalturaError } from "./errors.js"
