// A number of sessions that does not depend on the time, to be divided between processes.
import { AvatarSession, ChatSession } from "k6/x/agentruntime"
import http from "k6/http"

export const options = {
  scenarios: {
    visits: { executor: "per-vu-iterations", exec: "visit", vus: 4, iterations: 1 },
    chats: { executor: "shared-iterations", exec: "chat", vus: 4, iterations: 10 },
  },
}

export function setup() {
  return http.get(`${__ENV.SERVICE}/service.json`).json().addresses
}

export async function visit(place) {
  const session = new AvatarSession({ ...place, widgetId: "silent", allowPrivateHosts: true })
  await session.connect()
  await session.ask("What is a thread?")
  await session.close()
}

export async function chat(place) {
  const session = new ChatSession({ ...place, widgetId: "receptionist" })
  await session.connect()
  await session.ask("What is a thread?")
  await session.close()
}
