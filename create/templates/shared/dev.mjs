// npm run dev: starts an agent on your machine, and then the development server with the
// agent's addresses in its environment. Both end together.
import { spawn } from "node:child_process"
import { startLocalService } from "agentruntime/testing/local"

const service = await startLocalService({ data: ".agentruntime" })
const agent = JSON.stringify({ widgetId: "receptionist", ...service.addresses, options: service.session })
const command = process.argv.slice(2).join(" ")
const server = spawn(command, { stdio: "inherit", shell: true, env: { ...process.env, VITE_AGENT: agent, NEXT_PUBLIC_AGENT: agent } })
server.on("exit", async (code) => {
  await service.stop()
  process.exitCode = code ?? 1
})
