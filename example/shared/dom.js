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
