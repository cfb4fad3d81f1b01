import { defineConfig } from "@playwright/test"

const { CHROME: executablePath } = process.env // otherwise Playwright's own browser

export default defineConfig({
  testDir: "e2e",
  workers: 2,
  fullyParallel: true,
  timeout: 60_000,
  expect: { timeout: 30_000 },
  use: {
    baseURL: "http://localhost:4179",
    launchOptions: { args: ["--no-sandbox", "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"], ...(executablePath && { executablePath }) },
  },
  webServer: { command: "npx vite --port 4179 --strictPort", port: 4179 },
})
