import assert from "node:assert/strict"
import { test } from "node:test"
import { AvatarSession } from "../src/session/avatar.js"
import { dispose } from "../src/core/load.js"
import { FakeProgram, made, settle } from "./fake.js"

globalThis.reportError = (exception: unknown) => assert.fail(`reported: ${exception}`)

/** A page that can tell of its devices. */
function withDevices(list: { kind: string; deviceId: string; label: string; groupId: string }[]): { devices: EventTarget; listeners: () => number; restore: () => void } {
  const own = Object.getOwnPropertyDescriptor(globalThis, "navigator")
  let listeners = 0
  class Devices extends EventTarget {
    enumerateDevices = async () => list
    override addEventListener(...args: Parameters<EventTarget["addEventListener"]>): void {
      listeners++
      super.addEventListener(...args)
    }
    override removeEventListener(...args: Parameters<EventTarget["removeEventListener"]>): void {
      listeners--
      super.removeEventListener(...args)
    }
  }
  const devices = new Devices()
  Object.defineProperty(globalThis, "navigator", { value: { mediaDevices: devices }, configurable: true })
  const restore = () => {
    if (own) Object.defineProperty(globalThis, "navigator", own)
    else delete (globalThis as Record<string, unknown>)["navigator"]
  }
  return { devices, listeners: () => listeners, restore }
}

test("devices are listed without a runtime, and a change is told while it has listeners", async () => {
  await dispose()
  const { devices, listeners, restore } = withDevices([
    { kind: "audioinput", deviceId: "m", label: "Desk", groupId: "g" },
    { kind: "videoinput", deviceId: "v", label: "Camera", groupId: "g" },
    { kind: "audiooutput", deviceId: "s", label: "", groupId: "g" },
  ])
  try {
    const session = new AvatarSession({ token: "t" })
    assert.deepEqual(await session.listDevices(), {
      mics: [{ deviceId: "m", label: "Desk", groupId: "g" }],
      speakers: [{ deviceId: "s", label: "", groupId: "g" }],
    })
    await assert.rejects(session.listDevices({ signal: AbortSignal.abort() }), { code: "aborted" })
    let changes = 0
    assert.equal(listeners(), 0)
    const off = session.on("devicesChanged", () => changes++)
    session.on("devicesChanged", () => {}, { signal: AbortSignal.abort() })
    devices.dispatchEvent(new Event("devicechange"))
    assert.equal(changes, 1)
    off()
    assert.equal(listeners(), 0)
    session.on("devicesChanged", () => changes++)
    await session.dispose()
    devices.dispatchEvent(new Event("devicechange"))
    assert.equal(changes, 1)
    assert.equal(listeners(), 0)
  } finally {
    restore()
  }
})

test("a browser that lists no devices says so", async () => {
  const { devices, restore } = withDevices([])
  try {
    const session = new AvatarSession({ token: "t" })
    Object.assign(devices, { enumerateDevices: () => Promise.reject(new DOMException("no", "NotAllowedError")) })
    await assert.rejects(session.listDevices(), { code: "devices_permission_denied" })
  } finally {
    restore()
  }
  assert.deepEqual(await new AvatarSession({ token: "t" }).listDevices(), { mics: [], speakers: [] })
})

test("why there is no microphone can be read until there is one", async () => {
  await dispose()
  const program = await new FakeProgram().load()
  const session = new AvatarSession({ token: "t" })
  const code = () => session.micError?.code
  assert.equal(session.micError, null)
  await made(session)
  program.become("preparing")
  program.dispatch("warning", { code: "mic_permission_denied", message: "Microphone refused", detail: "the visitor said no" })
  program.become("connected")
  assert.equal(code(), "mic_permission_denied")
  assert.equal((session.micError as Error | null)?.message, "the visitor said no")
  program.dispatch("warning", { code: "media_no_video", message: "No picture" })
  assert.equal(code(), "mic_permission_denied")

  const refused = session.micError
  program.results["startMic"] = () => Promise.reject(refused)
  await assert.rejects(session.startMic(), refused!)
  assert.equal(session.micError, refused)
  program.results["startMic"] = () => Promise.resolve()
  await session.startMic()
  assert.equal(session.micError, null)

  program.dispatch("warning", { code: "mic_not_found", message: "Unplugged" })
  assert.equal(code(), "mic_not_found")
  program.dispatch("micStarted", {})
  assert.equal(session.micError, null)
  program.dispatch("warning", { code: "mic_in_use", message: "In use" })
  program.become("disconnected")
  assert.equal(code(), "mic_in_use")
  program.become("preparing")
  assert.equal(session.micError, null)
})

/** A picture's element that plays with its sound only after a click. */
function element(): { muted: boolean; paused: boolean; clicked: boolean; srcObject: null; play(): Promise<void> } {
  return {
    muted: false,
    paused: true,
    clicked: false,
    srcObject: null,
    async play() {
      this.paused = !this.muted && !this.clicked
      if (this.paused) throw new DOMException("no gesture", "NotAllowedError")
    },
  }
}

/** A connected session with that element, before the browser has blocked it. */
async function watching(program: FakeProgram, video: ReturnType<typeof element>): Promise<AvatarSession> {
  const session = new AvatarSession({ token: "t", videoEl: video as unknown as HTMLMediaElement })
  await made(session)
  program.results["elements"] = () => ({ videoEl: video })
  program.become("connected")
  program.properties["audioOutputMuted"] = false
  return session
}

const blocked = { code: "playback_blocked", message: "Playback blocked", kind: "video" }

test("the picture plays at once, and only its sound waits for a click", async () => {
  await dispose()
  const program = await new FakeProgram().load()
  const video = element()
  const session = await watching(program, video)
  program.results["startPlayback"] = () => video.play().then(() => true, () => false)
  program.results["unmuteAudioOutput"] = () => {
    video.muted = false
    video.paused = !video.clicked
  }
  assert.equal(session.playbackBlocked, null)
  const warned = session.next("warning")
  program.dispatch("warning", blocked)
  assert.equal((await warned).kind, "audio")
  const now = () => [session.playbackBlocked, video.muted, video.paused]
  assert.deepEqual(now(), ["audio", true, false])
  session.unmuteAudioOutput()
  await settle()
  assert.deepEqual(now(), ["audio", true, false], "it was not muted by choice")
  assert.equal(await session.startPlayback(), false)
  assert.deepEqual(now(), ["audio", true, false], "without a click")
  video.clicked = true
  assert.equal(await session.startPlayback(), true)
  assert.deepEqual(now(), [null, false, false])
})

test("a browser that plays nothing without a click leaves the element as it was", async () => {
  await dispose()
  const program = await new FakeProgram().load()
  const video = element()
  video.play = () => Promise.reject(new DOMException("no gesture", "NotAllowedError"))
  const session = await watching(program, video)
  program.dispatch("warning", blocked)
  await settle()
  assert.deepEqual([session.playbackBlocked, video.muted], ["video", false])
})

test("a picture that was silenced is not left so", async () => {
  await dispose()
  const program = await new FakeProgram().load()
  for (const end of [(session: AvatarSession) => session.setVideoEl(null), () => program.become("disconnected")]) {
    const video = element()
    const session = await watching(program, video)
    program.dispatch("warning", blocked)
    await settle()
    assert.equal(video.muted, true)
    end(session)
    assert.equal(video.muted, false)
  }
  assert.equal(program.properties["state"], "disconnected")
})

test("a warning that playback is blocked does not come after the end, or after the click", async () => {
  await dispose()
  const program = await new FakeProgram().load()
  program.results["startPlayback"] = async () => true
  for (const over of [async (session: AvatarSession) => void (await session.startPlayback()), async () => program.become("disconnected")]) {
    const video = element()
    let played: () => void
    video.play = () => new Promise((resolve) => (played = resolve))
    const session = await watching(program, video)
    const warnings: string[] = []
    session.on("warning", ({ code }) => warnings.push(code))
    program.dispatch("warning", blocked)
    assert.equal(session.playbackBlocked, "video")
    await over(session)
    played!()
    await settle()
    assert.deepEqual([warnings, session.playbackBlocked, video.muted], [[], null, false])
  }
})

test("a picture that was silenced is not left so when the program ends", async () => {
  for (const code of [0, 2]) {
    await dispose()
    const program = await new FakeProgram().load()
    const video = element()
    const session = await watching(program, video)
    program.dispatch("warning", blocked)
    await settle()
    assert.equal(video.muted, true)
    program.end(code)
    await settle()
    assert.deepEqual([video.muted, session.playbackBlocked], [false, null], `exit code ${code}`)
  }
})
