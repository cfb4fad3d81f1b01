// A scripted video: the page only shows it. What is said is the site's own business: the
// server (site.go) makes the session and sends the sound, with tokens that don't come here.
import { ScriptedVideoSession } from "/js/dist/scripted.js"
import { $, status } from "../shared/dom.js"
import { showPicture } from "../shared/picture.js"

// The service ends a session that gets no request for a minute.
const keepAliveMs = 10_000

const controls = ["text", "say", "interrupt", "stop"].map($)

showPicture()

let session
let id // by which the site knows the session
let timer

/** Sends a request to the site, and returns its answer; throws the text for the visitor. */
async function ask(path, body) {
  const reply = await fetch(path, { method: "POST", body: body && JSON.stringify(body) }).catch(() => undefined)
  if (!reply?.ok) throw new Error(reply ? await reply.text() : "The site can't be reached.")
  return reply.json()
}

const askAbout = (action, body) => ask(`/session/${id}/${action}`, body)

async function start() {
  if ($("stage").dataset.state !== "idle") return // clicked again before the button was hidden
  show("busy")
  status("Connecting…")
  try {
    const { id: made, ...options } = await ask("/session")
    id = made
    session = new ScriptedVideoSession({ ...options, videoEl: $("video") })
    session.on("error", ({ message }) => end(message))
    session.on("warning", ({ code }) => {
      if (code === "playback_blocked") status("Click the picture to hear it.", true)
    })
    await session.connect()
    timer = setInterval(() => askAbout("keep-alive").catch(({ message }) => end(message)), keepAliveMs)
    show("live")
    status("")
    $("text").focus()
  } catch ({ message }) {
    end(message)
  }
}

/** Ends the video, after an error with its text. */
function end(problem) {
  clearInterval(timer)
  session?.disconnect()
  if (id) askAbout("end").catch(() => {}) // it may have ended by itself
  session = id = undefined
  show("idle")
  status(problem ?? "The video is over.", problem !== undefined)
  $("start").focus()
}

function show(state) {
  $("stage").dataset.state = state
  for (const control of controls) control.disabled = state !== "live"
}

$("start").addEventListener("click", start)
$("stop").addEventListener("click", () => end())
$("video").addEventListener("click", async () => {
  if (await session?.startPlayback()) status("")
})
$("interrupt").addEventListener("click", () => askAbout("interrupt").catch(({ message }) => status(message, true)))
$("typed").addEventListener("submit", async (event) => {
  event.preventDefault()
  const text = $("text").value.trim()
  if (text === "") return
  $("text").value = ""
  status("")
  await askAbout("say", { text }).catch(({ message }) => status(message, true))
})
