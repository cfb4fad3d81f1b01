// Checks the contrast of texts: the value of this script is the texts
// with too little contrast.
;(() => {
  // WCAG 2.2, success criterion 1.4.3, for text of ordinary size.
  const enough = 4.5

  /** The texts of the page whose contrast is too low, in either colour scheme. */
  function faint() {
    const found = []
    for (const scheme of ["light", "dark"]) {
      document.documentElement.style.colorScheme = scheme
      for (const element of document.body.querySelectorAll("*")) {
        const text = [...element.childNodes].filter((node) => node instanceof Text).map((node) => node.data.trim()).join("")
        if (text === "" || !element.checkVisibility() || element.closest(":disabled, .hidden, #stage, svg, option")) continue
        const ratio = contrast(colour(getComputedStyle(element).color), ground(element))
        if (ratio < enough) found.push(`${scheme}: “${text.slice(0, 40)}” has ${ratio.toFixed(2)}`)
      }
    }
    document.documentElement.style.colorScheme = ""
    return found
  }

  /** The colour behind an element. */
  function ground(element) {
    for (let e = element; e; e = e.parentElement) {
      const [red, green, blue, alpha] = colour(getComputedStyle(e).backgroundColor)
      if (alpha === 1) return [red, green, blue]
    }
    return [255, 255, 255]
  }

  function colour(text) {
    const [red, green, blue, alpha = 1] = text.match(/[\d.]+/g).map(Number)
    return [red, green, blue, alpha]
  }

  function contrast(a, b) {
    const [dark, bright] = [luminance(a), luminance(b)].sort((x, y) => x - y)
    return (bright + 0.05) / (dark + 0.05)
  }

  function luminance(parts) {
    const [red, green, blue] = parts.slice(0, 3).map((part) => {
      const x = part / 255
      return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }

  return faint()
})()
