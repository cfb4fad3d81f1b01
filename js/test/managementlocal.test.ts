import assert from "node:assert/strict"
import { execFile, execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { fileURLToPath } from "node:url"
import { inspect, promisify } from "node:util"
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
  management = new Management({ partnerId: service.partnerId, adminSecret: service.adminSecret, ...service.addresses, messagingUrl: service.addresses.agenticUrl })
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
  for await (const { type } of management.conversations.stream({ userMessage: "the menu again", threadId: turn.threadId! }, visitor)) segments.push(type)
  assert.ok(segments.includes("text") || segments.includes("avatar"), String(segments))
  const once = await management.converseOnce({ configId, agentId: agent.agentId, userId: "kim@example.com", userMessage: "the menu" })
  assert.equal(once.text.trim(), "Here is the menu.")
  // Another user's thread.
  await assert.rejects(management.converseOnce({ configId, userId: "kim@example.com", userMessage: "the menu", threadId: turn.threadId! }), { code: "thread_access_denied" })

  const { data } = await management.threads.transcript(turn.threadId!, visitor)
  assert.match(data, /human: the menu, please[^]*ai: Here is the menu\./)
  assert.equal((await management.threads.rename(turn.threadId!, "The menu", visitor)).title, "The menu")
  const [message] = await management.messages.list(ks, { threadId: turn.threadId! })
  assert.ok(message)
  await management.feedback.add({ message_id: turn.messageId!, is_positive: true, comment: "good" }, visitor)
  const [rating] = await management.feedback.list(ks, { filter: { threadIdEquals: turn.threadId! } })
  assert.deepEqual([rating?.message_id, rating?.is_positive, rating?.comment], [turn.messageId!, true, "good"])
  assert.ok((await management.messages.reportSummary(ks)).totals.messages > 0)

  await assert.rejects(management.tools.delete(tool.id, ks, confirmed), (error: { code: string; message: string }) => error.code === "tool_in_use" && error.message.includes(String(configId)))
  await assert.rejects(management.agents.delete(agent.agentId, ks, confirmed), { code: "protected_resource" })
  await management.agents.delete(agent.agentId, ks, { ...confirmed, allowProtected: true })
  await management.avatars.delete(avatar.id, ks, confirmed)
  await management.intellects.delete(configId, ks, confirmed)
  assert.equal((await management.tools.delete(tool.id, ks, confirmed)).removed, tool.id)
  assert.equal((await management.threads.delete(turn.threadId!, ks, confirmed)).totalCount, 1)
  await assert.rejects(management.threads.get(turn.threadId!, ks), { code: "not_found" })
  await assert.rejects(management.agents.get(agent.agentId, ks), ({ code }: { code: string }) => ["not_found", "agent_not_found"].includes(code))
})

test("what an intellect has is merged, checked, kept and restored", async () => {
  const ks = await admin()
  const { configId } = await management.intellects.create({}, ks)
  const goal = { key: "goal", label: "Goal", headerTemplate: "Goal", type: "custom", value: "Help guests with the plan {{ plan }}." }
  await assert.rejects(management.intellects.setPrompts(configId, [{ ...goal, value: "{{ plan" }], ks), { code: "prompt_lint_failed" })
  await management.intellects.setPrompts(configId, [goal], ks, { baseDirective: "You are Ada." })
  assert.match((await management.intellects.previewPrompt(configId, ks, { requestVars: { plan: "gold" } })).text, /^You are Ada\.[^]*## Goal\nHelp guests with the plan gold\.$/)

  await management.intellects.secrets.set(configId, { CRM_KEY: "a-secret-value", OTHER: "another-value" }, ks)
  await management.intellects.setCapability(configId, "show_link", "on", ks) // a merge must not lose them
  assert.deepEqual((await management.intellects.secrets.delete(configId, "OTHER", ks, confirmed)).names, ["CRM_KEY"])
  assert.doesNotMatch(JSON.stringify(await management.intellects.get(configId, ks)), /a-secret-value/)

  const before = await management.intellects.snapshot(configId, ks, { label: "before" })
  await management.intellects.setPrompts(configId, [{ ...goal, value: "Sell." }], ks, { baseDirective: "You are Bo." })
  const changed = management.intellects.diffSnapshots(before, await management.intellects.snapshot(configId, ks))
  assert.deepEqual([changed.prompts.modified, changed.scalarChanged], [["goal"], ["base_directive"]])
  await management.intellects.restore(before, ks)
  assert.deepEqual((await management.intellects.snapshot(configId, ks)).fields, before.fields)

  await management.intellects.setCapability(configId, "video_gallery", "disabled", ks)
  await assert.rejects(management.intellects.setCapability(configId, "video_gallery", "on", ks), { code: "capability_vetoed" })
  assert.equal((await management.intellects.resolveCapabilities(configId, ks)).capabilities["video_gallery"]!.vetoed, true)
  await management.intellectConfig.setMcpServers(configId, { docs: { url: "https://mcp.example/x" } }, ks)
  await management.intellectConfig.setUserPropertiesForms(configId, { callStage: "start", properties: [{ key: "email" }] }, ks)
  const { editable } = await management.intellectConfig.describe(configId, ks)
  assert.deepEqual([editable.secrets.names, Object.keys(editable["mcp_servers"] as object)], [["CRM_KEY"], ["docs"]])
  assert.equal((await management.intellects.setBrainConfig(configId, { rateLimits: { perMinute: 30 } }, ks)).applied, true)
  assert.equal((await management.intellects.getBrainConfig(configId, ks)).brainConfig["rate_limit_per_minute"], 30)
})

test("an agent answers from a document of a category", async () => {
  const ks = await admin()
  const { configId } = await management.intellects.create({}, ks)
  const category = await management.knowledge.findOrCreateCategory({ name: "house rules" }, ks)
  assert.equal((await management.knowledge.findOrCreateCategory({ name: "house rules" }, ks)).id, category.id)
  const { entryId } = await management.knowledge.uploadMarkdown({ markdown: "# Sauna\n\nThe sauna opens at eight.", name: "sauna.md", categoryId: category.id }, ks)
  assert.deepEqual((await management.knowledge.listCategoryEntries(category.id, ks)).map(({ id }) => id), [entryId])
  assert.equal((await management.knowledge.linkCategory({ configId, categoryId: category.id }, ks)).applied, true)
  assert.deepEqual((await management.knowledge.corpusStatus({ configId }, ks)).perCategory, { [category.id]: 1 })
  const turn = await management.converseOnce({ configId, userMessage: "When does the sauna open?" })
  assert.match(turn.text, /opens at eight/)
  await management.knowledge.detachEntry(entryId, category.id, ks, confirmed)
  assert.equal((await management.knowledge.corpusStatus({ categoryId: category.id }, ks)).populated, false)
  await assert.rejects(management.knowledge.uploadDocument({ file: new Blob(["x"]), name: "x.txt", categoryId: 999_999 }, ks), { code: "ovp_error", title: "CATEGORY_NOT_FOUND" })
})

test("an account and a rule are examined", async () => {
  const ks = await admin()
  const { configId } = await management.intellects.create({ base_directive: "The code is {{ secrets.CODE }}." }, ks)
  await assert.rejects(management.intellectConfig.setKnowledgeIds(configId, [987_654], ks), { code: "forbidden", message: /no knowledge 987654/ })
  const { agentId } = await management.agents.create({ displayName: "Ada", intellect: { intellectType: "genie", id: configId }, avatarIds: [] }, ks)
  const template = await management.emailTemplates.create({ appGuid: "a", name: "Thanks", subject: "Thank you", body: "{{ summary }} {{ colour }}", from: "a@example.com", language: "en" }, ks)
  const rule = await management.lifecycle.create({
    name: "Thanks", eventType: "analysis_updated", conditions: [{ field: "object.agent_id", operator: "in", value: [agentId] }], actions: [{ type: "sendEmail", emailTemplateId: template.id, to: "{{ email }}" }],
  }, ks)
  assert.deepEqual((await management.lifecycle.audit(rule.id, ks)).findings.map(({ code }) => code), ["template_tokens_unproduced", "dtc_without_forms"])
  assert.deepEqual((await management.intellectConfig.audit(configId, ks)).findings.map(({ code, path }) => [code, path]), [["secret_ref_unresolved", "prompts"]])
  const { skipped, checked, findings } = await management.doctor(ks)
  assert.deepEqual(skipped, {})
  assert.ok(checked["agents"]! > 1 && checked["lifecycle rules"]! > 0)
  assert.ok(findings.some(({ object, code }) => object === `lifecycle rule ${rule.id} (Thanks)` && code === "dtc_without_forms"))
})

test("an agent is made from a sentence", async () => {
  const ks = await admin()
  const map = tools.client({ name: "show_floor", description: "Shows a floor of the house." })
  const made = await management.provision({ brief: "An agent that helps the guests of a hotel.", ks, capabilities: { show_link: "on" }, tools: [map] })
  assert.deepEqual([made.blocks!.capabilities!.applied, made.blocks!.tools!.applied, made.blocks!.tools!.failed], [true, true, []])
  assert.deepEqual((await management.intellects.get(made.configId, ks)).tool_ids, made.blocks!.tools!.ids)
  assert.ok((await management.agents.list(ks, { filter: { adminTagsIn: ["provisioned"] } }).all()).some(({ agentId }) => agentId === made.agentId))
  // Once more: the tool that another intellect has is linked, and not changed.
  const again = await management.provision({ brief: "An agent that helps the guests of a hotel.", ks, tools: [map] })
  assert.deepEqual([again.blocks!.tools!.ids, again.blocks!.tools!.skippedUpdates!.map(({ referencedBy }) => referencedBy)], [made.blocks!.tools!.ids, [[made.configId]]])
  assert.equal((await management.application.appInit(await management.sessions.createWidgetToken({ widgetId: made.widgetId }))).partnerId, service.partnerId)
})

test("a token that was revoked, and a wrong secret, are refused", async () => {
  const ks = await admin()
  await management.sessions.revoke(ks)
  await assert.rejects(management.agents.list(ks).all(), { code: "unauthorized", status: 401 })
  const wrong = new Management({ partnerId: service.partnerId, adminSecret: "not-the-secret-of-the-account", ...service.addresses })
  await assert.rejects(wrong.sessions.createAdminToken({ userId: "me" }), (error: Error) => !inspect(error, { depth: 9, showHidden: true }).includes("not-the-secret"))
})

test("the example prints a page for an agent that it has made", async () => {
  const dir = mkdtempSync(join(tmpdir(), "agentruntime-account-"))
  try {
    const file = join(dir, "service.json")
    writeFileSync(file, JSON.stringify({ partnerId: service.partnerId, adminSecret: service.adminSecret, ...service.addresses }))
    const run = (...words: string[]) => promisify(execFile)(process.execPath, [`${root}example/quickstart/create.mjs`, ...words], { env: { ...process.env, AGENTRUNTIME_SERVICE_FILE: file } })
    const { stdout } = await run("An agent that helps the guests of a hotel.")
    const page = /^<!-- .+, agent (\S+) -->\n<script type="module">import "agentruntime\/element"<\/script>\n<agent-avatar widget-id="(\S+)" agentic-url="\S+" genie-url="\S+" ovp-url="\S+"><\/agent-avatar>\n$/.exec(stdout)
    assert.ok(page, stdout)
    assert.deepEqual(await management.application.resolveWidgetId(page[1]!, await admin()), { widgetId: page[2] })
    await assert.rejects(run(), { code: 2, stderr: /Say what the agent is for/ })
    writeFileSync(file, JSON.stringify({ partnerId: service.partnerId, adminSecret: "not-the-secret-of-the-account", ...service.addresses }))
    await assert.rejects(run("An agent."), (error: { code: number; stderr: string }) => error.code === 1 && !error.stderr.includes("not-the-secret"))
  } finally {
    rmSync(dir, { recursive: true })
  }
})
