/** How far from the visible part of the page an element counts as near. */
const margin = "300px"

/** What browsers tell of the connection, where they do. */
interface Connection {
  readonly saveData?: boolean
  readonly effectiveType?: string
}

/** Whether the visitor asked to save data, or has a slow connection. */
function sparing(): boolean {
  const { connection } = navigator as { connection?: Connection }
  return connection?.saveData === true || (connection?.effectiveType ?? "4g") !== "4g"
}

/**
 * Calls once when an element first comes near the visible part of the page and the browser has nothing else to do; never for a
 * visitor who saves data or has a slow connection. Returns a function that stops waiting.
 */
export function whenNear(element: Element, call: () => void): () => void {
  if (typeof IntersectionObserver === "undefined" || sparing()) return () => {}
  let stopped = false
  const observer = new IntersectionObserver(
    (entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return
      observer.disconnect()
      const idle = globalThis.requestIdleCallback ?? ((then: () => void) => setTimeout(then)) // Safari has none
      idle(() => {
        if (!stopped) call()
      })
    },
    { rootMargin: margin },
  )
  observer.observe(element)
  return () => {
    stopped = true
    observer.disconnect()
  }
}
