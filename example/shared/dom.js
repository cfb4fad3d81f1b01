/** The element with that id. */
export const $ = (id) => document.getElementById(id)

/** Shows a text in the status line. */
export function status(text, bad = false) {
  $("status").textContent = text
  $("status").toggleAttribute("data-bad", bad)
}

/** Makes an element; props are its properties, children elements and texts. */
export function make(tag, props = {}, ...children) {
  const element = Object.assign(document.createElement(tag), props)
  element.append(...children)
  return element
}

/** Returns the address if it is http or https, else undefined; the service may send any value. */
export function webAddress(text) {
  if (typeof text !== "string" || text === "" || !URL.canParse(text, location.href)) return undefined
  const url = new URL(text, location.href)
  return url.protocol === "https:" || url.protocol === "http:" ? url.href : undefined
}

/** Returns a link that opens in a new tab, or a span when the address is not http or https. */
export function externalLink(address, props, ...children) {
  const href = webAddress(address)
  if (href === undefined) return make("span", props, ...children)
  return make("a", { ...props, href, target: "_blank", rel: "noopener noreferrer" }, ...children)
}

// SVG paths in a view box of 24 by 24.
const paths = {
  send: "M4 12 20 4l-4 16-4-6zM20 4l-8 10",
  stop: "M7 7h10v10H7z",
  copy: "M9 9h10v11H9zM5 15V4h10",
  good: "M4 11h3v9H4zM7 11l4-7c2 0 2 1 2 2l-1 4h6c1 0 2 1 2 2l-2 7c0 1-1 1-2 1H7",
  bad: "M20 13h-3V4h3zM17 13l-4 7c-2 0-2-1-2-2l1-4H6c-1 0-2-1-2-2l2-7c0-1 1-1 2-1h9",
  again: "M19 12a7 7 0 1 1-2-5l2 2M19 4v5h-5",
  away: "M9 5H5v14h14v-4M13 5h6v6M19 5l-9 9",
  play: "M8 5v14l11-7z",
  down: "M12 5v14M6 13l6 6 6-6",
}

/** Returns an icon, which screen readers skip. */
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg")
  svg.setAttribute("viewBox", "0 0 24 24")
  svg.setAttribute("class", "icon")
  svg.setAttribute("aria-hidden", "true")
  const path = document.createElementNS(svg.namespaceURI, "path")
  path.setAttribute("d", paths[name])
  svg.append(path)
  return svg
}
