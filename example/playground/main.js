// A session of any kind with every option, and all that it reports.
import { logger, onWire } from "./wire.js"
import { AgentSession, appInit, AvatarSession, ChatSession } from "/js/dist/index.js"
import { Captions, ControlBar, drawCaptions, endMessage, errorMessage, renderMarkdown, SpokenTranscript, toWebVTT, WidgetList } from "/js/dist/ui.js"
import { $, status } from "../shared/dom.js"
import { showPicture } from "../shared/picture.js"
import { readService } from "../shared/service.js"
import { showQuality, showTimings } from "./charts.js"
import { drawFaults } from "./faults.js"
import { Lines, save, showSaid } from "./lines.js"
import { chosenOptions, drawOptions } from "./options.js"
import { Turns } from "./turns.js"

const log = new Lines("events", "event")
const wire = new Lines("wire", "wire")
const turns = new Turns()
const sessions = { avatar: AvatarSession, chat: ChatSession, agent: AgentSession }
const controls = ["interrupt", "pause", "resume", "acknowledge", "switch", "text", "send"]
const wide = matchMedia("(min-width: 1000px)")

// The values that are set by ticking an option that takes a function or an element.
const offered = {
  onTokenNeeded: async () => (await init()).ks,
  onRelayNeeded: async () => (await init()).turnCredentials,
  onAuditEvent: (event) => wire.add("audit", JSON.stringify(event)),
  onResponse: ({ status }) => wire.add("reply", String(status)),
  onBeforeSend: (text, about) => {
    log.add("onBeforeSend", JSON.stringify({ text, ...about }))
    return text
  },
  onAgentAction: (action) => {
    log.add("onAgentAction", JSON.stringify(action))
    return true
  },
  noiseProcessor: async (stream) => stream,
  audioEl: $("audio"),
}

let service
let session
let voice // its buttons
let transcript
/** The recording that is shown, if there is one. */
let shown

showPicture()
onWire((kind, text) => wire.add(kind, text))
drawOptions($("kind").value, offered)
unfold()
wide.addEventListener("change", unfold)
attempt(begin).then(() => ($("connect").disabled = false))

/** Reads the information of the service, unless it is there: it may have been away when the page was opened. */
async function begin() {
  if (service) return
  service = await readService()
  drawFaults(service.control, (name) => log.add("fault", name))
}

const init = () => appInit({ widgetId: $("agent").value, ...service.addresses })

/** Opens what has room beside the picture; in a narrow window, a person opens what is wanted. */
function unfold() {
  for (const panel of document.querySelectorAll("[data-open]")) panel.open = wide.matches
}

/** The avatar session, if there is one. */
function avatar() {
  if (session instanceof AvatarSession) return session
  return session?.mode === "avatar" ? session.transport : undefined
}

/** Shows a recording, whose reader is loaded then. */
async function openFile(file) {
  if (!file) return
  if (session) return status("Disconnect before you open a recording.", true)
  status("Reading…")
  try {
    const { openRecording, ShownRecording } = await import("./recording.js")
    const recording = await openRecording(file)
    shown?.close()
    shown = new ShownRecording(recording, log, turns)
    $("turns").closest("details").open = true
  } catch (error) {
    status(error.code === "validation_error" ? error.message : errorMessage(error), true)
  }
}

async function connect() {
  const kind = $("kind").value
  shown?.close()
  shown = undefined
  status("Connecting…")
  ready(false)
  $("stage").dataset.state = "busy"
  try {
    await begin()
    const chosen = chosenOptions() // throws for a value that is not JSON
    const video = { videoEl: $("video"), statsIntervalMs: 1000 }
    const base = { ...(await init()), ...service.session, logger }
    const own = kind === "avatar" ? video : kind === "agent" ? { avatar: { ...video, ...chosen.avatar } } : {}
    session = new sessions[kind]({ ...base, ...chosen, ...own, ...(kind === "avatar" && chosen) })
    follow(session, kind)
    await session.connect()
    connected()
  } catch (error) {
    log.add("connect", `${error.code ?? ""} ${error.message}`)
    leave(error.code ? errorMessage(error) : error.message, true)
  }
}

/** Shows what a session reports. */
function follow(session, kind) {
  session.onAny((name, payload) => {
    log.add(name, textOf(payload))
    turns.add(name, payload)
  })
  voice = new ControlBar(session, { controls: ["microphone", "volume"], labels: { controls: "Voice" }, onError: refused })
  $("interrupt").before(voice.root)
  drawCaptions(new Captions(session), $("caption"))
  transcript = new SpokenTranscript(session, { liveRegion: $("announcer") })
  transcript.onChange(() => showSaid(transcript.entries.map((entry) => ({ ...entry, who: entry.who === "user" ? "You" : "Agent" }))))
  new WidgetList(session, $("widgets"), { markdown: renderMarkdown })
  session.on("ended", ({ reason }) => leave(endMessage(reason), reason !== "disconnect"))
  if (kind === "avatar") followAvatar(session)
  if (kind !== "agent") return
  const known = new WeakSet()
  session.on("transportChanged", ({ mode, transport }) => {
    if (mode !== "avatar" || known.has(transport)) return
    known.add(transport)
    transport.onAny((name, payload) => log.add(`avatar ${name}`, textOf(payload))) // an agent session forwards some of them
    followAvatar(transport)
  })
  session.on("modeChanged", connected)
}

function followAvatar(session) {
  session.on("connectTimings", showTimings)
  session.on("turnTimings", () => {}) // with a listener, the first sound and the first frame are measured
  session.on("disclosure", ({ disclosureText }) => ($("disclosure").textContent = disclosureText))
  session.on("mediaReady", () => ($("stage").dataset.state = "live"))
  session.on("stateChange", ({ state }) => status(state === "connected" ? "" : `The session is ${state}.`))
  showQuality(session, $("video"))
}

// Payloads may contain objects of the page, such as tracks.
const textOf = (payload) => JSON.stringify(payload, (_, value) => (value instanceof EventTarget ? `(${value.constructor.name})` : value)) ?? ""

/** Updates the controls for the session. */
function connected() {
  status("")
  ready(true)
  const face = avatar()
  if (!face) $("stage").dataset.state = "idle"
  for (const id of ["interrupt", "acknowledge"]) $(id).disabled = !face
  showPause()
  $("switch").disabled = !(session instanceof AgentSession)
}

/** Offers to pause or to resume. */
function showPause() {
  const face = avatar()
  $("pause").disabled = !face || face.paused
  $("resume").disabled = !face?.paused
}

function ready(there) {
  $("connect").disabled = true
  $("disconnect").disabled = false
  for (const id of controls) $(id).disabled = !there
  $("kind").disabled = $("agent").disabled = true
}

function leave(text, bad) {
  $("stage").dataset.state = "idle"
  session?.disconnect()
  voice?.destroy()
  session = voice = undefined
  for (const id of [...controls, "disconnect"]) $(id).disabled = true
  for (const id of ["connect", "kind", "agent"]) $(id).disabled = false
  status(text, bad)
}

async function attempt(action) {
  try {
    await action()
  } catch (error) {
    refused(error)
  }
}

function refused(error) {
  log.add("refused", `${error.code ?? ""} ${error.message}`)
  status(errorMessage(error), true)
}

const press = (id, action) => $(id).addEventListener("click", () => attempt(action))
$("connect").addEventListener("click", connect)
$("open").addEventListener("click", () => $("file").click())
$("file").addEventListener("change", () => {
  openFile($("file").files[0])
  $("file").value = "" // the same file may be opened again
})
document.addEventListener("dragover", (event) => event.preventDefault()) // otherwise the browser leaves the page for the file
document.addEventListener("drop", (event) => {
  event.preventDefault()
  openFile(event.dataTransfer.files[0])
})
press("disconnect", () => leave(endMessage("disconnect")))
press("interrupt", () => avatar().interrupt())
press("pause", () => {
  avatar().pause()
  showPause()
})
press("resume", () => avatar().resume().finally(showPause))
press("acknowledge", () => avatar().acknowledgeDisclosure())
press("switch", () => session.switchMode(session.mode === "avatar" ? "chat" : "avatar"))
press("vtt", () => save("transcript.vtt", shown ? shown.captions : toWebVTT(transcript?.entries ?? [], { speakers: { user: "You", agent: "Agent" } })))
$("kind").addEventListener("change", () => drawOptions($("kind").value, offered))
$("options").addEventListener("submit", (event) => event.preventDefault())
$("typed").addEventListener("submit", (event) => {
  event.preventDefault()
  const text = $("text").value.trim()
  if (text === "" || !session) return
  $("text").value = ""
  attempt(() => (session instanceof AvatarSession ? session.speak(text) : session.sendText(text)))
})
