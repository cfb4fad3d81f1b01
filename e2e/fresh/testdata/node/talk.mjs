// A conversation in Node.js, with a service on standard input.
import { text } from "node:stream/consumers"
import { appInit, ChatSession, dispose } from "agentruntime/chat"

const service = JSON.parse(await text(process.stdin))
const init = await appInit({ widgetId: service.widgetId, ...service.addresses })
const session = new ChatSession({ ...init, ...service.session })
await session.connect()
for await (const { type, content } of session.streamText("Tell me a long story.")) if (type === "text") process.stdout.write(content)
session.disconnect()
await dispose()
