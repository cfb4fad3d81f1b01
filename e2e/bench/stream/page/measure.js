// Measures how long one streamed answer takes, in each of the ways to receive it.
import { ChatSession, converse, load } from "/js/dist/chat.js"

// A token begins with its partner in plain text; the rest is encrypted.
const token = btoa("v2|5501|").replaceAll("=", "") + "AAAAAAAAAAAA"
const genieUrl = location.origin
const userMessage = "Tell me everything"

await load()

async function session() {
  const session = new ChatSession({ token, genieUrl, sessionCompleteOnEnd: false })
  await session.connect()
  return session
}

/** Each way counts the segments that it receives. */
const ways = {
  /** A loop over the lines of the reply, and nothing else. */
  async plain() {
    let segments = 0
    for await (const segment of lines()) if (segment.role) segments++
    return segments
  },
  async converse() {
    let segments = 0
    for await (const segment of converse({ token, genieUrl, userMessage })) if (segment.role) segments++
    return segments
  },
  async streamText(session) {
    let segments = 0
    for await (const segment of session.streamText(userMessage)) if (segment.role) segments++
    return segments
  },
  async sendText(session) {
    return (await session.sendText(userMessage)).segments.length
  },
  async events(session) {
    let segments = 0
    const ended = session.next("turnEnd")
    session.on("brainSegment", (segment) => {
      if (segment.role) segments++
    })
    await Promise.all([session.sendText(userMessage), ended])
    return segments
  },
}

/** The reply as objects, read by hand. */
async function* lines() {
  const response = await fetch(`${location.origin}/assistant/converse`, {
    method: "POST",
    headers: { Authorization: `KS ${token}`, "Content-Type": "application/json" },
    body: JSON.stringify({ userMessage, sse: false }),
  })
  const decoder = new TextDecoder()
  const reader = response.body.getReader()
  let rest = ""
  for (let chunk; !(chunk = await reader.read()).done; ) {
    const parts = (rest + decoder.decode(chunk.value, { stream: true })).split("\n")
    rest = parts.pop()
    for (const line of parts) if (line) yield JSON.parse(line)
  }
  if (rest) yield JSON.parse(rest)
}

/** Measures how long one answer takes, from the call to the last segment, in ms. */
export async function measure(name) {
  const way = ways[name]
  const chat = way.length > 0 ? await session() : undefined
  const began = performance.now()
  const segments = await way(chat)
  const ms = performance.now() - began
  await chat?.dispose()
  return { ms, segments }
}
