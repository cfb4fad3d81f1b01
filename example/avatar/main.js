// An agent with a face, in plain JavaScript. A page needs the two lines with which open()
// begins, and session.connect(), which Stage calls; the rest shows what is going on.
// example/playground shows every option and event.
import { appInit, AvatarSession } from "/js/dist/index.js"
import { SpokenTranscript, Transcript } from "/js/dist/ui.js"
import { $ } from "../shared/dom.js"
import { agentName } from "../shared/service.js"
import { attempt, Stage } from "../shared/stage.js"

const stage = new Stage({
  async open(service) {
    const init = await appInit({ widgetId: $("agent").value, ...service.addresses })
    const session = new AvatarSession({ ...init, ...service.session, videoEl: $("video") })
    const spoken = new SpokenTranscript(session, { liveRegion: $("announcer") })
    new Transcript(session, { spoken, root: $("said"), agentName: agentName() })
    return session
  },
  ended: () => showPaused(false),
})

const showPaused = (paused) => ($("pause").ariaPressed = String(paused))
const interrupt = () => attempt(() => stage.session.interrupt())

$("interrupt").addEventListener("click", interrupt)

// Escape interrupts the agent, wherever the focus is; in the field, it has done so.
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !event.defaultPrevented && stage.session?.state === "connected") interrupt()
})

$("pause").addEventListener("click", () =>
  attempt(async () => {
    const { session } = stage
    if (session.paused) await session.resume()
    else session.pause()
    showPaused(session.paused)
  }),
)
