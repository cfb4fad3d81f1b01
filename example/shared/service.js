// The information of the service that serves this page: its addresses and agents.
import { $ } from "./dom.js"

/** Reads the information and lists the agents in the select element; ?agent= selects one, by its name or id, otherwise `first` its name. */
export async function readService(first) {
  const reply = await fetch("/service.json").catch(() => undefined)
  if (!reply?.ok) throw { code: reply ? "server_error" : "network_error" }
  const service = await reply.json()
  const field = $("agent")
  field.replaceChildren(...service.agents.map(({ displayName, widgetId }) => new Option(displayName, widgetId)))
  const wanted = new URLSearchParams(location.search).get("agent") ?? first
  const found = service.agents.find(({ agentId, name }) => agentId === wanted || name === wanted)
  if (found) field.value = found.widgetId
  field.disabled = false
  return service
}

/** Returns the name of the selected agent. */
export const agentName = () => $("agent").selectedOptions[0].text
