import "agentruntime/element"
import { agent } from "./agent.js"

const element = document.createElement("agent-avatar")
Object.assign(element, agent, { modes: "face text" })
document.querySelector("#app").append(element)
