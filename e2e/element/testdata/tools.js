// What the tests of tools_test.go do in their pages.
import { place } from "./element.js"

export async function aScreenToShare() {
  globalThis.screenOf = () => {
    const canvas = Object.assign(document.createElement("canvas"), {width: 2000, height: 1000})
    const paint = () => { canvas.getContext("2d")?.fillRect(0, 0, Math.random() * 900, 900); globalThis.shown?.readyState === "ended" || requestAnimationFrame(paint) }
    const stream = canvas.captureStream()
    globalThis.shown = stream.getTracks()[0]
    paint()
    return stream
  }
  navigator.mediaDevices.getDisplayMedia = async () => globalThis.screenOf()
  await place("agent-avatar", {agent: "tools", modes: "face text", microphone: "none"})
}
