// What the tests of visitor_test.go do in their pages.
import { arrive, connect, failure, visitor } from "./chat.js"

export async function visitorsThreadsMessagesAndRatings(token) {
  let replies = 0
  const init = {...await arrive({token}), kind: "agent", onResponse: () => replies++}
  const ids = []
  let turn
  for (const name of ["Ivy", "Ann", "Sam"]) {
    const {session} = await connect({init: {token}})
    turn = await session.sendText("My name is " + name)
    ids.push(session.threadId)
    await session.dispose()
  }
  const me = visitor(init)
  const {threads, messages, feedback, followups} = me
  const all = []
  for await (const {id} of threads.all({filter: {orderBy: "+createdAt"}, pager: {pageSize: 2}})) all.push(id)
  const [first, second, third] = ids
  const renamed = await threads.rename(first, "About me")
  const transcript = await threads.transcript(first)
  const analysed = await threads.setAnalysis(first, {mood: "good"})
  const cleared = await threads.clearAnalysis(first)
  await feedback.add(turn.messageId, true, "thanks")
  await feedback.add(turn.messageId, true)
  const rated = (await messages.list({threadId: third})).objects.find(({id}) => id === turn.messageId)
  const lines = []
  for await (const { type } of messages.all({threadId: first, filter: {orderBy: "+createdAt"}})) lines.push(type)
  const {newMessageId} = await messages.share(turn.messageId, "A name")
  const copy = await messages.get(newMessageId)
  const deleted = await threads.delete(first, second, "nobody's")
  return {
    threads: all.map((id) => ids.indexOf(id)).filter((i) => i >= 0).map(String), renamed: renamed.title,
    said: transcript.text, turns: transcript.turns.map(({role}) => role).join(),
    analysis: JSON.stringify(analysed.thread_metadata?.analysis), cleared: JSON.stringify(cleared.thread_metadata?.analysis ?? {}),
    rated: rated?.is_positive, answers: lines.join(), shared: copy.title === "A name" && copy.id === newMessageId,
    deleted: deleted.objects.length, left: (await threads.list()).totalCount,
    missing: (await failure(threads.get(first))).code, found: (await threads.get(third)).id === third ? "found" : "",
    suggested: (await followups.suggested()).length, consent: (await me.status()).aiConsent, replies,
  }
}
