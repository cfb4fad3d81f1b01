// An agent presents a deck: it knows which slide is shown, and turns slides when it is asked to.
import { appInit, AvatarSession, load } from "/js/dist/index.js"
import { Presenter } from "/js/dist/presenter.js"
import { Captions, drawCaptions, endMessage, errorMessage } from "/js/dist/ui.js"
import { $, make, status } from "../shared/dom.js"
import { readService } from "../shared/service.js"
import { setPressed } from "../shared/voice.js"
import { slides } from "./slides.js"

const controls = ["text", "send", "sound", "stop"].map($)

let session
let presenter
let service
let current = 1

load().catch((error) => status(errorMessage(error), true))
show(1, slides[0])
attempt(async () => {
  service = await readService()
  // The demo agent with tools has one that turns pages; ?agent= selects another.
  const tools = service.agents.find(({ name }) => name === "tools")
  if (tools && !new URLSearchParams(location.search).has("agent")) $("agent").value = tools.widgetId
  $("start").disabled = false
  $("start").focus()
})

async function start() {
  stage("busy")
  status("Connecting…")
  try {
    service ??= await readService()
    const init = await appInit({ widgetId: $("agent").value, ...service.addresses })
    session = new AvatarSession({ ...init, ...service.session, videoEl: $("video"), micStartMode: "deferred" })
    presenter = new Presenter({ session, slides, toolCallName: "go_to_page", deckOutline: true, storage: sessionStorage, onSlideChange: show })
    listen(session)
    await session.connect()
    presenter.goTo(current) // where the visitor was before
    await presenter.start()
  } catch (error) {
    ended(errorMessage(error), true)
  }
}

/** Draws a slide. */
function show(number, { title, talking_points: points, content: { visual } }) {
  current = number
  $("slide").replaceChildren(
    make("p", { className: "visual", ariaHidden: "true" }, visual),
    make("h2", {}, title),
    make("ul", {}, ...points.map((point) => make("li", {}, point))),
  )
  $("position").textContent = `${number} of ${slides.length}`
  $("previous").disabled = number === 1
  $("next").disabled = number === slides.length
}

/** The visitor turns to a slide, with or without the agent. */
function turn(to) {
  if (presenter) presenter.goTo(to)
  else if (slides[to - 1]) show(to, slides[to - 1])
}

function listen(session) {
  drawCaptions(new Captions(session), $("caption"))
  session.on("disclosure", ({ disclosureText }) => ($("disclosure").textContent = disclosureText))
  session.on("mediaReady", () => {
    stage("live")
    status("")
  })
  session.on("stateChange", ({ state }) => {
    for (const control of controls) control.disabled = state !== "connected"
    $("agent").disabled = state !== "disconnected"
    if (state === "reconnecting") status("The connection was lost. Reconnecting…")
    if (state === "connected") {
      status("")
      $("text").focus()
      sound()
    }
  })
  session.on("responsePending", () => status("Thinking…"))
  session.on("responseSettled", () => status(""))
  session.on("warning", (warning) => {
    if (warning.code !== "playback_blocked") status(errorMessage(warning), true)
    sound()
  })
  session.on("ended", ({ reason }) => ended(endMessage(reason), reason !== "disconnect"))
}

function sound() {
  const blocked = Boolean(session?.playbackBlocked)
  setPressed("sound", !blocked && !session?.audioOutputMuted, "Sound on", blocked ? "Turn the sound on" : "Sound off")
}

function ended(text, bad) {
  stage("idle")
  status(text, bad)
  for (const control of controls) control.disabled = true
  $("agent").disabled = false
  $("start").focus()
  presenter?.destroy()
  session?.disconnect()
  session = presenter = undefined
}

const stage = (state) => ($("stage").dataset.state = state)

$("start").addEventListener("click", start)
$("stop").addEventListener("click", () => session?.disconnect())
$("previous").addEventListener("click", () => turn(current - 1))
$("next").addEventListener("click", () => turn(current + 1))
$("sound").addEventListener("click", () =>
  attempt(async () => {
    if (session.playbackBlocked) await session.startPlayback()
    else if (session.audioOutputMuted) session.unmuteAudioOutput()
    else session.muteAudioOutput()
    sound()
  }),
)
$("typed").addEventListener("submit", (event) => {
  event.preventDefault()
  const text = $("text").value.trim()
  if (text === "" || !session) return
  $("text").value = ""
  attempt(() => session.speak(text))
})

async function attempt(action) {
  try {
    await action()
  } catch (error) {
    status(errorMessage(error), true)
  }
}
