/** The text of a reply; rejects with the error that `tooLarge` makes if it has more bytes. */
export async function textUpTo(reply: Response, maxBytes: number, tooLarge: () => Error): Promise<string> {
  if (!reply.body) return reply.text()
  const reader = reply.body.getReader()
  const decoder = new TextDecoder()
  let text = ""
  let bytes = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    bytes += value.length
    if (bytes > maxBytes) {
      await reader.cancel()
      throw tooLarge()
    }
    text += decoder.decode(value, { stream: true })
  }
}
