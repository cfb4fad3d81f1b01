// The code of a page with a chat alone, for every bundler.
import { appInit, ChatSession } from "agentruntime/chat"

/** Sends what is typed, and shows what the agent answers. */
export function begin(page) {
  const service = JSON.parse(new URLSearchParams(location.search).get("service"))
  const [form, log] = ["form", "output"].map((name) => page.querySelector(name))
  form.onsubmit = async (event) => {
    event.preventDefault()
    const init = await appInit({ widgetId: service.widgetId, ...service.addresses })
    const session = new ChatSession({ ...init, ...service.session })
    await session.connect()
    for await (const { type, content } of session.streamText(new FormData(form).get("text"))) if (type === "text") log.append(content)
    session.disconnect()
    log.dataset.state = "answered"
  }
}
