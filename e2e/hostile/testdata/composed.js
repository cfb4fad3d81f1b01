// @ts-nocheck: React is a bundle that the test serves
// Random orders of what pages and visitors do with the parts around a session, alone and as components of React.
// A sequence is repeated by its seed and number, as in orders.js.
import { Activity, createElement, createRoot, Fragment, startTransition, StrictMode, Suspense, use, useLayoutEffect, useRef } from "react"
import { AgentSession, AvatarSession, ChatSession } from "/js/dist/index.js"
import { AgentState, Composer, ControlBar, DeviceSelect, Transcript, useAgentSession, useAvatarSession, useChatSession } from "/js/dist/react.js"
import * as ui from "/js/dist/ui.js"
import { service } from "/e2e/pagetest/page/tools.js"
import { controlsIn, nameOf } from "./elements.js"
import { settled } from "./hostile.js"
import { pause, randomOf } from "./orders.js"

const kinds = { AgentSession: [AgentSession, useAgentSession], AvatarSession: [AvatarSession, useAvatarSession], ChatSession: [ChatSession, useChatSession] }
const over = ["closed", "disconnected", "error", "failed", "idle"]
const resting = (session) => [session, session.transport ?? session].every(({ state }) => over.includes(state) || state === "connected")
const carrier = (session) => session.transport ?? session

/** What is common to both: sessions that are followed, a visitor, and what must be true of every text. */
function scene(random, number) {
  const place = document.body.appendChild(document.createElement("div"))
  const [steps, faults, sessions, said, sent] = [[], [], [], [], []]
  const optionsOf = (kind) => {
    const face = { micStartMode: random.of(["deferred", "immediate"]), videoEl: null }
    return { AgentSession: { mode: random.of(["avatar", "chat"]), avatar: face }, AvatarSession: face, ChatSession: {} }[kind]
  }
  const follow = (session) => {
    sessions.push(session)
    session.on("stateChange", ({ state }) => steps.push(`[${state}]`), { lasting: true })
    session.on("transcript", ({ type, text }) => type === "user" && said.push({ session, text }), { lasting: true })
    session.on("turnUnconfirmed", ({ typed }) => said.push({ session, text: typed }), { lasting: true }) // the log has it, with a note
    return session
  }
  const key = (target, name) => target.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }))
  const type = (field) => {
    sent.splice(0, Infinity, ...sent.filter(({ text }) => !field.value.includes(text))) // the visitor replaces it
    field.value = `Number ${number}-${steps.length}.`
    steps.push(`type ${field.value}`)
    sent.push({ text: field.value, field })
    if (random.chance(0.7)) key(field, "Enter")
  }
  const press = () => {
    const control = random.of([...controlsIn(place)].filter((control) => !control.matches("video")))
    if (!control) return
    steps.push(`press ${nameOf(control)}`)
    if (!nameOf(control)) faults.push(`a control has no name: ${control.outerHTML}`)
    control.focus()
    if (control.matches("textarea")) type(control)
    else control.click()
  }
  /** Waits until everything has settled, and checks that each text is in a log or still in a field that is there. */
  const rest = async () => {
    for (const session of sessions) if (carrier(session).paused) void carrier(session).resume().catch(() => {})
    const fields = () => [...place.querySelectorAll("textarea")]
    const lost = () => sent.find(({ text, field }) => fields().includes(field) && !said.some((each) => each.text.includes(text)) && !fields().some(({ value }) => value.includes(text)))
    await settled(async () => (await pause(100), sessions.every(resting) && !lost() && !place.querySelector("[data-is=thinking]")), 40_000)
    for (const session of sessions) if (!resting(session)) faults.push(`a session does not settle: ${session.state}`)
    if (lost()) faults.push(`${lost().text} is lost; in the fields: ${fields().map(({ value }) => value)}`)
    for (const log of place.querySelectorAll(".agent-transcript")) {
      const turns = [...log.querySelectorAll(".user .text")].map(({ textContent }) => textContent)
      for (const text of turns) if (turns.filter((each) => each === text).length > 1) faults.push(`${text} is twice in a log`)
    }
  }
  /** Does things in a random order, some of them at once. */
  const play = async (acts) => {
    for (let i = 10 + random.below(15); i > 0; i--) {
      acts[random.of([...Object.keys(acts), "press", "press", "press"])]()
      if (random.chance(0.6)) await pause(random.below(300))
    }
    await rest()
  }
  const call = (method, target, ...args) => {
    steps.push(`${method}(${args})`)
    try {
      target?.[method]?.(...args)?.catch?.(() => {})
    } catch {
      // not in this state
    }
  }
  const visitor = {
    press,
    type: () => [...place.querySelectorAll("textarea")].filter((field) => field.checkVisibility()).slice(0, 1).forEach(type),
    key: () => place.contains(document.activeElement) && key(document.activeElement, random.of(["Escape", "Enter"])),
    transport: () => sessions.length > 0 && call(random.of(["startMic", "mute", "unmute", "interrupt", "muteAudioOutput", "startTapToTalk", "endTapToTalk"]), carrier(random.of(sessions))),
    session: () => sessions.length > 0 && call(random.of(["switchMode", "switchMode", "removeAllListeners", ...(random.chance(0.2) ? ["disconnect", "dispose"] : [])]), random.of(sessions), random.of(["chat", "avatar"])),
  }
  const end = async (what) => {
    await Promise.all(sessions.map((session) => session.dispose().catch(() => {})))
    place.remove()
    return faults.map((fault) => `sequence ${number} (${what}: ${steps.join(", ")}): ${fault}`)
  }
  return { place, steps, faults, sessions, optionsOf, follow, call, visitor, play, end }
}

/** What a visitor sees of a part: its buttons, and what the agent does. */
const look = (root) =>
  [root, ...root.querySelectorAll("button")].map((e) => [e.dataset.is ?? "", nameOf(e), e.hidden, e.disabled, e.ariaPressed].join(" ")).join("\n")

/** Parts without a framework: at the end each of them shows what a new one shows. */
async function runParts(random, number, init) {
  const { place, steps, faults, sessions, optionsOf, follow, call, visitor, play, end } = scene(random, number)
  for (let i = 1 + random.below(2); i > 0; i--) {
    const kind = random.of(Object.keys(kinds))
    steps.push(kind)
    follow(new kinds[kind][0]({ ...init, ...optionsOf(kind) }))
  }
  const parts = []
  const make = () => {
    const [name, session] = [random.of(["AgentState", "Composer", "ControlBar", "DeviceSelect", "Transcript"]), random.of(sessions)]
    steps.push(name)
    const part = new ui[name](session)
    place.append(part.root)
    parts.push({ name, session, part })
  }
  const one = () => parts[random.below(parts.length)]
  make()
  await play({
    ...visitor,
    make,
    connect: () => call("connect", random.of(sessions)),
    move: () => place.prepend(one().part.root),
    follow: () => {
      const entry = one()
      if (!entry.part.follow) return
      steps.push(`${entry.name} follows another`)
      entry.part.follow((entry.session = random.of(sessions)))
    },
    destroy: () => {
      if (parts.length < 2) return
      const [{ name, part }] = parts.splice(random.below(parts.length), 1)
      steps.push(`destroy ${name}`)
      part.destroy()
    },
  })
  const odd = () => {
    for (const { name, session, part } of parts) {
      if (["DeviceSelect", "Transcript"].includes(name)) continue
      part.root.querySelector("[aria-expanded=true]")?.click() // open menus, which a new one does not have
      const other = new ui[name](session)
      const [is, would] = [look(part.root), look(other.root)]
      other.destroy()
      if (is !== would && !/hearing|listening/.test(is + would)) return `${name} of a session that is ${session.state} shows\n${is}\nand a new one\n${would}`
    }
  }
  await settled(async () => (await pause(100), !odd()), 20_000)
  if (odd()) faults.push(odd())
  for (const { part } of parts) part.destroy()
  return end("parts")
}

function Waiting({ promise }) {
  use(promise)
}

/** Components of React: a hook and its parts agree with the session, of which there is one at most. */
async function runTree(random, number, init) {
  const { place, steps, faults, sessions, optionsOf, follow, visitor, play, end } = scene(random, number)
  const kind = random.of(Object.keys(kinds))
  const [Kind, useKind] = kinds[kind]
  const options = optionsOf(kind)
  const strict = random.chance(0.5)
  let hook
  let model = { key: 0, mode: "visible", auto: random.chance(0.3) }
  const labels = [undefined, { send: "Go", start: "Begin", placeholder: "Write" }]
  function Pane({ auto, agentName, labels, promise, reverse, bar = true }) {
    const video = useRef(null)
    const now = useKind({ init: () => pause(50).then(() => init), ...service.session, ...options, ...(kind !== "ChatSession" && { videoEl: video }), autoConnect: auto, createSession: (given) => follow(new Kind(given)) })
    useLayoutEffect(() => void (hook = now))
    const { session } = now
    const own = { session, labels }
    const list = [
      [Transcript, { agentName }], [Composer, {}], [AgentState, {}], [DeviceSelect, {}],
      bar && [ControlBar, { onStart: () => now.connect().catch(() => {}) }],
    ].filter(Boolean).map(([Part, props], i) => createElement(Part, { key: i, ...own, ...props }))
    return createElement(Suspense, null, kind !== "ChatSession" && createElement("video", { ref: video, playsInline: true, muted: true }), createElement(Transcript, own), reverse ? list.reverse() : list, promise && createElement(Waiting, { promise }))
  }
  const root = createRoot(place, { onRecoverableError: (e) => faults.push(`React recovered from ${e}`) })
  const draw = () => root.render(createElement(strict ? StrictMode : Fragment, null, createElement(Activity, { mode: model.mode }, createElement(Pane, model))))
  const set = (change) => {
    steps.push(Object.keys(change)[0])
    model = { ...model, ...change }
    random.chance(0.3) ? startTransition(draw) : draw()
  }
  draw()
  await settled(() => hook)
  await play({
    ...visitor,
    connect: () => void hook.connect().catch(() => {}),
    disconnect: () => random.chance(0.2) && hook.disconnect(),
    labels: () => set({ labels: random.of(labels), agentName: random.of(["Ada", undefined]) }),
    parts: () => set({ reverse: random.chance(0.5), bar: random.chance(0.8) }),
    remount: () => random.chance(0.2) && set({ key: model.key + 1 }),
    hide: () => set({ mode: random.of(["visible", "visible", "hidden"]) }),
    wait: () => set({ promise: pause(random.below(500)) }),
  })
  set({ mode: "visible", promise: undefined })
  draw()
  const odd = () => {
    const live = sessions.filter(({ state }) => !over.includes(state))
    if (live.length > 1 || (live.length === 1 && live[0] !== hook.session)) return `${live.length} sessions are open, of one component`
    const { session } = hook
    for (const [name, value] of Object.entries(hook)) {
      if (typeof value === "function" || ["error", "session"].includes(name) || !session || over.includes(session.state)) continue
      if (!Object.is(value, session[name])) return `the hook's ${name} is ${value}, the session's ${session[name]}`
    }
  }
  await settled(async () => (await pause(100), !odd()), 20_000)
  if (odd()) faults.push(odd())
  root.unmount()
  await settled(async () => (await pause(50), sessions.every(({ state }) => over.includes(state))), 20_000)
  if (!sessions.every(({ state }) => over.includes(state))) faults.push("a session is open without a component")
  return end(`React${strict ? ", strict" : ""}`)
}

/** Runs the sequences from one number to another, all at once, and returns what went wrong. */
export async function runComposed(seed, from, to, init) {
  const numbers = Array.from({ length: to - from }, (_, i) => from + i)
  return (await Promise.all(numbers.map((number) => (number % 2 ? runTree : runParts)(randomOf(Math.imul(seed, 0x9e3779b1) ^ number), number, init)))).flat()
}
