// Charts of the last measurements, drawn as lines.
import { $, make } from "../shared/dom.js"

// How many measurements are shown.
const shown = 60
const [width, height] = [240, 48]

const measures = {
  bitrate: ["Bitrate", "kbit/s", 0],
  rtt: ["Round trip", "ms", 0],
  loss: ["Loss", "%", 1],
  frames: ["Frames", "per second", 0],
}

const charts = Object.fromEntries(Object.entries(measures).map(([name, [title, unit, digits]]) => {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg")
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`)
  svg.setAttribute("preserveAspectRatio", "none")
  svg.setAttribute("aria-hidden", "true")
  const line = document.createElementNS(svg.namespaceURI, "polyline")
  svg.append(line)
  const caption = make("figcaption", {}, `${title}: –`)
  const figure = make("figure", {}, caption, svg)
  figure.dataset.measure = name
  $("charts").append(figure)
  const values = []
  const add = (value) => {
    values.push(value)
    if (values.length > shown) values.shift()
    const most = Math.max(...values, 1)
    line.setAttribute("points", values.map((each, i) => `${(i * width) / (shown - 1)},${height - 2 - (each / most) * (height - 4)}`).join(" "))
    caption.textContent = `${title}: ${value.toFixed(digits)} ${unit}, at most ${most.toFixed(digits)}`
  }
  return [name, add]
}))

/** Shows the quality that a session reports about its picture, and the frames of a video. */
export function showQuality(session, video) {
  let last
  session.on("connectionQuality", ({ channel, rttMs, packetLossPct, bitrateKbps }) => {
    if (channel === "asr") return // the microphone
    charts.bitrate(bitrateKbps)
    charts.rtt(rttMs)
    charts.loss(packetLossPct)
    const now = { at: performance.now(), frames: video.getVideoPlaybackQuality().totalVideoFrames }
    if (last) charts.frames(Math.max(0, ((now.frames - last.frames) * 1000) / (now.at - last.at)))
    last = now
  })
}

/** Shows how long each phase of a connect took. */
export function showTimings(timings) {
  const phases = Object.entries(timings).sort(([, a], [, b]) => a - b)
  const longest = Math.max(...phases.map(([, ms]) => ms), 1)
  $("waterfall").tBodies[0].replaceChildren(...phases.map(([phase, ms]) => {
    const row = make("tr", {}, make("th", { scope: "row" }, phase))
    row.insertCell().textContent = `${ms} ms`
    row.insertCell().append(make("progress", { max: longest, value: ms, ariaHidden: "true" }))
    return row
  }))
}
