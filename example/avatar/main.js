// An agent with a face, in plain JavaScript. The three lines that a page needs are in
// start(); the rest shows the state. example/playground shows every option and event.
import { appInit, AvatarSession, load } from "/js/dist/index.js"
import { Captions, drawCaptions, endMessage, errorMessage, SpokenTranscript } from "/js/dist/ui.js"
import { $, make, status } from "../shared/dom.js"
import { readService } from "../shared/service.js"
import { setPressed, VoiceControls } from "../shared/voice.js"

const voice = new VoiceControls(() => session, attempt)
const controls = ["mic", "tap", "interrupt", "pause", "sound", "stop", "text", "send"].map($)

let session
let service

// Loads the runtime before it is needed.
load().catch((error) => status(errorMessage(error), true))
readAgents()

async function readAgents() {
  await attempt(async () => (service = await readService()))
  $("start").disabled = false
  $("start").focus()
}

async function start() {
  stage("busy")
  status("Connecting…")
  try {
    service ??= await readService()
    const init = await appInit({ widgetId: $("agent").value, ...service.addresses })
    session = new AvatarSession({ ...init, ...service.session, videoEl: $("video") })
    show(session)
    await session.connect()
  } catch (error) {
    onEnded(errorMessage(error), true)
  }
}

function show(session) {
  drawCaptions(new Captions(session), $("caption"))
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
  session.on("disclosure", ({ disclosureText }) => ($("disclosure").textContent = disclosureText))
  session.on("mediaReady", () => {
    stage("live")
    status("")
  })
  session.on("stateChange", ({ state }) => {
    for (const control of controls) control.disabled = state !== "connected"
    $("agent").disabled = state !== "disconnected"
    if (state === "reconnecting") status("The connection was lost. Reconnecting…")
    if (state !== "connected") return
    $("text").focus()
    status("")
    voice.update()
  })
  session.on("responsePending", () => status("Thinking…"))
  session.on("responseSettled", () => status(""))
  for (const change of ["micStarted", "tapToTalkStarted", "tapToTalkEnded"]) session.on(change, () => voice.update())
  session.on("warning", (warning) => {
    if (warning.code !== "playback_blocked") status(errorMessage(warning), true)
    voice.update()
  })
  session.on("ended", ({ reason }) => onEnded(endMessage(reason), reason !== "disconnect"))
}

function onEnded(text, bad) {
  stage("idle")
  status(text, bad)
  for (const control of controls) control.disabled = true
  $("agent").disabled = false
  $("pause").setAttribute("aria-pressed", "false")
  $("start").focus()
  session?.disconnect()
  session = undefined
}

const stage = (state) => ($("stage").dataset.state = state)

$("start").addEventListener("click", start)
$("stop").addEventListener("click", () => session?.disconnect())
$("interrupt").addEventListener("click", () => attempt(() => session.interrupt()))

$("pause").addEventListener("click", () =>
  attempt(async () => {
    if (session.paused) await session.resume()
    else session.pause()
    setPressed("pause", session.paused, "Paused", "Pause")
  }),
)

$("typed").addEventListener("submit", (event) => {
  event.preventDefault()
  const text = $("text").value.trim()
  if (text === "" || !session) return
  $("text").value = ""
  attempt(() => session.speak(text))
})

// Escape interrupts the agent, wherever the focus is.
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && session?.state === "connected") attempt(() => session.interrupt())
})

async function attempt(action) {
  try {
    await action()
  } catch (error) {
    status(errorMessage(error), true)
  }
}
