// The page's half of the quickstart: a tag with the widget id of the agent that create.mjs has
// made. On a site of its own, the two lines that create.mjs prints are all that it needs; here
// ?agent= has the agent's id, without one it is the latest agent, and the local service says
// where it is.
import "/js/dist/element.js"
import { $, status } from "../shared/dom.js"
import { requestService, showUnread } from "../shared/service.js"

requestService().then(show, showUnread)

function show({ agents, addresses, session }) {
  const wanted = new URLSearchParams(location.search).get("agent")
  const agent = wanted ? agents.find(({ agentId }) => agentId === wanted) : agents.at(-1)
  if (!agent) return status("This agent does not exist any more. Make one: make run-quickstart", true)
  document.title = $("name").textContent = agent.displayName
  Object.assign(document.querySelector("agent-avatar"), { widgetId: agent.widgetId, ...addresses, options: session })
}
