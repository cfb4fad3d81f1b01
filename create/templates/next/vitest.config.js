import react from "@vitejs/plugin-react"
import { defineConfig } from "vitest/config"

process.loadEnvFile(".env")

export default defineConfig({ plugins: [react()], test: { environment: "happy-dom" } })
