import { AgentAvatar } from "agentruntime/react"
import { agent } from "./agent.js"

export const App = () => <AgentAvatar {...agent} modes="face text" />
