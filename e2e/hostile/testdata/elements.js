// Random orders of what a visitor and a page do with the elements.
// A sequence is repeated by its seed and number, as in orders.js.
import { AgentError } from "/js/dist/index.js"
import "/js/dist/element.js"
import "/js/dist/launcher.js"
import { agents, service } from "/e2e/pagetest/page/tools.js"
import { settled, within } from "./hostile.js"
import { pause, randomOf, typed } from "./orders.js"

const texts = ["My name is Sam.", "What is my name?", "Tell me about your day", "", " ", "https://example.com **bold**"]

/** Values of attributes; null removes the attribute. */
const attributes = {
  "agent-name": ["Ada", null],
  background: ["opaque", "transparent", null],
  captions: ["on", "off", null],
  disclosure: ["A machine.", null],
  greeting: ["Hello!", null],
  kickoff: ["Say hello", null],
  lang: ["de", "en", "fr", "xx", null],
  microphone: ["start", "click", "none", "loud", null],
  modes: ["face", "text", "face text", "text face", "neither", null],
  muted: ["", null],
  poster: ["data:image/gif;base64,R0lGODlhAQABAAAAACw=", null],
  preload: ["none", "hover", "visible", "auto", null],
  "thread-id": ["nothing", null, null, null],
  "widget-id": [agents.receptionist, agents.silent, ...Object.values(agents), "nothing", null],
}

/** Values of properties; `init` is a reply of `appInit`. */
const propertiesFor = (init) => ({
  history: [[{ who: "user", text: "Before" }, { who: "agent", text: "**Yes**" }], undefined],
  init: [() => pause(200).then(() => init), undefined],
  labels: [{ start: "Go" }, undefined],
  options: [service.session, { ...service.session, requireDisclosureAck: true }, { ...service.session, requestVars: { a: "1" } }, { ...service.session, unknown: 1 }],
  suggestions: [["One?", "Two?"], undefined],
  token: [() => Promise.reject(new Error("a token on purpose")), undefined, init.ks],
})

/** The controls of a shadow tree, and of those below it, that a visitor can use. */
export function* controlsIn(root) {
  for (const each of root.querySelectorAll("*")) {
    if (each.matches("button, summary, textarea, input, select, video") && each.checkVisibility({ visibilityProperty: true }) && !each.matches(":disabled")) yield each
    if (each.shadowRoot) yield* controlsIn(each.shadowRoot)
  }
}

export const nameOf = (control) => (control.getAttribute("aria-label") ?? control.labels?.[0]?.textContent ?? control.textContent).trim()
const shownIn = (root) => root.textContent.replace(/\s+/g, " ").slice(0, 400)

/** Runs one sequence, to its end, and returns what went wrong. It goes on until `calm` resolves, from when on nothing disturbs the service. */
async function run(seed, number, init, calm, count) {
  const random = randomOf(Math.imul(seed, 0x9e3779b1) ^ number)
  const properties = propertiesFor(init)
  const faults = []
  const steps = []
  const places = [0, 1].map(() => document.body.appendChild(document.createElement("div")))
  const tag = random.of(["agent-avatar", "agent-chat", "agent-launcher"])
  /** @type {any} */
  const element = document.createElement(tag)
  const agent = () => (tag === "agent-launcher" ? element.agent : element)
  const set = (name, value) => (value === null ? element.removeAttribute(name) : element.setAttribute(name, value))
  const { agenticUrl, genieUrl, ovpUrl } = service.addresses
  const access = { "widget-id": random.of([agents.receptionist, agents.silent]), "agentic-url": agenticUrl, "genie-url": genieUrl, "ovp-url": ovpUrl }
  for (const [name, value] of Object.entries(access)) set(name, value)
  if (random.chance(0.5)) set("modes", random.of(["text", "face text", "text face"]))
  element.options = service.session

  // What the visitor has typed in this conversation, and must be in the log, the transcript or the field.
  let sent = []
  const follow = (each) => each.addEventListener("phaseChange", ({ detail: { phase } }) => {
    steps.push(`[${phase}]`)
    if (phase === "idle") sent = []
    if (phase === "connecting") sent = sent.filter(({ at }) => at > performance.now() - 30) // the text that began it
  })
  if (tag !== "agent-launcher") follow(element)
  else element.addEventListener("agentCreated", ({ detail }) => {
    sent = []
    follow(detail.agent)
  })

  const calls = []
  const note = (name, settled) => {
    calls.push(within(settled, 60_000).then((outcome) => {
      if (outcome instanceof AgentError) outcome = outcome.code
      if (outcome === "internal_error" || outcome === "pending" || outcome.startsWith("untyped")) faults.push(`${name} came to ${outcome}`)
    }))
  }
  const call = (name, target, ...args) => {
    if (!target?.[name]) return
    steps.push(`${name}(${args})`)
    note(name, (async () => {
      try {
        await target[name](...args)
        return "resolved"
      } catch (e) {
        return typed(e)
      }
    })())
  }
  const key = (target, name) => target.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, composed: true, cancelable: true }))
  const type = (field) => {
    sent = sent.filter(({ text }) => !field.value.includes(text)) // the visitor replaces it
    field.value = random.chance(0.2) ? random.of(texts) : `Number ${steps.length}.`
    steps.push(`type ${field.value}`)
    if (field.localName === "textarea" && field.value.startsWith("Number")) sent.push({ text: field.value, at: performance.now() })
    field.dispatchEvent(new InputEvent("input", { bubbles: true, composed: true }))
    if (random.chance(0.8)) key(field, "Enter")
  }
  const press = () => {
    const control = random.of([...controlsIn(element.shadowRoot)])
    if (!control || control.matches("[part~=download]")) return
    const name = nameOf(control)
    steps.push(`press ${control.localName} ${name}`)
    count(`press ${control.part}`)
    if (control.matches("button") && !name) faults.push(`a button has no name: ${control.outerHTML}`)
    control.focus()
    if (control.matches("textarea, input[type=text]")) type(control)
    else if (control.matches("select")) {
      control.selectedIndex = random.below(control.options.length)
      control.dispatchEvent(new Event("change", { bubbles: true }))
    } else control.click()
  }
  const acts = {
    press,
    type: () => {
      const field = agent()?.shadowRoot?.querySelector("textarea")
      if (field?.checkVisibility() && !field.readOnly) type(field)
    },
    key: () => {
      const name = random.of(["Escape", "Escape", "Tab", "ArrowDown", "Enter"])
      steps.push(name)
      key(random.of([element, agent()])?.shadowRoot?.activeElement ?? element, name)
    },
    attribute: () => {
      const name = random.of(Object.keys(attributes))
      const value = random.of(attributes[name])
      steps.push(`${name}=${value}`)
      set(name, value)
    },
    property: () => {
      const name = random.of(Object.keys(properties))
      const value = random.of(properties[name])
      steps.push(`${name}: ${typeof value === "string" ? "" : (JSON.stringify(value) ?? value)}`)
      element[name] = value
    },
    start: () => call("start", agent()),
    send: () => call("send", agent(), random.of(texts)),
    load: () => call("load", agent()),
    focus: () => call("focus", element),
    show: () => call("show", element),
    move: () => {
      steps.push("move")
      random.of(places).append(element)
    },
    transport: () => {
      const { session } = agent() ?? {}
      call(random.of(["startMic", "mute", "unmute", "interrupt", "muteAudioOutput", "startPlayback", "pause", "resume", "startTapToTalk", "endTapToTalk"]), session?.transport ?? session)
    },
    rare: async () => {
      const name = random.of(["end", "startNew", "close", "away", "away", "session", "session"])
      if (name === "away") {
        steps.push("away")
        element.remove()
        await pause(random.below(50))
        random.of(places).append(element)
      } else if (name === "session") {
        call(random.of(["disconnect", "dispose", "switchMode", "removeAllListeners"]), agent()?.session, random.of(["chat", "avatar"]))
      } else call(name, name === "end" ? agent() : element)
    },
  }
  const names = [...Object.keys(acts), "press", "press", "press", "type", "type", "show", "start"]
  let calmed = false
  void calm.then(() => (calmed = true))

  /** Waits until the element has settled, and checks that what it says is true. */
  const rest = async () => {
    await Promise.all(calls)
    const at = agent()
    if (!at?.shadowRoot) return
    const root = at.shadowRoot
    const field = root.querySelector("textarea")
    let problem
    await settled(async () => {
      await pause(100)
      const { phase, session, transcript } = at
      const { state } = session ?? {}
      const lost = sent.find(({ text }) => ![root.textContent, field.value, JSON.stringify(transcript)].some((all) => all.includes(text)))
      problem =
        phase === "connecting" || phase === "reconnecting" ? "it does not settle"
        : phase === "live" && state !== "connected" ? "it is not connected"
        : phase !== "live" && !["disconnected", "error", "failed", "closed", undefined].includes(state) ? "its session goes on"
        : root.querySelector(".dots")?.checkVisibility() ? "it thinks"
        : lost ? `${lost.text} is lost`
        : undefined
      problem &&= `${problem}; phase ${phase}, state ${state}, in the field: ${field.value}, shown: ${shownIn(root)}`
      return !problem
    }, 40_000)
    if (problem) return void faults.push(problem)
    const odd = root.textContent.match(/.{0,60}(undefined|\[object|NaN).{0,60}/)
    if (odd) faults.push(`it shows ${odd[0]}`)
    if (at.phase === "live") {
      // During a pause a text waits for its end.
      if (at.session.state === "connected" && !(at.session.transport ?? at.session).paused) await works("send", at, ["disclosure_required", "thread_access_denied"], "What is my name?")
      return
    }
    for (const name of Object.keys(attributes)) element.removeAttribute(name)
    set("widget-id", agents.receptionist)
    Object.assign(element, { options: service.session, token: undefined, init: undefined })
    if (tag === "agent-launcher") element.show()
    await works("start", agent(), [])
  }
  /** What a visitor does after all has to succeed, or to come to one of the codes. */
  const works = async (method, target, codes, ...args) => {
    const outcome = await within(target[method](...args).then(() => "resolved", typed), 40_000)
    count(`${method} after all`)
    if (outcome === "resolved" ? target.phase !== "live" : !codes.includes(outcome.code)) faults.push(`after all ${method} came to ${outcome}, phase ${target.phase}, shown: ${shownIn(target.shadowRoot)}`)
  }

  places[0].append(element)
  for (let i = 5 + random.below(20); i > 0 || !calmed; i--) {
    await acts[random.of(names)]()
    if (random.chance(0.6)) await pause(random.below(random.chance(0.3) ? 2500 : 300))
  }
  const face = agent()?.session?.transport ?? agent()?.session
  if (face?.paused) call("resume", face) // until then it keeps the texts that were sent
  await rest()
  const last = agent()?.session
  element.remove()
  for (const place of places) place.remove()
  if (last) note("the last dispose", last.dispose().then(() => "resolved", typed))
  await Promise.all(calls)
  return faults.map((fault) => `sequence ${number} (${tag}: ${steps.join(", ")}): ${fault}`)
}

/** Runs the sequences from one number to another, all at once. Returns what went wrong, and how often each control was pressed. */
export async function runElements(seed, from, to, init, calm) {
  const counts = {}
  const count = (what) => (counts[what] = (counts[what] ?? 0) + 1)
  const numbers = Array.from({ length: to - from }, (_, i) => from + i)
  const faults = await Promise.all(numbers.map((number) => run(seed, number, init, calm, count)))
  return { faults: faults.flat(), counts }
}
