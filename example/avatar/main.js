// An agent with a face, in plain JavaScript. A page needs the two lines with which open()
// begins, and session.connect(), which Stage calls; the rest shows what is going on.
// example/playground shows every option and event.
import { appInit, AvatarSession } from "/js/dist/index.js"
import { SpokenTranscript } from "/js/dist/ui.js"
import { $, make } from "../shared/dom.js"
import { attempt, Stage } from "../shared/stage.js"
import { setPressed } from "../shared/voice.js"

const stage = new Stage({
  async open(service) {
    const init = await appInit({ widgetId: $("agent").value, ...service.addresses })
    const session = new AvatarSession({ ...init, ...service.session, videoEl: $("video") })
    showTranscript(session)
    return session
  },
  ended: () => setPressed("pause", false),
})

function showTranscript(session) {
  const lines = new Map() // by the id of the entry
  new SpokenTranscript(session, { liveRegion: $("announcer") }).onChange(({ entry, kind }) => {
    if (kind === "removed") return lines.get(entry.id)?.remove()
    if (!lines.has(entry.id)) {
      lines.set(entry.id, $("said").appendChild(make("li")))
      lines.get(entry.id).dataset.who = entry.who === "user" ? "You" : "Agent"
    }
    lines.get(entry.id).textContent = entry.text
    $("said").scrollTop = $("said").scrollHeight
  })
}

const interrupt = () => attempt(() => stage.session.interrupt())

$("interrupt").addEventListener("click", interrupt)

// Escape interrupts the agent, wherever the focus is.
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && stage.session?.state === "connected") interrupt()
})

$("pause").addEventListener("click", () =>
  attempt(async () => {
    const { session } = stage
    if (session.paused) await session.resume()
    else session.pause()
    setPressed("pause", session.paused)
  }),
)
