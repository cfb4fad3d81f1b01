/** The element with that id. */
export const $ = (id) => document.getElementById(id)

/** Shows a text in the status line with that id. */
export function say(id, text, bad = false) {
  $(id).textContent = text
  $(id).toggleAttribute("data-bad", bad)
}

/** Shows a text in the status line of the page. */
export const status = (text, bad) => say("status", text, bad)

/** Makes an element; props are its properties, children elements and texts. */
export function make(tag, props = {}, ...children) {
  const element = Object.assign(document.createElement(tag), props)
  element.append(...children)
  return element
}
