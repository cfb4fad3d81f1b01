// What the tests of end_test.go do in their pages.
import { connect } from "./chat.js"

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
