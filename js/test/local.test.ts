import assert from "node:assert/strict"
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { fileURLToPath } from "node:url"
import type * as Chat from "../src/chat.js"
import type { ChatEvents } from "../src/generated/events.js"
import { FakeChatSession, type Rule } from "../src/testing.js"
import { startLocalService, type LocalService, type ServiceRule } from "../src/testing/local.js"

const root = fileURLToPath(new URL("../../../", import.meta.url)) // of the repository, seen from the bundled test
const binary = `${root}build/localservice${process.platform === "win32" ? ".exe" : ""}`

/** The package as built, whose modules are beside chat.wasm. */
let chat: typeof Chat
let service: LocalService

const rules = [
  { when: "menu", steps: [{ say: "Here is the menu." }, { widget: { runtime: "followups-tool", body: { questions: ["Any drinks?"] } } }] },
  { when: "note", steps: [{ tool: { name: "save_note", args: { note: "call back" }, wait: true, timeout: 5 } }, { say: "The page said {{ tool.status }}." }] },
  { when: { contains: "two" }, steps: [{ say: "This is one sentence. This is another." }] },
  { when: "broken", steps: [{ say: "It is" }, { error: "out of order" }] },
] satisfies Rule[] & ServiceRule[]

before(async () => {
  execFileSync("go", ["build", "-o", binary, "./cmd/localservice"], { cwd: root, stdio: "inherit" })
  chat = await import(`file://${root}js/dist/chat.js`)
  service = await startLocalService({ binary, rules, args: ["-voice", "builtin"] })
})

after(async () => {
  await chat.dispose()
  await service.stop()
})

test("the command's service ends with it, also when it is killed", { skip: process.platform === "win32", timeout: 30_000 }, async () => {
  const directory = mkdtempSync(join(tmpdir(), "agentruntime-local-"))
  try {
    for (const name of ["bin.cjs", "index.cjs"]) cpSync(`${root}js/local/${name}`, join(directory, name))
    const platform = join(directory, "node_modules", `agentruntime-local-${process.platform}-${process.arch}`)
    mkdirSync(platform, { recursive: true })
    symlinkSync(binary, join(platform, "localservice"))
    const command = spawn(process.execPath, [join(directory, "bin.cjs"), "-pages", root, "-addr", "127.0.0.1:0", "-json"], { stdio: ["ignore", "pipe", "inherit"] })
    await once(command.stdout, "data") // its addresses
    const closed = once(command, "close") // the service has the same output
    command.kill("SIGKILL")
    await closed
  } finally {
    rmSync(directory, { recursive: true })
  }
})

const connected = async (options: object = {}) => {
  const init = await chat.appInit({ widgetId: "receptionist", ...service.addresses })
  const session = new chat.ChatSession({ ...init, ...options, logger: () => {} })
  await session.connect()
  return session
}

const names = [
  "transcript", "turnStart", "turnEnd", "responsePending", "responseSettled", "brainSegment", "widget", "toolCall", "toolCallResult", "warning", "error", "ended", "sessionCompleted",
] as const satisfies (keyof ChatEvents)[]

/** What a page does with a chat, and the events that it gets: with every segment's type and content. */
async function talk(session: Pick<Chat.ChatSession, "on" | "onToolCall" | "respondToTool" | "sendText" | "disconnect" | "next">): Promise<string[]> {
  const seen: string[] = []
  for (const name of names) {
    session.on(name, (payload: unknown) => {
      const { type, content, text, runtime, name: tool } = payload as Record<string, unknown>
      seen.push([name, type, name === "brainSegment" ? (typeof content === "string" && content) : text, runtime, tool].filter(Boolean).join(" "))
    })
  }
  session.onToolCall("save_note", ({ toolMetadata }) => void session.respondToTool(toolMetadata.id, { status: "saved" }))
  for (const text of ["menu", "note", "two", "broken"]) await session.sendText(text).catch(({ code }) => seen.push(`rejected ${code}`))
  session.disconnect()
  await session.next("sessionCompleted")
  return seen
}

test("a fake chat has the events of the real one, which runs in node, in their order", async () => {
  const real = await talk(await connected())
  const session = new FakeChatSession({ agent: { rules } })
  await session.connect()
  const fake = await talk(session)
  assert.ok(real.length > 60, String(real))
  assert.deepEqual(fake, real)
})

test("what a page has sent can be read, and the rules change while the service runs", async () => {
  const session = await connected({ requestVars: { plan: "free" } })
  session.setDynamicPrompt({ page: "prices" })
  await service.setRules([{ when: { any: true }, steps: [{ say: "Soup for {{ plan }}." }] }])
  assert.equal((await session.sendText("menu")).text, "Soup for free.")
  const { threadId } = session
  const turn = (await service.turns()).find((turn) => turn.threadId === threadId)!
  assert.deepEqual([turn.text, turn.avatar, turn.variables["plan"], turn.pageContext], ["menu", false, "free", { page: "prices" }])
  session.disconnect()
  await session.next("sessionCompleted")
  assert.ok((await service.completions()).some((end) => end.threadId === threadId))
  await assert.rejects(service.setRules([{ when: { any: true }, steps: [{ sing: "x" }] }]), /bad_request.*sing/)
  await assert.rejects(service.act("drop"), /no_session/)
  await assert.rejects(service.setLinks({ relay: "fog" }), /bad_request/)
})

test("two services beside each other have nothing in common", async () => {
  await using other = await startLocalService({ binary })
  assert.notEqual(other.url, service.url)
  assert.deepEqual([...other.widgets].sort(), ["audio", "novars", "receptionist", "silent", "tap", "tools"])
  const turns = (await service.turns()).length
  const session = new chat.ChatSession({ ...(await chat.appInit({ widgetId: "receptionist", ...other.addresses })), logger: () => {} })
  await session.connect()
  await session.sendText("hello")
  session.disconnect()
  assert.deepEqual([(await other.turns()).length, (await service.turns()).length], [1, turns])
})

test("a page in jsdom has the real chat too", async () => {
  const { JSDOM } = await import("jsdom")
  const { window } = new JSDOM("", { url: "https://page.example/" })
  const own = { AbortController: globalThis.AbortController, AbortSignal: globalThis.AbortSignal }
  await chat.dispose()
  // What a test runner puts into the place of Node's own.
  const { document, location, AbortController, AbortSignal } = window
  const addEventListener = window.addEventListener.bind(window)
  Object.assign(globalThis, { document, location, AbortController, AbortSignal, addEventListener, removeEventListener: window.removeEventListener.bind(window) })
  try {
    const session = await connected()
    assert.ok((await session.sendText("hello", { signal: new globalThis.AbortController().signal })).text)
    session.disconnect()
    await chat.dispose()
  } finally {
    for (const name of ["document", "location", "addEventListener", "removeEventListener"]) Reflect.deleteProperty(globalThis, name)
    Object.assign(globalThis, own)
    window.close()
  }
})

test("a service that can't start says why, and one that has started ends with its parent", async () => {
  await assert.rejects(startLocalService({ binary, args: ["-brain", "none"] }), /there is no brain "none"/)
  await assert.rejects(startLocalService({ binary: `${root}build/nothing` }), /can't be started/)
  const before = process.env["AGENTRUNTIME_LOCAL"]
  process.env["AGENTRUNTIME_LOCAL"] = binary
  await (await startLocalService()).stop()
  if (before === undefined) delete process.env["AGENTRUNTIME_LOCAL"]
  else process.env["AGENTRUNTIME_LOCAL"] = before
  assert.ok(existsSync(`${root}js/dist/testing/local.js`))
  const parent = spawn(process.execPath, ["--input-type=module", "-e", `
    import { startLocalService } from ${JSON.stringify(`file://${root}js/dist/testing/local.js`)}
    const { url } = await startLocalService({ binary: ${JSON.stringify(binary)} })
    console.log(url)
    setInterval(() => {}, 1000)`], { stdio: ["ignore", "pipe", "inherit"] })
  const url = await new Promise<string>((resolve) => parent.stdout.once("data", (line) => resolve(String(line).trim())))
  assert.equal((await fetch(`${url}/service.json`)).status, 200)
  parent.kill("SIGKILL")
  for (const until = Date.now() + 60_000; ; await new Promise((resolve) => setTimeout(resolve, 50))) {
    if (await fetch(`${url}/service.json`).then(() => false, () => true)) break
    assert.ok(Date.now() < until, "the service has outlived its parent")
  }
})
