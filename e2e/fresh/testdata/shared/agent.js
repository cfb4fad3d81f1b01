// The code of a page with an avatar, for every bundler.
import { appInit, AvatarSession } from "agentruntime"

/** Connects at a click on the button, speaks what is typed, and shows what the agent says. */
export function begin(page) {
  const service = JSON.parse(new URLSearchParams(location.search).get("service"))
  const [video, button, form, log] = ["video", "button", "form", "output"].map((name) => page.querySelector(name))
  button.onclick = async () => {
    const init = await appInit({ widgetId: service.widgetId, ...service.addresses })
    const session = new AvatarSession({ ...init, ...service.session, videoEl: video, micStartMode: "deferred" })
    session.on("transcript", ({ type, text }) => {
      if (type === "final") log.append(text, " ")
    })
    form.onsubmit = (event) => {
      event.preventDefault()
      session.speak(new FormData(form).get("text"))
    }
    await session.connect()
    log.dataset.state = session.state
  }
}
