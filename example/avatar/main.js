// An agent with a face, in plain JavaScript. The three lines that a page needs
// are in start(); the rest shows the state.
import { appInit, AvatarSession, load } from "/js/dist/index.js"
import { Captions } from "../shared/captions.js"
import { $, make, status } from "../shared/dom.js"
import { Events } from "../shared/events.js"
import { endMessage, errorMessage } from "../shared/messages.js"
import { readService } from "../shared/service.js"
import { setPressed, VoiceControls } from "../shared/voice.js"

const captions = new Captions($("caption"))
const events = new Events($("events"))
const voice = new VoiceControls(() => session, attempt)
const shown = [
  "stateChange", "disclosure", "micStarted", "interrupted", "turnStart", "turnEnd", "toolCall", "reconnecting", "reconnected",
  "mediaRecovering", "mediaRecovered", "sessionCompleted", "warning", "error",
]
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
    session = new AvatarSession({ ...init, ...service.session, videoEl: $("video"), statsIntervalMs: 1000 })
    addListeners(session)
    await session.connect()
  } catch (error) {
    onEnded(errorMessage(error), true)
    events.add("connect", `${error.code ?? ""} ${error.message}`)
  }
}

function addListeners(session) {
  session.on("mediaReady", () => {
    stage("live")
    status("")
  })
  session.on("stateChange", ({ state }) => {
    for (const control of controls) control.disabled = state !== "connected"
    $("agent").disabled = state !== "disconnected"
    if (state === "connected") $("text").focus()
    if (state === "reconnecting") status("The connection was lost. Reconnecting…")
    if (state === "connected") {
      status("")
      voice.update()
    }
  })
  session.on("transcript", ({ type, text }) => {
    if (type === "partial") captions.add(text)
    else if (text !== "[silence]") addTranscript(type === "user" ? "You" : "Agent", text)
  })
  session.on("avatarStopTalking", () => captions.end())
  session.on("interrupted", () => captions.clear())
  session.on("userStartedTalking", () => captions.clear())
  session.on("responsePending", () => status("Thinking…"))
  session.on("responseSettled", () => status(""))
  for (const change of ["micStarted", "tapToTalkStarted", "tapToTalkEnded"]) session.on(change, () => voice.update())
  session.on("connectTimings", showTimings)
  session.on("connectionQuality", showQuality)
  session.on("warning", (warning) => {
    if (warning.code === "playback_blocked") offerPlayback()
    else status(errorMessage(warning), true)
    voice.update()
  })
  session.on("ended", ({ reason }) => onEnded(endMessage(reason), reason !== "disconnect"))
  events.listen(session, shown)
}

// Some browsers play sound only after a click.
function offerPlayback() {
  status("Click to hear the agent.")
  document.addEventListener("click", () => session?.startPlayback(), { once: true })
}

function onEnded(text, bad) {
  captions.clear()
  stage("idle")
  status(text, bad)
  $("quality").textContent = "Not connected."
  for (const control of controls) control.disabled = true
  $("agent").disabled = false
  $("pause").setAttribute("aria-pressed", "false")
  $("start").focus()
  session?.disconnect()
  session = undefined
}

const stage = (state) => ($("stage").dataset.state = state)

function addTranscript(who, text) {
  const line = make("li", {}, text)
  line.dataset.who = who
  $("said").append(line)
  $("said").scrollTop = $("said").scrollHeight
}

// Labels of the phases of a connect.
const steps = {
  micRequested: "Microphone asked for",
  socketOpen: "Socket open",
  serverConnected: "Service says hello",
  joinComplete: "Joined",
  stvNewSessionReply: "Picture promised",
  whepSent: "Offer sent",
  whepAnswer: "Answer received",
  firstTrack: "First track",
  iceConnectedStv: "Relay connected",
  asrReady: "Microphone line ready",
  firstFrame: "First picture",
  mediaReady: "Media ready",
  approved: "Start approved",
  connected: "Connected",
}

function showTimings(timings) {
  const phases = Object.entries(timings).sort(([, a], [, b]) => a - b)
  const longest = Math.max(...phases.map(([, ms]) => ms), 1)
  $("waterfall").tBodies[0].replaceChildren(
    ...phases.map(([step, ms]) => {
      const row = make("tr", {}, make("th", { scope: "row" }, steps[step] ?? step))
      const bar = make("progress", { max: longest, value: ms, ariaHidden: "true" })
      row.insertCell().textContent = `${ms} ms`
      row.insertCell().append(bar)
      return row
    }),
  )
  $("waterfall").hidden = false
}

function showQuality({ channel, rttMs, packetLossPct, bitrateKbps }) {
  if (channel !== "stv") return
  const word = packetLossPct > 5 || rttMs > 400 ? "Poor" : packetLossPct > 1 || rttMs > 150 ? "Fair" : "Good"
  $("quality").textContent =
    `${word}: ${Math.round(bitrateKbps)} kbit/s, ${Math.round(rttMs)} ms round trip, ${packetLossPct.toFixed(1)} % lost`
}

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
