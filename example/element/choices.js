import { $ } from "../shared/dom.js"
import { readService, showUnread } from "../shared/service.js"

/**
 * Sets the attributes of an element that the visitor chooses, as an author would write them, and shows its markup.
 * `change(show)` shows another choice, and does what is due to the conversation before.
 */
export async function offerChoices(element, markup, change) {
  const service = await readService().catch(showUnread)
  if (!service) return
  function show() {
    const { agenticUrl, genieUrl, ovpUrl } = service.addresses // of the local service
    Object.assign(element, { widgetId: $("agent").value, modes: $("modes").value, agenticUrl, genieUrl, ovpUrl, options: service.session })
    $("markup").textContent = markup()
  }
  show()
  for (const id of ["agent", "modes"]) $(id).addEventListener("change", () => change(show))
}
