// An element whose connections the test breaks, and what a visitor sees of it, several times
// a second.
import { appInit, load } from "/js/dist/index.js"
import "/js/dist/element.js"

const plan = await (await fetch("/plan")).json()
const token = async () => (await fetch("/token")).text()
const again = async () => appInit({ widgetId: plan.widgetId, ...plan.addresses, ...(plan.expires && { token: await token() }) })

const element = document.createElement("agent-avatar")
const { agenticUrl, genieUrl, ovpUrl } = plan.addresses
Object.assign(element, { widgetId: plan.widgetId, agenticUrl, genieUrl, ovpUrl, microphone: "none" })
if (plan.expires) element.token = token
element.options = {
  allowPrivateHosts: true,
  ...(plan.newToken && { onTokenNeeded: async () => (await again()).ks }),
  ...(plan.newLogin && { onRelayNeeded: async () => (await again()).turnCredentials }),
  ...(plan.mediaLostMs && { timeouts: { mediaLost: plan.mediaLostMs } }),
}
document.body.append(element)

const root = /** @type {ShadowRoot} */ (element.shadowRoot)
const find = (selector) => root.querySelector(selector)
const shown = (each) => each !== null && each.checkVisibility()
const textOf = (selector) => [...root.querySelectorAll(selector)].filter(shown).map((each) => each.textContent.trim()).join(" ")

const video = find("video")
const track = () => video.srcObject?.getVideoTracks()[0]
let frame = -Infinity // when the last frame of a picture was painted
const painted = (now) => {
  video.requestVideoFrameCallback(painted)
  if (track()?.readyState === "live") frame = now
}
video.requestVideoFrameCallback(painted)

const small = new OffscreenCanvas(16, 9)
const context = /** @type {OffscreenCanvasRenderingContext2D} */ (small.getContext("2d", { willReadFrequently: true }))

/** How bright the picture of a layer is, 0 to 255. */
function brightness(layer) {
  context.fillRect(0, 0, small.width, small.height)
  context.drawImage(layer, 0, 0, small.width, small.height)
  const { data } = context.getImageData(0, 0, small.width, small.height)
  let sum = 0
  for (let i = 0; i < data.length; i += 4) sum += data[i] + data[i + 1] + data[i + 2]
  return sum / (data.length / 4) / 3
}

/** What a visitor sees now. */
function look() {
  const poster = shown(find("[part=poster]"))
  const still = shown(find("[part=still]"))
  return {
    at: performance.timeOrigin + performance.now(),
    phase: element.phase,
    veil: shown(find("[part=veil]")) ? textOf("[part=veil]") : "",
    sentence: textOf("[part=message]"),
    layer: poster ? "poster" : still ? "still" : "video",
    brightness: poster ? 0 : brightness(still ? find("canvas") : video),
    age: performance.now() - frame,
  }
}

const seen = []
setInterval(() => seen.push(look()), 100)

const events = []
for (const name of ["phaseChange", "error", "ended", "mediaRecovering", "mediaRecovered", "reconnected", "warning", "avatarStopTalking", "connectivityChanged"]) {
  element.addEventListener(name, (/** @type {any} */ { detail }) => {
    const { phase, code, channel, reason, text } = detail
    if (name !== "connectivityChanged" || detail.state === "recover_failed") events.push({ at: performance.timeOrigin + performance.now(), name, phase, code, channel, reason, text })
  })
}

/** Resolves to whether a condition held within ms milliseconds; it is checked with each frame of the page. */
async function until(condition, ms) {
  const end = performance.now() + ms
  while (!condition()) {
    if (performance.now() > end) return false
    await new Promise((resolve) => requestAnimationFrame(resolve))
  }
  return true
}

globalThis.drive = {
  start: () => element.start(),
  seen: () => seen,
  events: () => events,
  /** Whether the agent has spoken its opening to the end. */
  opened: (ms) => until(() => events.some(({ name }) => name === "avatarStopTalking"), ms),
  /** Whether something happened after a time: a lost picture, a lost socket. */
  broken: (at, ms) => until(() => events.some((event) => event.at > at && ["mediaRecovering", "phaseChange"].includes(event.name)), ms),
  /** Waits for a new picture in a live element, without a veil, or for the end. */
  async picture(ms) {
    const since = performance.now()
    const over = () => ["ended", "error"].includes(element.phase)
    const back = await until(() => over() || (element.phase === "live" && frame > since && !shown(find("[part=veil]"))), ms)
    return { back, over: over(), after: performance.now() - since }
  },
  /** Sends a turn once the element is live, and resolves to whether its answer was spoken. */
  async ask(text, ms) {
    const end = performance.now() + ms
    for (let sent = false; !sent; ) {
      if (!(await until(() => element.phase === "live", end - performance.now()))) return false
      const from = events.length
      sent = await element.send(text).then(() => true, () => false)
      if (sent) return until(() => events.slice(from).some((event) => event.name === "avatarStopTalking" && event.text.includes("I understand")), end - performance.now())
      await new Promise((resolve) => requestAnimationFrame(resolve))
    }
  },
  /** Types a turn without waiting for it. */
  type: (text) => void element.send(text).catch(() => {}),
  end: () => element.end(),
  message: () => textOf("[part=message]"),
  phase: () => element.phase,
}
// A token that expires soon must not grow old during the download.
await load()
document.documentElement.dataset.ready = ""
