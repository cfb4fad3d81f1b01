// A page of the parts around one session, as docs/ui.md has it.
import { appInit, AvatarSession } from "/js/dist/index.js"
import { AgentState, Composer, ControlBar, GrowingMarkdown, plainMarkdown, Transcript } from "/js/dist/ui.js"

const service = await (await fetch("/service.json")).json()
const { widgetId } = service.agents.find(({ name }) => name === "receptionist") ?? service.agents[0]
const videoEl = Object.assign(document.createElement("video"), { playsInline: true })
videoEl.setAttribute("aria-hidden", "true")

export const session = new AvatarSession({ ...(await appInit({ widgetId, ...service.addresses })), ...service.session, videoEl, micStartMode: "deferred" })
export const errors = []
const onError = (error) => errors.push(error.code)
export const state = new AgentState(session)
export const transcript = new Transcript(session, { agentName: "Robin", markdown: GrowingMarkdown, plain: plainMarkdown })
export const composer = new Composer(session, { onError })
export const bar = new ControlBar(session, { onError })
document.querySelector("main").append(state.root, videoEl, transcript.root, composer.root, bar.root)

// What the state said, in order.
const states = (globalThis.states = [state.root.dataset.is])
new MutationObserver(() => state.root.dataset.is !== states.at(-1) && states.push(state.root.dataset.is)).observe(state.root, { attributes: true, attributeFilter: ["data-is"] })
document.body.dataset.ready = ""
