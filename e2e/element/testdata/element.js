// Shared by the tests of the elements.
import { agents, Recording, service } from "/e2e/pagetest/page/tools.js"

export { picture } from "/e2e/pagetest/page/measure.js"
export { agents, held, service, settled } from "/e2e/pagetest/page/tools.js"

/** The captions so far: on a busy machine the picture may be seen only after the first of them. */
export const captions = []

/**
 * Puts an element into the page, for an agent of the service.
 * @param {string} tag
 * @param {{agent?: string, properties?: object} & Record<string, any>} [options] also the element's attributes
 */
export async function place(tag, { agent = "receptionist", properties = {}, ...attributes } = {}) {
  await import(tag === "agent-launcher" ? "/js/dist/launcher.js" : "/js/dist/element.js")
  /** @type {any} */
  const element = document.createElement(tag)
  const { agenticUrl, genieUrl, ovpUrl } = service.addresses
  const all = { "widget-id": agents[agent], "agentic-url": agenticUrl, "genie-url": genieUrl, "ovp-url": ovpUrl, ...attributes }
  for (const [name, value] of Object.entries(all)) element.setAttribute(name, value)
  Object.assign(element, { options: service.session, ...properties })
  // A test that fails prints them.
  const { events } = (globalThis.talk ??= /** @type {any} */ ({ events: [] }))
  element.addEventListener("sessionCreated", ({ detail: { session } }) => session.onAny((name, payload, at) => {
    if (name !== "localMicLevel") events.push({ name, payload, at }) // every 50 ms
  }))
  document.querySelector("main").append(element)
  const caption = element.shadowRoot?.querySelector("[part=caption]")
  if (caption) new MutationObserver(() => caption.textContent && captions.push(caption.textContent)).observe(caption, { childList: true })
  return (globalThis.element = element)
}

/** The first element in the shadow tree that matches a selector. */
export const find = (selector) => globalThis.element.shadowRoot.querySelector(selector)

/** The button with that part. */
export const button = (part) => find(`button[part~="${part}"]`)

/** Whether the element that matches a selector is visible. */
export const seen = (selector) => find(selector)?.checkVisibility() === true

/** Resolves when a condition is true, which is checked with each frame; throws after ms milliseconds. A busy browser draws none for seconds. */
export async function until(condition, ms = 60_000) {
  const end = performance.now() + ms
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`${condition} does not hold; phase ${globalThis.element.phase}, shown: ${globalThis.element.shadowRoot.textContent}`)
    await new Promise((resolve) => {
      requestAnimationFrame(resolve)
      setTimeout(resolve, 100)
    })
  }
}

/** Records the events of the element. */
export const record = (names) =>
  new Recording({ on: (name, listener) => globalThis.element.addEventListener(name, ({ detail }) => listener(detail)) }, names)
