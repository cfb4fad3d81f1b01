import { errorMessage } from "/js/dist/ui.js"
import { $, status } from "../shared/dom.js"
import { readService } from "../shared/service.js"

/**
 * Sets the attributes of an element that the visitor chooses, as an author would write them, and shows its markup.
 * `change(show)` shows another choice, and does what is due to the conversation before.
 */
export async function offerChoices(element, markup, change) {
  let service
  function show() {
    const { agenticUrl, genieUrl, ovpUrl } = service.addresses // of the local service
    Object.assign(element, { widgetId: $("agent").value, modes: $("modes").value, agenticUrl, genieUrl, ovpUrl, options: service.session })
    $("markup").textContent = markup()
  }
  try {
    service = await readService()
    show()
  } catch (error) {
    status(errorMessage(error), true)
  }
  for (const id of ["agent", "modes"]) $(id).addEventListener("change", () => change(show))
}
