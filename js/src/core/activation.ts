/** Resolves at once, or in a page that the browser renders ahead when the visitor opens it. */
export async function activation(signal: AbortSignal): Promise<void> {
  if (!(document as { prerendering?: boolean }).prerendering) return
  await new Promise((resolve) => {
    document.addEventListener("prerenderingchange", resolve, { once: true })
    signal.addEventListener("abort", resolve)
  })
}
