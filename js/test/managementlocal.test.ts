import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { after, before, test } from "node:test"
import { fileURLToPath } from "node:url"
import { inspect } from "node:util"
import { Management, tools } from "../src/management.js"
import { startLocalService, type LocalService } from "../src/testing/local.js"

const root = fileURLToPath(new URL("../../../", import.meta.url)) // of the repository, seen from the bundled test
const binary = `${root}build/localservice${process.platform === "win32" ? ".exe" : ""}`
const confirmed = { confirmPermanent: true } as const

let service: LocalService
let management: Management

before(async () => {
  execFileSync("go", ["build", "-o", binary, "./cmd/localservice"], { cwd: root, stdio: "inherit" })
  service = await startLocalService({ binary, rules: [{ when: "menu", steps: [{ say: "Here is the menu." }] }], args: ["-voice", "builtin"] })
  management = new Management({ partnerId: service.partnerId, adminSecret: service.adminSecret, ...service.addresses })
})

after(() => service.stop())

const admin = () => management.sessions.createAdminToken({ userId: "builder@example.com", ttlSeconds: 600 })

test("a server builds an agent, talks with it, reads what was said, and deletes all of it", async () => {
  const ks = await admin()
  assert.doesNotMatch(inspect(management, { depth: 9, showHidden: true }) + JSON.stringify([management, ks]) + inspect(ks), new RegExp(`${service.adminSecret}|${ks.ks}`))

  const { configId } = await management.intellects.create({ prompts: [], base_directive: "You are Ada, who helps the guests of a hotel." }, ks)
  const tool = await management.tools.add(tools.client({ name: "show_map", description: "Shows a place on the map.", args: { place: { prompt: "The place.", type: "str", required: true } } }), ks)
  await management.intellectConfig.setToolIds(configId, [tool.id], ks)
  await management.intellects.setCapability(configId, "kaltura_genie_experiences", "off", ks)
  const stored = await management.intellects.get(configId, ks)
  assert.deepEqual([stored.tool_ids, stored.capabilities?.["kaltura_genie_experiences"], stored.base_directive], [[tool.id], "off", "You are Ada, who helps the guests of a hotel."])

  const [voice] = await management.catalog.list(ks, { type: "Voice", pageSize: 1 })
  const [visual] = await management.catalog.list(ks, { type: "Visual", pageSize: 1 })
  const avatar = await management.avatars.create({ voice: { id: voice!.itemId }, visual: { id: visual!.itemId } }, ks)
  const agent = await management.agents.create({ displayName: "Ada", intellect: { intellectType: "genie", id: configId }, avatarIds: [avatar.id], adminTags: ["production"] }, ks)
  const { widgetId } = await management.application.resolveWidgetId(agent.agentId, ks)
  const init = await management.application.appInit(await management.sessions.createWidgetToken({ widgetId }))
  assert.equal(init.partnerId, service.partnerId)

  const visitor = await management.sessions.createAgentToken({ agentId: agent.agentId, userId: "sam@example.com" })
  assert.match(visitor.privileges, new RegExp(`^agentid:${agent.agentId},geniegpcid:${configId},`))
  const turn = await management.conversations.send({ userMessage: "the menu, please" }, visitor)
  assert.equal(turn.text.trim(), "Here is the menu.")
  const segments: string[] = []
  for await (const { type } of management.conversations.stream({ userMessage: "the menu again", threadId: turn.threadId }, visitor)) segments.push(type)
  assert.ok(segments.includes("text") || segments.includes("avatar"), String(segments))
  const once = await management.converseOnce({ configId, agentId: agent.agentId, userId: "kim@example.com", userMessage: "the menu" })
  assert.equal(once.text.trim(), "Here is the menu.")
  // Another user's thread.
  await assert.rejects(management.converseOnce({ configId, userId: "kim@example.com", userMessage: "the menu", threadId: turn.threadId }), { code: "thread_access_denied" })

  const { data } = await management.threads.transcript(turn.threadId, visitor)
  assert.match(data, /human: the menu, please[^]*ai: Here is the menu\./)
  assert.equal((await management.threads.rename(turn.threadId, "The menu", visitor)).title, "The menu")
  const [message] = await management.messages.list(ks, { threadId: turn.threadId })
  assert.ok(message)
  await management.feedback.add({ message_id: turn.messageId, is_positive: true, comment: "good" }, visitor)
  const [rating] = await management.feedback.list(ks, { filter: { threadIdEquals: turn.threadId } })
  assert.deepEqual([rating?.message_id, rating?.is_positive, rating?.comment], [turn.messageId, true, "good"])
  assert.ok((await management.messages.reportSummary(ks)).totals.messages > 0)

  await assert.rejects(management.tools.delete(tool.id, ks, confirmed), (error: { code: string; message: string }) => error.code === "tool_in_use" && error.message.includes(String(configId)))
  await assert.rejects(management.agents.delete(agent.agentId, ks, confirmed), { code: "protected_resource" })
  await management.agents.delete(agent.agentId, ks, { ...confirmed, allowProtected: true })
  await management.avatars.delete(avatar.id, ks, confirmed)
  await management.intellects.delete(configId, ks, confirmed)
  assert.equal((await management.tools.delete(tool.id, ks, confirmed)).removed, tool.id)
  assert.equal((await management.threads.delete(turn.threadId, ks, confirmed)).totalCount, 1)
  await assert.rejects(management.threads.get(turn.threadId, ks), { code: "not_found" })
  await assert.rejects(management.agents.get(agent.agentId, ks), ({ code }: { code: string }) => ["not_found", "agent_not_found"].includes(code))
})
