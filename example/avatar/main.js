// An agent with a face, in plain JavaScript. The three lines that a page needs
// are in start(); the rest shows what happens.
import { appInit, AvatarSession, load } from "/js/dist/index.js"
import { Captions } from "./captions.js"
import { farewell, sentence } from "./sentences.js"

const $ = (id) => document.getElementById(id)
const captions = new Captions($("caption"))
const controls = ["mic", "interrupt", "pause", "sound", "stop", "text", "send"].map($)

let session
let service

// The runtime loads while the visitor is still reading.
load().catch((error) => say(sentence(error), true))
setUp().catch((error) => say(sentence(error), true))

async function setUp() {
  const reply = await fetch("/service.json")
  if (!reply.ok) throw new Error(`service.json: ${reply.status}`)
  service = await reply.json()
  $("agent").replaceChildren(...service.agents.map(({ name, widgetId }) => new Option(name, widgetId)))
  const wanted = new URLSearchParams(location.search).get("agent")
  const found = service.agents.find((agent) => agent.name === wanted)
  if (found) $("agent").value = found.widgetId
  $("agent").disabled = false
  $("start").disabled = false
  $("start").focus()
}

async function start() {
  stage("busy")
  say("Connecting…")
  try {
    const init = await appInit({ widgetId: $("agent").value, ...service.addresses })
    session = new AvatarSession({ ...init, ...service.session, videoEl: $("video"), statsIntervalMs: 1000 })
    listen(session)
    await session.connect()
  } catch (error) {
    over(sentence(error), true)
    log("connect", `${error.code ?? ""} ${error.message}`)
  }
}

function listen(session) {
  session.on("mediaReady", () => {
    stage("live")
    say("")
  })
  session.on("stateChange", ({ state }) => {
    log("stateChange", state)
    for (const control of controls) control.disabled = state !== "connected"
    $("agent").disabled = state !== "disconnected"
    if (state === "connected") $("text").focus()
    if (state === "reconnecting") say("The connection was lost. Reconnecting…")
    if (state === "connected") {
      say("")
      showMicrophone()
    }
  })
  session.on("transcript", ({ type, text }) => {
    if (type === "partial") captions.add(text)
    else if (text !== "[silence]") said(type === "user" ? "You" : "Agent", text)
  })
  session.on("avatarStopTalking", () => captions.end())
  session.on("interrupted", () => captions.clear())
  session.on("userStartedTalking", () => captions.clear())
  session.on("responsePending", () => say("Thinking…"))
  session.on("responseSettled", () => say(""))
  session.on("micStarted", showMicrophone)
  session.on("connectTimings", waterfall)
  session.on("connectionQuality", quality)
  session.on("warning", (warning) => {
    log("warning", warning.code)
    if (warning.code === "playback_blocked") offerPlayback()
    else say(sentence(warning), true)
    showMicrophone()
  })
  session.on("error", (error) => log("error", error.code))
  session.on("ended", ({ reason }) => over(farewell(reason), reason !== "disconnect"))
  for (const name of ["disclosure", "micStarted", "interrupted", "turnStart", "turnEnd", "toolCall", "reconnecting", "reconnected", "mediaRecovering", "mediaRecovered", "sessionCompleted"]) {
    session.on(name, (payload) => log(name, JSON.stringify(payload ?? {})))
  }
}

// A browser that plays no sound without a click gets one.
function offerPlayback() {
  say("Click to hear the agent.")
  document.addEventListener("click", () => session?.startPlayback(), { once: true })
}

function over(text, bad) {
  captions.clear()
  stage("idle")
  say(text, bad)
  $("quality").textContent = "Not connected."
  for (const control of controls) control.disabled = true
  $("agent").disabled = false
  $("pause").setAttribute("aria-pressed", "false")
  $("start").focus()
  session?.disconnect()
  session = undefined
}

const stage = (state) => ($("stage").dataset.state = state)

function say(text, bad = false) {
  $("status").textContent = text
  $("status").toggleAttribute("data-bad", bad)
}

function said(who, text) {
  const line = document.createElement("li")
  line.dataset.who = who
  line.textContent = text
  $("said").append(line)
  $("said").scrollTop = $("said").scrollHeight
}

function log(name, detail) {
  const line = document.createElement("li")
  line.textContent = `${new Date().toISOString().slice(11, 23)} ${name} ${detail}`
  $("events").prepend(line)
}

// The phases of a connect, for people.
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

function waterfall(timings) {
  const phases = Object.entries(timings).sort(([, a], [, b]) => a - b)
  const longest = Math.max(...phases.map(([, ms]) => ms), 1)
  $("waterfall").tBodies[0].replaceChildren(
    ...phases.map(([step, ms]) => {
      const row = document.createElement("tr")
      const name = document.createElement("th")
      name.scope = "row"
      name.textContent = steps[step] ?? step
      const bar = document.createElement("progress")
      bar.max = longest
      bar.value = ms
      bar.setAttribute("aria-hidden", "true")
      row.append(name)
      row.insertCell().textContent = `${ms} ms`
      row.insertCell().append(bar)
      return row
    }),
  )
  $("waterfall").hidden = false
}

function quality({ channel, rttMs, packetLossPct, bitrateKbps }) {
  if (channel !== "stv") return
  const word = packetLossPct > 5 || rttMs > 400 ? "Poor" : packetLossPct > 1 || rttMs > 150 ? "Fair" : "Good"
  $("quality").textContent =
    `${word}: ${Math.round(bitrateKbps)} kbit/s, ${Math.round(rttMs)} ms round trip, ${packetLossPct.toFixed(1)} % lost`
}

$("start").addEventListener("click", start)
$("stop").addEventListener("click", () => session?.disconnect())
$("interrupt").addEventListener("click", () => attempt(() => session.interrupt()))

$("mic").addEventListener("click", () =>
  attempt(async () => {
    if (!session.micStarted) await session.startMic()
    else if (session.micEnabled) session.mute()
    else session.unmute()
    showMicrophone()
  }),
)

function showMicrophone() {
  press("mic", Boolean(session?.micStarted && session.micEnabled), "Microphone on", "Microphone off")
}

$("sound").addEventListener("click", () => {
  if (!session) return
  if (session.audioOutputMuted) session.unmuteAudioOutput()
  else session.muteAudioOutput()
  press("sound", session.audioOutputMuted, "Unmute the agent", "Mute the agent")
})

$("pause").addEventListener("click", () =>
  attempt(async () => {
    if (session.paused) await session.resume()
    else session.pause()
    press("pause", session.paused, "Resume", "Pause")
  }),
)

$("typed").addEventListener("submit", (event) => {
  event.preventDefault()
  const text = $("text").value.trim()
  if (text === "" || !session) return
  $("text").value = ""
  attempt(() => session.speak(text))
})

// Escape silences the agent, wherever the focus is.
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && session?.state === "connected") attempt(() => session.interrupt())
})

async function attempt(action) {
  try {
    await action()
  } catch (error) {
    say(sentence(error), true)
  }
}

function press(id, pressed, on, off) {
  $(id).setAttribute("aria-pressed", String(pressed))
  $(id).textContent = pressed ? on : off
}
