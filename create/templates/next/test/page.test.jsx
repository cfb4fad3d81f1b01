import { FakeAgent } from "agentruntime/testing"
import { createRoot } from "react-dom/client"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import Page from "../app/page.jsx"

const agent = new FakeAgent({ rules: [{ when: "breakfast", steps: [{ say: "From seven to ten." }] }] })
beforeEach(() => agent.install())
afterEach(() => agent.uninstall())

// A busy machine takes seconds to compile the framework and the program of the agent.
test("the agent answers", { timeout: 60_000 }, async () => {
  createRoot(document.body).render(<Page />)
  const element = await vi.waitFor(() => document.querySelector("agent-avatar") ?? expect.fail("there is no agent"), 20_000)
  await customElements.whenDefined("agent-avatar")
  await element.start()
  await element.send("When is breakfast?")
  await vi.waitFor(() => expect(element.shadowRoot.textContent).toContain("From seven to ten."), 20_000)
  expect(agent.turns.map(({ text }) => text)).toEqual(["When is breakfast?"])
  await element.end()
})
