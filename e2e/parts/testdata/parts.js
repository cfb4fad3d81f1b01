// What the tests of parts_test.go do in their pages.
import { createNoiseSuppressor } from "/js/dist/noise.js"
import { ScriptedVideoSession } from "/js/dist/scripted.js"
import { LevelMeter } from "/e2e/pagetest/page/measure.js"
import { find, place, until } from "/e2e/element/testdata/element.js"

export async function transparentBackground() {
  const element = await place("agent-avatar", {background: "transparent", microphone: "none"})
  await element.start()
  await until(() => find("canvas[part=picture]")?.width > 300)
  const canvas = find("canvas[part=picture]")
  const alpha = (x, y) => {
    const copy = /** @type {CanvasRenderingContext2D} */ (Object.assign(document.createElement("canvas"), {width: canvas.width, height: canvas.height}).getContext("2d"))
    copy.drawImage(canvas, 0, 0)
    return copy.getImageData(canvas.width * x, canvas.height * y, 1, 1).data[3]
  }
  await until(() => alpha(.5, .6) >= 200) // the first pictures may be coarse
  const corner = alpha(.02, .05)
  const video = getComputedStyle(find("video")).opacity
  element.setAttribute("background", "opaque")
  await until(() => !find("canvas[part=picture]") && getComputedStyle(find("video")).opacity === "1")
  element.setAttribute("background", "transparent")
  await until(() => find("canvas[part=picture]"))
  element.end()
  await until(() => element.phase === "ended")
  return {corner, video, after: !find("canvas[part=picture]")}
}

export async function noiseSuppressor() {
  const raw = await navigator.mediaDevices.getUserMedia({audio: {noiseSuppression: false, autoGainControl: false}})
  const {stream, stop} = await createNoiseSuppressor({thresholdDb: -50})(raw)
  await (await LevelMeter.at(stream.getAudioTracks()[0])).loud()
  stop()
  if (raw.active) throw new Error("the microphone is on")
  // A hum below the threshold is silent: every sample is 0.
  const context = new OfflineAudioContext(1, 24000, 48000)
  await context.audioWorklet.addModule("/js/dist/noiseworklet.js")
  const hum = context.createOscillator()
  const gain = context.createGain()
  gain.gain.value = 0.001
  hum.connect(gain).connect(new AudioWorkletNode(context, "kaltura-noise-gate")).connect(context.destination)
  hum.start()
  const peak = (await context.startRendering()).getChannelData(0).reduce((max, sample) => Math.max(max, Math.abs(sample)), 0)
  if (peak !== 0) throw new Error("the hum is heard: " + peak)
}

export async function scriptedVideo(whepUrl) {
  const videoEl = document.querySelector("main").appendChild(Object.assign(document.createElement("video"), {playsInline: true}))
  /** @type {import("/js/dist/scripted.js").ScriptedVideoOptions} */
  const options = {whepUrl, turn: {url: "turn:127.0.0.1:9"}, iceServers: [], iceTransportPolicy: "all", videoEl}
  try {
    new ScriptedVideoSession(options)
    throw new Error("a private address was accepted")
  } catch ({code, message}) {
    if (code !== "whep_private_ip") throw new Error(message)
  }
  const session = globalThis.session = new ScriptedVideoSession({...options, allowPrivateHosts: true})
  session.on("warning", ({code, message}) => console.error(code, message))
  const size = new Promise((resolve) => session.once("videoMetadata", resolve))
  await session.connect()
  if (session.state !== "connected" || videoEl.readyState < 3) throw new Error("it shows nothing")
  const {videoWidth, videoHeight} = await size
  if (videoWidth < 100 || videoHeight < 100) throw new Error("the picture has the size " + videoWidth)
  globalThis.meter = await LevelMeter.at(/** @type {MediaStream} */ (session.stream).getAudioTracks()[0])
}
