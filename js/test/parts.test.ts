import assert from "node:assert/strict"
import { beforeEach, test, type TestContext } from "node:test"
import * as analytics from "../src/analytics.js"
import { attachChromaKey, ChromaKey } from "../src/chroma.js"
import * as compat from "../src/compat.js"
import { createNoiseSuppressor } from "../src/noise.js"
import { Gate } from "../src/noise/gate.js"
import { ScriptedVideoSession, type ScriptedVideoOptions } from "../src/scripted.js"
import {
  FakeAudioContext, FakeAudioWorkletNode, fakeFetch, fakeGetUserMedia, FakeMediaStream, FakeRTCPeerConnection, FakeSocket, FakeVideoEl, scriptHappyPath, streamFrom, streamFromChunks,
  type FakeFetch, type FakeReply, type HappyPath,
} from "../src/testing/fakes.js"
import { makePage } from "./page.js"

globalThis.reportError = (exception: unknown) => assert.fail(`reported: ${exception}`)

// --- Scripted video

const whepUrl = "https://edge.example/rtc/v1/stv/room/whep/session/s-1"

beforeEach(() => FakeRTCPeerConnection.reset())

function scripted(t: TestContext, more: Partial<ScriptedVideoOptions> = {}, answer: () => FakeReply | Promise<FakeReply> = () => ({ status: 201, body: "v=0\r\n", headers: { location: "/whep/session/s-1/viewer/v-3" } })) {
  const fetch = fakeFetch([{ match: /./, respond: ({ method }) => (method === "POST" ? answer() : { status: 200 }) }])
  const videoEl = new FakeVideoEl()
  const session = new ScriptedVideoSession({
    whepUrl, turn: { url: "turn:relay.example", username: "u", credential: "c" }, videoEl: videoEl as unknown as HTMLVideoElement,
    fetch, rtcConstructor: FakeRTCPeerConnection as unknown as typeof RTCPeerConnection, isFirefox: false, ...more,
  })
  const events: unknown[] = []
  session.onAny((name, payload) => events.push([name, payload]))
  t.after(() => session.disconnect())
  const states = () => events.flatMap((event) => ((event as [string])[0] === "stateChanged" ? [(event as [string, { state: string }])[1].state] : []))
  return { session, fetch, videoEl, events, states, peer: () => FakeRTCPeerConnection.instances.at(-1)! }
}

/** Lets everything run that is ready to. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

const requests = (fetch: FakeFetch) => fetch.calls.map(({ method, url }) => `${method} ${url}`)

test("bad options of a scripted video are refused at once", () => {
  const turn = { url: "turn:relay.example" }
  for (const options of [undefined, {}, { whepUrl }, { turn }, { whepUrl, turn: {} }, { whepUrl: "x", turn }, { whepUrl, turn, videoEl: {} }, { whepUrl, turn, fetch: 1 }, { whepUrl: "ws://a.example", turn }]) {
    assert.throws(() => new ScriptedVideoSession(options as ScriptedVideoOptions), { code: "bad_request" })
  }
  for (const host of ["localhost", "10.1.2.3", "127.0.0.1", "[::1]", "192.168.1.1"]) {
    assert.throws(() => new ScriptedVideoSession({ whepUrl: `http://${host}/`, turn }), { code: "whep_private_ip" })
    assert.equal(new ScriptedVideoSession({ whepUrl: `http://${host}/`, turn, allowPrivateHosts: true }).state, "idle")
  }
  assert.equal(compat.KalturaScriptedVideoSession, ScriptedVideoSession)
})

test("a scripted video connects through the relay, plays, and gives its place back", async (t) => {
  const { session, fetch, videoEl, states, events, peer } = scripted(t)
  await session.connect()
  assert.deepEqual(peer().configuration, {
    iceServers: [{ urls: ["turn:relay.example:80?transport=udp", "turn:relay.example:443?transport=udp", "turn:relay.example:80?transport=tcp", "turns:relay.example:443?transport=tcp"], username: "u", credential: "c" }],
    iceTransportPolicy: "relay", bundlePolicy: "max-bundle",
  })
  assert.deepEqual(peer().transceivers.map(({ kind, direction }) => [kind, direction]), [["video", "recvonly"], ["audio", "recvonly"]])
  assert.equal(fetch.calls[0]!.headers["content-type"], "application/sdp")
  assert.match(String(fetch.calls[0]!.body), /^v=0/)
  assert.deepEqual([session.state, videoEl.paused, videoEl.srcObject === session.stream], ["connected", false, true])
  const names = events.map((event) => (event as [string])[0])
  for (const name of ["stateChange", "stateChanged", "track", "connectivityChanged", "videoMetadata"]) assert.ok(names.includes(name), name)
  await assert.rejects(session.connect(), { code: "invalid_state" })
  session.disconnect()
  assert.deepEqual([session.state, videoEl.srcObject, peer().closed, session.stream], ["disconnected", null, true, null])
  assert.deepEqual(requests(fetch), [`POST ${whepUrl}`, `DELETE ${whepUrl}/viewer/v-3`])
  assert.deepEqual(states(), ["connecting", "connected", "disconnecting", "disconnected"])
  await session.connect()
  assert.equal(session.state, "connected")
})

test("the place is found in every form of Location", async (t) => {
  for (const [location, want] of [["https://other.example/v/1", "https://other.example/v/1"], ["?action=delete&viewer=1", `${whepUrl}?action=delete&viewer=1`], ["/x/viewer/2", `${whepUrl}/viewer/2`]] as const) {
    const { session, fetch } = scripted(t, {}, () => ({ status: 201, body: "v=0", headers: { location } }))
    await session.connect()
    session.disconnect()
    assert.equal(fetch.calls.at(-1)!.url, want)
  }
  const { session, fetch } = scripted(t, {}, () => ({ status: 201, body: "v=0", headers: { location: "http://10.0.0.1/v" } }))
  await assert.rejects(session.connect(), { code: "whep_private_ip" })
  assert.deepEqual([session.state, requests(fetch)], ["error", [`POST ${whepUrl}`]])
  const plain = scripted(t, {}, () => ({ status: 201, body: "v=0", headers: { location: "http://other.example/v" } }))
  await plain.session.connect()
  plain.session.disconnect()
  assert.match(JSON.stringify(plain.events), /whep_delete_failed.*without encryption/)
  assert.deepEqual(requests(plain.fetch), [`POST ${whepUrl}`], "never without encryption when the media server has it")
})

test("failures of a scripted video have codes", async (t) => {
  const refused = scripted(t, {}, () => ({ status: 404 }))
  await assert.rejects(refused.session.connect(), { code: "whep_failed", status: 404, phase: "whep" })
  assert.equal(refused.session.state, "error")
  await assert.rejects(refused.session.connect(), { code: "invalid_state" })
  refused.session.disconnect()
  assert.equal(refused.session.state, "disconnected")
  const away = scripted(t, {}, () => Promise.reject(new TypeError("no network")))
  await assert.rejects(away.session.connect(), { code: "whep_failed" })
  class Broken extends FakeRTCPeerConnection {
    override createOffer(): never {
      throw new Error("no codecs")
    }
  }
  const broken = scripted(t, { rtcConstructor: Broken as never })
  await assert.rejects(broken.session.connect(), { code: "connect_failed", message: "no codecs" })
})

test("a place that is given when the attempt has ended is given back", async (t) => {
  for (const how of ["disconnect", "signal"] as const) {
    let answer = (_: FakeReply) => {}
    const { session, fetch } = scripted(t, {}, () => new Promise((resolve) => (answer = resolve)))
    const controller = new AbortController()
    const connecting = session.connect({ signal: controller.signal })
    await settled()
    assert.equal(session.state, "connecting")
    if (how === "disconnect") session.disconnect()
    else controller.abort("enough")
    await assert.rejects(connecting, how === "disconnect" ? { code: "connect_failed" } : { code: "aborted", cause: "enough" })
    assert.deepEqual([session.state, session.stream], ["disconnected", null])
    answer({ status: 201, body: "v=0", headers: { location: "/viewer/late" } })
    await settled()
    assert.deepEqual(requests(fetch), [`POST ${whepUrl}`, `DELETE ${whepUrl}/viewer/late`])
  }
})

test("a disconnect and a signal end an attempt while its peer is being set up", async (t) => {
  for (const step of ["createOffer", "setLocalDescription", "setRemoteDescription"] as const) {
    for (const how of ["disconnect", "signal"] as const) {
      class Closing extends FakeRTCPeerConnection {}
      // A browser's peer that is closed meanwhile never settles it.
      const began = new Promise<void>((resolve) => Object.assign(Closing.prototype, { [step]: () => (resolve(), new Promise(() => {})) }))
      const { session, fetch } = scripted(t, { rtcConstructor: Closing as never })
      const controller = new AbortController()
      const connecting = session.connect({ signal: controller.signal })
      await began
      if (how === "disconnect") session.disconnect()
      else controller.abort("enough")
      await assert.rejects(connecting, how === "disconnect" ? { code: "connect_failed" } : { code: "aborted", cause: "enough" })
      assert.equal(session.state, "disconnected")
      assert.deepEqual(requests(fetch), step === "setRemoteDescription" ? [`POST ${whepUrl}`, `DELETE ${whepUrl}/viewer/v-3`] : [])
    }
  }
})

test("a connect right after a disconnect is not ended by the attempt before it", async (t) => {
  const answers: ((reply: FakeReply) => void)[] = []
  const { session, fetch, states, peer } = scripted(t, {}, () => new Promise((resolve) => answers.push(resolve)))
  const first = assert.rejects(session.connect(), { code: "connect_failed" })
  await settled()
  session.disconnect()
  const second = session.connect()
  await settled()
  assert.equal(answers.length, 2)
  answers[0]!({ status: 201, body: "v=0", headers: { location: "/viewer/1" } })
  await first
  await settled()
  assert.equal(requests(fetch).at(-1), `DELETE ${whepUrl}/viewer/1`)
  assert.equal(peer().closed, false)
  answers[1]!({ status: 201, body: "v=0", headers: { location: "/viewer/2" } })
  await second
  assert.deepEqual([session.state, states().at(-1)], ["connected", "connected"])
  session.disconnect()
  assert.equal(requests(fetch).at(-1), `DELETE ${whepUrl}/viewer/2`)
})

test("without a picture that can be played, it is connected after 6 s", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] })
  const videoEl = new FakeVideoEl({ autoCanPlay: false })
  const { session } = scripted(t, { videoEl: videoEl as never })
  const connecting = session.connect()
  for (let i = 0; i < 20; i++) await Promise.resolve()
  await settled()
  assert.equal(session.state, "connecting")
  t.mock.timers.tick(6000)
  await connecting
  assert.equal(session.state, "connected")
})

test("lost media, blocked playback and a place that stays are reported", async (t) => {
  const videoEl = new FakeVideoEl()
  videoEl.playError = Object.assign(new Error("click first"), { name: "NotAllowedError" })
  const fetch = fakeFetch([{ match: "/viewer/", respond: () => ({ status: 500 }) }, { match: whepUrl, respond: () => ({ status: 201, body: "v=0", headers: { location: "/viewer/1" } }) }])
  const { session, peer, events } = scripted(t, { videoEl: videoEl as never, fetch })
  await session.connect()
  const warnings = () => events.flatMap((event) => ((event as [string])[0] === "warning" ? [(event as [string, { code: string }])[1].code] : []))
  assert.ok(warnings().includes("playback_blocked"))
  assert.equal(await session.startPlayback(), false)
  videoEl.playError = undefined
  assert.equal(await session.startPlayback(), true)
  const warned = new Promise<{ code: string }>((resolve) => session.on("warning", resolve))
  const failed = new Promise<{ code: string }>((resolve) => session.on("error", resolve))
  peer().setIce("failed")
  assert.equal((await failed).code, "connect_failed")
  assert.equal(session.state, "error")
  assert.equal((await warned).code, "whep_delete_failed")
})

test("a relay with a port is used as it is, and Firefox needs no relay", async (t) => {
  const { session, peer } = scripted(t, { turn: { url: "turn:127.0.0.1:3478" }, isFirefox: true })
  await session.connect()
  assert.deepEqual([peer().configuration.iceServers, peer().configuration.iceTransportPolicy], [[{ urls: ["turn:127.0.0.1:3478"] }], "all"])
  const plain = scripted(t, {
    rtcConstructor: class extends FakeRTCPeerConnection {
      constructor(configuration: RTCConfiguration) {
        super(configuration)
        if ([configuration.iceServers![0]!.urls].flat().some((url) => url.includes("?"))) throw new Error("TURN URL query string is not supported")
      }
    } as never,
  })
  await plain.session.connect()
  assert.deepEqual([plain.peer().configuration.iceServers![0]!.urls].flat()[3], "turns:relay.example:443")
})

// --- Analytics

test("analytics are off until the page turns them on", async () => {
  const sent: string[] = []
  const off = new analytics.Analytics({ sendBeacon: (url) => (sent.push(url), true) })
  assert.deepEqual([await off.pageLoad({ pageType: "View" }), await off.buttonClicked()], Array(2).fill({ ok: false, transport: "disabled" }))
  assert.deepEqual(sent, [])
})

test("an event has the service's fields, in the body alone", async () => {
  const sent: [string, string][] = []
  const { Analytics } = analytics
  const on = new Analytics({ enabled: true, partnerId: 7, ks: "secret", userId: null, hostingKalturaApplication: analytics.HOSTING_APPLICATIONS.agents, sendBeacon: (url, text) => (sent.push([url, text]), true) })
  assert.deepEqual(await on.pageLoad({ pageType: "Create", pageName: "a b", pageValue: undefined }), { ok: true, transport: "beacon" })
  assert.deepEqual(await on.buttonClicked({ buttonName: "start", buttonValue: 0 }), { ok: true, transport: "beacon" })
  assert.deepEqual(sent, [
    [analytics.DEFAULT_ANALYTICS_URL, "service=analytics&action=trackEvent&eventType=10003&partnerId=7&ks=secret&hostingKalturaApplication=25&pageType=Create&pageName=a+b"],
    [analytics.DEFAULT_ANALYTICS_URL, "service=analytics&action=trackEvent&eventType=10002&partnerId=7&ks=secret&hostingKalturaApplication=25&buttonName=start&buttonValue=0"],
  ])
  assert.throws(() => on.pageLoad({ pageType: "Nothing" as "View" }), { code: "bad_request" })
  assert.doesNotMatch(JSON.stringify(on), /secret/)
  for (const options of [{ enabled: 1 }, { endpoint: "x" }, { endpoint: "https://u:p@a.example" }, { fetch: 1 }, { sendBeacon: 1 }]) assert.throws(() => new Analytics(options as never), { code: "bad_request" })
  assert.equal(compat.KavaAnalytics, Analytics)
})

test("a beacon that is refused is sent by fetch", async () => {
  for (const sendBeacon of [() => false, () => { throw new Error("too large") }]) {
    const fetch = fakeFetch([{ match: "analytics.kaltura.com", respond: () => ({ body: "1" }) }])
    const on = new analytics.Analytics({ enabled: true, sendBeacon, fetch })
    assert.deepEqual(await on.buttonClicked({ buttonName: "x" }), { ok: true, transport: "fetch" })
    assert.deepEqual([fetch.calls[0]!.method, fetch.calls[0]!.headers["content-type"], fetch.calls[0]!.body], ["POST", "application/x-www-form-urlencoded", "service=analytics&action=trackEvent&eventType=10002&buttonName=x"])
  }
  const away = new analytics.Analytics({ enabled: true, sendBeacon: () => false, fetch: async () => { throw new Error("away") } })
  assert.deepEqual(await away.buttonClicked(), { ok: false, transport: "fetch" })
})

// --- Noise gate

const tone = (level: number) => Float32Array.from({ length: 480 }, (_, i) => (i % 2 ? -level : level))
const settings = { thresholdDb: -50, attackMs: 5, releaseMs: 50, floorAdaptMs: 2000 }

/** Lets a second of sound through a gate and returns the peak of its last block. */
function through(gate: Gate, level: number, blocks = 100): number {
  let out = new Float32Array(480)
  for (let i = 0; i < blocks; i++) gate.process([tone(level)], [out], settings)
  return Math.max(...out)
}

test("a gate lets speech through and silences what is quieter", () => {
  const gate = new Gate(48_000)
  assert.equal(through(gate, 0.001), 0)
  assert.ok(Math.abs(through(gate, 0.1, 2) - 0.1) < 1e-6, "open within 20 ms")
  assert.equal(through(gate, 0.001, 20), 0)
  // A noise above the threshold opens the gate, but it is no speech to one that knows it.
  const used = new Gate(48_000)
  assert.equal(through(used, 0.003, 1000), 0)
  assert.equal(used.open, false)
  assert.equal(through(used, 0.0045, 5), 0, "3.5 dB above the background")
  assert.ok(through(used, 0.05, 5) > 0.04)
  const silent = new Float32Array(480).fill(1)
  gate.process([], [silent], settings)
  gate.process([tone(0)], [silent], { ...settings, releaseMs: 0 })
  assert.equal(Math.max(...silent), 0)
})

test("the noise suppressor is a processor of the microphone", async () => {
  const context = new FakeAudioContext()
  const suppress = createNoiseSuppressor({ audioContext: context as never, audioWorkletNodeConstructor: FakeAudioWorkletNode as never, thresholdDb: -40, workletUrl: "https://page.example/gate.js" })
  const raw = await fakeGetUserMedia()({ audio: true })
  const { stream, stop } = await suppress(raw as never)
  await suppress(new FakeMediaStream(["audio"]) as never)
  assert.deepEqual(context.modules, ["https://page.example/gate.js"], "loaded once")
  const gate = context.sources[0]!.node.connections[0] as FakeAudioWorkletNode
  assert.deepEqual([gate.name, gate.options.parameterData], ["kaltura-noise-gate", { thresholdDb: -40, attackMs: 5, releaseMs: 150, floorAdaptMs: 2000 }])
  assert.equal(stream.getAudioTracks().length, 1)
  stop()
  assert.deepEqual([raw.active, stream.active, context.state, gate.connections.length], [false, false, "running", 0])
  for (const options of [{ thresholdDb: 1 }, { attackMs: 201 }, { releaseMs: -1 }, { floorAdaptMs: 99 }, { thresholdDb: "x" }, { getAudioContext: 1 }]) assert.throws(() => createNoiseSuppressor(options as never), { code: "bad_request" })
  await assert.rejects(createNoiseSuppressor()(raw as never), { code: "bad_request" })
  const broken = new FakeAudioContext()
  broken.audioWorklet.addModule = async () => { throw new Error("blocked") }
  await assert.rejects(createNoiseSuppressor({ getAudioContext: () => broken as never, audioWorkletNodeConstructor: FakeAudioWorkletNode as never })(raw as never), { code: "noise_processor_failed" })
  assert.equal(compat.createNoiseSuppressor, createNoiseSuppressor)
})

// --- Chroma key; e2e/parts has its picture

test("a chroma key belongs to the element of a session", () => {
  const { window } = makePage()
  const video = window.document.createElement("video") as HTMLVideoElement
  window.document.body.append(video)
  const made: unknown[] = []
  const ended: string[] = []
  class Library {
    constructor(...args: unknown[]) {
      made.push(args)
    }
    destroy() {
      ended.push("destroyed")
    }
  }
  const listeners = new Map<string, (payload: unknown) => void>()
  const session = { videoEl: video, on: (event: string, listener: (payload: unknown) => void) => (listeners.set(event, listener), () => listeners.delete(event)) }
  assert.throws(() => attachChromaKey({ session: { ...session, videoEl: null }, videoEl: video }), { code: "bad_request" })
  assert.throws(() => attachChromaKey({ videoEl: video } as never), { code: "bad_request" })
  const attach = () => attachChromaKey({ session, videoEl: video, ChromaKeyVideo: Library, options: { tolerance: 0.2 } })
  attach()
  assert.deepEqual(made, [[video, { container: undefined, tolerance: 0.2 }]])
  assert.throws(attach, { code: "invalid_state" })
  listeners.get("error")!({ code: "timeout" })
  assert.deepEqual(ended, [])
  listeners.get("error")!({ code: "peer_removed" })
  assert.deepEqual([ended, listeners.size], [["destroyed"], 0])
  for (const end of [() => listeners.get("ended")!({}), () => listeners.get("stateChange")!({ state: "disconnected" })]) {
    const player = attach()
    end()
    player.destroy()
  }
  assert.equal(ended.length, 3)
  for (const options of [{ color: "green" }, { color: [0, 0] }, { color: [0, 0, 256] }, { tolerance: 2 }, { spill: -1 }]) assert.throws(() => new ChromaKey(video, options as never), { code: "bad_request" })
  assert.throws(() => attachChromaKey({ session, videoEl: video }), { code: "unsupported_browser" }) // jsdom draws nothing
  assert.equal(video.style.opacity, "")
  assert.equal(compat.attachChromaKeyAvatar, attachChromaKey)
})

// --- Fakes

test("a fake fetch answers by its first route, and remembers", async () => {
  const fetch = fakeFetch([
    { match: "/a", respond: ({ method }) => ({ body: { method } }) },
    { match: /\/[ab]/, respond: () => ({ status: 201, body: streamFromChunks(["x", "y"]), headers: { "x-a": "1" } }) },
  ])
  assert.deepEqual(await (await fetch("https://h.example/a", { method: "post", headers: { "X-K": "v" }, body: "b" })).json(), { method: "POST" })
  const reply = await fetch(new URL("https://h.example/b"))
  assert.deepEqual([reply.status, await reply.text(), reply.headers.get("x-a")], [201, "xy", "1"])
  assert.equal((await fetch(new Request("https://h.example/c"))).status, 404)
  assert.deepEqual(fetch.calls[0], { url: "https://h.example/a", method: "POST", headers: { "x-k": "v" }, body: "b" })
  assert.equal(fetch.calls.length, 3)
  await assert.rejects(fetch("https://h.example/a", { signal: AbortSignal.abort(new Error("stop")) }), /stop/)
  assert.equal(await new Response(streamFrom("text")).text(), "text")
})

/** Sends what a client sends, as soon as the service lets it, and returns what the service has sent. */
async function connected(path: HappyPath): Promise<string[]> {
  const socket = new FakeSocket()
  const events: string[] = []
  let end = () => {}
  const ended = new Promise<void>((resolve) => (end = resolve))
  const on = (event: string, react: () => void = () => {}) => socket.on(event, () => (events.push(event), react()))
  on("onServerConnected", () => socket.emit("join", { room: "r" }))
  on("clientConfiguration")
  on("joinComplete", () => socket.emit("stvNewSession", { room_id: "r" }).emit("checkAvailability", {}))
  on("availabilityResult")
  on("stvNewSession")
  on("showAgent")
  on("askPermissions", () => socket.emit("asr-webrtc-init", {}))
  on("asr-webrtc-ready", () => socket.emit("asr-webrtc-offer", { sdp: "x" }))
  for (const last of ["asr-webrtc-answer", "throwToNoAgent", "throwToExceededTier"]) on(last, end)
  scriptHappyPath(socket, path)
  await ended
  assert.deepEqual([socket.didEmit("join"), socket.emitsOf("join"), socket.emitted[0]!.event], [true, [{ room: "r" }], "join"])
  return events
}

test("a fake socket plays the service's side", async () => {
  const good = await connected({})
  assert.deepEqual(good.filter((event) => event !== "availabilityResult"), ["onServerConnected", "clientConfiguration", "joinComplete", "stvNewSession", "showAgent", "askPermissions", "asr-webrtc-ready", "asr-webrtc-answer"])
  assert.equal((await connected({ noCapacity: true })).at(-1), "throwToNoAgent")
  assert.equal((await connected({ tierExceeded: true })).at(-1), "throwToExceededTier")
  const socket = new FakeSocket()
  const heard: unknown[] = []
  const listener = (payload: unknown) => heard.push(payload)
  socket.on("a", listener).once("a", listener).on("disconnect", listener).on("connect", () => heard.push(socket.recovered))
  socket.server("a", 1)
  socket.server("a", 2)
  socket.dropAndRecover("ping timeout", { recovered: false })
  socket.off("a", listener)
  socket.server("a", 3)
  assert.deepEqual(heard, [1, 1, 2, "ping timeout", false])
  socket.removeAllListeners().disconnect()
  assert.equal(socket.connected, false)
})
