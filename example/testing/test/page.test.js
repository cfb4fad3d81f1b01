// @vitest-environment jsdom
// The page without a service, a network or media: every session is played by a FakeAgent.
import { readFileSync } from "node:fs"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { FakeAgent } from "agentruntime/testing"
import { mount } from "../page.js"

let agent

beforeEach(() => {
  document.documentElement.innerHTML = readFileSync("index.html", "utf8").replace(/<script[\s\S]*<\/script>/, "")
  agent = new FakeAgent({
    rules: [
      { when: "note", steps: [{ tool: { name: "save_note", args: { note: "Call back" }, wait: true } }, { say: "The page said {{ tool.status }}." }] },
      { when: "menu", steps: [{ say: "Here is the menu." }] },
    ],
  }).install()
  mount(document, { widgetId: "receptionist" })
})

afterEach(async () => {
  vi.useRealTimers()
  await agent.uninstall()
})

const element = (name) => document.querySelector(name)

const ask = (text) => {
  element("form").elements.text.value = text
  element("form").dispatchEvent(new Event("submit", { cancelable: true }))
}

const start = async () => {
  element("#start").click()
  await vi.waitFor(() => expect(element("form").hidden).toBe(false))
}

test("what the agent says is shown, and what it was told can be read", async () => {
  await start()
  ask("The menu, please")
  await vi.waitFor(() => expect(element("#caption").textContent).toContain("menu."))
  expect(agent.turns).toMatchObject([{ text: "The menu, please", pageContext: { page: "A page with an agent" } }])
})

test("a note of the agent is in the list, and the agent gets an answer", async () => {
  await start()
  ask("Take a note")
  await vi.waitFor(() => expect(element("#caption").textContent).toContain("saved."))
  expect(element("#notes").textContent).toBe("Call back")
  expect(agent.toolAnswers).toMatchObject([{ name: "save_note", response: { status: "saved" } }])
})

test("a busy service and a lost connection are told", async () => {
  agent.failConnect("capacity_unavailable")
  element("#start").click()
  await vi.waitFor(() => expect(element("#problem").textContent).toBe("Everyone is busy. Try again soon."))
  await start()
  agent.loseConnection()
  expect(element("#problem").textContent).toBe("The connection is lost …")
  agent.recover()
  expect(element("#problem").textContent).toBe("")
})

test("captions follow the voice, on mocked timers", async () => {
  await start()
  vi.useFakeTimers()
  agent.voiceMs = 1_000
  await vi.advanceTimersByTimeAsync(2_000)
  ask("menu")
  await vi.advanceTimersByTimeAsync(500)
  expect(element("#caption").textContent).toBe("Here is the")
  await vi.advanceTimersByTimeAsync(1_000)
  expect(element("#caption").textContent).toBe("menu.")
})
