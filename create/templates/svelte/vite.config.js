import { svelte } from "@sveltejs/vite-plugin-svelte"
import { defineConfig } from "vitest/config"

export default defineConfig({
  plugins: [svelte()],
  // Tests run the code of the browser.
  resolve: process.env.VITEST ? { conditions: ["browser"] } : {},
  // The plugin lets Vite load some modules of agentruntime; they all must be, to be there once.
  test: { environment: "happy-dom", server: { deps: { inline: [/agentruntime/] } } },
})
