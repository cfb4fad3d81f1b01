// The server's half of the quickstart: makes an agent from a sentence, and prints what its
// page needs and where to talk to it.
//
//   make run-quickstart
//   make run-quickstart BRIEF="An agent that helps the guests of a hotel."
//
// Without an account it starts a local service, and the agent ends with it. The account comes
// from the environment, as for agentctl: AGENTRUNTIME_SERVICE_FILE is what `localservice -json`
// printed; any other service needs AGENTRUNTIME_PARTNER_ID and AGENTRUNTIME_ADMIN_SECRET.
import { readFileSync } from "node:fs"
import { argv, env, exit, stdin } from "node:process"
// In a project of its own: "agentruntime/management" and "agentruntime/testing/local".
import { Management } from "../../js/dist/management.js"
import { startLocalService } from "../../js/dist/testing/local.js"

const brief = argv.slice(2).join(" ")
if (brief === "") {
  console.error('Say what the agent is for: node create.mjs "An agent that helps the guests of a hotel."')
  exit(2)
}

const { AGENTRUNTIME_SERVICE_FILE: file, AGENTRUNTIME_PARTNER_ID: partnerId, AGENTRUNTIME_ADMIN_SECRET: adminSecret } = env
const local = file || partnerId ? undefined : await startLocalService()
const account = file ? JSON.parse(readFileSync(file, "utf8")) : local ? { ...local, ...local.addresses } : { partnerId, adminSecret }
// What a local service prints has more than the account and its addresses.
const { agenticUrl, genieUrl, ovpUrl } = account
const management = new Management({ partnerId: account.partnerId, adminSecret: account.adminSecret, agenticUrl, genieUrl, ovpUrl })

try {
  const ks = await management.sessions.createAdminToken({ userId: "quickstart", ttlSeconds: 300 })
  const { name, agentId, widgetId } = await management.provision({ brief, ks })
  console.log(`<!-- ${name.replaceAll(/[<>]/g, "")}, agent ${agentId} -->
<script type="module">import "agentruntime/element"</script>
<agent-avatar widget-id="${widgetId}"${agenticUrl ? ` agentic-url="${agenticUrl}" genie-url="${genieUrl}" ovp-url="${ovpUrl}"` : ""}></agent-avatar>`)
  // A local service has a page with these lines.
  if (local || account.page) console.log(`\nTalk to it: ${new URL(`/example/quickstart/?agent=${agentId}`, genieUrl)}`)
} catch (error) {
  // The body of provision_failed says which step failed, and what was made.
  console.error(`${error.code ?? "error"}: ${error.message}`, error.body ?? "")
  exit(1)
}

if (local) {
  console.log("Enter or Ctrl-C ends it.")
  for await (const _ of stdin) break
  await local.stop()
}
