// The information of the service that serves this page: its addresses and agents.
import { errorMessage } from "/js/dist/ui.js"
import { $, make, status } from "./dom.js"

/** Requests the information. */
export async function requestService() {
  const reply = await fetch("/service.json").catch(() => undefined)
  if (!reply?.ok) throw { code: reply ? "server_error" : "network_error" }
  return reply.json()
}

/** Shows why there is no information, with a link that loads the page again. */
export function showUnread(error) {
  status(errorMessage(error), true)
  $("status").append(" ", make("a", { href: "" }, "Try again"))
}

/** Reads the information and lists the agents in the select element; ?agent= selects one, by its name or id, otherwise `first` its name. */
export async function readService(first) {
  const service = await requestService()
  if (service.agents.length === 0) throw { code: "agent_not_found" } // all were deleted, in the studio for example
  const field = $("agent")
  field.replaceChildren(...service.agents.map(({ displayName, widgetId }) => new Option(displayName, widgetId)))
  const query = new URLSearchParams(location.search)
  const wanted = query.get("agent") ?? first
  const found = service.agents.find(({ agentId, name }) => agentId === wanted || name === wanted)
  if (found) field.value = found.widgetId
  field.disabled = false
  linkStudio(query.get("studio"), found)
  return service
}

/** Returns the name of the selected agent. */
export const agentName = () => $("agent").selectedOptions[0].text

/** Links to the studio that opened this page with ?studio=HOST:PORT, and keeps it and the agent in the links to other pages. */
function linkStudio(host, agent) {
  const nav = document.querySelector("header nav")
  if (!host || !nav || $("studio")) return
  const studio = URL.canParse(`http://${host}/`) ? new URL(`http://${host}/`) : undefined
  if (!["localhost", "127.0.0.1", "[::1]"].includes(studio?.hostname)) return // the address of a page may be anybody's
  if (agent) studio.hash = `conversations/${agent.agentId}`
  for (const link of nav.querySelectorAll("a")) link.search = location.search
  nav.prepend(make("a", { id: "studio", href: studio.href }, "Studio"))
}
