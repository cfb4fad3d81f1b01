// What the test of widgets_test.go does in its page.
import { drawWidget } from "/js/dist/ui.js"

/**
 * Draws widgets with one text everywhere in a page of the other direction, and returns what is wrong: its full stop stands before its
 * first word.
 *
 * @param {string} dir
 * @param {string} text
 */
export async function inAnotherDirection(dir, text) {
  if (!document.head.querySelector("link[href$='ui.css']")) await new Promise((onload) => document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: "/js/dist/ui.css", onload })))
  document.documentElement.dir = dir
  const url = "https://docs.example/"
  const contents = {
    flashcards: { title: text, cards: [{ front: text, back: text, label: text }] },
    sources: { sources: [{ title: text, url, snippet: text }] },
    summary: { title: text, summary: text, bullets: [text] },
    showLink: { url, label: text, description: text },
    contentGallery: { title: text, items: [{ title: text, description: text, imageUrl: "", url }] },
    gradedQuestion: { title: text, question: text, options: [{ text, correct: true }] },
    userPropertiesForm: { title: text, fields: [{ key: "name", type: "str", label: text, required: true, description: text }] },
  }
  const wrong = []
  for (const [name, content] of Object.entries(contents)) {
    const element = drawWidget(/** @type {never} */ ({ [name]: content }))
    if (element instanceof HTMLDetailsElement) element.open = true
    document.body.append(element)
    let found = 0
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      if (node.nodeValue !== text) continue
      found++
      if (left(node, text.length - 1) > left(node, text.length - 2) !== (dir === "rtl")) wrong.push(`${name}: ${node.parentElement?.outerHTML}`)
    }
    if (found === 0) wrong.push(`${name}: the text is not there`)
    element.remove()
  }
  return wrong
}

/** @param {Node} node @param {number} at of the letter whose left side it returns */
function left(node, at) {
  const range = document.createRange()
  range.setStart(node, at)
  range.setEnd(node, at + 1)
  return range.getBoundingClientRect().left
}
