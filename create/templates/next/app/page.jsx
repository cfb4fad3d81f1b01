"use client"

import { AgentAvatar } from "agentruntime/react"
import { agent } from "./agent.js"

export default function Page() {
  return <AgentAvatar {...agent} modes="face text" />
}
