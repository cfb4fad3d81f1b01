// What the tests of markdown_test.go do in their pages.
import { GrowingMarkdown } from "/js/dist/ui.js"

/** Shows texts in pieces of so many characters, and looks at the element after every piece. */
export async function draw(texts, size) {
  const harmless = ["A", "BLOCKQUOTE", "BR", "CODE", "DIV", "EM", "H3", "H4", "H5", "H6", "HR", "LI", "OL", "P", "PRE", "S", "STRONG",
    "TABLE", "TBODY", "TD", "TH", "THEAD", "TR", "UL"]
  const attributes = ["aria-label", "class", "href", "rel", "role", "start", "style", "tabindex", "target", "title"]
  const strange = (element) => [...element.querySelectorAll("*")].flatMap((e) => [
    ...(harmless.includes(e.tagName) ? [] : [e.tagName]),
    ...[...e.attributes].filter(({name}) => !attributes.includes(name)).map(({name}) => name),
    ...(e.tagName !== "A" || (/^https?:$/.test(e.protocol) && e.rel === "noopener noreferrer" && e.target === "_blank") ? [] : [e.href]),
  ])
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve))
  const results = []
  for (const text of texts) {
    const element = document.createElement("div")
    document.body.append(element)
    const growing = new GrowingMarkdown(element)
    const found = new Set()
    for (let at = 0; at < text.length; at += size) {
      growing.add(text.slice(at, at + size))
      await frame()
      for (const name of strange(element)) found.add(name)
    }
    growing.end()
    for (const name of strange(element)) found.add(name)
    results.push({HTML: element.innerHTML, Strange: [...found]})
    element.remove()
  }
  return results
}
