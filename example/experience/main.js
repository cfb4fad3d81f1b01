// An agent with a face that shows widgets and uses a tool of the page.
import { appInit, AvatarSession, load } from "/js/dist/index.js"
import { Captions, drawCaptions, endMessage, errorMessage, renderMarkdown, WidgetList } from "/js/dist/ui.js"
import { $, make, status } from "../shared/dom.js"
import { readService } from "../shared/service.js"
import { VoiceControls } from "../shared/voice.js"

const controls = ["mic", "tap", "text", "send", "sound", "stop"].map($)
const voice = new VoiceControls(() => session, attempt)

let session
let service

load().catch((error) => status(errorMessage(error), true))
attempt(async () => {
  service = await readService()
  // The demo agent with tools; ?agent= selects another.
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
    session = new AvatarSession({
      ...init, ...service.session, videoEl: $("video"), micStartMode: "deferred",
      // The widgets that this page draws; agents send them only when they are switched on.
      capabilities: { avatar_show_content: "on", show_link: "on", video_gallery: "on", external_video: "on" },
    })
    listen(session)
    addTools(session)
    await session.connect()
  } catch (error) {
    ended(errorMessage(error), true)
  }
}

/** What the agent may do on this page. */
function addTools(session) {
  session.onToolCall(
    "save_note",
    async ({ args: { note }, toolMetadata: { id, waitForResponse } }) => {
      $("notes").append(make("li", {}, note))
      const result = { status: "saved", notes: $("notes").children.length }
      if (waitForResponse) await session.respondToTool(id, result)
      return result
    },
    { note: { type: "str", required: true } },
  )
  session.on("toolCall", ({ name, args }) => $("calls").append(make("li", {}, `${name} ${JSON.stringify(args)}`)))
}

function listen(session) {
  drawCaptions(new Captions(session), $("caption"))
  new WidgetList(session, $("widgets"), { markdown: renderMarkdown })
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
    status("")
    $("text").focus()
    voice.update()
  })
  session.on("responsePending", () => status("Thinking…"))
  session.on("responseSettled", () => status(""))
  for (const change of ["micStarted", "tapToTalkStarted", "tapToTalkEnded"]) session.on(change, () => voice.update())
  session.on("warning", (warning) => {
    if (warning.code !== "playback_blocked") status(errorMessage(warning), true)
    voice.update()
  })
  session.on("ended", ({ reason }) => ended(endMessage(reason), reason !== "disconnect"))
}

function ended(text, bad) {
  stage("idle")
  status(text, bad)
  for (const control of controls) control.disabled = true
  $("agent").disabled = false
  $("start").focus()
  session?.disconnect()
  session = undefined
}

const stage = (state) => ($("stage").dataset.state = state)

$("start").addEventListener("click", start)
$("stop").addEventListener("click", () => session?.disconnect())
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
