// The information of the service that serves this page: its addresses and agents.
import { $ } from "./dom.js"

/** Reads the information and lists the agents in the select element; ?agent= selects one, by its name or id, otherwise `first` its name. */
export async function readService(first) {
  const reply = await fetch("/service.json").catch(() => undefined)
  if (!reply?.ok) throw { code: reply ? "server_error" : "network_error" }
  const service = await reply.json()
  const field = $("agent")
  field.replaceChildren(...service.agents.map(({ name, widgetId }) => new Option(name, widgetId)))
  const wanted = new URLSearchParams(location.search).get("agent") ?? first
  const found = service.agents.find(({ agentId, name }) => agentId === wanted || name === wanted)
  if (found) field.value = found.widgetId
  field.disabled = false
  return service
}

/** Returns the name of the selected agent, capitalized. */
export function agentName() {
  const name = $("agent").selectedOptions[0].text
  return name[0].toUpperCase() + name.slice(1)
}
