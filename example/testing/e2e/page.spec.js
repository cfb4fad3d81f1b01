// The page in a browser, with a real session: picture, voice and a lost connection.
import { expect, test as base } from "@playwright/test"
import { startLocalService } from "agentruntime/testing/local"

// Each worker has a service of its own.
const test = base.extend({
  service: [
    async ({}, use) => {
      const service = await startLocalService()
      await use(service)
      await service.stop()
    },
    { scope: "worker" },
  ],
})

test("the agent is seen, and answers", async ({ page, service }) => {
  await service.setRules([{ when: "menu", steps: [{ say: "Soup of the day." }] }])
  await page.goto(`/?service=${service.url}`)
  await page.getByRole("button", { name: "Talk" }).click()
  await expect.poll(() => page.locator("video").evaluate((video) => video.videoWidth)).toBeGreaterThan(0)
  await page.getByLabel("Your question").fill("The menu, please")
  await page.getByLabel("Your question").press("Enter")
  await expect(page.locator("#caption")).toHaveText(/day\./)
  const turn = (await service.turns()).find(({ text }) => text === "The menu, please")
  expect(turn).toMatchObject({ avatar: true, pageContext: { page: "A page with an agent" } })
})

test("a lost connection is told, and made again", async ({ page, service }) => {
  await page.goto(`/?service=${service.url}`)
  await page.getByRole("button", { name: "Talk" }).click()
  await expect(page.getByLabel("Your question")).toBeVisible()
  await service.setLinks({ sockets: "cut" })
  await service.act("drop")
  await expect(page.getByRole("alert")).toHaveText("The connection is lost …")
  await service.setLinks({ sockets: "none" })
  await expect(page.getByRole("alert")).toBeEmpty()
})
