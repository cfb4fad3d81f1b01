// The information of the service that serves this page: addresses, and the agents to
// talk to.
import { $ } from "./dom.js"

/** Reads it, and offers the agents in the field called agent; ?agent= picks one. */
export async function readService() {
  const reply = await fetch("/service.json").catch(() => undefined)
  if (!reply?.ok) throw { code: reply ? "server_error" : "network_error" }
  const service = await reply.json()
  const field = $("agent")
  field.replaceChildren(...service.agents.map(({ name, widgetId }) => new Option(name, widgetId)))
  const wanted = new URLSearchParams(location.search).get("agent")
  const found = service.agents.find((agent) => agent.name === wanted)
  if (found) field.value = found.widgetId
  field.disabled = false
  return service
}

/** The name of the agent that is picked, as a name is written. */
export function agentName() {
  const name = $("agent").selectedOptions[0].text
  return name[0].toUpperCase() + name.slice(1)
}
