/** Calls at once, or in a page that the browser renders ahead when the visitor opens it. */
export function whenOpened(call: () => void): void {
  const { document } = globalThis as { document?: EventTarget & { prerendering?: boolean } }
  if (document?.prerendering) document.addEventListener("prerenderingchange", call, { once: true })
  else call()
}
