// What the tests of parts_test.go do in their pages.
import { createNoiseSuppressor } from "/js/dist/noise.js"
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
  await until(() => alpha(.5, .5) > 0)
  const [corner, face] = [alpha(.02, .05), alpha(.5, .6)]
  const video = getComputedStyle(find("video")).opacity
  element.setAttribute("background", "opaque")
  await until(() => !find("canvas[part=picture]") && getComputedStyle(find("video")).opacity === "1")
  element.setAttribute("background", "transparent")
  await until(() => find("canvas[part=picture]"))
  element.end()
  await until(() => element.phase === "ended")
  return {corner, face, video, after: !find("canvas[part=picture]")}
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
