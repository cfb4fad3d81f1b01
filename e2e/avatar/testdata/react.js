// What the tests of react_test.go do in their pages.
import { picture } from "/e2e/pagetest/page/measure.js"
import { agents, service } from "/e2e/pagetest/page/tools.js"

export async function aComponentOfReactHasOneSession() {
  const {show} = await import(/** @type {string} */ ("/react.js"))
  globalThis.leave = show({widgetId: agents.receptionist, ...service.addresses, ...service.session})
  await new Promise((/** @type {(value?: unknown) => void} */ resolve) => {
    const look = () => document.querySelectorAll("[data-state=connected]").length > 0 && (seen.disconnect(), resolve())
    const seen = new MutationObserver(look)
    seen.observe(document.body, {subtree: true, childList: true, attributes: true})
    look()
  })
  const {width} = await picture(document.getElementById("face"))
  return {width, state: globalThis.agent.state}
}
