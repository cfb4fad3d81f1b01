// Buttons that cause faults of networks and busy services, with the control API of the local
// service (docs/local-service.md).
import { errorMessage } from "/js/dist/ui.js"
import { $, make, status } from "../shared/dom.js"

const session = "/sessions/newest"
const faults = [
  ["Drop the socket", `${session}/drop`],
  ["Break the media", `${session}/kill-media`],
  ["Hold the picture back", `${session}/stop-video`, { stopped: true }],
  ["Let the picture go", `${session}/stop-video`, { stopped: false }],
  ["Fail the picture", `${session}/fail-video`],
  ["End the conversation", `${session}/end`],
  ["Expire the pause", `${session}/expire-pause`],
  ["Remove the peer", `${session}/fatal`, { event: "removePeer" }],
  ["All agents busy", "/capacity", { exhausted: true }],
  ["Agents are free", "/capacity", { exhausted: false }],
  ["Refuse the next recovery", "/recovery", { refuseNext: true }],
  ["No acknowledgements", "/turns", { acknowledged: false }],
  ["Acknowledgements", "/turns", { acknowledged: true }],
  ["Lose 5 % of the media", "/links", { relay: "loss=5%" }],
  ["Delay everything by 300 ms", "/links", { relay: "delay=300ms", sockets: "delay=300ms", http: "delay=300ms" }],
  ["Cut the media", "/links", { relay: "cut" }],
  ["Good links", "/links", { relay: "none", sockets: "none", http: "none" }],
]

/** Draws the buttons; `path` is the address of the API, undefined without one. `done(name)` is called after each request. */
export function drawFaults(path, done) {
  $("faults-note").hidden = path !== undefined
  if (path === undefined) return
  $("faults").replaceChildren(...faults.map(([name, command, body]) => {
    const button = make("button", { type: "button" }, name)
    button.addEventListener("click", async () => {
      const reply = await fetch(path + command, { method: "POST", body: JSON.stringify(body ?? {}) }).catch(() => undefined)
      if (reply?.ok) return done(name)
      const { error } = (await reply?.json().catch(() => undefined)) ?? {}
      status(error ? `${name}: ${error.message}` : errorMessage({ code: "network_error" }), true)
    })
    return button
  }))
}
