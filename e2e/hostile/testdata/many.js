// What the tests of many_test.go do in their pages.
import { agentOf, chatOf, holdings, left, load, outcome, tally, within } from "./hostile.js"

export async function fiftySessionsInOnePage() {
  await load()
  const before = await holdings()
  const talks = await Promise.all(Array.from({length: 50}, (_, i) => agentOf({mode: i % 2 ? "avatar" : "chat"})))
  const outcomes = await Promise.all(talks.map(({session}) => within(outcome(() => session.connect()), 90_000)))
  await Promise.all(talks.map(({session}, i) => i % 3 ? session.dispose() : (session.disconnect(), session.dispose())))
  const after = await left(before)
  const next = await chatOf()
  await next.session.connect()
  await next.session.sendText("My name is Sam.")
  const {text} = await next.session.sendText("What is my name?")
  await next.session.dispose()
  return {outcomes: tally(outcomes), left: after, answer: text}
}
