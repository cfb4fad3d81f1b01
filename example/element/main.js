// An agent in one tag. This page only sets the attributes that the visitor chooses, and
// shows the events of the element.
import "/js/dist/element.js"
import { $, status } from "../shared/dom.js"
import { errorMessage } from "/js/dist/ui.js"
import { readService } from "../shared/service.js"

const element = $("tag")
let service

for (const event of ["phaseChange", "transcript", "widget", "modeChanged", "warning", "ended"]) {
  element.addEventListener(event, ({ detail }) => {
    $("events").prepend(Object.assign(document.createElement("li"), { textContent: `${event} ${JSON.stringify(detail)}` }))
  })
}

/** Sets the attributes, as an author would write them, and shows them. */
function show() {
  element.widgetId = $("agent").value
  element.modes = $("modes").value
  const { agenticUrl, genieUrl, ovpUrl } = service.addresses
  Object.assign(element, { agenticUrl, genieUrl, ovpUrl, options: service.session }) // of the local service
  $("markup").textContent = `<script type="module" src="/js/dist/element.js"></script>\n<agent-avatar widget-id="${element.widgetId}" modes="${element.modes}" preload="hover"></agent-avatar>`
}

try {
  service = await readService()
  show()
} catch (error) {
  status(errorMessage(error), true)
}
for (const id of ["agent", "modes"]) {
  $(id).addEventListener("change", () => {
    element.end()
    show()
  })
}
