// One conversation in text and with a face, in plain JavaScript. The switch is
// one call, switchMode; the rest shows the state.
import { AgentSession, appInit, load, visitor } from "/js/dist/index.js"
import { Captions, ControlBar, drawCaptions, errorMessage } from "/js/dist/ui.js"
import { Conversation } from "../shared/conversation.js"
import { $, status } from "../shared/dom.js"
import { showPicture } from "../shared/picture.js"

const choices = [...document.getElementsByName("mode")]
const avatars = new WeakSet() // those that have listeners
const conversation = new Conversation({
  page: "agent",
  api: { appInit, visitor },
  create,
  changed: show,
})

let wanted // the mode that is being switched to
let voice // the buttons of the voice

showPicture()
// Loads the runtime before it is needed.
load().catch((error) => status(errorMessage(error), true))
conversation.begin()

function create(options) {
  // Widgets that this page can show; agents send them only when they are switched on.
  const capabilities = { show_link: "on", video_gallery: "on", external_video: "on" }
  const session = new AgentSession({
    ...options,
    mode: "chat", // no permission is requested before the mode is avatar
    chat: { capabilities },
    avatar: { videoEl: $("video"), micStartMode: "deferred", capabilities: { ...capabilities, avatar_show_content: "on" } },
  })
  session.on("transportChanged", ({ mode, transport }) => mode === "avatar" && addListeners(transport))
  session.on("modeChanged", ({ threadContinuity }) => {
    if (!threadContinuity && !conversation.log.empty) conversation.log.addNote("The agent could not keep what was said, and begins anew.")
  })
  session.on("mediaReady", () => stage("live"))
  drawCaptions(new Captions(session), $("caption"))
  session.on("mediaRecovering", () => status("The picture was lost. It is being brought back."))
  session.on("mediaRecovered", () => status(""))
  voice?.destroy()
  voice = new ControlBar(session, { controls: ["microphone", "volume"], labels: { controls: "Voice" }, onError: (error) => status(errorMessage(error), true) })
  $("controls").append(voice.root)
  return session
}

// Events of an avatar that the agent session does not pass on.
function addListeners(transport) {
  if (avatars.has(transport)) return
  avatars.add(transport)
  transport.on("reconnecting", () => status("The connection was lost. Reconnecting…", true))
  transport.on("reconnected", () => status(""))
}

async function change(mode) {
  const { session } = conversation
  if (wanted || session?.state !== "connected") return show()
  wanted = mode
  show()
  status(mode === "avatar" ? "The agent is coming…" : "")
  try {
    await session.switchMode(mode)
    conversation.log.announce(mode === "avatar" ? "You see and hear the agent now." : "The agent answers in text now.")
    status("")
  } catch (error) {
    status("")
    if (session === conversation.session) {
      const stays = session.mode === "avatar" ? "The agent stays." : "The conversation goes on in text."
      conversation.log.addNote(`${errorMessage(error)} ${stays}`)
    }
  }
  wanted = undefined
  show()
}

/** Updates the page for the mode and the session. */
function show() {
  const { session } = conversation
  const mode = wanted ?? session?.mode ?? "chat"
  for (const choice of choices) {
    choice.checked = choice.value === mode
    if (choice.checked && choices.includes(document.activeElement)) choice.focus()
  }
  $("mode").disabled = session === undefined
  $("mode").setAttribute("aria-busy", String(wanted !== undefined))
  $("face").hidden = mode === "chat"
  if (session?.mode !== "avatar") stage(mode === "chat" ? "idle" : "busy")
}

const stage = (state) => ($("stage").dataset.state = state)

for (const choice of choices) choice.addEventListener("change", () => change(choice.value))
