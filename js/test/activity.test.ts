import assert from "node:assert/strict"
import { test, type TestContext } from "node:test"
import { AgentActivity, type Activity } from "../src/ui/activity.js"

/** A session that a test moves. */
function session(properties: object = {}) {
  const listeners = new Map<string, Set<(payload: unknown) => void>>()
  return {
    state: "connected",
    speak: () => {},
    micStarted: true,
    micEnabled: true,
    playbackBlocked: null as "audio" | null,
    paused: false,
    ...properties,
    on(event: string, listener: (payload: never) => void) {
      const all = listeners.get(event) ?? new Set()
      listeners.set(event, all.add(listener as (payload: unknown) => void))
      return () => all.delete(listener as (payload: unknown) => void)
    },
    emit(event: string, payload: unknown = {}) {
      for (const listener of listeners.get(event) ?? []) listener(payload)
    },
    get count() {
      return [...listeners.values()].reduce((sum, { size }) => sum + size, 0)
    },
  }
}

function watched(t: TestContext, from: ReturnType<typeof session>) {
  t.mock.timers.enable({ apis: ["Date", "setInterval"] })
  const levels = { agent: 0 as number | undefined, visitor: 0 }
  const activity = new AgentActivity(from, { levels })
  const seen: Activity[] = []
  activity.onChange((now) => seen.push(now))
  return { activity, levels, seen, tick: (ms: number) => t.mock.timers.tick(ms) }
}

test("the agent speaks only while its voice is heard", (t) => {
  const from = session()
  const { activity, levels, seen, tick } = watched(t, from)
  assert.equal(activity.current, "listening")
  from.emit("responsePending")
  from.emit("turnStart", { speechId: "s", turnId: "1", isNewTurn: true })
  from.emit("responseSettled")
  from.emit("avatarStartTalking")
  tick(1_000)
  assert.equal(activity.current, "thinking")
  levels.agent = 0.5
  tick(50)
  assert.equal(activity.current, "speaking")
  levels.agent = 0 // a pause between two sentences
  tick(1_000)
  assert.equal(activity.current, "speaking")
  from.emit("avatarStopTalking", { text: "Hello." })
  from.emit("turnEnd", { speechId: "s" })
  assert.deepEqual(seen, ["thinking", "speaking", "listening"])
})

test("a voice that can't be measured is heard after its lead, and one that is blocked not at all", (t) => {
  const from = session()
  const { activity, levels, tick } = watched(t, from)
  levels.agent = undefined
  from.emit("avatarStartTalking")
  tick(350)
  assert.equal(activity.current, "thinking")
  tick(50)
  assert.equal(activity.current, "speaking")
  from.playbackBlocked = "audio"
  activity.update()
  assert.equal(activity.current, "listening")
  assert.equal(activity.busy, true)
})

test("a visitor who interrupts is heard until the service answers, or until the microphone is quiet", (t) => {
  const from = session()
  const { activity, levels, tick } = watched(t, from)
  levels.agent = 1
  from.emit("avatarStartTalking")
  tick(50)
  from.emit("userStartedTalking")
  from.emit("interrupted")
  from.emit("avatarStopTalking", { text: "Hel" })
  assert.equal(activity.current, "hearing")
  levels.visitor = 0.4
  tick(5_000)
  assert.equal(activity.current, "hearing")
  levels.visitor = 0
  tick(2_000)
  assert.equal(activity.current, "listening")
  from.emit("userStartedTalking")
  from.emit("responsePending")
  assert.equal(activity.current, "thinking")
})

test("a microphone that the system has muted does not listen", (t) => {
  const from = session()
  const { activity, seen } = watched(t, from)
  const track = { readyState: "live", muted: true }
  from.emit("hardwareMuteChanged", { muted: true, track })
  assert.equal(activity.current, "muted")
  track.muted = false
  from.emit("hardwareMuteChanged", { muted: false, track })
  assert.deepEqual(seen, ["muted", "listening"])
  track.muted = true
  from.emit("hardwareMuteChanged", { muted: true, track })
  track.readyState = "ended" // another microphone is used
  activity.update()
  assert.equal(activity.current, "listening")
})

test("microphone, tap-to-talk, pauses, connections and texts have states of their own", (t) => {
  const from = session({ capabilities: { tapToTalk: true }, tapToTalkActive: false })
  const { activity } = watched(t, from)
  const now = (change: object) => {
    Object.assign(from, change)
    activity.update()
    return activity.current
  }
  assert.equal(activity.current, "tapToTalk")
  assert.equal(now({ tapToTalkActive: true }), "listening")
  assert.equal(now({ capabilities: {}, micEnabled: false }), "muted")
  assert.equal(now({ paused: true }), "paused")
  assert.equal(now({ paused: false, state: "reconnecting" }), "reconnecting")
  assert.equal(now({ state: "connecting" }), "connecting")
  assert.equal(now({ state: "connected", speak: undefined }), "ready")
  from.emit("responsePending")
  assert.equal(activity.current, "thinking")
  from.emit("transcript", { type: "final", text: "It", speechId: null })
  assert.equal(activity.current, "writing")
  from.emit("ended", {})
  assert.deepEqual([activity.current, activity.busy], ["over", false])
  from.emit("stateChange", { state: "disconnected" })
  assert.equal(activity.current, "over")
  from.emit("stateChange", { state: "preparing" }) // it connects again
  assert.deepEqual([activity.current, activity.busy], ["ready", false])
  activity.destroy()
  assert.equal(from.count, 0)
})
