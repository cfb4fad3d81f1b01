// The real chat against the local service, in Node.
import { afterAll, beforeAll, expect, test } from "vitest"
import { ChatSession, appInit, dispose } from "agentruntime/chat"
import { startLocalService } from "agentruntime/testing/local"

let service

beforeAll(async () => {
  service = await startLocalService({ rules: [{ when: "menu", steps: [{ say: "Soup of the day." }] }] })
}, 30_000)

afterAll(async () => {
  await dispose()
  await service.stop()
})

test("a question is answered, and the service has what the page told", async () => {
  const session = new ChatSession({ ...(await appInit({ widgetId: "receptionist", ...service.addresses })), logger: () => {} })
  await session.connect()
  session.updateRequestVars({ plan: "free" })
  expect((await session.sendText("The menu, please")).text).toBe("Soup of the day.")
  expect(await service.turns()).toMatchObject([{ text: "The menu, please", threadId: session.threadId, variables: { plan: "free" } }])
  session.disconnect()
  await session.next("sessionCompleted")
  expect(await service.completions()).toMatchObject([{ threadId: session.threadId }])
})
