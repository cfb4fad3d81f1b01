import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { afterEach, test } from "node:test"
import { FakeAgentSession, FakeAvatarSession, FakeChatSession, type FakeOptions } from "../src/testing.js"
import type { AvatarOptions } from "../src/session/avataroptions.js"
import { AgentState, AnswerButtons, Composer, ControlBar, DeviceSelect, SpokenTranscript, Transcript } from "../src/ui.js"
import { endKept, kept } from "./fake.js"
import { Events, makePage, replaceNavigator, until } from "./page.js"

const { window } = makePage()
Object.assign(globalThis, { Option: window.Option })
globalThis.reportError = (exception: unknown) => assert.fail(`reported: ${exception}`)

const rules = [{ when: { contains: "breakfast" }, steps: [{ say: "From **7 am**." }] }, { when: "slow", steps: [{ say: "Wait." }, { pause: 60_000 }, { say: "Done." }] }]
const parts: { destroy(): void }[] = []

afterEach(async () => {
  for (const part of parts.splice(0)) part.destroy()
  await endKept()
  window.document.body.replaceChildren()
})

const avatar = (options: FakeOptions<AvatarOptions> = {}) => kept(new FakeAvatarSession({ agent: { rules }, micStartMode: "deferred", ...options }))

function place<Part extends { root: HTMLElement; destroy(): void }>(part: Part): Part {
  parts.push(part)
  window.document.body.append(part.root)
  return part
}

/** The labels of the controls that are shown, in order; those that can't be used in brackets. */
const shown = ({ root }: ControlBar) =>
  [...root.querySelectorAll<HTMLButtonElement>("button, input")]
    .filter((control) => !control.closest("[hidden]"))
    .map((control) => control.getAttribute("aria-label") ?? control.textContent!.trim())
const press = (part: { root: HTMLElement }, name: string) => part.root.querySelector<HTMLButtonElement>(`[part~="${name}"]`)!.click()
const pressed = ({ root }: ControlBar, name: string) => root.querySelector<HTMLButtonElement>(`[part~="${name}"]`)!.ariaPressed === "true"

test("a control bar starts, mutes, sets the volume and ends", async () => {
  const session = avatar()
  const failures: unknown[] = []
  const bar = place(new ControlBar(session, { onError: (error) => failures.push(error) }))
  assert.deepEqual(shown(bar), ["Start the conversation"])
  bar.root.querySelector<HTMLButtonElement>("[part~=start]")!.focus()
  press(bar, "start")
  await until("connected", () => shown(bar).length === 5)
  assert.deepEqual(shown(bar), ["Microphone", "Sound", "Volume", "Devices", "End the conversation"])
  assert.equal(bar.root.contains(window.document.activeElement), true, "the focus is not lost with the button")
  press(bar, "microphone")
  await until("the microphone is on", () => pressed(bar, "microphone"))
  assert.deepEqual([session.micStarted, session.micEnabled], [true, true])
  press(bar, "microphone")
  await until("the microphone is muted", () => !pressed(bar, "microphone"))
  assert.equal(session.micEnabled, false)
  const volume = bar.root.querySelector<HTMLInputElement>("input")!
  press(bar, "sound")
  await until("the sound is off", () => !pressed(bar, "sound"))
  assert.deepEqual([session.audioOutputMuted, volume.value], [true, "0"])
  volume.value = "0.4"
  volume.dispatchEvent(new window.Event("input", { bubbles: true }))
  await until("the sound is on again", () => pressed(bar, "sound"))
  assert.deepEqual([session.audioOutputVolume, session.audioOutputMuted], [0.4, false])
  press(bar, "end")
  assert.equal(session.state, "disconnected")
  assert.deepEqual(shown(bar), [], "a session connects once")
  assert.deepEqual(failures, [])
})

test("the first press of the microphone's button turns on a microphone that was muted before it was started", async () => {
  const session = avatar()
  const bar = place(new ControlBar(session))
  await session.connect()
  session.mute()
  press(bar, "microphone")
  await until("the microphone was started", () => session.micStarted)
  assert.deepEqual([session.micEnabled, pressed(bar, "microphone")], [true, true])
})

test("a control bar has a button with words for sound that the browser has blocked", async () => {
  const session = avatar({ agent: { autoplay: "blocked" } })
  const bar = place(new ControlBar(session, { controls: ["volume"] }))
  const sound = bar.root.querySelector("[part~=sound]")!
  await session.connect()
  assert.deepEqual([shown(bar), sound.hasAttribute("aria-pressed"), sound.textContent], [["Turn the sound on"], false, "Turn the sound on"])
  session.startPlayback = async () => Object.defineProperty(session, "playbackBlocked", { value: null }) !== undefined
  press(bar, "sound")
  await until("the sound is on", () => pressed(bar, "sound"))
  assert.deepEqual([shown(bar), session.audioOutputMuted, sound.textContent], [["Sound", "Volume"], false, ""])
})

test("the buttons of an answer copy and rate it, and say what came of it", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] })
  const told: unknown[] = []
  const rated: unknown[] = []
  let refuse = false
  const buttons = new AnswerButtons(() => "It is **so**.", {
    tell: (text, problem) => told.push([text, problem]),
    rate: async (id, good) => {
      rated.push([id, good])
      if (refuse) throw "Not now."
    },
  })
  replaceNavigator(t, { clipboard: { writeText: async (text: string) => void (refuse ? assert.fail("refused") : told.push(text)) } })
  const click = async (name: string) => {
    press(buttons, name)
    await new Promise((resolve) => setImmediate(resolve))
    return told.splice(0)
  }
  const copy = buttons.root.querySelector("button")!
  assert.deepEqual([buttons.root.children.length, await click("copy-answer"), copy.hasAttribute("data-done")], [1, ["It is **so**.", ["Copied.", false]], true])
  t.mock.timers.tick(2_000)
  assert.equal(copy.hasAttribute("data-done"), false)
  buttons.rateable("m-1", false)
  const marks = () => ["good", "bad"].map((name) => buttons.root.querySelector(`[part~=${name}]`)!.ariaPressed)
  assert.deepEqual(marks(), ["false", "true"], "it was rated before")
  assert.deepEqual([await click("good"), marks(), rated], [[["Thank you.", false]], ["true", "false"], [["m-1", true]]])
  refuse = true
  assert.deepEqual([await click("bad"), marks()], [[["Not now.", true]], ["true", "false"]])
  assert.deepEqual([await click("copy-answer"), copy.hasAttribute("data-done")], [[["The browser did not let this page copy.", true]], false])
})

test("the buttons of an answer may have some texts of the page", async () => {
  const buttons = new AnswerButtons(() => "", { labels: () => ({ good: "Richtig", bad: undefined }), tell: () => {}, rate: async () => {} })
  buttons.rateable("m-1")
  assert.deepEqual([...buttons.root.children].map((button) => button.ariaLabel), ["Copy this answer", "Richtig", "Bad answer"])
})

test("of two quick ratings of an answer the last is saved and shown, also when the first fails", async () => {
  const told: string[] = []
  const rated: boolean[] = []
  const buttons = new AnswerButtons(() => "It is so.", {
    tell: (text) => told.push(text),
    rate: async (_, good) => {
      rated.push(good)
      await new Promise((resolve) => setImmediate(resolve))
      if (good) throw "Not now."
    },
  })
  buttons.rateable("m-1")
  press(buttons, "good")
  press(buttons, "bad")
  await until("both are answered", () => told.length === 2)
  assert.deepEqual([rated, told], [[true, false], ["Not now.", "Thank you."]])
  assert.deepEqual(["good", "bad"].map((name) => buttons.root.querySelector(`[part~=${name}]`)!.ariaPressed), ["false", "true"])
})

test("with onStart a control bar starts again, and needs no session", async () => {
  let starts = 0
  const first = place(new ControlBar(undefined, { onStart: () => void starts++ }))
  assert.deepEqual(shown(first), ["Start the conversation"])
  press(first, "start")
  const session = avatar()
  const bar = place(new ControlBar(session, { onStart: () => void starts++, labels: { again: "Noch einmal" } }))
  await session.connect()
  session.disconnect()
  assert.deepEqual(shown(bar), ["Noch einmal"])
  press(bar, "start")
  assert.equal(starts, 2)
  assert.deepEqual(shown(place(new ControlBar(undefined))), [], "nothing can be started")
  assert.throws(() => new ControlBar(session, { controls: ["camera" as "end"] }), /the control must be one of start, microphone, volume, devices, end/)
})

test("the focus of a control that is hidden with what is around it goes to another", async () => {
  const session = avatar()
  const bar = place(new ControlBar(session, { onStart: () => {} }))
  await session.connect()
  bar.root.querySelector<HTMLElement>("[part~=sound]")!.focus()
  session.disconnect()
  assert.equal(window.document.activeElement!.getAttribute("part"), "button start")
})

test("a bar shows what a session has a use for: no voice in text, and a button to hold to talk", async () => {
  const chat = kept(new FakeChatSession())
  const text = place(new ControlBar(chat))
  await chat.connect()
  assert.deepEqual(shown(text), ["End the conversation"])
  const tap = avatar({ agent: { abilities: { tapToTalk: true } } })
  const bar = place(new ControlBar(tap, { controls: ["microphone", "end"] }))
  await tap.connect()
  assert.deepEqual(shown(bar), ["Hold to talk", "End the conversation"])
  await tap.startMic()
  tap.startTapToTalk()
  assert.deepEqual(shown(bar), ["Listening…", "End the conversation"])
})

test("a bar of an agent session follows its transport", async () => {
  const session = kept(new FakeAgentSession({ avatar: { micStartMode: "deferred" } }))
  const bar = place(new ControlBar(session))
  await session.connect()
  assert.equal(shown(bar).length, 5)
  const disabled = () => [...bar.root.querySelectorAll<HTMLButtonElement>("button:disabled")].map(({ ariaLabel }) => ariaLabel)
  assert.deepEqual(disabled(), [])
  await session.switchMode("chat")
  assert.deepEqual(shown(bar), ["End the conversation"])
  await session.switchMode("avatar")
  assert.equal(shown(bar).length, 5)
})

test("an error of the microphone is told, and not once the bar has gone", async () => {
  const session = avatar({ agent: { microphone: "denied" } })
  const codes: unknown[] = []
  const bar = place(new ControlBar(session, { onError: (error) => codes.push((error as { code: string }).code) }))
  await session.connect()
  press(bar, "microphone")
  await until("the error", () => codes.length > 0)
  assert.deepEqual(codes, ["mic_permission_denied"])
})

test("the menus of devices follow the session, and choose", async () => {
  const device = (deviceId: string, label: string) => ({ deviceId, label, groupId: "" })
  const devices = { mics: [device("a", "Desk"), device("b", "")], speakers: [] }
  const session = avatar({ agent: { devices } })
  await session.connect()
  const menus = place(new DeviceSelect(session))
  const [microphone, speaker] = menus.root.querySelectorAll("select")
  await until("listed", () => microphone!.options.length === 2)
  assert.deepEqual([...microphone!.options].map(({ text }) => text), ["Desk", "Microphone 2"])
  assert.equal(speaker!.closest("label")!.hidden, true, "there is no choice of speakers")
  const chosen: string[] = []
  session.switchMic = async (id: string) => void chosen.push(id)
  microphone!.value = "b"
  microphone!.dispatchEvent(new window.Event("change"))
  assert.deepEqual(chosen, ["b"])
  session.agent.emit("localMicLevel", { level: 0.5 })
  assert.equal(menus.root.querySelector("meter")!.value, 0.5)
  menus.destroy()
  session.agent.emit("localMicLevel", { level: 0.9 })
  assert.equal(menus.root.querySelector("meter")!.value, 0.5)
  const others = place(new DeviceSelect(session))
  session.agent.emit("localMicLevel", { level: 0.9 })
  assert.equal(others.root.querySelector("meter")!.value, 0.9)
  await session.disconnect()
  assert.equal(others.root.querySelector("meter")!.value, 0, "the microphone is closed")
  assert.deepEqual([others, place(new DeviceSelect(session))].map(({ root }) => root.hidden), [true, true], "there is nothing to choose any more")
  await session.connect()
  assert.equal(others.root.hidden, false, "a session that is connected again has a voice")
})

test("menus of devices that are hidden can't be seen with the package's styles", async (t) => {
  const files = ["ui.css", "content.css", "parts.css"].map((name) => readFileSync(new URL(`../../src/ui/${name}`, import.meta.url), "utf8"))
  const style = window.document.head.appendChild(window.document.createElement("style"))
  style.textContent = files.join("")
  t.after(() => style.remove())
  const session = kept(new FakeChatSession())
  const { root } = place(new DeviceSelect(session))
  const speakers = root.lastElementChild!
  const displays = () => [root, speakers].map((element) => window.getComputedStyle(element).display)
  assert.deepEqual(displays(), ["none", "grid"])
  root.hidden = false
  speakers.setAttribute("hidden", "")
  assert.deepEqual(displays(), ["grid", "none"])
})

test("a menu shows the device that stays in use when another can't be used", async () => {
  const device = (deviceId: string) => ({ deviceId, label: deviceId, groupId: "" })
  const session = avatar({ agent: { devices: { mics: ["a", "b", "c"].map(device), speakers: ["d", "e"].map(device) } } })
  await session.connect()
  const failures: unknown[] = []
  const menus = place(new DeviceSelect(session, { onError: (error) => failures.push(error) }))
  const [microphone, speaker] = menus.root.querySelectorAll("select") as unknown as [HTMLSelectElement, HTMLSelectElement]
  await until("listed", () => microphone.options.length === 3)
  const choose = (select: HTMLSelectElement, id: string) => {
    select.value = id
    select.dispatchEvent(new window.Event("change"))
  }
  let settle = { b: () => {}, c: () => {} }
  session.switchMic = (id) => new Promise((resolve, reject) => (settle = { ...settle, [id]: id === "b" ? resolve : () => reject(new Error("in use")) }))
  choose(microphone, "c")
  session.agent.emit("devicesChanged", {})
  await until("listed again", () => microphone.value === "c")
  settle.c()
  await until("the failure", () => failures.length === 1)
  await until("the first again", () => microphone.value === "a")
  choose(microphone, "b")
  choose(microphone, "c")
  settle.b()
  settle.c()
  await until("the second failure", () => failures.length === 2)
  await until("the one before", () => microphone.value === "b")
  session.setAudioOutput = async () => false
  choose(speaker, "e")
  await until("the speaker is refused", () => speaker.value === "d")
})

test("a composer sends, gives a text back that was not sent, and stops an answer", async () => {
  const session = kept(new FakeChatSession({ agent: { rules } }))
  const codes: unknown[] = []
  const composer = place(new Composer(session, { onError: (error) => codes.push((error as { code: string }).code) }))
  const send = composer.root.querySelector<HTMLButtonElement>("[part~=send]")!
  const stop = composer.root.querySelector<HTMLButtonElement>("[part~=stop]")!
  assert.deepEqual([send.disabled, stop.hidden], [true, true])
  await session.connect()
  assert.equal(send.disabled, false)
  const enter = (text: string) => {
    composer.field.value = text
    composer.field.dispatchEvent(new window.KeyboardEvent("keydown", { key: "Enter", cancelable: true }))
  }
  enter(" When is breakfast? ")
  assert.equal(composer.field.value, "")
  await until("answered", () => !session.responsePending && stop.hidden === true)
  assert.deepEqual(session.agent.turns.map(({ text }) => text), ["When is breakfast?"])
  session.agent.failTurn("rate_limited")
  enter("Again?")
  await until("given back", () => composer.field.value === "Again?")
  assert.deepEqual(codes, ["rate_limited"])
  // Keys of an input method editor; Safari reports the Enter after the end of the composition, with the code 229.
  for (const properties of [{ isComposing: true }, { keyCode: 229 }]) {
    composer.field.dispatchEvent(new window.KeyboardEvent("keydown", { key: "Enter", cancelable: true, ...properties }))
    assert.equal(composer.field.value, "Again?")
  }
  enter("slow")
  await until("it can be stopped", () => !stop.hidden && send.hidden === true)
  composer.field.dispatchEvent(new window.KeyboardEvent("keydown", { key: "Escape", cancelable: true, isComposing: true }))
  assert.equal(stop.hidden, false, "it ended a composition")
  composer.field.dispatchEvent(new window.KeyboardEvent("keydown", { key: "Escape", cancelable: true }))
  await until("stopped", () => stop.hidden === true && !send.hidden)
  assert.deepEqual([composer.field.value, codes.length], ["", 1], "a stopped answer is no failure")
  assert.equal(new Composer(undefined).root.querySelector<HTMLButtonElement>("[part~=send]")!.disabled, true)
})

test("a composer lets the page send, and keeps the focus when its button is hidden", async () => {
  const session = kept(new FakeChatSession({ agent: { rules } }))
  const signals: AbortSignal[] = []
  const composer = place(new Composer(session, {
    onSend: (text, signal) => {
      signals.push(signal)
      return session.sendText(text.toLowerCase(), { signal }).catch(() => {}) // the page shows the failure itself
    },
  }))
  await session.connect()
  const stop = composer.root.querySelector<HTMLButtonElement>("[part~=stop]")!
  void composer.send("BREAKFAST")
  await until("answered", () => session.agent.turns.length === 1 && stop.hidden === true)
  void composer.send("Slow")
  await until("it can be stopped", () => !stop.hidden)
  assert.deepEqual(session.agent.turns.map(({ text }) => text), ["breakfast", "slow"])
  stop.focus()
  stop.click()
  await until("stopped", () => stop.hidden === true)
  assert.deepEqual([window.document.activeElement === composer.field, signals.map(({ aborted }) => aborted)], [true, [false, true]])
})

test("a button that can't be used for a while keeps the focus in its part", async () => {
  let starts = 0
  let begun = () => {}
  const onStart = () => (starts++, new Promise<void>((resolve) => (begun = resolve)))
  const bar = place(new ControlBar(undefined, { onStart }))
  const start = bar.root.querySelector<HTMLButtonElement>("[part~=start]")!
  start.focus()
  start.click()
  start.click()
  // A browser takes the focus from a button that is disabled, in its next frame.
  assert.deepEqual([starts, start.disabled, start.ariaDisabled, window.document.activeElement === start], [1, false, "true", true])
  begun()
  await until("it can be used again", () => start.ariaDisabled === "false")
  const session = avatar()
  const composer = place(new Composer(session))
  await session.connect()
  composer.root.querySelector<HTMLButtonElement>("[part~=send]")!.focus()
  session.agent.loseConnection()
  assert.equal(window.document.activeElement, composer.field)
})

test("a composer and a state follow an agent session from text to a face", async () => {
  const session = kept(new FakeAgentSession({ agent: { rules }, mode: "chat", avatar: { micStartMode: "deferred" } }))
  const composer = place(new Composer(session))
  const state = place(new AgentState(session))
  const stop = composer.root.querySelector<HTMLButtonElement>("[part~=stop]")!
  await session.connect()
  assert.equal(state.root.dataset["is"], "ready")
  await session.switchMode("avatar")
  assert.deepEqual([state.root.dataset["is"], stop.hidden], ["muted", true])
  void composer.send("slow").catch(() => {}) // nobody waits for its end
  await until("it can be stopped", () => !stop.hidden)
  assert.equal(composer.root.querySelector<HTMLButtonElement>("[part~=send]")!.hidden, false, "a text interrupts the voice")
})

test("a text that waits for the end of the opening is given back when it is stopped, or the session ends", async () => {
  const session = avatar({ agent: { rules, opening: "Welcome to the hotel. I can tell you about breakfast, about the rooms, and about the city around us." } })
  const composer = place(new Composer(session))
  const stop = composer.root.querySelector<HTMLButtonElement>("[part~=stop]")!
  await session.connect()
  await until("the opening is spoken", () => !stop.hidden)
  const waiting = composer.send("breakfast")
  stop.click()
  await waiting
  assert.equal(composer.field.value, "breakfast")
  const another = place(new Composer(session))
  const late = another.send("breakfast")
  another.field.value = "and lunch"
  session.disconnect()
  await late
  assert.equal(another.field.value, "breakfast\nand lunch")
  assert.deepEqual(session.agent.turns, [])
})

test("speech without an answer is not waited for after it was stopped", async () => {
  const session = avatar()
  const composer = place(new Composer(session))
  const state = place(new AgentState(session))
  const stop = composer.root.querySelector<HTMLButtonElement>("[part~=stop]")!
  await session.connect()
  await until("the opening is over", () => stop.hidden === true)
  for (let asked = 0; asked < 2; asked++) {
    session.agent.emit("responsePending", {})
    assert.deepEqual([state.root.dataset["is"], stop.hidden], ["thinking", false])
    stop.click()
    assert.notEqual(state.root.dataset["is"], "thinking")
    assert.equal(stop.hidden, true)
    session.agent.emit("responseSettled", {})
  }
})

test("a transcript shows who said what, with what the page adds at the end", async () => {
  const session = kept(new FakeChatSession({ agent: { rules } }))
  const drawn: string[] = []
  class Growing {
    constructor(readonly element: HTMLElement) {}
    set(text: string): void {
      this.element.textContent = text.replaceAll("**", "")
    }
    end(): void {
      drawn.push(this.element.textContent!)
    }
  }
  const transcript = place(new Transcript(session, { agentName: "Robin", markdown: Growing, plain: (text) => text.replaceAll("*", "") }))
  const footer = window.document.createElement("p")
  footer.textContent = "Rate us"
  transcript.keepLast(footer)
  transcript.append(footer)
  await session.connect()
  await session.sendText("When is breakfast?")
  const said = () => [...transcript.root.querySelectorAll(".agent-turn")].map((turn) => [...turn.children].map(({ textContent }) => textContent).join(": "))
  assert.deepEqual(said(), ["You: When is breakfast?", "Robin: From 7 am."])
  assert.deepEqual(drawn.at(-1), "From 7 am.")
  assert.equal(transcript.root.lastElementChild, footer)
  const [, answer] = transcript.spoken.entries
  assert.equal(transcript.elementOf(answer!)?.querySelector(".text")?.textContent, "From 7 am.")
  transcript.rename({ you: "Sie" }, "Rotkehlchen")
  assert.deepEqual(said(), ["Sie: When is breakfast?", "Rotkehlchen: From 7 am."])
  assert.match(transcript.root.querySelector("[aria-live=polite]")!.textContent!, /^From 7 am\.$/)
  transcript.rename(undefined)
  assert.deepEqual(said(), ["You: When is breakfast?", "Rotkehlchen: From 7 am."], "the English text again")
  transcript.destroy()
  await session.sendText("When is breakfast?")
  assert.equal(said().length, 2)
})

test("a transcript ends what it has made, and leaves what the page has given", () => {
  const session = new Events()
  const say = (text: string) => session.emit("transcript", { type: "user", text, speechId: null })
  const root = window.document.createElement("section")
  window.document.body.append(root)
  const inPage = new Transcript(session, { root })
  say("One")
  assert.equal(root.querySelector("[aria-live=polite]")?.isConnected, true, "screen readers are told")
  inPage.destroy()
  const spoken = new SpokenTranscript(session)
  const ofPage = new Transcript(session, { spoken })
  ofPage.destroy()
  say("Two")
  assert.deepEqual([inPage, ofPage].map((transcript) => transcript.spoken.entries.map(({ text }) => text)), [["One"], ["Two"]])
  assert.deepEqual([root.isConnected, root.querySelector("[aria-live]"), ofPage.root.isConnected], [true, null, false])
  spoken.destroy()
})

test("a text that the service may not have received is in the transcript, and says so", () => {
  const session = new Events()
  const transcript = place(new Transcript(session))
  const lost = (typed: string, repeated: boolean) => session.emit("turnUnconfirmed", { text: typed, typed, repeated, clientTurnId: "1" })
  session.user("Yes")
  session.user("Is there a sauna?")
  lost("Yes", false)
  lost("Is there a sauna?", true)
  lost("", false) // a hidden kickoff
  const said = () => [...transcript.root.querySelectorAll(".agent-turn")].map((turn) => [...turn.children].map(({ textContent }) => textContent).join(": "))
  const note = "This may not have arrived."
  assert.deepEqual(said(), ["You: Yes", `You: Is there a sauna?: ${note}`, `You: Yes: ${note}`])
  assert.equal(transcript.root.querySelector("[aria-live=polite]")!.textContent, note + note)
  transcript.rename({ unconfirmed: "Unsicher" })
  assert.equal(said()[2], "You: Yes: Unsicher")
})

test("the end stays in view when a text is drawn only in the next frame", (t) => {
  const frames: (() => void)[] = []
  Object.assign(globalThis, { requestAnimationFrame: (draw: () => void) => frames.push(draw) })
  t.after(() => Reflect.deleteProperty(globalThis, "requestAnimationFrame"))
  class Later {
    constructor(readonly element: HTMLElement) {}
    set(text: string): void {
      requestAnimationFrame(() => (this.element.textContent = text))
    }
    end(): void {}
  }
  const session = new Events()
  const transcript = place(new Transcript(session, { markdown: Later }))
  const { root } = transcript
  Object.defineProperty(root, "scrollHeight", { get: () => 2 * root.textContent!.length })
  session.say(null, "A text of the agent.")
  for (const draw of frames.splice(0)) draw()
  assert.ok(root.textContent!.includes("A text of the agent."))
  assert.equal(root.scrollTop, root.scrollHeight)
})

test("the end stays in view unless the visitor scrolls up, however much comes at once", () => {
  const session = new Events()
  const transcript = place(new Transcript(session))
  const { root } = transcript
  let top = 0
  Object.defineProperties(root, {
    scrollHeight: { get: () => 10 * root.textContent!.length },
    clientHeight: { get: () => 100 },
    scrollTop: { get: () => top, set: (y: number) => (top = Math.max(0, Math.min(y, root.scrollHeight - 100))) },
  })
  const left = () => root.scrollHeight - top - 100
  const scroll = (y: number) => {
    root.scrollTop = y
    root.dispatchEvent(new window.Event("scroll"))
  }
  /** An element that is below all texts before it. */
  const below = (text = "") => {
    const element = Object.assign(document.createElement("p"), { textContent: text })
    const offset = () => 10 * Array.from(root.children).slice(0, Array.from(root.children).indexOf(element)).map((child) => child.textContent).join("").length
    element.getClientRects = () => (element.isConnected ? [{ top: offset() - top }] : []) as unknown as DOMRectList
    return element
  }
  const widget = below()
  transcript.append(widget)
  const grow = () => (widget.textContent += "It draws itself later than it was added.")
  grow()
  root.dispatchEvent(new window.Event("scroll")) // that of the last change, whose content has grown since
  transcript.append(below())
  assert.equal(left(), 0, "a part that is lower than what has grown since is followed")

  scroll(top - 200)
  grow()
  transcript.keepEndInView()
  assert.notEqual(left(), 0, "the visitor has scrolled up")
  scroll(top + 200)
  grow()
  transcript.keepEndInView()
  assert.notEqual(left(), 0, "reading on is not scrolling to the end")
  scroll(root.scrollHeight)
  grow()
  transcript.keepEndInView()
  assert.equal(left(), 0, "the visitor is at the end again")

  const tall = below("A widget that is higher than the transcript is read from its beginning.")
  transcript.append(tall)
  assert.equal(tall.getClientRects()[0]!.top, 8)
  scroll(top + 50)
  transcript.keepEndInView()
  assert.equal(tall.getClientRects()[0]!.top, -42, "the visitor reads on")
  scroll(root.scrollHeight)
  tall.remove()
  transcript.keepEndInView()
  assert.equal(left(), 0, "the page has removed it")
})

test("the state is told in words, and several parts have one activity and remove it", async () => {
  const session = avatar()
  const state = place(new AgentState(session, { labels: { activities: { connecting: "…", muted: undefined } } }))
  const bar = place(new ControlBar(session))
  assert.deepEqual([state.root.textContent, state.root.dataset["is"]], ["…", "connecting"])
  await session.connect()
  await until("ready", () => state.root.textContent === "Your microphone is off")
  press(bar, "microphone")
  await until("listening", () => state.root.dataset["is"] === "listening")
  press(bar, "microphone") // there is no event of it
  await until("the bar tells the state", () => state.root.dataset["is"] === "muted")
  assert.ok(state.root.querySelector(".agent-bars"))
  assert.equal(place(new AgentState(session, { bars: false })).root.querySelector(".agent-bars"), null)
})

test("a state that is made after the end of its session says so, until the session connects again", async () => {
  for (const session of [avatar(), kept(new FakeAgentSession({ mode: "chat" })), kept(new FakeChatSession())]) {
    await session.connect()
    session.disconnect()
    const state = place(new AgentState(session))
    assert.equal(state.root.dataset["is"], "over", session.state)
    if (!(session instanceof FakeAvatarSession)) continue
    await session.connect()
    assert.equal(state.root.dataset["is"], "muted")
  }
})

test("after a connection that failed the state is over", async () => {
  const session = avatar()
  const state = place(new AgentState(session))
  session.agent.failConnect("capacity_unavailable")
  await assert.rejects(session.connect())
  assert.equal(state.root.dataset["is"], "over", session.state)
})
