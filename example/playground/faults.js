// Buttons that cause faults of networks and busy services, with the control API of the local
// service (docs/local-service.md).
import { errorMessage } from "/js/dist/ui.js"
import { $, make, status } from "../shared/dom.js"

const session = "/sessions/newest"
const faults = {
  "Connection": [
    ["Drop the socket", `${session}/drop`],
    ["Refuse the next recovery", "/recovery", { refuseNext: true }],
    ["Break the media", `${session}/kill-media`],
    ["Remove the peer", `${session}/fatal`, { event: "removePeer" }],
    ["Expire the pause", `${session}/expire-pause`],
    ["End the conversation", `${session}/end`],
  ],
  "Picture": [
    ["Hold the picture back", `${session}/stop-video`, { stopped: true }],
    ["Let the picture go", `${session}/stop-video`, { stopped: false }],
    ["Fail the picture", `${session}/fail-video`],
  ],
  "Network": [
    ["Lose 5 % of the media", "/links", { relay: "loss=5%" }],
    ["Delay everything by 300 ms", "/links", { relay: "delay=300ms", sockets: "delay=300ms", http: "delay=300ms" }],
    ["Cut the media", "/links", { relay: "cut" }],
    ["Good links", "/links", { relay: "none", sockets: "none", http: "none" }],
  ],
  "Service": [
    ["All agents busy", "/capacity", { exhausted: true }],
    ["Agents are free", "/capacity", { exhausted: false }],
    ["No acknowledgements", "/turns", { acknowledged: false }],
    ["Acknowledgements", "/turns", { acknowledged: true }],
  ],
}

/** Draws the buttons in groups, of which one is open; `path` is the address of the API, undefined without one. `done(name)` is called after each request. */
export function drawFaults(path, done) {
  $("faults-note").hidden = path !== undefined
  if (path === undefined) return
  $("faults").replaceChildren(...Object.entries(faults).map(([group, causes]) => {
    const buttons = make("div", { className: "row" }, ...causes.map((cause) => button(path, cause, done)))
    return make("details", { name: "fault" }, make("summary", {}, make("h3", {}, group)), buttons)
  }))
}

function button(path, [name, command, body = {}], done) {
  const button = make("button", { type: "button" }, name)
  button.addEventListener("click", async () => {
    const reply = await fetch(path + command, { method: "POST", body: JSON.stringify(body) }).catch(() => undefined)
    if (reply?.ok) return done(name)
    const { error } = (await reply?.json().catch(() => undefined)) ?? {}
    status(error ? `${name}: ${error.message}` : errorMessage({ code: "network_error" }), true)
  })
  return button
}
