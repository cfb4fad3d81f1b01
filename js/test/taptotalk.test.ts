import assert from "node:assert/strict"
import { test } from "node:test"
import { attachTapToTalk, type TapToTalkSession } from "../src/ui.js"
import { dispatchAt, makePage } from "./page.js"

const { window } = makePage()

class Face implements TapToTalkSession {
  readonly calls: string[] = []
  tapToTalkActive = false
  micStarted = false

  async startMic(): Promise<void> {
    this.calls.push("microphone")
    this.micStarted = true
  }

  startTapToTalk(): void {
    this.calls.push("start")
    this.tapToTalkActive = true
  }

  endTapToTalk(): void {
    this.calls.push("end")
    this.tapToTalkActive = false
  }
}

function attach(face = new Face()) {
  const button = window.document.createElement("button")
  const captured: number[] = []
  button.setPointerCapture = (id) => void captured.push(id)
  const failures: unknown[] = []
  const page: { face: Face | undefined } = { face }
  const detach = attachTapToTalk(button, () => page.face, (reason) => failures.push(reason))
  const dispatch = (type: string, at: number, properties?: object) => dispatchAt(button, type, at, properties)
  const down = (pressed = 0) => dispatch("pointerdown", 1000, { button: pressed, pointerId: 7 })
  /** Presses the button with a pointer for some milliseconds, and lets what follows happen. */
  const press = async (ms: number) => {
    down()
    await settled()
    dispatch("click", 1000 + ms)
    await settled()
  }
  return { button, face, page, captured, failures, detach, dispatch, down, press }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

test("a short press opens the window until the next one", async () => {
  const { face, captured, press } = attach()
  await press(399)
  assert.deepEqual(face.calls, ["microphone", "start"])
  await press(399)
  assert.deepEqual(face.calls, ["microphone", "start", "end"])
  assert.deepEqual(captured, [7], "only what opens a window may be released outside the button")
})

test("a long press ends the window when it is released", async () => {
  const { face, press } = attach()
  await press(400)
  assert.deepEqual(face.calls, ["microphone", "start", "end"])
})

test("a long touch ends the window when it is released or cancelled, with and without a click", async () => {
  for (const end of ["pointerup", "pointercancel"]) {
    for (const clicks of [false, true]) {
      const { face, down, dispatch } = attach()
      down()
      await settled()
      dispatch(end, 1400)
      if (clicks) dispatch("click", 1401)
      await settled()
      assert.deepEqual(face.calls, ["microphone", "start", "end"])
      dispatch("click", 5000) // of a screen reader
      await settled()
      assert.equal(face.tapToTalkActive, true)
    }
  }
})

test("a key opens and ends the window as a pointer does", async () => {
  const { face, dispatch } = attach()
  for (const [ms, calls] of [[399, ["microphone", "start"]], [399, ["end"]], [400, ["start", "end"]]] as const) {
    dispatch("keydown", 1000, { key: " " })
    await settled()
    dispatch("keyup", 1000 + ms, { key: " " })
    await settled()
    assert.deepEqual(face.calls.splice(0), calls)
  }
})

test("a long press that is released before the visitor allows the microphone opens no window", async () => {
  for (const key of [undefined, " "]) {
    const { face, dispatch, down } = attach()
    let allow = () => {}
    const asked = new Promise<void>((resolve) => (allow = resolve))
    face.startMic = async () => {
      await asked
      face.micStarted = true
    }
    if (key) dispatch("keydown", 1000, { key })
    else down()
    await settled()
    if (key) dispatch("keyup", 1400, { key })
    else dispatch("pointerup", 1400)
    if (!key) dispatch("click", 1401)
    allow()
    await settled()
    assert.deepEqual([face.calls, face.micStarted], [[], true])
  }
})

test("a click without a pointer opens and ends the window", async () => {
  const { button, face } = attach()
  for (const active of [true, false, true]) {
    button.click()
    await settled()
    assert.equal(face.tapToTalkActive, active)
  }
})

test("other buttons of a pointer and a disabled button do nothing", async () => {
  const { button, face, down } = attach()
  down(2)
  button.disabled = true
  down()
  await settled()
  assert.deepEqual(face.calls, [])
})

test("the menu of a long touch is not opened", () => {
  const { button } = attach()
  const menu = new window.Event("contextmenu", { cancelable: true })
  button.dispatchEvent(menu)
  assert.equal(menu.defaultPrevented, true)
})

test("what the microphone or the session throws is reported, unless the session has been replaced", async () => {
  const { button, face, page, failures } = attach()
  const refused = new Error("not allowed")
  face.startMic = () => Promise.reject(refused)
  button.click()
  await settled()
  assert.deepEqual([failures, face.tapToTalkActive], [[refused], false])
  button.click()
  page.face = undefined
  await settled()
  button.click() // without a session
  await settled()
  assert.equal(failures.length, 1)
})

test("a detached button does nothing", async () => {
  const { face, detach, press } = attach()
  detach()
  await press(10)
  assert.deepEqual(face.calls, [])
})
