// What the tests of fake_test.go do in their pages.
import { FakeAvatarSession } from "/js/dist/testing.js"
import { open } from "./talk.js"

const groups = {
  voice: ["final", "speechChunk", "partial", "avatarStartTalking", "avatarStopTalking", "interrupted"],
  media: ["track", "videoMetadata", "asr checking", "asr connected", "stv checking", "stv connected"],
}

/** Names of events by what they are about; repeated ones once, and those of media sorted. */
const told = (events) => {
  const name = ({name, payload}) => name === "stateChange" ? payload.state
    : name === "transcript" ? payload.type
    : name === "connectivityChanged" ? payload.channel + " " + payload.state
    : name === "brainSegment" ? "segment " + payload.type : name
  const all = events.map(name)
  const once = (list) => list.filter((name, i) => name !== list[i - 1])
  const voice = all.filter((name) => groups.voice.includes(name))
    .filter((name, i, list) => !(["speechChunk", "partial"].includes(name) && list.slice(0, i).includes(name)))
  return {
    brain: once(all.filter((name) => ![...groups.voice, ...groups.media].includes(name))).join(" "),
    voice: once(voice.filter((name) => name !== "final")).join(" "),
    finals: all.filter((name) => name === "final").length,
    media: [...new Set(all.filter((name) => groups.media.includes(name)))].sort().join(" "),
    texts: events.filter(({name}) => name === "avatarStopTalking").map(({payload}) => payload.text),
  }
}

/** A session, whose events are told step by step. */
const record = (session) => {
  /** @type {Record<string, any>} */
  const talk = {session, events: [], said: [], until: {}}
  session.onAny((name, payload) => {
    if (name !== "turnTimings") talk.events.push({name, payload}) // a FakeAvatarSession measures nothing
  })
  session.onToolCall("save_note", ({toolMetadata}) => {
    session.respondToTool(toolMetadata.id, {status: "saved"})
    return {status: "saved"}
  })
  /** Does something, waits for events by name, and tells what happened. */
  talk.step = async (what, ...wanted) => {
    talk.events.length = 0
    const all = wanted.map((name) => session.next(name))
    await what()
    await Promise.all(all)
    talk.said.push(told(talk.events))
  }
  return talk
}

/** The conversation that both have. */
const converse = async (talk) => {
  const {session} = talk
  await talk.step(() => session.connect(), "videoMetadata", "avatarStopTalking")
  for (const text of ["menu", "note", "two"]) await talk.step(() => session.speak(text), "avatarStopTalking", "turnEnd")
  await talk.step(async () => {
    const spoken = session.next("turnEnd")
    const talking = session.next("avatarStartTalking")
    await session.speak("story")
    await Promise.all([spoken, talking])
    session.interrupt()
  }, "avatarStopTalking")
}

/** Has the conversation with the local service and with a fake agent, as `real` and `fake` for the scripts of the test. */
export async function play(rules) {
  globalThis.real = record((await open({agent: "silent", micStartMode: "deferred", statsIntervalMs: 0})).session)
  globalThis.fake = record(new FakeAvatarSession({agent: {rules: rules, voiceMs: 200}, micStartMode: "deferred"}))
  await Promise.all([converse(globalThis.real), converse(globalThis.fake)])
}
