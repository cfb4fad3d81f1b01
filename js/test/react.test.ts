import assert from "node:assert/strict"
import { test, type TestContext } from "node:test"
import { JSDOM } from "jsdom"
import { act, Activity, createElement, Fragment, StrictMode, Suspense, use, useRef, useState, type ReactElement } from "react"
import type { Root } from "react-dom/client"
import { renderToString } from "react-dom/server"
import { AgentError } from "../src/core/errors.js"
import { AgentAvatar, AgentChat, AgentState, Composer, ControlBar, DeviceSelect, Transcript, useAgentSession, useAvatarSession, useChatSession, VoiceBars, type AgentHook, type AvatarHook, type AvatarHookOptions, type ChatHook } from "../src/react.js"
import { FakeAgent, FakeAgentSession, FakeAvatarSession, FakeChatSession } from "../src/testing.js"
import { until as awaitTrue } from "./page.js"

const init = { ks: "token", genieUrl: "https://brain.example" }

test("on a server hooks and components render, and do nothing", () => {
  assert.equal(typeof document, "undefined")
  let made = 0
  function Page(): ReactElement {
    const video = useRef<HTMLVideoElement>(null)
    const { state, session, error } = useAvatarSession({ widgetId: "w", videoEl: video, autoConnect: true, onSession: () => made++ })
    const { state: chat } = useChatSession({ widgetId: "w" })
    const { mode } = useAgentSession({ widgetId: "w" })
    return createElement("main", null, `${state} ${session} ${error} ${chat} ${mode}`, createElement(AgentAvatar, { widgetId: "w", modes: "face text", className: "hero" }), createElement(AgentChat, { widgetId: "c" }))
  }
  const html = renderToString(createElement(StrictMode, null, createElement(Page)))
  assert.equal(html, '<main>idle null null idle avatar<agent-avatar widget-id="w" modes="face text" class="hero"></agent-avatar><agent-chat widget-id="c"></agent-chat></main>')
  assert.equal(made, 0)
})

test("on a server parts are empty elements with the page's attributes", () => {
  const Parts = (): ReactElement => {
    const { session, connect } = useAvatarSession({ widgetId: "w" })
    return createElement(Fragment, null, createElement(AgentState, { session }), createElement(VoiceBars, { session }), createElement(Transcript, { session }), createElement(DeviceSelect, { session }), createElement(Composer, { session }), createElement(ControlBar, { session, onStart: connect, className: "bar" }))
  }
  assert.equal(renderToString(createElement(StrictMode, null, createElement(Parts))), "<div></div>".repeat(5) + '<div class="bar"></div>')
})

let dom: JSDOM | undefined

/** A root for components in a page, which is made after the tests without one. What it renders is gone when the test ends. */
async function page(t: TestContext): Promise<{ root: Root; body: HTMLElement; render: (element: ReactElement) => Promise<void> }> {
  if (!dom) {
    dom = new JSDOM("<!doctype html><body></body>", { url: "https://page.example/" })
    const { window } = dom as unknown as { window: Record<string, unknown> }
    const define = (name: string, value: unknown) => Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
    define("window", window)
    for (const name of ["document", "navigator", "HTMLElement", "HTMLIFrameElement", "customElements", "Event", "CustomEvent", "Node"]) define(name, window[name])
    define("IS_REACT_ACT_ENVIRONMENT", true)
  }
  const { createRoot } = await import("react-dom/client")
  const body = document.body.appendChild(document.createElement("main"))
  const root = createRoot(body)
  t.after(async () => {
    await act(async () => root.unmount())
    await passes()
    body.remove()
  })
  return { root, body, render: (element) => act(async () => root.render(createElement(StrictMode, null, element))) }
}

/** Lets so much of the event loop pass that a session connects or ends. */
const passes = async (ms = 20) => act(() => new Promise<void>((resolve) => setTimeout(resolve, ms)))

/** Waits until what a page shows is so. */
const until = (what: string, fits: () => boolean) => awaitTrue(what, fits, () => passes(5))

/** A component with the hook, and what the hook returned last. */
function rig(agent: FakeAgent, more: Partial<AvatarHookOptions> = {}) {
  const sessions: FakeAvatarSession[] = []
  const seen: { hook?: AvatarHook; renders: number } = { renders: 0 }
  const Talk = (props: Partial<AvatarHookOptions>): ReactElement => {
    seen.renders++
    seen.hook = useAvatarSession({
      init,
      createSession: (options: object) => {
        const session = new FakeAvatarSession({ ...options, agent })
        sessions.push(session)
        return session
      },
      ...more,
      ...props,
    } as AvatarHookOptions)
    return createElement("p", null, seen.hook.state)
  }
  return { Talk, sessions, seen, hook: () => seen.hook! }
}

test("a component that is mounted twice has one session, and none when it has left", async (t) => {
  const { Talk, sessions, hook } = rig(new FakeAgent())
  const { root, body, render } = await page(t)
  await render(createElement(Talk, { autoConnect: true }))
  await until("connected", () => body.textContent === "connected")
  assert.equal(sessions.length, 1)
  assert.equal(hook().session, sessions[0])
  assert.equal(hook().error, null)
  await act(async () => root.unmount())
  await until("ended", () => sessions[0]!.state === "disconnected")
  assert.equal(sessions.length, 1)
})

test("in a page that is rendered ahead a component connects when the visitor opens it", async (t) => {
  const { Talk, sessions } = rig(new FakeAgent())
  const { body, render } = await page(t)
  Object.defineProperty(document, "prerendering", { configurable: true, value: true })
  t.after(() => delete (document as { prerendering?: boolean }).prerendering)
  await render(createElement(Talk, { autoConnect: true }))
  await passes()
  assert.equal(body.textContent, "idle")
  await act(async () => void document.dispatchEvent(new Event("prerenderingchange")))
  await until("connected", () => body.textContent === "connected")
  assert.equal(sessions.length, 1)
})

test("a component that leaves while it connects leaves no session and no error", async (t) => {
  const { Talk, sessions, seen } = rig(new FakeAgent())
  const { root, render } = await page(t)
  let give = (_: typeof init) => {}
  const asked = new Promise<typeof init>((resolve) => (give = resolve))
  await render(createElement(Talk, { init: () => asked }))
  const connected = seen.hook!.connect()
  await act(async () => root.unmount())
  await passes()
  give(init)
  await connected // not rejected
  await passes()
  assert.deepEqual(sessions.map(({ state }) => state).filter((state) => state !== "disconnected"), [])
})

test("a component that has left, or is hidden, opens no session", async (t) => {
  const agent = new FakeAgent()
  const { render } = await page(t)
  const { Talk, sessions, seen } = rig(agent)
  const shown = (mode: "visible" | "hidden") => createElement(Activity, { mode, children: createElement(Talk) })
  await render(shown("visible"))
  await render(shown("hidden"))
  await passes()
  await act(() => seen.hook!.connect())
  assert.equal(sessions.length, 0)
  await render(shown("visible"))
  await act(() => seen.hook!.connect())
  assert.equal(sessions[0]!.state, "connected")
  await render(createElement("p"))
  await passes()
  await act(() => seen.hook!.connect())
  assert.deepEqual(sessions.map(({ state }) => state), ["disconnected"])
})

test("the token is asked for at each connect, as a function or a promise of it", async (t) => {
  const { Talk, hook, sessions } = rig(new FakeAgent())
  const { render } = await page(t)
  let asked = 0
  await render(createElement(Talk, { init: async () => ({ ...init, ks: `token ${++asked}` }) }))
  assert.equal(asked, 0, "not before it connects")
  await act(() => Promise.all([hook().connect(), hook().connect()]))
  assert.deepEqual([asked, sessions.length], [1, 1])
  await act(async () => hook().disconnect())
  await act(() => hook().connect())
  assert.deepEqual([asked, sessions.length], [2, 2])
  await render(createElement(Talk, { init: () => Promise.reject(new Error("no token today")) }))
  await act(async () => hook().disconnect())
  await act(() => assert.rejects(hook().connect(), /no token today/))
  assert.match(hook().error!.message, /no token today/)
})

test("a disconnect by the page is no error, a loss is one", async (t) => {
  const agent = new FakeAgent()
  const { Talk, hook, sessions } = rig(agent)
  const { render, body } = await page(t)
  await render(createElement(Talk))
  const connecting = hook().connect()
  await act(async () => hook().disconnect())
  await connecting
  assert.equal(hook().error, null)

  await act(() => hook().connect())
  assert.equal(body.textContent, "connected")
  await act(async () => hook().disconnect({ reason: "enough" }))
  await until("disconnected", () => body.textContent === "disconnected")
  assert.equal(hook().error, null)

  await act(() => hook().connect())
  sessions.at(-1)!.removeAllListeners() // those of the page, not the hook's
  await act(async () => agent.giveUp("reconnect_failed"))
  await until("lost", () => body.textContent === "disconnected")
  await passes()
  assert.equal(hook().error?.code, "reconnect_failed")
  const before = sessions.length
  await act(() => hook().connect())
  assert.equal(hook().error, null)
  assert.equal(sessions.length, before + 1)
})

test("a component may connect again as soon as the session has ended", async (t) => {
  const agent = new FakeAgent()
  const { Talk, hook, sessions } = rig(agent)
  const Again = (): ReactElement => {
    const talk = createElement(Talk, {
      onSession: (session) => {
        if (sessions.length < 3) session.on("ended", () => void hook().connect())
      },
    })
    return talk
  }
  const { render, body } = await page(t)
  await render(createElement(Again))
  await act(() => hook().connect())
  for (const count of [2, 3]) {
    await act(async () => agent.giveUp("reconnect_failed"))
    await until(`session ${count} is connected`, () => sessions.length === count && body.textContent === "connected")
  }
})

test("an element that is rendered after a change of state is the session's at once", async (t) => {
  const seen: { session?: FakeAvatarSession | undefined; renders: number } = { renders: 0 }
  const Talk = (): ReactElement => {
    const video = useRef<HTMLVideoElement>(null)
    const { state, connect } = useAvatarSession({ init, videoEl: video, createSession: (options: object) => (seen.session = new FakeAvatarSession({ ...options, agent })) })
    return createElement("main", null, createElement("button", { onClick: () => void connect() }), state === "connected" && createElement("video", { ref: video }))
  }
  const agent = new FakeAgent()
  const { render, body } = await page(t)
  for (const method of ["play", "pause"]) Object.assign(dom!.window.HTMLMediaElement.prototype, { [method]: async () => {} })
  Object.defineProperty(dom!.window.HTMLMediaElement.prototype, "srcObject", { value: null, writable: true, configurable: true })
  await render(createElement(Talk))
  await act(async () => body.querySelector("button")!.click())
  await until("connected", () => body.querySelector("video") !== null)
  assert.equal(seen.session!.videoEl, body.querySelector("video"))
})

test("a connect that fails is an error that can be read and caught, and the next one is another", async (t) => {
  const agent = new FakeAgent()
  const { Talk, hook } = rig(agent)
  const { render } = await page(t)
  await render(createElement(Talk))
  agent.failConnect("capacity_unavailable")
  await act(() => assert.rejects(hook().connect(), (error) => error instanceof AgentError && error.code === "capacity_unavailable"))
  assert.equal(hook().error?.code, "capacity_unavailable")
  await act(() => hook().connect())
  assert.deepEqual([hook().error, hook().state], [null, "connected"])
})

test("what did not change is drawn once, and functions stay the same", async (t) => {
  const { Talk, hook, seen, sessions } = rig(new FakeAgent())
  const { render } = await page(t)
  await render(createElement(Talk, { autoConnect: true }))
  await until("connected", () => hook().state === "connected")
  await passes()
  const { connect, disconnect, toggleSound, toggleMicrophone, startPlayback } = hook()
  const { renders } = seen
  for (let i = 0; i < 10; i++) sessions[0]!.emit("turnStart", { speechId: null, turnId: "t", isNewTurn: true })
  await passes()
  assert.equal(seen.renders, renders)
  await act(async () => hook().toggleSound())
  assert.equal(hook().audioOutputMuted, true)
  assert.ok(seen.renders > renders)
  for (const [name, value] of Object.entries({ connect, disconnect, toggleSound, toggleMicrophone, startPlayback })) assert.equal(hook()[name as "connect"], value, name)
})

test("a hook follows what a part or the page has switched, and why the microphone failed", async (t) => {
  const agent = new FakeAgent()
  const { Talk, hook } = rig(agent)
  const { render, body } = await page(t)
  const Page = (): ReactElement => createElement(Fragment, null, Talk({ micStartMode: "deferred" }), createElement(ControlBar, { session: hook().session }))
  await render(createElement(Page))
  await act(() => hook().connect())
  const press = (part: string) => act(async () => body.querySelector<HTMLElement>(`[part~=${part}]`)!.click())
  await press("sound")
  assert.equal(hook().audioOutputMuted, true)
  agent.microphone = "denied"
  await press("microphone")
  await until("an error of the microphone", () => hook().micError?.code === "mic_permission_denied")
  const session = hook().session!
  await act(async () => {
    session.mute()
    session.pause()
  })
  assert.deepEqual([hook().micEnabled, hook().paused], [false, true])
  assert.equal(body.querySelector("[part~=sound]")!.getAttribute("aria-pressed"), "false")
  await act(async () => session.unmuteAudioOutput())
  assert.equal(body.querySelector("[part~=sound]")!.getAttribute("aria-pressed"), "true")
})

test("toggling turns on a microphone that was muted before it was started", async (t) => {
  const { Talk, hook } = rig(new FakeAgent())
  const { render } = await page(t)
  await render(createElement(Talk, { micStartMode: "deferred" }))
  await act(() => hook().connect())
  hook().session!.mute()
  await act(() => hook().toggleMicrophone())
  assert.deepEqual([hook().micStarted, hook().micEnabled], [true, true])
})

test("a connect right after a disconnect is one connect for all who ask", async (t) => {
  const { Talk, hook, sessions } = rig(new FakeAgent())
  const { render } = await page(t)
  const replies: ((reply: typeof init) => void)[] = []
  await render(createElement(Talk, { init: () => new Promise<typeof init>((resolve) => replies.push(resolve)) }))
  const first = hook().connect()
  await act(async () => hook().disconnect())
  const second = hook().connect()
  await passes()
  replies[0]!(init)
  await act(() => first)
  const third = hook().connect()
  await passes()
  for (const give of replies) give(init)
  await act(() => Promise.all([second, third]))
  assert.equal(replies.length, 2)
  assert.deepEqual(sessions.map(({ state }) => state), ["disconnected", "connected"])
})

test("a muted component is muted also when its element is defined already", async (t) => {
  const { render, body } = await page(t)
  await import("../src/element.js")
  for (const muted of [true, false, true]) {
    await render(createElement(AgentChat, { muted }))
    assert.equal(body.querySelector("agent-chat")!.hasAttribute("muted"), muted)
  }
})

test("chats and agent sessions have the same life", async (t) => {
  const agent = new FakeAgent()
  const seen: { chat?: ChatHook; both?: AgentHook } = {}
  function Page(): ReactElement {
    seen.chat = useChatSession({ init, autoConnect: true, createSession: (options: object) => new FakeChatSession({ ...options, agent }) })
    seen.both = useAgentSession({ init, mode: "chat", createSession: (options: object) => new FakeAgentSession({ ...options, agent }) })
    return createElement("p", null, `${seen.chat.state} ${seen.both.state}`)
  }
  const { render, body } = await page(t)
  await render(createElement(Page))
  await until("the chat is connected", () => body.textContent === "connected idle")
  await act(() => seen.both!.connect())
  assert.equal(body.textContent, "connected connected")
  assert.equal(seen.both!.mode, "chat")
  await act(async () => {
    seen.chat!.disconnect()
    seen.both!.disconnect()
  })
  await until("both are closed", () => body.textContent === "closed closed")
  assert.deepEqual([seen.chat!.error, seen.both!.error], [null, null])
})

test("a hook that does not know its agent, or an option, says so at connect, before anything is requested", async (t) => {
  const { Talk, hook, sessions } = rig(new FakeAgent())
  const { render } = await page(t)
  await render(createElement(Talk, { init: undefined }))
  await act(() => assert.rejects(hook().connect(), { code: "bad_request", detail: "a widgetId or a token is required" }))
  assert.equal(hook().error?.code, "bad_request")
  await render(createElement(Talk, { init: undefined, widgetId: "w", token: async () => ({ token: "visitor" }) } as object))
  await act(() => assert.rejects(hook().connect(), { code: "bad_request", detail: "the token must be a string, or an object with ks" }))
  let asked = 0
  await render(createElement(Talk, { init: () => (asked++, init), micStartMod: "deferred" } as object))
  await act(() => assert.rejects(hook().connect(), { code: "bad_request", detail: "there is no option micStartMod: did you mean micStartMode?" }))
  assert.deepEqual([asked, sessions.length], [0, 0])
  await render(createElement(Talk, { init: { ...init, legacyScreenShareEnabled: true } as typeof init, micStartMod: undefined } as object))
  await act(() => hook().connect())
  assert.equal(hook().state, "connected")
})

test("components are the elements, with attributes, properties and listeners", async (t) => {
  const { render, body } = await page(t)
  const heard: unknown[] = []
  const token = async () => "own"
  const labels = { start: "Los" }
  const draw = (more: object) => createElement(AgentAvatar, { widgetId: "w", modes: ["face", "text"], muted: true, microphone: "click", token, labels, className: "hero", on: { phaseChange: ({ phase }) => heard.push(phase) }, ...more })
  await render(draw({}))
  const element = body.querySelector("agent-avatar") as HTMLElement & { token?: unknown; labels?: unknown }
  assert.deepEqual([...element.attributes].map(({ name, value }) => [name, value]).filter(([name]) => name !== "phase").sort(), [["class", "hero"], ["microphone", "click"], ["modes", "face text"], ["muted", ""], ["widget-id", "w"]])
  assert.equal(element.token, token)
  assert.equal(element.labels, labels)
  element.dispatchEvent(new CustomEvent("phaseChange", { detail: { phase: "live" } }))
  await render(draw({ on: { phaseChange: ({ phase }: { phase: string }) => heard.push(`again ${phase}`) }, muted: false, token: undefined }))
  element.dispatchEvent(new CustomEvent("phaseChange", { detail: { phase: "ended" } }))
  assert.deepEqual(heard.filter((phase) => phase !== "idle"), ["live", "again ended"])
  assert.deepEqual([element.hasAttribute("muted"), element.token], [false, undefined])
  await until("the element is defined", () => customElements.get("agent-avatar") !== undefined)
})

test("functions that are written in the JSX are no change of the element", async (t) => {
  t.mock.method(console, "error", () => {})
  const { render, body } = await page(t)
  await import("../src/element.js")
  const Page = (): ReactElement => {
    const [phase, show] = useState("idle")
    const init = () => Promise.reject(new AgentError({ code: "agent_not_found" }))
    return createElement("p", null, phase, createElement(AgentAvatar, { init, labels: { start: "Go" }, on: { phaseChange: ({ phase }) => show(phase) } }))
  }
  await render(createElement(Page))
  const element = body.querySelector("agent-avatar")!
  await act(() => assert.rejects(element.start(), { code: "agent_not_found" }))
  assert.deepEqual([element.phase, body.textContent], ["error", "error"])
})

test("parts are composed around the session of a hook", async (t) => {
  const agent = new FakeAgent({ rules: [{ when: { contains: "breakfast" }, steps: [{ say: "From 7 am." }] }] })
  const { render, body } = await page(t)
  Object.defineProperty(globalThis, "Option", { value: dom!.window.Option, configurable: true })
  const codes: unknown[] = []
  let renders = 0
  function Talk({ name }: { name: string }): ReactElement {
    renders++
    const { session, connect, disconnect } = useAvatarSession({ init, micStartMode: "deferred", createSession: (options: object) => new FakeAvatarSession({ ...options, agent }) })
    const labels = { start: `Talk to ${name}` } // new in each render
    return createElement(Fragment, null,
      createElement(AgentState, { session, className: "state" }),
      createElement(VoiceBars, { session, side: "visitor" }),
      createElement(Transcript, { session, agentName: name, className: "log" }),
      createElement(Composer, { session, onError: (error) => codes.push((error as AgentError).code) }),
      createElement(ControlBar, { session, labels, onStart: connect, onEnd: () => disconnect() }))
  }
  await render(createElement(Talk, { name: "Robin" }))
  const find = <Kind extends HTMLElement>(selector: string) => body.querySelector<Kind>(selector)!
  assert.equal(find("[part~=start]").textContent, "Talk to Robin")
  assert.equal(body.querySelectorAll("[part=control-bar]").length, 1, "made once, also in strict mode")
  await act(async () => find("[part~=start]").click())
  await until("connected", () => find(".state").textContent === "Your microphone is off")
  const bar = find("[part=control-bar]")
  find<HTMLTextAreaElement>("textarea").value = "When is breakfast?"
  await act(async () => find("[part~=send]").click())
  await until("answered", () => find(".log").textContent!.includes("From 7 am."))
  assert.match(find(".log").textContent!, /YouWhen is breakfast\?/)
  await render(createElement(Talk, { name: "Robin" }))
  assert.equal(find("[part=control-bar]"), bar, "labels that are written in the JSX make no new part")
  await act(async () => find("[part~=end]").click())
  await until("over", () => find("[part~=start]").textContent === "Start again")
  assert.match(find(".log").textContent!, /From 7 am\./, "the conversation stays in view after its end")
  assert.deepEqual(codes, [])
  assert.ok(renders > 2)
})

test("a composer of a page that sends by itself calls its latest function", async (t) => {
  const { render, body } = await page(t)
  const session = new FakeChatSession({ agent: new FakeAgent() })
  t.after(() => session.dispose())
  const sent: string[] = []
  const compose = (name: string) => createElement(Composer, { session, onSend: (text) => void sent.push(`${name}: ${text}`) })
  await render(compose("first"))
  await act(() => session.connect())
  await render(compose("second"))
  body.querySelector("textarea")!.value = "Hello"
  await act(async () => body.querySelector<HTMLButtonElement>("[part~=send]")!.click())
  assert.deepEqual([sent, session.agent.turns], [["second: Hello"], []])
})

/** The field, the log and the buttons of a conversation, and another component beside them that can wait. */
function partsRig(agent: FakeAgent, kind: "avatar" | "chat" = "chat") {
  const sessions: (FakeChatSession | FakeAvatarSession)[] = []
  const made = <Session extends FakeChatSession | FakeAvatarSession>(session: Session) => (sessions.push(session), session)
  const Waiting = ({ promise }: { promise: Promise<void> }): ReactElement => (use(promise), createElement("i"))
  const Chat = (): AgentParts => useChatSession({ init, createSession: (options: object) => made(new FakeChatSession({ ...options, agent })) })
  const Avatar = (): AgentParts => useAvatarSession({ init, micStartMode: "deferred", createSession: (options: object) => made(new FakeAvatarSession({ ...options, agent })) })
  type AgentParts = Pick<ChatHook | AvatarHook, "session" | "connect">
  const useKind = kind === "chat" ? Chat : Avatar
  function Talk({ name, promise }: { name?: string; promise?: Promise<void> }): ReactElement {
    const { session, connect } = useKind()
    return createElement(Suspense, null,
      createElement(Transcript, { session, agentName: name, labels: name === undefined ? undefined : { log: `With ${name}` } }),
      createElement(Composer, { session, labels: { placeholder: `To ${name}` } }),
      createElement(ControlBar, { session, onStart: () => connect().catch(() => {}) }),
      promise && createElement(Waiting, { promise }))
  }
  return { Talk, sessions }
}

/** What a visitor does with the parts of a page. */
function visitor(body: HTMLElement) {
  const find = <Kind extends HTMLElement>(selector: string) => body.querySelector<Kind>(selector)!
  const field = () => find<HTMLTextAreaElement>("textarea")
  const press = (part: string) => act(async () => (find(`[part~=${part}]`).focus(), find(`[part~=${part}]`).click()))
  const send = async (text: string) => {
    field().value = text
    await press("send")
  }
  const turns = () => [...body.querySelectorAll(".agent-turn")].map(({ textContent }) => textContent)
  return { find, field, press, send, turns }
}

/** A page whose visitor has said "Hello" and got an answer. */
async function answered(t: TestContext) {
  const { render, body } = await page(t)
  const { Talk, sessions } = partsRig(new FakeAgent({ rules: [{ when: "Hello", steps: [{ say: "Good morning." }] }] }))
  const seen = visitor(body)
  await render(createElement(Talk))
  await seen.press("start")
  await until("connected", () => sessions[0]?.state === "connected")
  await seen.send("Hello")
  await until("answered", () => seen.turns().length === 2)
  return { render, Talk, ...seen }
}

test("a text stays in the field when a conversation begins, with the focus, and when it is lost and begins again", async (t) => {
  const agent = new FakeAgent({ rules: [{ when: "slow", steps: [{ pause: 60_000 }] }] })
  const { render, body } = await page(t)
  const { Talk, sessions } = partsRig(agent)
  const { find, field, press, send } = visitor(body)
  await render(createElement(Talk))
  field().value = "Good morn"
  await press("start")
  field().focus()
  await until("connected", () => sessions[0]?.state === "connected")
  assert.deepEqual([field().value, document.activeElement === field()], ["Good morn", true])
  await send("slow")
  await act(async () => void agent.end())
  await until("over", () => !find("[part~=start]").hidden)
  assert.equal(field().value, "slow", "it was not answered")
  await press("start")
  await until("connected again", () => sessions[1]?.state === "connected")
  assert.equal(field().value, "slow")
  await render(createElement(Talk, { name: "Robin" }))
  assert.deepEqual([field().value, field().placeholder], ["slow", "To Robin"])
})

test("the focus stays in the buttons when a conversation starts", async (t) => {
  const { render, body } = await page(t)
  const { Talk, sessions } = partsRig(new FakeAgent(), "avatar")
  const { find, press } = visitor(body)
  await render(createElement(Talk))
  await press("start")
  await until("connected", () => sessions[0]?.state === "connected" && !find("[part~=end]").hidden)
  assert.equal(find("[part=control-bar]").contains(document.activeElement), true)
})

test("a log stays when a name changes", async (t) => {
  const { render, Talk, find, turns } = await answered(t)
  await render(createElement(Talk, { name: "Robin" }))
  assert.deepEqual([turns(), find(".agent-transcript").ariaLabel], [["YouHello", "RobinGood morning."], "With Robin"])
  await render(createElement(Talk))
  assert.deepEqual([turns(), find(".agent-transcript").ariaLabel], [["YouHello", "AgentGood morning."], "What was said"])
})

test("parts stay as they are while React hides them for something that loads", async (t) => {
  const { render, Talk, field, turns } = await answered(t)
  field().value = "And you"
  let loaded = () => {}
  const promise = new Promise<void>((resolve) => (loaded = resolve))
  await render(createElement(Talk, { promise }))
  assert.equal(field().closest("div")!.style.display, "none", "it is hidden")
  await act(async () => loaded())
  await until("shown", () => field().closest("div")!.style.display === "")
  assert.deepEqual([turns(), field().value], [["YouHello", "AgentGood morning."], "And you"])
})

test("a component of a tag sets the properties of its element", async (t) => {
  const { render, body } = await page(t)
  const given = { token: "t", options: { debug: true }, labels: { agent: "Robin" }, suggestions: ["When is breakfast?"], history: [{ who: "user", text: "Hello" }] as const }
  await render(createElement(AgentChat, given))
  const element = body.querySelector("agent-chat") as unknown as typeof given
  for (const [name, value] of Object.entries(given)) assert.deepEqual(element[name as keyof typeof given], value, name)
})
