// What the tests of life_test.go do in their pages.
import { button, find, place, seen, until } from "./element.js"

export async function preloadWhenVisible() {
  const loaded = () => performance.getEntriesByType("resource").some(({name}) => name.endsWith("/chat.wasm"))
  Object.defineProperty(navigator, "connection", {configurable: true, value: {saveData: true, effectiveType: "4g"}})
  await place("agent-chat", {preload: "visible"})
  await new Promise((resolve) => new IntersectionObserver(resolve).observe(element)) // the element's own was called before
  await new Promise((resolve) => requestIdleCallback(resolve))
  if (loaded()) throw new Error("loaded for a visitor who saves data")
  element.remove()
  Reflect.deleteProperty(navigator, "connection")
  const space = document.createElement("div")
  space.style.height = "5000px"
  document.body.prepend(space)
  await place("agent-chat", {preload: "visible"})
  await new Promise((resolve) => new IntersectionObserver(resolve).observe(element)) // the element's own was called before
  await new Promise((resolve) => requestIdleCallback(resolve))
  if (loaded()) throw new Error("loaded far from the visible part of the page")
  space.remove()
  await until(loaded)
}

export async function slotsAndCustomProperties() {
  await place("agent-avatar", {poster: "data:image/gif;base64,R0lGODlhAQABAAAAACw="})
  const start = () => getComputedStyle(button("start")).backgroundColor
  const before = start()
  const style = document.createElement("style")
  style.textContent = "agent-avatar { --agent-accent: rgb(0, 80, 80); --agent-aspect-ratio: 2 / 1; --agent-font: 20px serif; width: 400px }"
  document.head.append(style)
  element.innerHTML = '<em slot="poster">A picture</em><button slot="controls">Help</button><b slot="disclosure">A machine</b>'
  const {width, height} = find("[part~=stage]").getBoundingClientRect()
  return {
    shown: [...element.children].filter((child) => child.checkVisibility() && child.getBoundingClientRect().width > 0).map(({slot}) => slot),
    own: ["[part~=poster] img", "[part~=disclosure]"].filter(seen),
    width, height, colour: start(), before, font: getComputedStyle(find("[part~=frame]")).fontFamily,
  }
}
