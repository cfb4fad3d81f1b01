// Visitors of a live agent and of its chat. Environment variables:
//
//	SERVICE   the address of a local service; without it, the service of REGION
//	WIDGET    the agent's widget (default: silent, and receptionist for the chat)
//	VISITORS  how many live visitors there are at once (default 10)
//	HOLD      how long (default 1m)
//	CHATS     how many chats begin in a second (default 1)
//
// A widget's id is public. A token of a visitor, which is not, belongs into an environment
// variable too: new AvatarSession({ token: __ENV.TOKEN }).
import { AvatarSession, ChatSession } from "k6/x/agentruntime"
import { check, sleep } from "k6"
import http from "k6/http"

const visitors = Number(__ENV.VISITORS || 10)
const hold = __ENV.HOLD || "1m"

export const options = {
  scenarios: {
    visits: {
      executor: "ramping-vus",
      exec: "visit",
      startVUs: 0,
      stages: [
        { duration: "10s", target: visitors },
        { duration: hold, target: visitors },
        { duration: "5s", target: 0 },
      ],
      gracefulRampDown: "30s",
    },
    chats: {
      executor: "constant-arrival-rate",
      exec: "chat",
      rate: Number(__ENV.CHATS || 1),
      timeUnit: "1s",
      duration: hold,
      preAllocatedVUs: 10,
      maxVUs: 100,
    },
  },
  thresholds: {
    agentruntime_connect_failed: ["rate<0.01"],
    agentruntime_answer_failed: ["rate<0.01"],
    agentruntime_sessions_lost: ["count<1"],
    "agentruntime_connect{session:avatar}": ["p(95)<2000"],
    agentruntime_answer_first_sound: ["p(95)<1500"],
    "agentruntime_answer_first_text{session:chat}": ["p(95)<1000"],
    agentruntime_packet_loss_percent: ["avg<1"],
  },
}

// setup returns where the service is. The local service tells it, without its secrets.
export function setup() {
  if (!__ENV.SERVICE) return { addresses: { region: __ENV.REGION } }
  const { addresses, session } = http.get(`${__ENV.SERVICE}/service.json`).json()
  return { addresses, live: session }
}

export async function visit(place) {
  const session = new AvatarSession({ ...place.addresses, ...place.live, widgetId: __ENV.WIDGET || "silent" })
  try {
    await session.connect()
    const answer = await session.ask("What is a thread?")
    check(answer, { "the agent said something": (a) => a.text.length > 0 })
    sleep(1)
    const story = session.ask("Tell me a long story")
    await session.interrupt()
    check(await story, { "the agent was interrupted": (a) => a.interrupted })
  } finally {
    await session.close()
  }
}

export async function chat(place) {
  const session = new ChatSession({ ...place.addresses, widgetId: __ENV.WIDGET || "receptionist" })
  try {
    await session.connect()
    const answer = await session.ask("What is a thread?")
    check(answer, { "the agent wrote something": (a) => a.text.length > 0 })
  } finally {
    await session.close()
  }
}
