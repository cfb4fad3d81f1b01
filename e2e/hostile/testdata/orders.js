// Random orders of all methods of the sessions, with random arguments, signals and devices.
// A sequence is repeated by its seed and number, from which everything that it does is drawn; what the
// network and the browser do meanwhile may differ.
import { AgentError, AgentSession, AvatarSession, ChatSession } from "/js/dist/index.js"
import { within } from "./hostile.js"

/** The members of the classes that are not for pages: they are `protected` in TypeScript, which can't be seen at run time. */
const inner = [
  "constructor", "afterCrash", "callActive", "close", "endsForGood", "final", "hasAnyListener", "hasListeners",
  "inactive", "leaveEarly", "listenersChanged", "live", "over", "pass", "received", "silent", "values",
]

/** The names of the methods and of the properties of a class and those that it extends, as they are at run time. */
export function membersOf({ prototype }) {
  const methods = new Set()
  const properties = new Set()
  for (let p = prototype; p !== Object.prototype; p = Object.getPrototypeOf(p)) {
    for (const name of Object.getOwnPropertyNames(p)) {
      if (!inner.includes(name)) (Object.getOwnPropertyDescriptor(p, name)?.get ? properties : methods).add(name)
    }
  }
  return { methods: [...methods], properties: [...properties] }
}

/** Random numbers from a seed (mulberry32). */
export function randomOf(seed) {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  for (let i = 0; i < 3; i++) next() // seeds that are alike begin with similar numbers
  return {
    next,
    below: (n) => Math.floor(next() * n),
    chance: (p) => next() < p,
    /** One of a list. */
    of: (list) => list[Math.floor(next() * list.length)],
  }
}

export const typed = (e) => (e instanceof AgentError ? e : `untyped: ${e}`)

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

// --- Devices

/** What a device does when it is requested; a row that is there twice is drawn twice as often. */
const manners = ["fast", "fast", "slow", "slow", "after the end", "never", "refused", "refused slowly", "unplugged", "real", "throws", "empty"]

/**
 * Replaces the page's microphones by ones that each sequence chooses. The tracks that they
 * return are copies of those of one real microphone, which stays open.
 */
export async function replaceDevices() {
  const media = navigator.mediaDevices
  const real = media.getUserMedia.bind(media)
  const source = await real({ audio: true })
  /** Every track that was ever granted, with the sequence. */
  const granted = []
  const sequences = new Map()
  const refused = () => new DOMException("refused by the test", "NotAllowedError")
  media.getUserMedia = (/** @type {any} */ constraints) => {
    const { sequence, ...audio } = constraints.audio
    const { random, end, asked } = sequences.get(sequence)
    const manner = random.of(manners)
    const ms = random.below(300)
    asked.push(`${manner} ${ms}`)
    const grant = (stream = source.clone()) => {
      for (const track of stream.getTracks()) granted.push({ sequence, track, manner })
      return stream
    }
    switch (manner) {
      case "slow":
        return pause(ms).then(() => grant())
      case "after the end":
        return end.then(() => grant())
      case "never":
        return new Promise(() => {})
      case "refused":
        return Promise.reject(refused())
      case "refused slowly":
        return pause(ms).then(() => Promise.reject(refused()))
      case "unplugged":
        return pause(ms / 10).then(() => {
          const stream = grant()
          const [track] = stream.getTracks()
          // What a browser does when a device is unplugged: a page can't.
          setTimeout(() => (track.stop(), track.dispatchEvent(new Event("ended"))), ms / 2)
          return stream
        })
      case "real":
        return real({ audio }).then(grant)
      case "throws":
        throw new TypeError("thrown by the test")
      case "empty":
        return Promise.resolve(new MediaStream())
    }
    return Promise.resolve(grant())
  }
  return { granted, sequences, close: () => source.getTracks().forEach((track) => track.stop()) }
}

// --- Arguments

const events = [
  "stateChange", "transcript", "brainSegment", "turnStart", "turnEnd", "mediaReady", "micStarted", "localMicLevel", "localSpeakingChanged",
  "controlsChanged", "devicesChanged", "modeChanged", "transportChanged", "warning", "error", "ended", "sessionCompleted",
]
const texts = ["My name is Sam.", "What is my name?", "Count slowly", "Think about it", "Tell me a long story.", "", " "]

/** The arguments of each method that needs some, drawn anew for each call; a method that is not here gets only options. */
const argumentsOf = {
  ask: (d) => [d.text(), d.options()],
  disconnect: (d) => [d.of([undefined, {}, { final: false }, { reason: "random" }])],
  emit: () => ["localMicLevel", { level: 0 }],
  next: (d) => [d.of(events), d.options()],
  notifyHtmlElementClick: (d) => [d.thing()],
  off: (d) => [d.of(events), d.listener()],
  on: (d) => [d.of(events), d.listener(), d.options()],
  onAny: (d) => [d.listener(), d.options()],
  onOAuthRequired: (d) => [d.listener()],
  onToolCall: (d) => [d.of(["cart", "page"]), d.listener()],
  once: (d) => [d.of(events), d.listener(), d.options()],
  pause: () => [],
  removeAllListeners: (d) => [d.of(events)],
  respondToTool: (d) => [d.of(["nothing", ""]), d.thing(), d.options()],
  sendCameraShot: (d) => [d.of([new Uint8Array([0xff, 0xd8, 0xff, 0xe0]), new Uint8Array(3)])],
  sendScreenShot: (d) => [d.of([new Uint8Array([0xff, 0xd8, 0xff, 0xe0]), new Uint8Array(3)])],
  sendText: (d) => [d.text(), d.options()],
  setAsrBandwidth: (d) => [d.of([0, 16, 64]), d.options()],
  setAudioEl: (d) => [d.element("audio")],
  setAudioOutput: (d) => [d.of(["", "default", "nothing"]), d.options()],
  setAudioOutputVolume: (d) => [d.next()],
  setDynamicPrompt: (d) => [d.thing()],
  setToken: (d) => [d.token],
  setVideoEl: (d) => [d.element("video")],
  speak: (d) => [d.text(), d.options()],
  stream: (d) => [d.of(events), d.options()],
  streamText: (d) => [d.text(), d.options()],
  submitStructuredDataForm: (d) => [d.thing()],
  switchMic: (d) => [d.of(["", "default", "nothing"]), d.options()],
  switchMode: (d) => [d.of(["avatar", "chat", "avatar", "chat", "neither"]), d.options()],
  updateRequestVars: (d) => [{ [d.of(["a", "b"])]: d.of(["1", 2, null]) }],
  waitForCapacity: (d) => [{ ...d.options(), maxWaitMs: d.below(300), pollIntervalMs: 50 }],
}

// --- Sequences

/** Calls that end a session: one in five of those that are drawn is made, so that the others come first. */
const ends = ["dispose", "disconnect", "stop"]

const kinds = { AvatarSession, AgentSession, ChatSession }

/**
 * Runs one sequence, to its end, with the service's options for sessions, and returns what went wrong. `connects`
 * is the probability that it begins with `connect`.
 */
async function run(seed, number, connects, service, devices, count) {
  const random = randomOf(Math.imul(seed, 0x9e3779b1) ^ number)
  const faults = []
  const steps = []
  const asked = []
  let over
  const end = new Promise((resolve) => (over = resolve))
  devices.sequences.set(number, { random: randomOf(Math.imul(seed, 0x85ebca6b) ^ number), end, asked })

  const kind = random.of(["AvatarSession", "AvatarSession", "AgentSession", "AgentSession", "ChatSession"])
  const element = (name) => (random.chance(0.3) ? null : document.createElement(name))
  const noise = {
    "takes time": () => pause(random.below(100)).then(() => null),
    fails: () => Promise.reject(new Error("a processor on purpose")),
    "is never ready": () => new Promise(() => {}),
    stops: (stream) => ({ stream, stop: () => random.chance(0.3) && Promise.reject(new Error("a processor on purpose")) }),
  }
  const face = {
    micStartMode: random.of(["deferred", "immediate"]),
    videoEl: element("video"),
    audioEl: element("audio"),
    micConstraints: { sequence: number },
    ...(random.chance(0.3) && { noiseProcessor: random.of(Object.values(noise)) }),
  }
  const mode = random.of(["avatar", "chat"])
  const own = { AvatarSession: face, AgentSession: { mode, avatar: face }, ChatSession: {} }
  const session = new kinds[kind]({ ...service, ...own[kind] })

  session.on("stateChange", ({ state }) => state === "connected" && count(count.connected, kind))
  const transport = () => (kind === "AgentSession" ? session.transport : session)
  const calls = []
  const controllers = []
  const signal = () => {
    const controller = new AbortController()
    switch (random.below(6)) {
      case 0:
        controller.abort()
        return controller.signal
      case 1:
        setTimeout(() => controller.abort(new Error("a reason of the page")), random.below(200))
        return controller.signal
      case 2:
        controllers.push(controller) // aborted before a later step
        return controller.signal
    }
    return undefined
  }
  const draws = {
    ...random,
    token: service.ks,
    text: () => random.of(texts),
    thing: () => random.of([{}, { a: 1 }, { a: { b: [null] } }]),
    options: () => random.of([undefined, {}, { signal: signal() }, { signal: signal() }]),
    element: (name) => element(name),
    // A listener that now and then calls a method itself.
    listener: () => {
      const reacts = random.chance(0.3)
      return () => void (reacts && random.chance(0.2) && step())
    },
  }

  const iterate = async (values) => {
    for await (const value of values) if (random.chance(0.1)) return value
  }
  const note = (name, settled) => {
    const result = within(settled, 40_000).then((outcome) => {
      if (outcome instanceof AgentError) {
        if (outcome.code === "internal_error") faults.push(`${name} came to internal_error: ${outcome.message}, ${outcome.cause}`)
        outcome = outcome.code
      }
      if (outcome === "pending" || outcome.startsWith("untyped")) faults.push(`${name} came to ${outcome}`)
      count(count.outcomes, outcome)
    })
    calls.push(result)
    return result
  }
  const call = (target, name) => {
    if (ends.includes(name) && !random.chance(0.2)) return
    steps.push(name)
    count(count.called, name)
    const args = argumentsOf[name]?.(draws) ?? [draws.options()]
    return note(name, (async () => {
      try {
        const value = await target[name](...args)
        if (typeof value?.next === "function") await iterate(value)
        else if (typeof value === "function" && random.chance(0.5)) value() // what `on` returns
        return "resolved"
      } catch (e) {
        return typed(e)
      }
    })())
  }
  let left = 40 // also those of listeners
  function step() {
    if (left-- <= 0) return undefined
    if (random.chance(0.2)) controllers.shift()?.abort()
    const target = random.chance(0.4) ? transport() : session
    const { methods, properties } = membersOf(target.constructor)
    void target[random.of(properties)]
    return random.chance(0.15) ? microphone() : call(target, random.of(methods))
  }
  /** More of what this test is about. */
  function microphone() {
    const target = transport()
    if ("startMic" in target) return call(target, random.of(["startMic", "startMic", "switchMic"]))
  }

  if (random.chance(connects)) {
    const connected = call(session, "connect")
    if (random.chance(0.8)) await connected
    for (let i = random.below(3); i > 0; i--) void microphone()
  }
  for (let i = 3 + random.below(12); i > 0; i--) {
    const done = step()
    switch (random.below(4)) {
      case 0:
        await pause(random.below(100))
        break
      case 1:
        await Promise.race([done, pause(random.below(500))])
    }
  }
  await note("the last dispose", session.dispose().then(() => "resolved", typed))
  over()
  await Promise.all(calls)
  return faults.map((fault) => `sequence ${number} (${kind}: ${steps.join(", ")}; devices ${asked.join(", ")}; processor ${face.noiseProcessor}): ${fault}`)
}

/**
 * Runs the sequences from one number to another, some at a time. Returns what went wrong, and how often a call
 * came to each outcome, each method was called, and each kind of session was connected.
 */
export async function runOrders(seed, from, to, atOnce, connects, service, devices) {
  const faults = []
  const count = Object.assign((counts, what) => (counts[what] = (counts[what] ?? 0) + 1), { outcomes: {}, called: {}, connected: {} })
  for (const kind of Object.values(kinds)) for (const method of membersOf(kind).methods) count.called[method] = 0
  let next = from
  const worker = async () => {
    while (next < to) faults.push(...(await run(seed, next++, connects, service, devices, count)))
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return { faults, ...count }
}
