import assert from "node:assert/strict"
import { test } from "node:test"
import { act, createElement } from "react"
import { makeElementPage, until } from "./page.js"

const window = makeElementPage()
Object.assign(globalThis, { window, IS_REACT_ACT_ENVIRONMENT: true })
Object.defineProperty(globalThis, "navigator", { value: window.navigator, configurable: true }) // an older Node.js has none

test("a component whose element can't be loaded tells the visitor, the page and the console", async (t) => {
  const { createRoot } = await import("react-dom/client")
  const { AgentChat } = await import("../src/react.js")
  const lines = t.mock.method(console, "error", () => {})
  t.mock.method(customElements, "define", () => assert.fail("no network"))
  const errors: unknown[] = []
  const body = window.document.body.appendChild(window.document.createElement("main"))
  const root = createRoot(body)
  await act(async () => root.render(createElement(AgentChat, { widgetId: "w", on: { error: (error) => errors.push(error) } })))
  await until("the page is told", () => errors.length > 0, () => act(() => new Promise((resolve) => setTimeout(resolve, 5))))
  assert.equal((errors[0] as { code: string }).code, "load_failed")
  assert.match(body.textContent!, /could not be loaded/)
  assert.match(String(lines.mock.calls[0]!.arguments[0]), /^agentruntime: <agent-chat>: .*no network\. https:.*load_failed$/)
  await act(async () => root.unmount())
})
