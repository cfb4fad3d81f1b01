// Checks what is cut off in a page of this size: the value of this script is
// the texts and controls outside of the page, or outside of an element that hides
// its overflow.
;(() => {
  const hides = (element) => ["hidden", "clip"].includes(getComputedStyle(element).overflowX)
  const scrolls = (element) => ["auto", "scroll"].includes(getComputedStyle(element).overflowX) || ["auto", "scroll"].includes(getComputedStyle(element).overflowY)
  const name = (element) => `${element.tagName.toLowerCase()}${element.id && "#" + element.id} “${element.textContent.trim().slice(0, 30)}”`

  function cut() {
    const found = []
    if (document.documentElement.scrollWidth > innerWidth) found.push(`the page is ${document.documentElement.scrollWidth} wide`)
    for (const element of document.body.querySelectorAll("*")) {
      const text = [...element.childNodes].some((node) => node instanceof Text && node.data.trim() !== "")
      if (!text && !element.matches("button, input, select, textarea, video")) continue
      if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) || element.closest(".hidden, option, svg")) continue
      if (getComputedStyle(element).clipPath !== "none") continue // text for screen readers only
      const { left, right, top, bottom, width } = element.getBoundingClientRect()
      if (width <= 1) continue
      if (text && hides(element) && element.scrollWidth > element.clientWidth + 1) found.push(`${name(element)} has no room`)
      let frame = element.parentElement
      while (frame && !hides(frame) && !scrolls(frame)) frame = frame.parentElement
      if (frame && scrolls(frame)) continue
      const box = frame && frame !== document.body && frame !== document.documentElement ? frame.getBoundingClientRect() : { left: 0, right: innerWidth, top: -Infinity, bottom: Infinity }
      if (left < box.left - 1 || right > box.right + 1 || (!element.matches("video") && (top < box.top - 1 || bottom > box.bottom + 1))) found.push(`${name(element)} is cut`)
    }
    return found
  }

  return cut()
})()
