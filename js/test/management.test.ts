import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { test } from "node:test"
import { inspect } from "node:util"
import {
  AgentError, assembleSystemPrompt, buildBrainConfigPatch, buildIndexerObjects, buildSectionsManifest, buildUserPropertiesForms, CALL_STAGES, EMBED_TYPES, findIntellectsReferencingTool, goToTool, hubspotContactUpsert, inspectKs, lintGlossary,
  lintPersonaIdentity, lintPrompts, loadSectionsManifest, Management, matchProtectedTag, meta, normalizeModality, parseCsv, randId, resolveIntellectId, salesforceContactUpsert, Sessions, siteMapPrompt, SPIRAL_RECOVERY_PREFIX,
  summarizeReport, tools, uuidv4, validatePromptVars, validateSecretRefs, type Agent, type ManagementOptions,
} from "../src/management.js"
import type { ErrorCode } from "../src/generated/codes.js"
import { refusalTexts } from "../src/generated/refusals.js"
import { bases } from "../src/generated/management.js"
import { MintedToken } from "../src/management/token.js"

const root = new URL("../../../", import.meta.url) // of the repository, seen from the bundled test
const secret = "0123456789abcdef-of-the-account"
const confirmed = { confirmPermanent: true } as const

interface Sent {
  method: string
  url: string
  headers: Record<string, string>
  /** JSON, or the fields of a form. */
  body: any
}

type Answer = unknown | ((sent: Sent) => unknown)

/** The text of a token, as the service makes it. */
const ks = (privileges = "\u0001\u0002\u0003") => btoa(`v2|77|${privileges}`)
const adminKs = ks()

/** The paths that the tests of this file have called. */
const called = new Set<string>()

/** A client, and what it sends; answers are those of the paths that they are named after. */
function client(answers: Record<string, Answer> = {}, options: Partial<ManagementOptions> = {}) {
  const sent: Sent[] = []
  const management = new Management({
    partnerId: 77, adminSecret: secret, agenticUrl: "https://agents.example/v1", genieUrl: "https://genie.example", ovpUrl: "https://ovp.example/api_v3/", messagingUrl: "https://mail.example/api/v1",
    fetch: (async (url: string, init: RequestInit) => {
      const { body } = init
      const one: Sent = {
        method: init.method!, url, headers: init.headers as Record<string, string>,
        body: typeof body === "string" ? JSON.parse(body) : body ? Object.fromEntries(body as FormData) : undefined,
      }
      sent.push(one)
      called.add(new URL(url).pathname.replace("/action/", "/"))
      const path = new URL(url).pathname.replace(/^\/(v1|api_v3|api\/v1)\/(?!(intellect|tool|skill|thread|knowledge)\/)/, "").replace(/^\/|service\//g, "").replace("/action/", "/")
      const answer = answers[path] ?? (path === "session/start" || path === "session/startWidgetSession" ? ks(`${sent.length}`) : {})
      const value = typeof answer === "function" ? await answer(one) : answer
      return value instanceof Response ? value : new Response(JSON.stringify(value), { headers: { "content-type": "application/json", "x-request-id": "r-1" } })
    }) as typeof fetch,
    ...options,
  })
  return { management, sent, last: () => sent.at(-1)! }
}

const json = (status: number, body: unknown, headers: Record<string, string> = {}) => new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json", ...headers } })
const lines = (...segments: object[]) => new Response(segments.map((segment) => JSON.stringify(segment)).join("\n"), { headers: { "content-type": "application/x-ndjson" } })

test("addresses are those of the region, unless others are given", () => {
  assert.deepEqual(new Management({ partnerId: "77" }).endpoints, { region: "nvp1", ...bases.nvp1 })
  const { endpoints } = new Management({ partnerId: 77, region: "frp2", genieUrl: new URL("https://genie.example/") })
  assert.deepEqual([endpoints.genieUrl, endpoints.agenticUrl, endpoints.messagingUrl], ["https://genie.example", bases.frp2.agenticUrl, null])
  const wrong: [Partial<ManagementOptions> | undefined, string][] = [
    [undefined, "bad_request"], [{}, "bad_request"], [{ partnerId: "x" }, "bad_request"], [{ partnerId: 77, region: "moon" as "nvp1" }, "bad_request"], [{ partnerId: 77, genieUrl: "" }, "bad_request"],
    [{ partnerId: 77, genieUrl: "ftp://x.example" }, "bad_request"], [{ partnerId: 77, genieUrl: "https://a:b@x.example" }, "bad_request"], [{ partnerId: 77, genieUrl: "http://x.example" }, "insecure_transport"],
    [{ partnerId: 77, timeoutMs: 0 }, "bad_request"], [{ partnerId: 77, fetch: 1 as never }, "bad_request"],
  ]
  for (const [options, code] of wrong) assert.throws(() => new Management(options as ManagementOptions), { code }, inspect(options))
  const warnings: string[] = []
  const logger = { warn: (message: string) => warnings.push(message) }
  new Management({ partnerId: 77, logger, genieUrl: "http://x.example", allowInsecureTransport: true })
  for (const ovpUrl of ["http://127.0.0.1:80", "http://service:8080"]) new Sessions({ partnerId: 77, logger, ovpUrl })
  assert.equal(warnings.length, 3)
  return assert.rejects(new Management({ partnerId: 77, region: "frp2" }).emailTemplates.get("e", adminKs), { code: "region_unavailable" })
})

test("a page can't import the entry, and a server downloads no program with it", () => {
  const built = new URL("js/dist/management.js", root)
  const run = (before: string) => spawnSync(process.execPath, ["--input-type=module", "-e", `${before}\nawait import(${JSON.stringify(built.href)}).then(({ Management }) => console.log(typeof Management), (error) => console.log(error.code, error.message))`], { encoding: "utf8" }).stdout
  assert.equal(run("").trim(), "function")
  assert.match(run("globalThis.window = { document: {} }"), /^bad_request .*is for servers.*admin secret/)
  const text = readFileSync(built, "utf8")
  assert.equal(/\.wasm\b|(?:from|import)"\.|\bimport\(/.exec(text)?.[0], undefined)
  for (const name of readdirSync(new URL("js/dist/", root), { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".js") && name !== "management.js")) {
    assert.equal(/disableentitlement|insight-settings|management\.js/.exec(readFileSync(new URL(`js/dist/${name}`, root), "utf8"))?.[0], undefined, name)
  }
})

test("tokens are minted with the privileges of their kind", async () => {
  const { management, sent, last } = client({ "agent/get": { agentId: "a1", intellect: { intellectType: "genie", id: 42 } } })
  const { sessions } = management
  const admin = await sessions.createAdminToken({ userId: "me" })
  assert.equal(last().url, "https://ovp.example/api_v3/service/session/action/start")
  assert.deepEqual(last().body, { format: "1", secret, partnerId: "77", userId: "me", type: "2", expiry: "3600", privileges: "disableentitlement" })
  assert.equal(last().headers["authorization"], undefined)
  assert.deepEqual([admin.kind, admin.entitlementEnforced, admin.isExpired(), admin.scope.kind], ["admin", false, false, "admin"])
  assert.ok(admin.secondsRemaining() > 3590 && admin.expiresAt > Date.now() / 1000 + 3590)

  const restrictions = { actionsLimit: 3, ipRestrict: "10.0.0.1", uriRestrict: "/x/*", sessionGroupId: "g" }
  await sessions.createConversationToken({ configId: 42, userId: "sam", ttlSeconds: 60, restrictions, extraPrivileges: ["sview:*"] })
  const { type, expiry, privileges, userId } = last().body
  assert.deepEqual([type, expiry, userId, privileges], ["0", "60", "sam", "geniegpcid:42,setrole:PLAYBACK_BASE_ROLE,actionslimit:3,iprestrict:10.0.0.1,urirestrict:/x/*,sessionid:g,sview:*"])
  await sessions.createConversationToken({ configId: 42, userId: "me", sessionType: "admin", restrictions: { role: "R" } })
  assert.deepEqual([last().body.type, last().body.privileges], ["2", "geniegpcid:42,setrole:R"])

  const before = sent.length
  const agent = await sessions.createAgentToken({ agentId: "a1" })
  assert.deepEqual(sent.slice(before).map(({ url, body }) => [url.split("/").at(-1), body.expiry, body.privileges]), [
    ["start", "60", "disableentitlement"], ["get", undefined, undefined], ["start", "1800", "agentid:a1,geniegpcid:42,setrole:PLAYBACK_BASE_ROLE"],
  ])
  assert.equal(agent.kind, "agent")
  const widget = await sessions.createWidgetToken({ widgetId: "w" })
  assert.deepEqual(last().body, { format: "1", widgetId: "w" })
  assert.deepEqual([widget.privileges, widget.expiresAt, widget.isExpired(), widget.secondsRemaining()], ["widget:w", 0, false, Infinity])
  const { revokedAt, partnerId } = await sessions.revoke(agent)
  assert.deepEqual([last().url.split("/").at(-1), last().body], ["end", { format: "1", ks: agent.ks }])
  assert.match(`${revokedAt} ${partnerId}`, /^\d{4}-.*Z 77$/)
  await client({}, { adminSecret: "other", getAdminSecret: async () => secret }).management.sessions.createAdminToken({ userId: "me" })
  assert.equal(JSON.stringify(sent.filter(({ url }) => !url.includes("/session/"))).includes(secret), false)
})

test("tokens that are not minted", async () => {
  const { management: { sessions }, sent } = client()
  const conversation = (more: object) => sessions.createConversationToken({ configId: 1, ...more })
  const refusals: [() => Promise<unknown>, string][] = [
    [() => sessions.createAdminToken({ userId: "" }), "bad_request"],
    [() => sessions.createAdminToken(), "bad_request"],
    [() => sessions.createConversationToken(undefined as never), "bad_request"],
    [() => sessions.createAgentToken(undefined as never), "bad_request"],
    [() => sessions.createWidgetToken(undefined as never), "bad_request"],
    [() => sessions.createAgentToken({ agentId: "a,disableentitlement", configId: 1 }), "entitlement_violation"],
    [() => sessions.createAdminToken({ userId: "me", ttlSeconds: 604_801 }), "ttl_too_long"],
    [() => sessions.createAdminToken({ userId: "me", ttlSeconds: 0 }), "bad_request"],
    [() => sessions.createAdminToken({ userId: "me", ttlSeconds: NaN }), "bad_request"],
    [() => sessions.createAdminToken({ userId: "me", ttlSeconds: 1.5 }), "bad_request"],
    [() => conversation({ configId: undefined }), "bad_request"],
    [() => conversation({ ttlSeconds: 86_401 }), "ttl_too_long"],
    [() => conversation({ extraPrivileges: ["DisableEntitlement"] }), "entitlement_violation"],
    [() => conversation({ extraPrivileges: "sview:*,disableentitlement" }), "entitlement_violation"],
    [() => conversation({ extraPrivileges: ["setrole:X"] }), "bad_request"],
    [() => conversation({ extraPrivileges: ["agentid:a", "AgentId:b"] }), "bad_request"],
    [() => conversation({ restrictions: { ipRestrict: "1.1.1.1" }, extraPrivileges: ["iprestrict:2.2.2.2"] }), "bad_request"],
    [() => conversation({ sessionType: "admin", userId: "me", extraPrivileges: "setrole:A,setrole:B" }), "bad_request"],
    [() => conversation({ extraPrivileges: ["a b"] }), "bad_request"],
    [() => conversation({ sessionType: "admin" }), "bad_request"],
    [() => conversation({ restrictions: { role: "R" } }), "bad_request"],
    [() => conversation({ restrictions: { ipRestrict: "1.1.1.1,2.2.2.2" } }), "bad_request"],
    [() => conversation({ restrictions: { actionsLimit: 1.5 } }), "bad_request"],
    [() => sessions.createAgentToken({ agentId: "a", ttlSeconds: 86_401 }), "ttl_too_long"],
    [() => sessions.createAgentToken({ agentId: "" }), "bad_request"],
    [() => sessions.createWidgetToken({ widgetId: " " }), "bad_request"],
    [() => sessions.revoke(""), "bad_request"],
  ]
  for (const [mint, code] of refusals) await assert.rejects(mint, { code }, String(mint))
  assert.equal(sent.length, 0)
  await assert.rejects(new Sessions({ partnerId: 77 }).createAdminToken({ userId: "me" }), { code: "no_secret" })
  await assert.rejects(client({ "session/start": "nothing" }).management.sessions.createAdminToken({ userId: "me" }), { code: "session_failed" })
  await assert.rejects(client({ "agent/get": { intellect: {} } }).management.sessions.createAgentToken({ agentId: "a" }), { code: "intellect_not_found" })
})

test("neither the secret nor a token is shown anywhere", async () => {
  const { management } = client({
    "session/end": () => json(500, { message: `${secret} of ${adminKs} failed`, deep: [{ key: secret }] }),
    "agent/get": ({ headers }: Sent) => json(400, { detail: headers["authorization"] }),
    "avatar-session/create": { sessionId: "s1", token: "header.payload.signature" },
    "assistant/converse": ({ headers }: Sent) => lines({ type: "text", content: `You said ${headers["authorization"]}` }, { type: "error", content: `refused: ${headers["authorization"]}` }),
  })
  const token = await management.sessions.createAdminToken({ userId: "me" })
  const handle = await management.avatarSessions.create({ visualConfig: { id: "v" } }, token)
  const errors = await Promise.all([management.sessions.revoke("djJ8" + secret), management.agents.get("a", token), management.agents.get("a", "short-raw-token"), management.conversations.send({ userMessage: "hi" }, "short-raw-token")].map((call) => call.then(() => assert.fail("not rejected"), (error: AgentError) => error)))
  const seen = [management, token, handle, ...errors].map((value) => inspect(value, { depth: 12, showHidden: !(value instanceof Object && "sessionId" in value) }) + JSON.stringify(value) + inspect({ ...value })).join()
  for (const hidden of [secret, adminKs, token.ks, "short-raw-token", "header.payload"]) assert.equal(seen.includes(hidden), false, hidden)
  assert.deepEqual([Object.keys(token).includes("ks"), Object.keys(handle)], [false, ["sessionId"]])
  assert.match(errors[1]!.message, /redacted/)
})

test("what can be read from a token", () => {
  assert.deepEqual(inspectKs(1), { ok: false })
  assert.deepEqual(inspectKs("abc"), { ok: false })
  assert.deepEqual(inspectKs("djJ8x"), { ok: false, partnerId: "", kind: "opaque", disableEntitlement: null, encrypted: true }) // no base64
  assert.deepEqual(inspectKs(adminKs), { ok: true, partnerId: "77", kind: "opaque", disableEntitlement: null, encrypted: true })
  assert.deepEqual(inspectKs(ks("geniegpcid:1,agentid:x")), { ok: true, partnerId: "77", kind: "conversation", disableEntitlement: false, encrypted: false })
  for (const [privileges, kind] of [["agentid:x", "agent"], ["disableentitlement", "admin"], ["sview:*", "session"]]) assert.equal((inspectKs(ks(privileges)) as { kind: string }).kind, kind)
})

test("a token of the wrong kind is refused before a request", async () => {
  const { management, sent } = client()
  const minted = (kind: "admin" | "conversation" | "agent" | "widget", admin = false) => new MintedToken({ ks: adminKs, kind, privileges: "", expiresAt: 0, admin, partnerId: "77" })
  const wrong = { code: "wrong_token_scope" }
  await assert.rejects(management.agents.get("a", minted("agent")), wrong)
  await assert.rejects(management.agents.get("a", ks("geniegpcid:1")), wrong)
  await assert.rejects(management.threads.get("t", minted("widget")), wrong)
  await assert.rejects(management.conversations.send({ userMessage: "hi" }, minted("admin")), wrong)
  await assert.rejects(management.conversations.stream({ userMessage: "hi" }, minted("admin")).next(), wrong)
  await assert.rejects(management.knowledge.createCategory({ name: "c" }, minted("conversation")), wrong)
  await assert.rejects(management.agents.get("a", ""), { code: "bad_request" })
  await assert.rejects(management.application.appInit(""), { code: "bad_request" })
  assert.equal(sent.length, 0)
  await management.agents.get("a", minted("conversation", true)) // a session of an administrator
  await management.threads.get("t", minted("agent"))
  await management.agents.get("a", { ks: adminKs })
  assert.equal(sent.length, 3)
})

/** Each call with the path, the body and the header that it sends; `key` is whether there is an idempotency key. */
const requests: [(m: Management) => PromiseLike<unknown>, string, unknown, ("key" | "given")?][] = [
  [(m) => m.application.generateProfile("hotel", adminKs), "https://agents.example/v1/application/generateAgentProfile", { userDescription: "hotel" }],
  [(m) => m.application.getCustomPrompts(adminKs), "https://agents.example/v1/application/getCustomPrompts", {}],
  [(m) => m.application.appInit(adminKs), "https://agents.example/v1/application/appInit", {}],
  [(m) => m.agents.list(adminKs), "https://agents.example/v1/agent/list", { filter: {}, pager: { offset: 0, limit: 30 } }],
  [(m) => m.agents.list(adminKs, { filter: { searchValue: "x" }, orderBy: "-createdAt", pageSize: 2 }), "https://agents.example/v1/agent/list", { filter: { searchValue: "x" }, orderBy: "-createdAt", pager: { offset: 0, limit: 2 } }],
  [(m) => m.agents.create({ displayName: "A", intellect: { intellectType: "genie", id: 1 }, avatarIds: [] }, adminKs, { idempotencyKey: "mine" }), "https://agents.example/v1/agent/create", { displayName: "A", intellect: { intellectType: "genie", id: 1 }, avatarIds: [] }, "given"],
  [(m) => m.agents.update({ agentId: "a", displayName: "B" }, adminKs), "https://agents.example/v1/agent/update", { agentId: "a", displayName: "B" }],
  [(m) => m.agents.delete("a", adminKs, { ...confirmed, skipProtectedCheck: true }), "https://agents.example/v1/agent/delete", { agentId: "a" }, "key"],
  [(m) => m.agents.getEmbedScript("a", "page", adminKs), "https://agents.example/v1/agent/getEmbedScript", { agentId: "a", embedType: "page" }],
  [(m) => m.avatars.list(adminKs), "https://agents.example/v1/avatar/list", { pager: { offset: 0, limit: 30 } }],
  [(m) => m.avatars.listTemplates(adminKs, { filter: { idsIn: ["t"] } }), "https://agents.example/v1/avatar-template/list", { filter: { idsIn: ["t"] }, pager: { offset: 0, limit: 30 } }],
  [(m) => m.avatars.get("x", adminKs), "https://agents.example/v1/avatar/get", { id: "x" }],
  [(m) => m.avatars.delete("x", adminKs, confirmed), "https://agents.example/v1/avatar/delete", { id: "x" }, "key"],
  [(m) => m.avatars.create({ voice: { id: "v" }, visual: { id: "f" } }, adminKs, { idempotencyKey: "mine" }), "https://agents.example/v1/avatar/create", { voice: { id: "v" }, visual: { id: "f" } }, "given"],
  [(m) => m.avatars.update({ id: "x", name: "n" }, adminKs), "https://agents.example/v1/avatar/update", { id: "x", name: "n" }],
  [(m) => m.avatars.clone("x", adminKs), "https://agents.example/v1/avatar/clone", { id: "x" }, "key"],
  [(m) => m.catalog.list(adminKs, { type: "Voice" }), "https://agents.example/v1/catalog-item/list", { filter: { typeEqual: "Voice" }, pager: { offset: 0, limit: 100 } }],
  [(m) => m.catalog.list(adminKs), "https://agents.example/v1/catalog-item/list", { pager: { offset: 0, limit: 100 } }],
  [(m) => m.catalog.get("i", adminKs), "https://agents.example/v1/catalog-item/get", { itemId: "i" }],
  [(m) => m.catalog.importVoiceFromElevenLabs("v", adminKs), "https://agents.example/v1/catalog-item/createVoiceFromElevenLabs", { voiceId: "v" }, "key"],
  [(m) => m.catalog.importVoiceFromCartesia("v", adminKs), "https://agents.example/v1/catalog-item/createVoiceFromCartesia", { voiceId: "v" }, "key"],
  [(m) => m.catalog.update({ itemId: "i", adminTags: ["a", "b"] }, adminKs), "https://agents.example/v1/catalog-item/update", { itemId: "i", adminTags: ["a", "b"] }],
  [(m) => m.catalog.delete("i", adminKs, confirmed), "https://agents.example/v1/catalog-item/delete", { itemId: "i" }, "key"],
  [(m) => m.intellects.list(adminKs), "https://genie.example/v1/intellect/list", { filter: {}, pager: { pageIndex: 1, pageSize: 30 } }],
  [(m) => m.intellects.get(0, adminKs), "https://genie.example/v1/intellect/get", { id: 0 }],
  [(m) => m.intellects.add({ name: "n" }, adminKs), "https://genie.example/v1/intellect/add", { name: "n" }, "key"],
  [(m) => m.intellects.create({ name: "n" }, adminKs), "https://genie.example/v1/intellect/add", { name: "n", type: "internal", status: 2 }, "key"],
  [(m) => m.intellects.create({ status: 1 }, adminKs), "https://genie.example/v1/intellect/add", { type: "internal", status: 1 }, "key"],
  [(m) => m.intellects.update({ id: 1, type: "internal", name: "n" }, adminKs), "https://genie.example/v1/intellect/update", { id: 1, type: "internal", name: "n" }],
  [(m) => m.intellects.delete(1, adminKs, confirmed), "https://genie.example/v1/intellect/delete", { id: 1 }, "key"],
  [(m) => m.tools.list(adminKs), "https://genie.example/v1/tool/list", { filter: { objectType: "ToolListFilter" }, pager: { pageIndex: 1, pageSize: 30 } }],
  [(m) => m.tools.add(tools.csv({ name: "t", description: "d", csv: "a\n1" }), adminKs), "https://genie.example/v1/tool/add", { name: "t", config: { type: "csv", name: "t", description: "d", csv: "a\n1" } }, "key"],
  [(m) => m.tools.get("t", adminKs), "https://genie.example/v1/tool/get", { id: "t" }],
  [(m) => m.tools.update("t", { name: "u" }, adminKs), "https://genie.example/v1/tool/update", { id: "t", name: "u" }, "key"],
  [(m) => m.tools.delete("t", adminKs, { ...confirmed, force: true }), "https://genie.example/v1/tool/delete", { id: "t" }, "key"],
  [(m) => m.skills.list(adminKs), "https://genie.example/v1/skill/list", { filter: { objectType: "SkillListFilter" }, pager: { pageIndex: 1, pageSize: 30 } }],
  [(m) => m.skills.add({ name: "s", description: "d" }, adminKs), "https://genie.example/v1/skill/add", { name: "s", description: "d" }, "key"],
  [(m) => m.skills.update("s", { instructions: "i" }, adminKs), "https://genie.example/v1/skill/update", { id: "s", instructions: "i" }, "key"],
  [(m) => m.skills.get("s", adminKs), "https://genie.example/v1/skill/get", { id: "s" }],
  [(m) => m.skills.delete("s", adminKs, { ...confirmed, force: true }), "https://genie.example/v1/skill/delete", { id: "s" }, "key"],
  [(m) => m.threads.list(adminKs, { filter: { agentIdEquals: "a" } }), "https://genie.example/v1/thread/list", { filter: { agentIdEquals: "a", objectType: "ListThreadFilter" }, pager: { pageIndex: 1, pageSize: 30 } }],
  [(m) => m.threads.setAnalysis("t", { mood: "good" }, adminKs), "https://genie.example/v1/thread/update", { id: "t", thread_metadata: { analysis: { mood: "good" } } }],
  [(m) => m.threads.clearAnalysis("t", adminKs), "https://genie.example/v1/thread/update", { id: "t", thread_metadata: {} }],
  [(m) => m.threads.push("t", { content: "hi" }, adminKs), "https://genie.example/thread/push", { id: "t", content: "hi" }, "key"],
  [(m) => m.threads.transcript("t", adminKs), "https://genie.example/v1/thread/get_transcripts", { id: "t" }],
  [(m) => m.threads.complete("t", adminKs), "https://genie.example/thread/session_completed", { id: "t" }],
  [(m) => m.threads.delete("t", adminKs, confirmed), "https://genie.example/v1/thread/delete", { thread_ids: ["t"] }, "key"],
  [(m) => m.messages.get("m", adminKs), "https://genie.example/message/get", { id: "m" }],
  [(m) => m.messages.share("m", "title", adminKs), "https://genie.example/message/share", { id: "m", newTitle: "title" }],
  [(m) => m.messages.report(adminKs), "https://genie.example/message/report", { filter: { objectType: "GenieListMessageFilter" } }],
  [(m) => m.feedback.add({ message_id: "m", is_positive: 1 as never, comment: "" }, adminKs), "https://genie.example/feedback/add", { schemaVersion: 1, data: { message_id: "m", is_positive: true } }, "key"],
  [(m) => m.followups.getSuggested(adminKs), "https://genie.example/followup/get-suggested-questions?new_response=true", {}],
  [(m) => m.followups.list(adminKs), "https://genie.example/followup/list", { filter: { objectType: "GenieListQuestionFilter" }, pager: { pageIndex: 1, pageSize: 30 } }],
  [(m) => m.knowledge.search("q", adminKs), "https://genie.example/mcp/search", { query: "q" }],
  [(m) => m.knowledge.list(adminKs), "https://genie.example/v1/knowledge/list", { filter: {}, pager: { pageIndex: 1, pageSize: 30 } }],
  [(m) => m.knowledge.addRecord({ name: "k" }, adminKs), "https://genie.example/v1/knowledge/add", { name: "k" }],
  [(m) => m.knowledge.getRecord(3, adminKs), "https://genie.example/v1/knowledge/get", { id: 3 }],
  [(m) => m.knowledge.updateRecord(3, { name: "x" }, adminKs), "https://genie.example/v1/knowledge/update", { id: 3, name: "x" }],
  [(m) => m.knowledge.deleteRecord(3, adminKs, { ...confirmed, force: true }), "https://genie.example/v1/knowledge/delete", { id: 3 }, "key"],
  [(m) => m.knowledge.entryStatus(3, ["e"], adminKs), "https://genie.example/v1/knowledge/entry_status", { knowledge_id: 3, entry_ids: ["e"] }],
  [(m) => m.knowledge.indexStatus(adminKs), "https://genie.example/partner-config/stats", { filter: {} }],
  [(m) => m.knowledge.linkRecords(1, [3], adminKs), "https://genie.example/partner-config/update", { id: 1, config: { knowledge_ids: [3], capabilities: { use_knowledge_base: "on" } } }],
  [(m) => m.knowledge.linkCategory({ configId: 1, categoryId: 9 }, adminKs), "https://genie.example/partner-config/update", { id: 1, config: { indexer: { filterType: "categoryEntry", chunkSize: 5000, categoryInfo: [{ categoryId: "9", language: "English" }] }, capabilities: { use_knowledge_base: "on" } } }],
  [(m) => m.knowledge.list("9", adminKs, { pageSize: 2 }), "https://ovp.example/api_v3/service/baseentry/action/list", {
    filter: { objectType: "KalturaBaseEntryFilter", categoryAncestorIdIn: "9", orderBy: "-createdAt", statusIn: "-1,-2,0,1,2,7,4", typeIn: "1,7,10" }, pager: { objectType: "KalturaFilterPager", pageIndex: 1, pageSize: 2 }, ks: adminKs, format: 1,
  }],
  [(m) => m.lifecycle.update("r", { status: "disabled" }, adminKs), "https://agents.example/v1/lifecycle/update", { id: "r", status: "disabled" }],
  [(m) => m.lifecycle.listObjects(adminKs), "https://agents.example/v1/lifecycle/listObjects", {}],
  [(m) => m.lifecycle.listEvents({ objectType: "thread" }, adminKs), "https://agents.example/v1/lifecycle/listEvents", { objectType: "thread" }],
  [(m) => m.lifecycle.describeFields({ objectType: "thread" }, adminKs), "https://agents.example/v1/lifecycle/describeFields", { objectType: "thread" }],
  [(m) => m.lifecycle.match({ objectId: "t" }, adminKs), "https://agents.example/v1/lifecycle/match", { objectId: "t" }],
  [(m) => m.lifecycle.create({ name: "r", actions: [] }, adminKs), "https://agents.example/v1/lifecycle/create", { name: "r", actions: [] }, "key"],
  [(m) => m.lifecycle.delete("r", adminKs, confirmed), "https://agents.example/v1/lifecycle/delete", { id: "r" }, "key"],
  [(m) => m.insightSettings.create({ key: "k", title: "t", prompt: "p", valueType: "string" }, adminKs), "https://agents.example/v1/insight-settings/create", { key: "k", title: "t", prompt: "p", valueType: "string" }, "key"],
  [(m) => m.insightSettings.get("i", adminKs), "https://agents.example/v1/insight-settings/get", { id: "i" }],
  [(m) => m.insightSettings.update("i", { status: "disabled" }, adminKs), "https://agents.example/v1/insight-settings/update", { id: "i", status: "disabled" }],
  [(m) => m.insightSettings.delete("i", adminKs, confirmed), "https://agents.example/v1/insight-settings/delete", { id: "i" }, "key"],
  [(m) => m.emailTemplates.get("e", adminKs), "https://mail.example/api/v1/email-template/get", { id: "e" }],
  [(m) => m.emailTemplates.create({ appGuid: "g", name: "n", subject: "s", body: "b", from: "f", language: "en" }, adminKs), "https://mail.example/api/v1/email-template/add", { appGuid: "g", name: "n", subject: "s", body: "b", from: "f", language: "en" }, "key"],
  [(m) => m.emailTemplates.update("e", { subject: "s" }, adminKs), "https://mail.example/api/v1/email-template/update", { id: "e", subject: "s" }],
  [(m) => m.emailTemplates.delete("e", adminKs, confirmed), "https://mail.example/api/v1/email-template/delete", { id: "e" }, "key"],
]

test("each call sends its path and body, and its key where it makes something", async () => {
  for (const [call, url, body, key] of requests) {
    const { management, sent } = client({ "agent/getEmbedScript": { html: "<p>" }, "message/share": { data: { newMessageId: "n" } }, "message/report": new Response("Question\nq"), "v1/intellect/add": { id: 5 } })
    await call(management)
    assert.equal(sent.length, 1, url)
    const { headers, ...one } = sent[0]!
    assert.deepEqual([one.method, one.url, one.body], ["POST", url, body], String(call))
    assert.equal(headers["authorization"], url.startsWith("https://ovp") ? undefined : `${url.startsWith("https://mail") ? "Bearer" : "KS"} ${adminKs}`)
    assert.equal(headers["idempotency-key"] === undefined, key === undefined, url)
    if (key === "given") assert.equal(headers["idempotency-key"], "mine")
  }
  const { management, last } = client()
  await management.conversations.status(adminKs)
  assert.deepEqual([last().method, last().url, last().body], ["GET", "https://genie.example/assistant/status", undefined])
})

test("what is wrong is refused before a request", async () => {
  const { management: m, sent } = client()
  const bad: [() => unknown, string?][] = [
    [() => m.agents.get("", adminKs)], [() => m.agents.create({ displayName: "" , intellect: {} }, adminKs)], [() => m.agents.list(adminKs, { orderBy: "name" })],
    [() => m.agents.create({ displayName: "A", intellect: {}, maxConversationLength: 4000 }, adminKs)], [() => m.agents.getEmbedScript("a", "popup" as "page", adminKs)],
    [() => m.avatars.create({ voice: { id: "v" }, adminTags: ["x"] }, adminKs)], [() => m.avatars.create({ voice: { id: "v" }, face: { id: "f" } }, adminKs)], [() => m.avatars.update({ id: "x", templateId: "t" }, adminKs)],
    [() => m.agents.delete("a", adminKs, {} as never), "confirmation_required"], [() => m.avatars.delete("a", adminKs, undefined as never), "confirmation_required"], [() => m.tools.delete("a", adminKs, {} as never), "confirmation_required"],
    [() => m.threads.list(adminKs, { filter: { agentIdIn: ["a"] } as never }), "validation_error"], [() => m.threads.delete([], adminKs, confirmed)], [() => m.tools.list(adminKs, { pageSize: 501 })],
    [() => m.intellects.get("1" as never, adminKs)], [() => m.intellects.get(-1, adminKs)], [() => m.intellects.update({ id: 1 } as never, adminKs), "missing_discriminator"], [() => m.intellects.create({ url: "https://x" }, adminKs)],
    [() => m.intellects.setCapability(1, "fly", "on", adminKs), "unknown_capability"], [() => m.intellects.setCapability(1, "avatar", "maybe" as "on", adminKs)], [() => m.intellects.setClientVariablesEnabled(1, 1 as never, adminKs)],
    [() => m.intellects.secrets.set(1, { A: "***" }, adminKs)], [() => m.intellects.secrets.set(1, { A: "" }, adminKs)], [() => m.intellects.setBrainConfig(1, {}, adminKs)],
    [() => m.intellectConfig.setKnowledgeIds(1, [1, 2], adminKs)], [() => m.intellectConfig.setMcpServers(1, { a: { url: "ftp://x" } }, adminKs), "invalid_url"], [() => m.intellectConfig.setSkillIds(1, [{ id: "s", mode: "x" as "adhoc" }], adminKs)],
    [() => m.intellectConfig.setToolIds(1, ["a", "a"], adminKs)], [() => m.intellectConfig.setModelConfiguration(1, { temperature: 2 }, adminKs)], [() => m.intellectConfig.setAvatarSummaryConfig(1, { template: "{{ mood }}" }, adminKs)],
    [() => m.skills.add({ name: "s", description: " " }, adminKs)], [() => m.tools.update("t", {}, adminKs)], [() => m.lifecycle.update("r", {}, adminKs)], [() => m.knowledge.search(" ", adminKs)], [() => m.knowledge.corpusStatus({}, adminKs)],
    [() => m.avatarSessions.create({ visualConfig: {} as never }, adminKs)], [() => m.avatarSessions.say({ sessionId: "s", token: "t" }, new Blob([]), { duration: 0 })], [() => m.avatarSessions.end({} as never)],
    [() => m.conversations.send({ userMessage: " " }, adminKs)], [() => m.conversations.send({ userMessage: "x", force_experience: "dance" as "markdown" }, adminKs), "validation_error"],
    [() => m.conversations.send({ userMessage: "x", request_vars: { sys__ks: "x" } }, adminKs), "validation_error"], [() => m.conversations.send({ userMessage: "x", capabilities: { fly: "on" } }, adminKs), "unknown_capability"],
    [() => m.catalog.createVoice(new Blob(["x"]), { name: "v", description: "" }, adminKs)], [() => m.catalog.createVoice("x" as never, { name: "v", description: "d" }, adminKs)], [() => m.insightSettings.update("i", { status: "off" as "active" }, adminKs)],
    [() => m.insightSettings.create({ key: "k", title: "t", prompt: "p", valueType: "date" }, adminKs)], [() => m.lifecycle.create({ name: "r", actions: [{ type: "triggerInsights" }] }, adminKs)], [() => m.lifecycle.update("r", { actions: "sendEmail" }, adminKs)],
    [() => m.provision({ brief: "", ks: adminKs })],
  ]
  for (const [call, code = "bad_request"] of bad) await assert.rejects(async () => call(), (error) => error instanceof AgentError && error.code === code, String(call))
  assert.equal(sent.length, 0)
})

/** Calls with everything that they need, of methods that `requests` does not have. */
const more: ((m: Management) => unknown)[] = [
  (m) => m.agents.get("a", adminKs), (m) => m.agents.getEmbedScript("a", EMBED_TYPES[0], adminKs), (m) => m.application.resolveWidgetId("a", adminKs), (m) => m.application.appInit(adminKs),
  (m) => m.avatars.get("x", adminKs), (m) => m.avatars.delete("x", adminKs, confirmed),
  (m) => m.catalog.delete("i", adminKs, confirmed), (m) => m.catalog.createVoice(new Blob(["x"]), { name: "v", description: "d" }, adminKs),
  ...(["createVisual", "createFace", "createBackground"] as const).map((name) => (m: Management) => m.catalog[name](new Blob(["x"]), { name: "v", genderPresentation: "Feminine" }, adminKs)),
  (m) => m.avatarSessions.create({ visualConfig: { id: "v" } }, adminKs),
  (m) => m.intellects.delete(1, adminKs, confirmed), (m) => m.intellects.getCapabilities(1, adminKs), (m) => m.intellects.setCapability(1, "avatar", "on", adminKs), (m) => m.intellects.setCapabilities(1, { avatar: "on" }, adminKs),
  (m) => m.intellects.setClientVariablesEnabled(1, true, adminKs), (m) => m.intellects.setPrompts(1, [], adminKs), (m) => m.intellects.previewPrompt(1, adminKs), (m) => m.intellects.snapshot(1, adminKs),
  (m) => m.intellects.restore({ configId: 1, label: null, type: "internal", fields: { status: 2 }, _meta: meta() }, adminKs), (m) => m.intellects.setBrainConfig(1, { agentLlm: "x" }, adminKs), (m) => m.intellects.getBrainConfig(1, adminKs),
  (m) => m.intellects.brainConfigAvailable(adminKs), (m) => m.intellects.resolveCapabilities(1, adminKs),
  (m) => m.intellects.secrets.listNames(1, adminKs), (m) => m.intellects.secrets.has(1, "A", adminKs), (m) => m.intellects.secrets.set(1, { A: "b" }, adminKs), (m) => m.intellects.secrets.delete(1, "A", adminKs, confirmed),
  (m) => m.intellects.secrets.replaceAll(1, {}, adminKs, confirmed), (m) => m.intellects.secrets.validate(1, adminKs),
  (m) => m.intellectConfig.patch(1, { name: "n" }, adminKs), (m) => m.intellectConfig.setCapabilities(1, { avatar: "on" }, adminKs), (m) => m.intellectConfig.setCapability(1, "avatar", "on", adminKs),
  (m) => m.intellectConfig.setToolIds(1, [], adminKs), (m) => m.intellectConfig.setSkillIds(1, [], adminKs), (m) => m.intellectConfig.setKnowledgeIds(1, [], adminKs), (m) => m.intellectConfig.setThreadStartTools(1, [], adminKs),
  (m) => m.intellectConfig.setMcpServers(1, {}, adminKs), (m) => m.intellectConfig.setMetadata(1, { name: "n" }, adminKs), (m) => m.intellectConfig.setUserPropertiesForms(1, { callStage: CALL_STAGES[0], properties: [{ key: "k" }] }, adminKs),
  (m) => m.intellectConfig.clearUserPropertiesForms(1, adminKs), (m) => m.intellectConfig.setAllowClientVariables(1, true, adminKs), (m) => m.intellectConfig.setOpeningPhrase(1, null, adminKs), (m) => m.intellectConfig.setModelConfiguration(1, null, adminKs),
  (m) => m.intellectConfig.setAvatarSummaryConfig(1, null, adminKs), (m) => m.intellectConfig.setSecrets(1, { A: "b" }, adminKs), (m) => m.intellectConfig.listSecretNames(1, adminKs), (m) => m.intellectConfig.setBrainConfig(1, { agentLlm: "x" }, adminKs),
  (m) => m.intellectConfig.describe(1, adminKs), (m) => m.intellectConfig.audit(1, adminKs),
  (m) => m.tools.findReferencingIntellects("t", adminKs), (m) => m.skills.get("s", adminKs), (m) => m.skills.delete("s", adminKs, confirmed),
  (m) => m.threads.get("t", adminKs), (m) => m.threads.rename("t", "x", adminKs), (m) => m.threads.transcript("t", adminKs), (m) => m.threads.delete("t", adminKs, confirmed), (m) => m.threads.complete("t", adminKs),
  (m) => m.messages.list(adminKs), (m) => m.messages.reportSummary(adminKs), (m) => m.feedback.list(adminKs), (m) => m.conversations.status(adminKs),
  (m) => m.knowledge.createRecord({ name: "k" }, adminKs), (m) => m.knowledge.deleteRecord(3, adminKs, confirmed), (m) => m.knowledge.addSource(3, { name: "a" }, adminKs), (m) => m.knowledge.removeSource(3, { name: "a" }, adminKs),
  (m) => m.knowledge.isIndexed(3, adminKs), (m) => m.knowledge.getLinkage(1, adminKs), (m) => m.knowledge.setEnabled(1, true, adminKs), (m) => m.knowledge.linkAvailable(adminKs), (m) => m.knowledge.listCategoryEntries(9, adminKs),
  (m) => m.knowledge.createCategory({ name: "c" }, adminKs), (m) => m.knowledge.findCategory("c", adminKs), (m) => m.knowledge.findOrCreateCategory({ name: "c" }, adminKs), (m) => m.knowledge.attachEntry("e", 9, adminKs),
  (m) => m.knowledge.detachEntry("e", 9, adminKs, confirmed), (m) => m.knowledge.uploadDocument({ file: new Blob(["x"]), name: "n", categoryId: 9 }, adminKs), (m) => m.knowledge.uploadMarkdown({ markdown: "x", categoryId: 9 }, adminKs),
  (m) => m.knowledge.corpusStatus({ categoryId: 9 }, adminKs),
  (m) => m.lifecycle.list(adminKs), (m) => m.lifecycle.get("r", adminKs), (m) => m.lifecycle.create({ name: "r" }, adminKs), (m) => m.lifecycle.delete("r", adminKs, confirmed), (m) => m.lifecycle.match({}, adminKs),
  (m) => m.lifecycle.listEvents({}, adminKs), (m) => m.lifecycle.describeFields({}, adminKs), (m) => m.lifecycle.audit("r", adminKs),
  (m) => m.insightSettings.list(adminKs), (m) => m.insightSettings.get("i", adminKs), (m) => m.insightSettings.update("i", { title: "t" }, adminKs), (m) => m.insightSettings.delete("i", adminKs, confirmed),
  (m) => m.emailTemplates.list(adminKs), (m) => m.emailTemplates.create({ appGuid: "a", name: "n", subject: "s", body: "b", from: "f", language: "en" }, adminKs), (m) => m.emailTemplates.update("e", { name: "n" }, adminKs), (m) => m.emailTemplates.delete("e", adminKs, confirmed),
  (m) => m.doctor(adminKs), (m) => m.setForcedLanguage({ configId: 1, language: "de" }, adminKs),
]

/** Methods whose options are in their first argument, or in another than the one after the token. */
const others: Record<string, (m: any, options: any) => unknown> = {
  "sessions.createAdminToken": (m, options) => m.sessions.createAdminToken(options && { userId: "me", ...options }),
  "sessions.createConversationToken": (m, options) => m.sessions.createConversationToken(options && { configId: 1, ...options }),
  "sessions.createAgentToken": (m, options) => m.sessions.createAgentToken(options && { agentId: "a", configId: 1, ...options }),
  "sessions.createWidgetToken": (m, options) => m.sessions.createWidgetToken(options && { widgetId: "w", ...options }),
  "conversations.stream": async (m, options) => m.conversations.stream(options && { userMessage: "x", ...options }, adminKs).next(),
  "conversations.send": (m, options) => m.conversations.send(options && { userMessage: "x", ...options }, adminKs),
  converse: async (m, options) => m.converse(options && { configId: 1, userMessage: "x", ...options }).next(),
  converseOnce: (m, options) => m.converseOnce(options && { configId: 1, userMessage: "x", ...options }),
  provision: (m, options) => m.provision(options && { brief: "x", ks: adminKs, ...options }),
  "provision.knowledge": (m, options) => m.provision({ brief: "x", ks: adminKs, knowledge: options ?? 1 }),
  setForcedLanguage: (m, options) => m.setForcedLanguage(options && { configId: 1, language: "de", ...options }, adminKs),
  "avatarSessions.create": (m, options) => m.avatarSessions.create(options && { visualConfig: { id: "v" }, ...options }, adminKs),
  "avatarSessions.say": (m, options) => m.avatarSessions.say({ sessionId: "s", token: "t" }, new Blob(["x"]), options && { duration: 1, ...options }),
  "knowledge.createCategory": (m, options) => m.knowledge.createCategory(options && { name: "c", ...options }, adminKs),
  "knowledge.findOrCreateCategory": (m, options) => m.knowledge.findOrCreateCategory(options && { name: "c", ...options }, adminKs),
  "knowledge.linkCategory": (m, options) => m.knowledge.linkCategory(options && { configId: 1, categoryId: 9, ...options }, adminKs),
  "knowledge.uploadDocument": (m, options) => m.knowledge.uploadDocument(options && { file: new Blob(["x"]), name: "n", categoryId: 9, ...options }, adminKs),
  "knowledge.uploadMarkdown": (m, options) => m.knowledge.uploadMarkdown(options && { markdown: "x", categoryId: 9, ...options }, adminKs),
  "knowledge.corpusStatus": (m, options) => m.knowledge.corpusStatus(options && { categoryId: 9, ...options }, adminKs),
  "knowledge.search": (m, options) => m.knowledge.search(options && { query: "q", ...options }, adminKs),
  "catalog.update": (m, options) => m.catalog.update(options && { itemId: "i", ...options }, adminKs),
  "feedback.add": (m, options) => m.feedback.add(options && { message_id: "m", is_positive: true, ...options }, adminKs),
  "intellectConfig.setMetadata": (m, options) => m.intellectConfig.setMetadata(1, options && { name: "n", ...options }, adminKs),
  restrictions: (m, options) => m.sessions.createConversationToken({ configId: 1, restrictions: options ?? 1 }),
  "new Management": (_, options) => new Management(options && { partnerId: 77, ...options }),
  goToTool: (_, options) => goToTool(options ?? 1),
  "tools.client": (_, options) => tools.client(options && { name: "t", description: "d", ...options }),
  "tools.api": (_, options) => tools.api(options && { name: "t", description: "d", responseTemplate: "x", request: { url: "https://x.example", ...options } }),
}

/** The names of all methods of a client. */
function methodNames(value: object, before = ""): string[] {
  return [...Object.entries(value), ...Object.getOwnPropertyNames(Object.getPrototypeOf(value)).filter((name) => !["constructor", "endpoints"].includes(name) && !(name in Object.prototype)).map((name) => [name, (value as any)[name]] as const)]
    .flatMap(([name, member]) => (typeof member === "function" ? [before + name] : typeof member === "object" && member !== null ? methodNames(member, `${before}${name}.`) : []))
}

/** The member of an object that a name such as `agents.get` leads to, bound to what it is a member of. */
function memberOf(value: object, name: string): (...args: unknown[]) => any {
  const parts = name.split(".")
  const owner = parts.slice(0, -1).reduce((at: any, part) => at[part], value)
  return (...args) => owner[parts.at(-1)!](...args)
}

/** A client whose methods only note their names and arguments. */
function noting(value: object, noted: [string, unknown[]][], before = ""): any {
  return new Proxy(value, {
    get: (target, name: string) => {
      const member = (target as any)[name]
      return typeof member === "function" ? (...args: unknown[]) => void noted.push([before + name, args]) : noting(member, noted, `${before}${name}.`)
    },
  })
}

test("an option that does not exist is refused before a request, by every method", async () => {
  const { management, sent } = client()
  const noted: [string, unknown[]][] = []
  for (const call of [...requests.map(([call]) => call), ...more]) call(noting(management, noted))
  for (const name of ["interrupt", "initClient", "keepAlive", "end"]) noted.push([`avatarSessions.${name}`, [{ sessionId: "s", token: adminKs }]])
  for (const [name, args] of noted) {
    const at = Math.max(args.indexOf(adminKs) + 1, 1)
    const call = (settings: unknown) => async () => memberOf(management, name)(...args.slice(0, at), settings)
    await assert.rejects(call({ ...(args[at] as object), sgnal: 1 }), (error: AgentError) => error.code === "bad_request" && /\bsgnal\b.*did you mean signal\?/.test(error.message), name)
    await assert.rejects(call({ ...(args[at] as object), signal: 1 }), (error: AgentError) => error.code === "bad_request" && /\bsignal\b/.test(error.message), name)
    await assert.rejects(call(1), (error: AgentError) => error.code === "bad_request" || error.code === "confirmation_required", name)
    // A list with a token is the shorter form of the call for the entries of a category.
    if (at > 1 && name !== "knowledge.list") await assert.rejects(async () => memberOf(management, name)(...Array(at - 1).fill(undefined), adminKs, args[at]), (error) => error instanceof AgentError && error.status === undefined, name)
  }
  for (const [name, call] of Object.entries(others)) {
    for (const [options, says] of [[{ nonsense: 1 }, /\bnonsense\b/], [undefined, /must be|needs|required/], [null, /must be|needs|required/]] as const) {
      await assert.rejects(async () => call(management, options), (error: AgentError) => error instanceof AgentError && error.code === "bad_request" && says.test(error.message), `${name} ${inspect(options)}`)
    }
  }
  assert.deepEqual(sent.map(({ url, body }) => [url, body]), [])
  const without = ["sessions.revoke", "intellects.diffSnapshots"] // methods without options
  const tried = [...without, ...Object.keys(others), ...noted.map(([name]) => name)]
  assert.deepEqual(methodNames(management).filter((name) => !tried.includes(name)), [], "give each a row in requests of this test, or a call in more or others")
})

test("arguments that are missing or of another type are refused with an error of the package", async () => {
  const { management } = client()
  const { TOOL_TYPES: _types, HTTP_METHODS: _methods, ARG_TYPES: _args, ...builders } = tools
  const functions = {
    management, builders, assembleSystemPrompt, buildBrainConfigPatch, buildIndexerObjects, buildSectionsManifest, buildUserPropertiesForms, goToTool, inspectKs, lintGlossary, lintPersonaIdentity, lintPrompts, loadSectionsManifest,
    matchProtectedTag, normalizeModality, parseCsv, resolveIntellectId, siteMapPrompt, summarizeReport, validatePromptVars, validateSecretRefs,
  }
  for (const name of methodNames(functions)) {
    for (const first of [undefined, null, 1, "x", {}, []]) for (const count of [1, 2, 3]) for (const ks of [undefined, adminKs]) for (const settings of [null, {}, "x"]) {
      const args = [...Array(count).fill(first), ks, settings]
      try {
        const result = memberOf(functions, name)(...args)
        await (result?.next ? result.next() : result)
      } catch (error) {
        if (!(error instanceof AgentError)) assert.fail(`${name}(${args.map((arg) => inspect(arg)).join(", ")}): ${(error as Error).stack}`)
      }
    }
  }
})

test("a request is sent again where that is safe", async () => {
  const failing = (count: number, status: number) => {
    let left = count
    return () => (left-- > 0 ? json(status, { message: "busy" }, { "retry-after": "0" }) : { agentId: "a" })
  }
  const create = { displayName: "A", intellect: {} }
  const { management, sent } = client({ "agent/create": failing(2, 503), "agent/get": failing(1, 503) })
  await management.agents.create(create, adminKs)
  assert.equal(new Set(sent.map(({ headers }) => headers["idempotency-key"])).size, 1)
  assert.equal(sent.length, 3)
  await assert.rejects(management.agents.get("a", adminKs), { code: "server_error", status: 503, retryable: true, instance: "/agent/get" })
  assert.equal(sent.length, 4)

  let attempts = 0
  const broken = () => {
    if (++attempts < 3) throw new TypeError("fetch failed", { cause: { code: "ECONNRESET" } })
    return { agentId: "a" }
  }
  assert.deepEqual(await client({ "agent/get": broken }).management.agents.get("a", adminKs), { agentId: "a" })
  assert.equal(attempts, 3)
  const never = client({ "agent/get": () => { throw new TypeError("fetch failed") } })
  await assert.rejects(never.management.agents.get("a", adminKs), { code: "network_error", status: 0 })
  assert.equal(never.sent.length, 4)

  const hanging: typeof fetch = (_, init) => new Promise((_, reject) => {
    const signal = init!.signal!
    signal.addEventListener("abort", () => reject(signal.reason as Error))
    if (signal.aborted) reject(signal.reason as Error)
  })
  await assert.rejects(client({}, { fetch: hanging, timeoutMs: 5 }).management.agents.get("a", adminKs), { code: "timeout" })
  const ending = new AbortController()
  const waiting = client({}, { fetch: hanging }).management.agents.get("a", adminKs, { signal: ending.signal })
  ending.abort("changed my mind")
  await assert.rejects(waiting, { code: "aborted", status: 0 })
  await assert.rejects(client({}, { fetch: hanging }).management.agents.get("a", adminKs, { signal: AbortSignal.abort() }), { code: "aborted" })
})

test("a refused request waits as long as Retry-After asks, and up to twice that", async (t) => {
  const now = Date.UTC(2026, 0, 1)
  t.mock.timers.enable({ apis: ["setTimeout", "Date"], now })
  let random = 0
  t.mock.method(Math, "random", () => random)
  const create = (after: string) => {
    const { management, sent } = client({ "agent/create": () => (sent.length > 1 ? { agentId: "a" } : json(429, {}, { "retry-after": after })) })
    return { sent, made: management.agents.create({ displayName: "A", intellect: {} }, adminKs) }
  }
  const pass = async (ms: number) => {
    await new Promise(setImmediate)
    t.mock.timers.tick(ms)
    await new Promise(setImmediate)
  }
  for (const after of ["4", () => new Date(Date.now() + 4000).toUTCString()]) {
    for (random of [0, 0.5]) {
      const { sent, made } = create(typeof after === "string" ? after : after())
      await pass(4000 * (1 + random) - 1)
      assert.equal(sent.length, 1)
      await pass(1)
      assert.equal(sent.length, 2)
      await made
    }
  }
  const long = create("11")
  await assert.rejects(long.made, { code: "rate_limited", status: 429 })
  assert.equal(long.sent.length, 1)
})

// The cases that runtime/fault is tested with too.
interface RefusedReply {
  name: string
  status: number
  body: string
  code?: string
  title?: string
  message?: string
  retryable?: boolean
}
const refusedReplies = JSON.parse(readFileSync(new URL("runtime/fault/testdata/refusals.json", root), "utf8")) as RefusedReply[]

for (const { name, status, body, code, title, message, retryable = false } of refusedReplies) {
  test(`a refused reply: ${name}`, async () => {
    const reply = new Response(body, { status, headers: { "content-type": /^\s*[[{"]/.test(body) ? "application/json" : "text/plain", "x-request-id": "r-1" } })
    const called = client({ "agent/get": () => reply }).management.agents.get("a", adminKs)
    if (code === undefined) return void (await called)
    await assert.rejects(called, { name: "AgentError", code, title: title ?? refusalTexts[code as ErrorCode]![0], message, status, retryable, instance: "/agent/get", requestId: "r-1" })
  })
}

test("replies that can't be read have codes, and others are values", async () => {
  const cases: [Response, string][] = [[new Response("{oops", { headers: { "content-type": "text/plain" } }), "invalid_response"], [new Response("x".repeat(11 << 20)), "response_too_large"]]
  for (const [answer, code] of cases) await assert.rejects(client({ "agent/get": () => answer }).management.agents.get("a", adminKs), { name: "AgentError", code }, code)
  const replies: [Response, unknown][] = [[new Response(""), null], [new Response('"text"'), "text"], [new Response("plain"), "plain"], [new Response('"a","b"\n"1","2"'), '"a","b"\n"1","2"'], [json(200, { status: "ok", id: 1 }), { status: "ok", id: 1 }]]
  for (const [reply, value] of replies) assert.deepEqual(await client({ "agent/get": () => reply }).management.agents.get("a", adminKs), value)
  // The reply of a search says by itself whether something was found.
  assert.deepEqual(await client({ "mcp/search": { status: 404, message: "nothing" } }).management.knowledge.search("q", adminKs), { status: 404, message: "nothing" })
  const reports: unknown[] = []
  await client({}, { onResponse: (report) => reports.push(report) }).management.agents.get("a", adminKs)
  assert.deepEqual([{ ...(reports[0] as object), ms: 0 }], [{ method: "POST", path: "/agent/get", status: 200, requestId: "r-1", ms: 0, attempt: 1 }])
})

test("a record that can't be read is not written", async () => {
  for (const reply of [null, "We are updating the service.", []]) {
    const { management, sent } = client({ "v1/intellect/get": () => json(200, reply), "v1/knowledge/get": () => json(200, reply) })
    const { intellects, knowledge } = management
    for (const change of [
      () => intellects.secrets.set(7, { NEW: "value" }, adminKs), () => intellects.setCapability(7, "avatar", "on", adminKs), () => intellects.setPrompts(7, [], adminKs),
      () => knowledge.addSource(7, { type: "text", name: "menu", content: "Soup." }, adminKs),
    ]) await assert.rejects(change, { name: "AgentError", code: "invalid_response" }, JSON.stringify(reply))
    assert.deepEqual(sent.filter(({ url }) => !url.endsWith("/get")), [])
  }
  await assert.rejects(client({ "message/list": { objects: [null], totalCount: 1 } }).management.feedback.list(adminKs), { name: "AgentError", code: "invalid_response" })
})

test("an exception of the page's own function is no failure of the network, after which a call is repeated", async () => {
  const broken = new Error("the journal is full")
  const { management, sent } = client({}, { onResponse: () => { throw broken } })
  await assert.rejects(management.agents.create({ displayName: "A", intellect: { intellectType: "genie", id: 7 } }, adminKs), (reason) => reason === broken)
  assert.equal(sent.length, 1)
})

test("a list is its first page, a loop over all pages, or all of it", async () => {
  const all = Array.from({ length: 5 }, (_, id) => ({ id }))
  const { management, sent } = client({
    "agent/list": ({ body: { pager } }: Sent) => ({ objects: all.slice(pager.offset, pager.offset + pager.limit), totalCount: 5 }),
    "v1/tool/list": ({ body: { pager } }: Sent) => ({ objects: all.slice((pager.pageIndex - 1) * pager.pageSize, pager.pageIndex * pager.pageSize) }),
  })
  const page = management.agents.list(adminKs, { pageSize: 2 })
  assert.deepEqual(await page, all.slice(0, 2))
  assert.deepEqual(await page.all(), all)
  assert.equal(sent.length, 3)
  assert.deepEqual(sent.map(({ body }) => body.pager.offset), [0, 2, 4])
  assert.deepEqual(await management.tools.list(adminKs, { pageSize: 2 }).all(), all)
  assert.deepEqual(sent.slice(3).map(({ body }) => body.pager.pageIndex), [1, 2, 3])
  assert.deepEqual(await management.avatars.list(adminKs), []) // without objects in the reply
  for await (const _ of management.agents.list(adminKs, { pageSize: 2 })) break
  assert.equal(sent.length, 8)
})

test("a loop over a list ends when the service ignores the pager", async () => {
  const { management, sent } = client({ "agent/list": () => ({ objects: [{ id: 1 }, { id: 2 }] }) })
  await assert.rejects(management.agents.list(adminKs, { pageSize: 2 }).all(), { code: "invalid_response" })
  assert.equal(sent.length, 3)
})

test("an agent in production is not deleted by accident", async () => {
  const tags = [["prod", true], ["my-prod-bot", true], ["product", false], ["preproduction", true], ["keep", true], ["keeper", false], ["LIVE", true], ["donotdelete", true], ["do-not-delete", true], ["x", false]] as const
  for (const [tag, hit] of tags) assert.equal(matchProtectedTag(["a", tag]), hit ? tag : null, tag)
  assert.equal(matchProtectedTag("prod"), null)
  const agent = client({ "agent/get": { agentId: "a", adminTags: ["Production"] } })
  await assert.rejects(agent.management.agents.delete("a", adminKs, confirmed), { code: "protected_resource" })
  await agent.management.agents.delete("a", adminKs, { ...confirmed, allowProtected: true })
  assert.deepEqual(agent.sent.map(({ url }) => url.split("/").at(-1)), ["get", "get", "delete"])
  await assert.rejects(client({ "agent/get": () => json(403, {}) }).management.agents.delete("a", adminKs, confirmed), { code: "forbidden" })
  const gone = client({ "agent/get": () => json(404, {}) })
  await gone.management.agents.delete("a", adminKs, confirmed)
  assert.equal(gone.sent.length, 2)
  assert.deepEqual([resolveIntellectId({ configId: 1, id: 2 }), resolveIntellectId({ id: 2 }), resolveIntellectId({ id: "2" }), resolveIntellectId(null)], [1, 2, undefined, undefined])
})

test("what intellects use is not deleted", async () => {
  const { management, sent } = client({
    "v1/intellect/list": { objects: [{ id: 1 }, { id: 2 }, { id: 3 }], totalCount: 3 },
    "v1/intellect/get": ({ body }: Sent) => (body.id === 2 ? json(500, {}) : { id: body.id, tool_ids: body.id === 3 ? ["t"] : [], skill_ids: [{ id: "s", mode: "adhoc" }], knowledge_ids: [8] }),
  })
  assert.deepEqual(await management.tools.findReferencingIntellects("t", adminKs), [3])
  assert.deepEqual(await findIntellectsReferencingTool(management, "other", adminKs), [])
  await assert.rejects(management.tools.delete("t", adminKs, confirmed), { code: "tool_in_use", message: /3/ })
  await assert.rejects(management.skills.delete("s", adminKs, confirmed), { code: "skill_in_use" })
  await assert.rejects(management.knowledge.deleteRecord(8, adminKs, confirmed), { code: "knowledge_in_use" })
  assert.equal(sent.some(({ url }) => url.endsWith("delete")), false)
  const { removed, skippedInUseCheck, _meta } = await management.tools.delete("t", adminKs, { ...confirmed, force: true })
  assert.deepEqual([removed, skippedInUseCheck, _meta.partnerId, _meta.source], ["t", true, "77", "v1/tool/delete"])
  assert.equal((await management.tools.delete("unused", adminKs, confirmed)).skippedInUseCheck, undefined)
})

const stored = {
  id: 5, partner_id: 77, user_id: "me", created_at: "x", updated_at: "y", type: "internal", status: 1, name: "n", capabilities: { avatar: "on", show_link: "disabled" }, secrets: { OLD: "***" },
  prompts: [{ key: "goal", label: "Goal", headerTemplate: "Goal", type: "custom", value: "Help {{ plan }}." }], base_directive: "You are Ada.",
}
const intellect = (more: object = {}) => client({ "v1/intellect/get": { ...stored, ...more }, "v1/intellect/update": ({ body }: Sent) => body, "v1/tool/get": ({ body }: Sent) => ({ id: body.id, config: { url: "https://x/{{secrets.OLD}}/{{variables.secrets.NEW}}/{{ secrets.GONE }}" } }) })

test("maps of an intellect are read, merged and written as a whole", async () => {
  const { management, sent, last } = intellect()
  const { capabilities, result } = await management.intellects.setCapability(5, "avatar", "off", adminKs)
  assert.deepEqual(capabilities, { avatar: "off", show_link: "disabled" })
  assert.deepEqual(last().body, { id: 5, type: "internal", status: 1, name: "n", capabilities, secrets: { OLD: "***" }, prompts: stored.prompts, base_directive: "You are Ada." })
  assert.equal(result.id, 5)
  const writes = () => sent.filter(({ url }) => url.endsWith("update")).length
  const before = writes()
  await assert.rejects(management.intellects.setCapabilities(5, { avatar: "on", show_link: "on" }, adminKs), { code: "capability_vetoed" })
  assert.equal(writes(), before)
  assert.equal((await management.intellects.setCapabilities(5, { show_link: "on" }, adminKs, { force: true })).capabilities["show_link"], "on")
  assert.equal((await management.intellects.setCapability(5, "show_link", "off", adminKs)).capabilities["show_link"], "off") // a veto is against switching on
  const unguarded = await management.intellectConfig.setCapability(5, "show_link", "on", adminKs)
  assert.deepEqual([unguarded.applied, unguarded.sent, unguarded._meta.scope], [true, { capabilities: { avatar: "on", show_link: "on" } }, "intellect:5"])
  await assert.rejects(intellect({ type: "external" }).management.intellects.setCapability(5, "avatar", "on", adminKs), { code: "bad_request" })

  const { capabilities: resolved } = await management.intellects.resolveCapabilities(5, adminKs, { request: { use_web_search: "on", show_link: "on" } })
  assert.deepEqual([resolved["show_link"]!.state, resolved["show_link"]!.resolvedFrom, resolved["show_link"]!.vetoed], ["off", "disabled_veto", true])
  assert.deepEqual([resolved["use_web_search"]!.resolvedFrom, resolved["use_web_search"]!.inferred, resolved["avatar"]!.resolvedFrom, resolved["video_gallery"]!.state, resolved["think_process"]!.state], ["request", true, "partner_config", "off", "off"])

  const applied = await management.intellectConfig.patch(5, ({ tags = [] }) => ({ tags: [...(tags as string[]), "new"] }), adminKs)
  assert.deepEqual([applied.sent, last().body.tags, last().body.name, applied._meta.source], [{ tags: ["new"] }, ["new"], "n", "v1/intellect/update"])
  const own = { language: "de-DE", metadata: { team: "kitchen" } }
  assert.deepEqual((await management.intellectConfig.patch(5, own, adminKs)).sent, own)
  const { warnings } = await client({ "v1/intellect/add": { id: 6 } }).management.intellects.create({ tool_ids: ["t"] }, adminKs)
  assert.match(warnings![0]!, /kaltura_genie_experiences/)
  for (const changes of [{ agent_avatar_llm: "x" }, { web_search_config: {} }, { type: "external" }, {}]) await assert.rejects(management.intellectConfig.patch(5, changes, adminKs), { code: "bad_request" })
  await management.intellectConfig.clearUserPropertiesForms(5, adminKs)
  assert.equal(last().body.user_properties_forms, null)
  const { editable, readOnly } = await management.intellectConfig.describe(5, adminKs)
  assert.deepEqual([editable.secrets, editable["name"], readOnly["partner_id"]!.value], [{ names: ["OLD"] }, "n", 77])
})

test("the language of an agent is set by one call", async () => {
  const { management, sent, last } = intellect()
  const set = await management.setForcedLanguage({ configId: 5, agentId: "a", language: "de-AT", asrProvider: "x" }, adminKs)
  assert.deepEqual([set.language, set.languageName, set._meta["noEffect"]], ["de-AT", "German", ["asrProvider"]])
  assert.deepEqual(last().body, { agentId: "a", speechLanguage: "de-AT" })
  const { language, prompts, name } = sent.at(-2)!.body
  assert.deepEqual([language, name, prompts.map(({ key }: { key: string }) => key), prompts[1].headerTemplate], ["de-AT", "n", ["goal", "forced_language"], "Forced language"])
  assert.match(prompts[1].value, /^Always answer in German,/)
  const again = intellect({ prompts })
  await again.management.setForcedLanguage({ configId: 5, language: "tlh", languageName: "Klingon {{ x }}" }, adminKs)
  assert.deepEqual(again.last().body.prompts.map(({ value }: { value: string }) => value.split(",")[0]), ["Help {{ plan }}.", "Always answer in Klingon  x "])
  await again.management.setForcedLanguage({ configId: 5, language: null }, adminKs)
  assert.deepEqual([again.last().body.language, again.last().body.prompts], [null, stored.prompts])
  for (const wrong of [{ configId: 5, language: "klingon" }, { configId: 5, language: "tlh" }, { configId: "5", language: "de" }, { configId: 5, language: "" }, undefined]) {
    await assert.rejects(again.management.setForcedLanguage(wrong as never, adminKs), { code: "bad_request" })
  }
})

test("an agent is told the pages of a site", async (t) => {
  const manifest = buildSectionsManifest([{ path: "/pricing", title: "Pricing", description: "What {{it}} costs", sections: [{ id: "plans", title: "Our plans" }, { id: "x" }] }])
  assert.deepEqual(siteMapPrompt(manifest), { key: "siteMap", label: "siteMap", headerTemplate: "Pages of the site", type: "custom", value: "- /pricing Pricing: What it costs\n  - section plans Our plans\n  - section x" })
  assert.deepEqual(lintPrompts([siteMapPrompt(manifest)]).findings, [])
  const tool = goToTool()
  assert.deepEqual([tool.name, tool["wait_for_response"], Object.keys(tool.args!), tools.validate(tool)], ["go_to", true, ["path", "section"], tool])
  assert.throws(() => buildSectionsManifest([{ path: "https://other.example", title: "x" }]), { code: "bad_manifest" })
  assert.throws(() => siteMapPrompt({} as never), { code: "bad_manifest" })
  const server = createServer((request, reply) => void reply.end(request.url === "/site.json" ? JSON.stringify(manifest) : "no JSON"))
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  assert.deepEqual(await loadSectionsManifest(`http://127.0.0.1:${port}/site.json`), manifest)
  await assert.rejects(loadSectionsManifest(`http://127.0.0.1:${port}/other`), { code: "bad_manifest" })
  await assert.rejects(loadSectionsManifest("file:///etc/passwd"), { code: "bad_request" })
  await assert.rejects(loadSectionsManifest(`http://127.0.0.1:${port}/site.json`, { signal: AbortSignal.abort() }), { code: "aborted" })
})

test("secrets are written with the mask of the others", async () => {
  const { management, last } = intellect()
  const { secrets } = management.intellects
  const set = await secrets.set(5, { NEW: "value" }, adminKs)
  assert.deepEqual([last().body, set.names, set.set], [{ id: 5, type: "internal", secrets: { OLD: "***", NEW: "value" } }, ["NEW", "OLD"], ["NEW"]])
  assert.deepEqual([(await secrets.delete(5, "OLD", adminKs, confirmed)).names, last().body.secrets], [[], {}])
  await assert.rejects(secrets.delete(5, "NONE", adminKs, confirmed), { code: "not_found" })
  await assert.rejects(secrets.replaceAll(5, {}, adminKs, {} as never), { code: "confirmation_required" })
  assert.deepEqual((await secrets.replaceAll(5, { A: "1" }, adminKs, confirmed)).names, ["A"])
  assert.deepEqual([await secrets.has(5, "OLD", adminKs), (await secrets.listNames(5, adminKs)).names], [true, ["OLD"]])
  const checked = await intellect({ tool_ids: ["t"] }).management.intellects.secrets.validate(5, adminKs)
  assert.deepEqual([checked.ok, checked.unresolved, checked.badPrefix.map(({ ref }) => ref), checked.unused], [false, [{ ref: "secrets.GONE", where: "tools" }], ["variables.secrets.NEW"], []])
  const pure = validateSecretRefs({ authentication: { client_secret: "secrets.B" } }, ["A", "B"])
  assert.deepEqual([pure.ok, pure.unused, pure.references], [true, ["A"], [{ name: "B", where: "tools", prefixed: true }]])
  assert.equal(validateSecretRefs(undefined as never).ok, true)
})

test("prompts are checked, previewed, kept and restored", async () => {
  const { management, sent, last } = intellect()
  const block = { key: "k", label: "L", headerTemplate: "H", type: "custom", value: "v {{" }
  await assert.rejects(management.intellects.setPrompts(5, [block], adminKs), (error: AgentError) => error.code === "prompt_lint_failed" && (error.body as { findings: { path: string }[] }).findings[0]!.path === "prompts[0].value")
  await assert.rejects(management.intellects.setPrompts(5, [{ ...block, value: "{{ x }}" }], adminKs, { lint: "strict", knownVars: [] }), { code: "prompt_lint_failed" })
  assert.equal(sent.some(({ url }) => url.endsWith("update")), false)
  const { lint } = await management.intellects.setPrompts(5, [block], adminKs, { lint: false, glossary: "g" })
  assert.deepEqual([lint, last().body.prompts, last().body.glossary], [null, [block], "g"])
  const { text, unresolvedVariables } = await management.intellects.previewPrompt(5, adminKs, { requestVars: { plan: "gold guests" } })
  assert.deepEqual([text, unresolvedVariables], ["You are Ada.\n\n## Goal\nHelp gold guests.", []])

  const snapshot = await management.intellects.snapshot(5, adminKs, { label: "before" })
  assert.deepEqual([snapshot.label, Object.keys(snapshot.fields).sort(), snapshot._meta["storage"]], ["before", ["base_directive", "capabilities", "prompts", "status"], "client-side"])
  const { written, skipped } = await management.intellects.restore(snapshot, adminKs, { fields: ["prompts"] })
  assert.deepEqual([written, skipped.length, last().body.prompts], [["prompts"], 4, stored.prompts])
  const ofGo = JSON.parse('{"configId":5,"type":"internal","fields":{"glossary":"","status":1},"takenAt":"2026-11-30T00:00:00Z"}')
  assert.deepEqual([(await management.intellects.restore(ofGo, adminKs)).written, last().body.glossary, last().body.prompts], [["glossary", "status"], "", stored.prompts])
  const later = structuredClone({ ...snapshot, fields: { ...snapshot.fields, base_directive: "You are Bo.", prompts: [{ ...block, value: "v" }, ...stored.prompts] } })
  const { prompts, scalarChanged, capabilitiesChanged } = management.intellects.diffSnapshots(snapshot, later)
  assert.deepEqual([prompts, scalarChanged, capabilitiesChanged], [{ added: ["k"], removed: [], modified: [], reordered: false }, ["base_directive"], false])
})

test("a configuration that the account may not change is a result", async () => {
  const denied = client({ "partner-config/get": () => json(403, { message: "no" }) })
  const outcome = await denied.management.intellects.setBrainConfig(5, { agentLlm: "m" }, adminKs)
  assert.deepEqual([outcome.applied, !outcome.applied && outcome.code, denied.sent.length], [false, "forbidden", 1])
  assert.equal((await client({ "partner-config/get": () => json(404, {}) }).management.intellects.brainConfigAvailable(adminKs)).code, "not_deployed")
  const { management, sent } = client({ "partner-config/get": { config: {} } })
  const config = { agentLlm: "m", rateLimits: { perMinute: 5 }, anonymousRateLimits: { perHour: 0 }, runQuotaCheck: true, webSearch: { includeDomains: ["x.example"], includeAnswer: false as const } }
  const done = await management.intellects.setBrainConfig(5, config, adminKs)
  assert.deepEqual(done.applied && done.sentKeys, ["agent_llm", "rate_limit_per_minute", "anonymous_rate_limit_per_hour", "run_quota_check", "web_search_config"])
  assert.deepEqual(sent.map(({ body }) => body), [{ id: 0 }, { id: 5, config: buildBrainConfigPatch(config).config }])
  assert.deepEqual(buildBrainConfigPatch(config).config["web_search_config"], { include_domains: ["x.example"], include_answer: false, search_depth: "ultra-fast", max_results: 5 })
  for (const wrong of [{ agentLlm: " " }, { rateLimits: {} }, { rateLimits: { perMinute: -1 } }, { runQuotaCheck: 1 }, { webSearch: { searchDepth: "deep" } }]) assert.throws(() => buildBrainConfigPatch(wrong as never), { code: "bad_request" })
  assert.deepEqual(buildUserPropertiesForms({ callStage: "start", properties: [{ key: "email" }] }), [{ call_stage: "start", properties: [{ key: "email", type: "str" }] }])
  for (const wrong of [[], { callStage: "later", properties: [{ key: "a" }] }, { callStage: "end", properties: [] }]) assert.throws(() => buildUserPropertiesForms(wrong as never), { code: "bad_request" })
})

test("tools are defined as they are sent", () => {
  const request = { url: "https://api.example/{{args.city}}" }
  const api = tools.api({ name: "weather", description: "d", displayName: "Weather", args: { city: { prompt: "City", type: "str", required: true, extra: 1 } as never }, request, responseMapping: { degrees: "data.0.temp" } })
  assert.deepEqual(api, { type: "api", name: "weather", description: "d", display_name: "Weather", args: { city: { prompt: "City", type: "str", required: true } }, request: { ...request, method: "GET", timeout: 10 }, response_mapping: { degrees: "data.0.temp" } })
  assert.deepEqual(tools.client({ name: "a", description: "d", waitForResponse: false, timeout: 5 }), { type: "client", name: "a", description: "d", wait_for_response: false, timeout: 5 })
  assert.deepEqual(tools.validate(api), api)
  const wrong: [() => unknown, string?][] = [
    [() => tools.client({ name: "1a", description: "d" })], [() => tools.client({ name: "a", description: "" })], [() => tools.client({ name: "a", description: "d", timeout: 121 })], [() => tools.csv({ name: "a", description: "d", csv: "" })],
    [() => tools.code({ name: "a", description: "d", code: "" })], [() => tools.client({ name: "a", description: "d", args: { x: { prompt: "p", type: "text" as "str" } } })], [() => tools.api({ name: "a", description: "d", request })],
    [() => tools.api({ name: "a", description: "d", request, responseMapping: { a: "b" }, responseTemplate: "t" })], [() => tools.api({ name: "a", description: "d", request: { url: "file:///x" }, responseTemplate: "t" }), "invalid_url"],
    [() => tools.api({ name: "a", description: "d", request: { url: "https://{{args.host}}/x" }, responseTemplate: "t" }), "invalid_url"], [() => tools.api({ name: "a", description: "d", request, responseMapping: { a: "$.b" } }), "bad_jsonpath"],
    [() => tools.api({ name: "a", description: "d", request, responseMapping: { a: "b[0]" } }), "bad_jsonpath"], [() => tools.api({ name: "a", description: "d", request: { ...request, authentication: { type: "oauth2", client_id: "c", client_secret: "plain" } }, responseTemplate: "t" })],
    [() => tools.validate({ type: "shell", name: "a", description: "d" })],
  ]
  for (const [make, code = "bad_request"] of wrong) assert.throws(make, { code }, String(make))
  assert.deepEqual(tools.applyResponseMapping({ data: [{ temp: 4 }] }, { a: "data.0.temp", b: "data.1.temp" }), { a: 4, b: undefined })
  assert.deepEqual(tools.clientToolReadiness({ tool_ids: [] }), { ok: true, warnings: [] })
  assert.equal(tools.clientToolReadiness({ tool_ids: ["t"] }).ok, false)
  assert.equal(tools.clientToolReadiness({ tool_ids: ["t"], capabilities: { kaltura_genie_experiences: "off" } }).ok, true)

  const hubspot = hubspotContactUpsert({ secretName: "HUB" })
  assert.deepEqual([hubspot.name, (hubspot["request"] as { body: unknown }).body, hubspot.args!["email"]!.required, hubspot.args!["lastname"]!.required], ["hubspot_contact_upsert", { properties: { email: "{{args.email}}", firstname: "{{args.firstname}}", lastname: "{{args.lastname}}" } }, true, false])
  const salesforce = salesforceContactUpsert({ secretName: "SF", instanceUrl: "https://x.my.salesforce.com/" })
  const { url, method, body } = salesforce["request"] as { url: string; method: string; body: object }
  assert.deepEqual([url, method, Object.keys(body)], ["https://x.my.salesforce.com/services/data/v59.0/sobjects/Contact/Email/{{args.Email}}", "PATCH", ["FirstName", "LastName"]])
  assert.throws(() => hubspotContactUpsert({ secretName: "" }), TypeError)
  assert.throws(() => salesforceContactUpsert({ secretName: "S", instanceUrl: "https://x", externalIdField: "Ext__c" }), TypeError)
})

test("texts are checked", () => {
  const vars = validatePromptVars("{{ plan }} {{secrets.A}} {{ sys__user_id }} {{sys__user_obj.title}} {{}} {{ sys__moon }} {{ a b }} }}", { allowClientVariables: false })
  assert.deepEqual([vars.ok, vars.variables, vars.clientVariables], [false, ["plan", "secrets.A", "sys__user_id", "sys__user_obj.title", "sys__moon"], ["plan", "sys__moon"]])
  assert.deepEqual(vars.findings.map(({ code }) => code).sort(), ["client_variable_not_allowed", "empty_variable", "malformed_variable", "malformed_variable", "unknown_variable"])
  assert.deepEqual(validatePromptVars("{{ a | default('x') }}", { knownVars: [] }).findings.map(({ code, severity }) => `${severity} ${code}`), ["warning unknown_variable"])
  const { summary, findings, skippedKeys, ok } = lintPrompts([null, { label: 1, headerTemplate: 2, type: 3, value: 4 }, { key: "a", headerTemplate: "H", value: "v" }, { key: "a", headerTemplate: "H", type: "custom", value: " " }])
  assert.deepEqual(findings.map(({ code, path }) => `${path} ${code}`), [
    "prompts[0] invalid_block", "prompts[1].key missing_key", "prompts[1].type bad_type", "prompts[1].label bad_label", "prompts[1].headerTemplate bad_header", "prompts[1].value bad_value",
    "prompts[2].type missing_type", "prompts[3].key duplicate_key", "prompts[3].value renderer_skip",
  ])
  assert.deepEqual([ok, summary, skippedKeys], [false, { errors: 6, warnings: 3, ok: false }, ["a"]])
  assert.deepEqual(["", "a: b", "[1]", "{{ a }}"].map((text) => lintGlossary(text).format), ["empty", "text", "json", "text"])
  assert.equal(lintGlossary("[1]").findings[0]!.code, "glossary_format")
  assert.throws(() => lintGlossary(1 as never), { code: "bad_request" })
  const persona = lintPersonaIdentity({ name: "Ada", baseDirective: "You are Ada. Be short.", openingPhrase: "Hello, I'm Bo." })
  assert.deepEqual([persona.ok, persona.detectedName, persona.findings.map(({ code, path }) => `${path} ${code}`)], [true, "Ada", ["openingPhrase persona_name_mismatch"]])
  assert.deepEqual(lintPersonaIdentity({ baseDirective: "You are Ada.", prompts: [{ value: "My name is Bo." }] }).findings.map(({ code }) => code), ["persona_name_drift"])
  assert.equal(lintPersonaIdentity({ baseDirective: "You are a guide." }).detectedName, null)
  const assembled = assembleSystemPrompt({ prompts: [{ key: "x", headerTemplate: "H {{ a }}", value: "{{ b }}{{ c }}" }, { key: "y", headerTemplate: "", value: "v" }], glossary: "g", requestVars: { a: 1, b: null } })
  assert.deepEqual([assembled.text.split("\n\n").slice(1), assembled.skippedKeys, assembled.usedDefaultDirective, assembled.unresolvedVariables], [["## H 1\n{{ c }}", "g"], ["y"], true, ["c"]])
  assert.match(assembled.text, /^<<.*>>/)
})

test("reports are read", async () => {
  assert.deepEqual(parseCsv('a,b\r\n"x ""y"", z","1\n2"\n\n3\n'), [{ a: 'x "y", z', b: "1\n2" }, { a: "3", b: "" }])
  assert.deepEqual(parseCsv(""), [])
  const csv = "Thread Id,Question,Feedback reaction\n1,Hi,Positive\n1,Hi,1\n2,Bye,false\n3,,\n"
  const { totals, feedback, topQuestions, _meta } = summarizeReport(csv, 77)
  assert.deepEqual([totals, feedback, topQuestions, _meta.partnerId], [{ messages: 4, threads: 3 }, { positive: 2, negative: 1, unrated: 1, positiveRatio: 0.667 }, [{ question: "Hi", count: 2 }, { question: "Bye", count: 1 }], "77"])
  assert.equal(summarizeReport("").feedback.positiveRatio, null)
  await assert.rejects(client({ "message/report": { not: "text" } }).management.messages.reportSummary(adminKs), { code: "server_error" })
  await assert.rejects(client({ "agent/getEmbedScript": { html: "<p>" }, "message/share": { data: {} } }).management.messages.share("m", "t", adminKs), { code: "server_error" })
  for (const reply of [["q"], { data: ["q"] }, { data: { questions: ["q"] } }, { questions: ["q"] }]) assert.deepEqual(await client({ "followup/get-suggested-questions": reply }).management.followups.getSuggested(adminKs), ["q"])
  assert.match(meta({ source: "s" }).generatedAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  assert.match(uuidv4(), /^[\da-f]{8}-[\da-f]{4}-4/)
  assert.match(randId() + randId(3), /^[a-z0-9]{19}$/)
})

test("ratings are found among messages, and for an agent by its threads", async () => {
  const { management, sent } = client({
    "v1/thread/list": { objects: [{ id: "t1" }, { id: "t2" }], totalCount: 2 },
    "message/list": ({ body }: Sent) => ({ objects: [{ id: `m-${body.filter.threadIdEquals}`, thread_id: body.filter.threadIdEquals, is_positive: true, comment: "c" }, { id: "unrated", is_positive: null }] }),
  })
  const rows = await management.feedback.list(adminKs, { filter: { agentIdEquals: "a", isPositiveEquals: true } })
  assert.deepEqual(rows.map(({ message_id, is_positive, comment }) => [message_id, is_positive, comment]), [["m-t1", true, "c"], ["m-t2", true, "c"]])
  assert.deepEqual(sent[1]!.body.filter, { isPositiveEquals: true, threadIdEquals: "t1", objectType: "GenieListMessageFilter" })
})

test("a turn of one call", async () => {
  const talk = ks("geniegpcid:1")
  const text = { type: "text", content: "Hello.", threadId: "t", messageId: "m", isFinal: true }
  const { management, last, sent } = client({ "assistant/converse": () => lines({ type: "think", content: "" }, text) })
  const turn = await management.conversations.send({ userMessage: "hi", threadId: "t", model_type: "fast", force_experience: "markdown", request_vars: { plan: "gold" }, capabilities: { avatar: "off" } }, talk)
  assert.deepEqual([turn.text, turn.threadId, turn.messageId, turn.errors.length], ["Hello.", "t", "m", 0])
  assert.deepEqual(last().body, { userMessage: "hi", sse: false, threadId: "t", model_type: "fast", force_experience: "markdown", request_vars: { plan: "gold" }, capabilities: { avatar: "off" } })
  const types: string[] = []
  for await (const { type } of management.converse({ configId: 1, userId: "sam", userMessage: "hi" })) types.push(type)
  assert.deepEqual([types, sent.at(-2)!.body.privileges, sent.at(-2)!.body.userId], [["think", "text"], "geniegpcid:1,setrole:PLAYBACK_BASE_ROLE", "sam"])
  assert.equal((await management.converseOnce({ configId: 1, userMessage: "hi" })).text, "Hello.")

  const refusing = client({ "assistant/converse": () => lines({ ...text, content: "It is" }, { type: "error", content: "No permission for thread 7" }) }).management.conversations
  await assert.rejects(refusing.send({ userMessage: "hi" }, talk), (error: AgentError) => error.code === "thread_access_denied" && (error.body as { partial: { text: string } }).partial.text === "It is")
  assert.equal((await refusing.send({ userMessage: "hi", onErrorSegment: "return" }, talk)).errors.length, 1)
  await assert.rejects(client({ "assistant/converse": () => lines({ type: "error", content: "out of order" }) }).management.conversations.send({ userMessage: "hi" }, talk), { code: "stream_error", message: "out of order" })
  await assert.rejects(client({ "assistant/converse": () => json(403, { message: "Client variables are not allowed" }) }).management.conversations.send({ userMessage: "hi" }, talk), { code: "client_variables_disabled" })
  const busy = client({ "assistant/converse": () => json(503, {}) })
  await assert.rejects(busy.management.conversations.send({ userMessage: "hi" }, talk), { code: "server_error" })
  assert.equal(busy.sent.length, 1) // an answer is not asked for twice
  await assert.rejects(client({ "assistant/converse": () => new Response(null) }).management.conversations.send({ userMessage: "hi" }, talk), { code: "server_error" })
})

test("a turn that only called tools is tried again in words", async () => {
  const call = (n: number) => ({ type: "tool", content: `look {"n":${n}}`, threadId: "t" })
  let attempt = 0
  const { management, last, sent } = client({ "assistant/converse": () => (attempt++ === 0 ? lines(...Array.from({ length: 12 }, (_, n) => call(n))) : lines({ type: "text", content: "Seven." })) })
  const turn = await management.conversations.send({ userMessage: "when?", recoverFromSpiral: true }, ks("geniegpcid:1"))
  assert.deepEqual([turn.text, turn.spiralRecovered, turn.firstAttempt?.spiralStopped], ["Seven.", true, true])
  assert.ok(turn.firstAttempt!.toolCalls.length > 0)
  assert.deepEqual([last().body.userMessage, last().body.threadId, sent.length], [SPIRAL_RECOVERY_PREFIX + "when?", "t", 2])
})

test("a document goes into a category in several calls, and a part that fails is named", async () => {
  const { management, sent } = client({ multirequest: ({ body }: Sent) => Object.keys(body).filter((key) => /^\d$/.test(key)).map((key) => ({ id: `id-${body[key].service}` })), "attachment_attachmentasset/setContent": {} })
  const file = new Blob(["text"], { type: "text/plain" })
  assert.deepEqual(await management.knowledge.uploadDocument({ file, name: "a.txt", categoryId: 9 }, adminKs), { entryId: "id-baseentry", categoryId: 9 })
  assert.deepEqual([sent[1]!.body.ks, sent[1]!.body.fileData instanceof Blob, sent[1]!.headers["authorization"]], [adminKs, true, undefined])
  assert.deepEqual((await management.knowledge.uploadMarkdown({ markdown: "# A", categoryId: "9" }, adminKs)).markdownAssetId, "id-attachment_attachmentasset")
  const failing = client({ multirequest: [{ id: "e" }, { objectType: "KalturaAPIException", code: "QUOTA", message: "too many" }] }).management
  await assert.rejects(failing.knowledge.uploadDocument({ file, name: "a", categoryId: 9 }, adminKs), { code: "ovp_error", title: "QUOTA", message: "uploadtoken/add: too many" })
  await assert.rejects(client({ multirequest: [{ id: "e" }, {}] }).management.knowledge.uploadDocument({ file, name: "a", categoryId: 9 }, adminKs), { code: "server_error" })
  await assert.rejects(client({ multirequest: {} }).management.knowledge.uploadDocument({ file, name: "a", categoryId: 9 }, adminKs), { code: "invalid_response" })

  const category = client({ "category/list": { objects: [] }, "category/add": { id: 4 }, "baseentry/list": { totalCount: 3, objects: [] } })
  assert.equal((await category.management.knowledge.findOrCreateCategory({ name: "c" }, adminKs)).id, 4)
  assert.deepEqual([category.sent[0]!.body.filter, category.sent[0]!.headers["authorization"], category.sent[0]!.body.ks], [{ objectType: "KalturaCategoryFilter", fullNameEqual: "c" }, undefined, adminKs])
  assert.deepEqual((await category.management.knowledge.corpusStatus({ categoryIds: [4, 5] }, adminKs)).perCategory, { 4: 3, 5: 3 })
  assert.equal(normalizeModality(" OCR "), "ocr")
  assert.deepEqual(buildIndexerObjects([3, "caption"]), [{ indexPosition: 0, type: 3, strategy: "EmbedDocumentV1" }, { indexPosition: 1, type: 1, strategy: "EmbedCaptionV1" }])
  assert.throws(() => buildIndexerObjects(["ocr", 2]), { code: "bad_request" })
  assert.throws(() => normalizeModality("smell"), { code: "bad_request" })
})

test("sources of a record are added and removed once", async () => {
  const sources = [{ name: "a", indexers: [{ index_position: 3 }] }, { name: "b", indexers: [{ index_position: null }] }]
  const { management, sent } = client({ "v1/knowledge/get": { id: 3, status: "READY", config: { keep: 1, sources } } })
  assert.equal((await management.knowledge.addSource(3, { name: "a" }, adminKs)).applied, false)
  assert.equal((await management.knowledge.removeSource(3, { name: "c" }, adminKs)).applied, false)
  assert.equal((await management.knowledge.removeSource(3, { name: "a" }, adminKs)).applied, true)
  assert.deepEqual(sent.at(-1)!.body, { id: 3, config: { keep: 1, sources: [sources[1]] } })
  assert.deepEqual(await management.knowledge.isIndexed(3, adminKs), { ready: false, status: "READY", indexPosition: 3 })
})

test("uploads to the catalog", async () => {
  const events: object[] = []
  const { management, last } = client({ "catalog-item/create": { itemId: "i" } }, { onAuditEvent: (event) => events.push(event) })
  const item = await management.catalog.createVoice(new Blob(["x"]), { name: "V", description: "d", consentRef: "c1" }, adminKs)
  assert.deepEqual([JSON.parse(last().body.attributes), last().body.adminTags, last().body.file.name, last().headers["content-type"]], [{ voice: { language: "en", name: "V", description: "d" } }, "custom", "voice.mp3", undefined])
  assert.deepEqual([(item["_consent"] as { consentRef: string }).consentRef, (events[0] as { type: string }).type], ["c1", "clone.consent"])
  await management.catalog.createFace(new File(["x"], "me.png"), { name: "F", genderPresentation: "Feminine", glasses: true }, adminKs)
  const { visual } = JSON.parse(last().body.attributes)
  assert.deepEqual([visual.glasses, visual.background, last().body.type, last().body.file.name], [true, "Image", "Face", "me.png"])
  await management.catalog.update({ itemId: "i", adminTags: ["a", "b"], file: new Blob(["x"]) }, adminKs)
  assert.equal(last().body.adminTags, "a,b")
})

test("a session of an avatar that says audio", async () => {
  const token = `x.${btoa(JSON.stringify({ exp: Math.floor(Date.now() / 1000) + 60 }))}.y`
  const { management: { avatarSessions }, last } = client({ "avatar-session/create": { sessionId: "s1", token } })
  const session = await avatarSessions.create({ visualConfig: { id: "v", more: 1 } as never }, adminKs)
  assert.deepEqual([last().headers["authorization"], last().body, session.isExpired()], [`KS ${adminKs}`, { visualConfig: { id: "v" } }, false])
  assert.ok(session.secondsRemaining() > 55)
  await avatarSessions.say(session, new Uint8Array([1, 2]), { duration: 1.5, turnId: "t1" })
  const { audio, ...fields } = last().body
  assert.deepEqual([last().url, last().headers["authorization"], fields, audio.type, audio.name], ["https://agents.example/v1/avatar-session/s1/say-audio", `Bearer ${token}`, { turnId: "t1", duration: "1.5" }, "audio/mpeg", "audio"])
  await avatarSessions.keepAlive(session)
  assert.ok(last().url.endsWith("s1/keep-alive"))
  await assert.rejects(client({ "avatar-session/create": { sessionId: "s" } }).management.avatarSessions.create({ visualConfig: { id: "v" } }, adminKs), { code: "server_error" })
})

test("an agent is made from a sentence, and a failure says what exists", async () => {
  const answers = {
    "application/generateAgentProfile": { goal: "g", targetAudience: "t", restrictedTopics: "r", name: "Ada", openingPhrase: "Hi, I'm Ada." }, "v1/intellect/add": { id: 5 }, "v1/intellect/get": stored,
    "catalog-item/list": ({ body }: Sent) => ({ objects: [{ itemId: `first-${body.filter.typeEqual}` }] }), "avatar/create": { id: "av" }, "agent/create": { agentId: "ag" }, "application/resolveWidgetId": { widgetId: "w" },
    "v1/tool/add": { id: "t1" },
  }
  const { management, sent } = client(answers)
  const made = await management.provision({ brief: "hotel", ks: adminKs, idempotencyKey: "k", capabilities: { avatar: "on" }, tools: [tools.client({ name: "map", description: "d" })] })
  assert.deepEqual([made.name, made.configId, made.avatarId, made.agentId, made.widgetId, made.personaLint.findings], ["Ada", 5, "av", "ag", "w", []])
  assert.deepEqual([made.blocks!.capabilities, made.blocks!.tools!.ids, made.blocks!.tools!.applied], [{ applied: true, requested: ["avatar"] }, ["t1"], true])
  const of = (end: string) => sent.find(({ url }) => url.endsWith(end))!
  assert.deepEqual([of("avatar/create").headers["idempotency-key"], of("agent/create").headers["idempotency-key"]], ["k-avatar", "k-agent"])
  assert.deepEqual(of("agent/create").body, { displayName: "Ada", intellect: { intellectType: "genie", id: 5 }, avatarIds: ["av"], adminTags: ["provisioned"], maxConversationLength: 600 })
  assert.deepEqual(of("intellect/update").body.prompts.map(({ key }: { key: string }) => key), ["goal", "targetAudience", "restrictedTopics", "name"])
  const failing = client({ ...answers, "agent/create": () => json(400, { message: "no room" }) }).management
  await assert.rejects(failing.provision({ brief: "hotel", ks: adminKs }), (error: AgentError) => {
    assert.deepEqual([error.code, error.body, error.message], ["provision_failed", { failedStep: "agent.create", createdSoFar: { configId: 5, avatarId: "av" } }, "agent.create: no room"])
    return true
  })
  const blocked = client({ ...answers, "v1/intellect/get": () => json(500, {}) }).management
  assert.equal((await blocked.provision({ brief: "hotel", ks: adminKs, capabilities: { avatar: "on" } })).blocks!.capabilities!.applied, false)
})

export function typesOnly(m: Management): void {
  const found: PromiseLike<Agent[]> = m.agents.list(adminKs)
  // @ts-expect-error a deletion must be confirmed
  void m.avatars.delete("a", adminKs)
  // @ts-expect-error the id of an intellect is a number
  void m.intellects.get("1", adminKs)
  // @ts-expect-error there is no such filter
  void m.agents.list(adminKs, { filter: { name: "x" } })
  // @ts-expect-error there is no such capability state
  void m.intellects.setCapability(1, "avatar", "maybe", adminKs)
  // @ts-expect-error an account is required
  void new Sessions({ adminSecret: "x" })
  void found
}

/** An account in which much does not fit. */
function sickAccount(change: Record<string, unknown> = {}) {
  const rows = (...objects: unknown[]) => ({ totalCount: objects.length, objects })
  const mailing = {
    id: "r-3", status: "active", eventType: "analysis_updated", actions: [{ type: "sendEmail", emailTemplateId: "e-2", to: "{{ email }}" }],
    conditions: [{ field: "object.agent_id", operator: "in", value: ["a-1"] }, { field: "event.changed_keys", operator: "contains", value: "total" }],
  }
  const robin = {
    id: 7, name: "Robin", type: "external", secrets: { CRM: "***" }, allow_client_variables: false, base_directive: "{{ name }} {{ secrets.OTHER }} {{ variables.secrets.CRM }} {{ open", capabilities: { fly: "on" },
    knowledge_ids: [0, 3], tool_ids: ["t-1", "t-9"], thread_start_tools: ["t-8"], skill_ids: [{ id: "s-9", mode: "adhoc" }], user_properties_forms: { a: 1 },
  }
  return client({
    "agent/list": rows({ agentId: "a-1", displayName: "Robin", intellect: { id: 7 }, avatarIds: ["v-1", "v-2"] }, { agentId: "a-2", intellect: { id: 9 } }),
    "avatar/list": rows({ id: "v-1" }), "v1/tool/list": rows({ id: "t-1", name: "note", config: { type: "client" } }), "v1/skill/list": rows({ id: "s-1" }), "v1/knowledge/list": rows({ id: 0 }),
    "v1/intellect/list": rows(robin, { id: 8, avatar_summary_config: { analysis: { total: "The sum." } } }), "v1/intellect/get": robin,
    "insight-settings/list": rows({ id: "i-1", key: "mood", status: "disabled" }, { id: "i-2", key: "spare", status: "active" }),
    "email-template/list": rows({ id: "e-1", name: "spare" }, { id: "e-2", subject: "{{ mood }} {{ total }} {{ summary }}", body: "{{ sys__user_obj.email }} {{ sys__thread_id }} {{ colour }}" }),
    "lifecycle/list": rows(
      {
        id: "r-1", name: "all", status: "active", eventType: "session_ended",
        actions: [{ type: "triggerInsightSettingsKai", insightSettingIds: ["i-1", "i-9", ...Array.from({ length: 20 }, () => "i-1")] }, { type: "sendEmail", emailTemplateId: "e-9", to: "a@x.example" }],
      },
      { id: "r-2", status: "disabled", actions: [], conditions: [{ field: "object.agent_id", operator: "in", value: ["a-1", "a-1", "a-9", "default"] }, { field: "event.changed_keys", operator: "contains", value: "none" }] },
      mailing,
    ),
    "lifecycle/get": mailing,
    ...change,
  })
}

const shown = (findings: readonly { object: string; path: string; code: string }[]) => findings.map(({ object, path, code }) => `${object}|${path}|${code}`)

test("an account is examined, and nothing is written", async () => {
  const { management, sent } = sickAccount()
  const { findings, summary, ok, checked, skipped, _meta } = await management.doctor(adminKs)
  assert.deepEqual(new Set(shown(findings.slice(0, summary.errors))), new Set([
    "intellect 7 (Robin)|base_directive|prompt_malformed_variable", "intellect 7 (Robin)|base_directive|prompt_client_variable_not_allowed", "intellect 7 (Robin)|user_properties_forms|invalid_user_properties_forms",
    "intellect 7 (Robin)|capabilities|capabilities_invalid", "intellect 7 (Robin)|knowledge_ids|knowledge_ids_over_cap", "intellect 7 (Robin)|knowledge_ids[1]|knowledge_not_found",
    "intellect 7 (Robin)|skill_ids[0]|skill_not_found", "intellect 7 (Robin)|tool_ids[1]|tool_not_found", "intellect 7 (Robin)|thread_start_tools[0]|tool_not_found",
    "intellect 7 (Robin)|prompts|secret_ref_unresolved", "intellect 7 (Robin)|prompts|secret_ref_bad_prefix", "agent a-1 (Robin)|avatarIds[1]|avatar_not_found", "agent a-2|intellect.id|intellect_not_found",
    "lifecycle rule r-1 (all)|actions[0]|too_many_insight_settings", "lifecycle rule r-1 (all)|actions[0]|insight_setting_missing", "lifecycle rule r-1 (all)|actions[1]|template_missing_or_deleted",
    "lifecycle rule r-2|conditions[0]|agent_not_found", "lifecycle rule r-2|conditions[0]|agent_id_default",
  ]))
  assert.deepEqual(new Set(shown(findings.slice(summary.errors))), new Set([
    "intellect 7 (Robin)|type|external_intellect", "intellect 7 (Robin)|capabilities|client_tools_not_ready",
    "lifecycle rule r-1 (all)|conditions|unscoped_rule", "lifecycle rule r-1 (all)|actions[0]|insight_setting_disabled", "lifecycle rule r-1 (all)|actions[1]|email_on_session_ended",
    "lifecycle rule r-1 (all)|actions[1]|email_unfiltered", "lifecycle rule r-2|status|rule_disabled", "lifecycle rule r-2|conditions[0]|duplicate_agent_ids", "lifecycle rule r-2|conditions[1]|changed_keys_unproduced",
    "lifecycle rule r-3|actions[0]|template_tokens_unproduced", "lifecycle rule r-3|actions[0]|dtc_without_forms", "insight setting i-2 (spare)||orphan_insight_setting", "e-mail template e-1 (spare)||orphan_email_template",
  ]))
  assert.deepEqual([ok, skipped, _meta.scope], [false, {}, "account"])
  assert.deepEqual(checked, { agents: 2, avatars: 1, tools: 1, skills: 1, knowledge: 1, intellects: 2, "insight settings": 2, "e-mail templates": 2, "lifecycle rules": 3 })
  assert.deepEqual(sent.filter(({ url }) => !url.endsWith("/list")), [])
  assert.equal(sent[0]!.body.pager.pageSize, 500)
})

test("what can't be read is skipped, and what depends on it is not reported", async () => {
  const refused = () => json(403, { message: "no" })
  const { management } = sickAccount(Object.fromEntries(["agent", "avatar", "v1/tool", "v1/skill", "v1/knowledge", "insight-settings", "email-template"].map((kind) => [`${kind}/list`, refused])))
  const { findings, skipped } = await management.doctor(adminKs, { pageSize: 10 })
  assert.equal(Object.keys(skipped).length, 7)
  assert.match(skipped["tools"]!, /^forbidden/)
  assert.deepEqual(findings.filter(({ code }) => /_not_found$|^orphan|missing|unproduced|dtc/.test(code)), [])
  for (const [token, settings, code] of [["", {}, "bad_request"], [adminKs, { pageSize: 0 }, "bad_request"], [adminKs, { agentIds: ["a", "a"] }, "bad_request"], [ks("geniegpcid:7"), {}, "wrong_token_scope"]] as const) {
    await assert.rejects(management.doctor(token, settings), { code })
  }
  const cut = client({}, { fetch: (_url, init) => Promise.reject(init!.signal!.reason) })
  await assert.rejects(cut.management.doctor(adminKs, { signal: AbortSignal.abort() }), { code: "aborted" })
})

test("some agents, one intellect and one rule are examined", async () => {
  const { management } = sickAccount({ "agent/get": { agentId: "a-3", displayName: "Sam", intellect: { id: 8 }, avatarIds: ["v-1"] } })
  const { findings, checked, _meta } = await management.doctor(adminKs, { agentIds: ["a-3"] })
  assert.deepEqual([findings, checked["agents"], _meta.scope], [[], 1, "agents:a-3"])
  const intellect = await management.intellectConfig.audit(7, adminKs)
  assert.deepEqual([intellect.ok, new Set(intellect.findings.map(({ object }) => object))], [false, new Set(["intellect 7 (Robin)"])])
  const rule = await management.lifecycle.audit("r-3", adminKs)
  assert.deepEqual([rule.ok, rule.summary.warnings, rule.findings.map(({ code }) => code)], [true, 2, ["template_tokens_unproduced", "dtc_without_forms"]])
  assert.match(rule.findings[0]!.message, /\{\{ colour \}\}/)
  const form = { call_stage: "start", properties: [{ key: "email", type: "str" }] }
  const asked = sickAccount({ "v1/intellect/list": { totalCount: 1, objects: [{ id: 7, user_properties_forms: [form] }] } })
  assert.deepEqual((await asked.management.lifecycle.audit("r-3", adminKs)).findings.map(({ code }) => code), ["changed_keys_unproduced", "template_tokens_unproduced", "template_tokens_unproduced"])
})

test("each call of js/src/management is made by a test of this file", () => {
  const folder = new URL("js/src/management/", root)
  const calls = readdirSync(folder).flatMap((name) => [...readFileSync(new URL(name, folder), "utf8").matchAll(/(?:, |path: )"((?:v1\/)?[a-z][\w-]*\/[\w-]+)[?"]/g)].map(([, path]) => path!))
  assert.ok(calls.length > 70, `found only ${calls.length} calls`)
  const untested = calls.filter((path) => ![...called].some((one) => one.endsWith(`/${path}`)))
  assert.deepEqual(untested, [], "add a row with the path and the body of each to `requests` of this file")
})
