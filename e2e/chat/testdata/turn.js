// What the tests of turn_test.go do in their pages.
import { arrive, connect, converse, converseOnce, diagnostics, failure, settled } from "./chat.js"

export async function oneTurnInEveryWay() {
  const talk = await connect()
  const {session} = talk
  const question = "What is a thread?"
  await session.sendText(question)
  const order = talk.order
  const events = talk.all("transcript").filter(({type}) => type === "final").map(({text}) => text).join("")
  const from = talk.now
  const turn = await session.sendText(question)
  const spoken = (segments) => segments.filter(({type}) => type === "text").map(({content}) => content).join("")
  const streamed = []
  for await (const segment of session.streamText(question)) streamed.push(segment)
  const init = await arrive()
  const bare = []
  for await (const segment of converse({...init, userMessage: question})) bare.push(segment)
  const once = await converseOnce({...init, userMessage: question})
  const sse = await converseOnce({...init, userMessage: question, sse: true})
  return {
    events, order, awaited: turn.text, streamed: spoken(streamed), bare: spoken(bare), once: once.text, sse: sse.text,
    segments: {awaited: turn.segments.length, streamed: streamed.length, heard: talk.all("brainSegment", from).length - streamed.length},
    final: streamed.at(-1).isFinal && bare.at(-1).isFinal,
  }
}

export async function abortedTurnStopsAndTheNextWorks() {
  const talk = await connect({brainStallMs: 0})
  const {session} = talk
  await session.sendText("My name is Ivy")
  const before = await diagnostics()
  const codes = []
  // By a signal, in the middle of the answer.
  const controller = new AbortController()
  const answer = failure(session.sendText("Think about it", {signal: controller.signal}))
  await talk.until("transcript", ({text}) => text.startsWith("I think"))
  controller.abort()
  codes.push((await answer).code)
  // By leaving the loop.
  for await (const {type} of session.streamText("Think about it")) if (type === "text") break
  // By a signal, in the loop.
  const other = new AbortController()
  try {
    for await (const {type} of session.streamText("Think about it", {signal: other.signal})) if (type === "text") other.abort()
  } catch (error) { codes.push(error.code) }
  // A turn without a session.
  for await (const {type} of converse({...await arrive(), userMessage: "Think about it"})) if (type === "text") break
  const next = (await session.sendText("What is my name?")).text
  await settled(async () => Object.entries(await diagnostics()).every(([name, n]) => n <= before[name]))
  return {codes, next, errors: talk.all("error").map(({code}) => code), before, after: await diagnostics()}
}

export async function errorSegmentsFailOrWarnOrAreReturned() {
  const outcome = async (promise) => {
    try {
      const {text, errors} = await promise
      return {text, partial: errors[0]?.content}
    } catch (error) {
      return {code: error.code, partial: error.body?.partial?.text}
    }
  }
  const {session} = await connect()
  const warned = await connect({onErrorSegment: "warn"})
  const init = await arrive()
  return {
    thrown: await outcome(session.sendText("Fail")),
    denied: await outcome(session.sendText("Somebody else's")),
    state: session.state,
    warned: {...await outcome(warned.session.sendText("Fail")), warning: warned.all("warning")[0].code},
    once: await outcome(converseOnce({...init, userMessage: "Fail"})),
    returned: await outcome(converseOnce({...init, userMessage: "Fail", onErrorSegment: "return"})),
  }
}
