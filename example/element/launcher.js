// An agent that a button in the corner opens. This page only sets the attributes that the visitor chooses.
import "/js/dist/launcher.js"
import { $, status } from "../shared/dom.js"
import { errorMessage } from "/js/dist/ui.js"
import { readService } from "../shared/service.js"

const launcher = $("launcher")
let service

/** Sets the attributes, as an author would write them, and shows them. */
function show() {
  const { agenticUrl, genieUrl, ovpUrl } = service.addresses
  Object.assign(launcher, { widgetId: $("agent").value, modes: $("modes").value, agenticUrl, genieUrl, ovpUrl, options: service.session })
  $("markup").textContent = `<script type="module" src="/js/dist/launcher.js"></script>\n<agent-launcher widget-id="${launcher.widgetId}" modes="${launcher.modes}" greet="${launcher.greet}"></agent-launcher>`
}

try {
  service = await readService()
  show()
} catch (error) {
  status(errorMessage(error), true)
}
for (const id of ["agent", "modes"]) {
  $(id).addEventListener("change", () => {
    show()
    launcher.startNew()
  })
}
