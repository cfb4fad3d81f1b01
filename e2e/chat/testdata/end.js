// What the tests of end_test.go do in their pages.
import { connect, diagnostics, held, load, settled } from "./chat.js"

export async function theServiceHearsOfAnEndOnce() {
  const kept = await connect()
  await kept.session.sendText("What is a thread?")
  kept.session.disconnect({final: false})
  const silent = await connect()
  silent.session.disconnect()
  const talk = await connect()
  await talk.session.sendText("What is a thread?")
  const {threadId} = talk.session
  talk.session.disconnect({reason: "enough"})
  talk.session.disconnect()
  const told = await talk.until("sessionCompleted")
  await talk.session.dispose()
  return {
    thread: threadId, kept: kept.session.threadId, state: talk.session.state, empty: silent.all("sessionCompleted").length === 0,
    reason: talk.all("ended").map(({reason}) => reason).join(), completed: told.reason + " " + told.sent,
  }
}

export async function sessionsLeaveNothingBehind() {
  await load()
  const all = async () => ({...held(), ...await diagnostics()})
  const before = await all()
  for (let i = 0; i < 20; i++) {
    const {session} = await connect({agent: i % 2 ? "tools" : "receptionist"})
    session.onToolCall("save_note", ({toolMetadata}) => session.respondToTool(toolMetadata.id, {status: "saved"}))
    await session.sendText(i % 2 ? "Save a note: " + i : "What is a thread?")
    const loop = session.streamText("What is a thread?")
    await loop.next()
    await session.dispose()
  }
  await settled(async () => Object.entries(await all()).every(([name, n]) => n <= before[name]))
  return {before, after: await all()}
}
