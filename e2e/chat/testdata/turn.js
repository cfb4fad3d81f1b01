// What the tests of turn_test.go do in their pages.
import { failure } from "/e2e/pagetest/page/tools.js"
import { arrive, connect, converse, converseOnce } from "./chat.js"

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

export async function firstSettings() {
  const {session} = await connect()
  session.setToken((await arrive()).ks)
  session.updateRequestVars({page: "größe"})
  session.setDynamicPrompt({page: {title: "Größen 😀"}})
}

export async function firstStream() {
  const {session} = await connect()
  for await (const {content} of session.streamText("Größe – 日本語? 😀")) if (content) return
  throw new Error("there is no answer")
}

export async function firstStreamLeft() {
  const {session} = await connect()
  for await (const {type} of session.streamText("What is a thread?")) if (type) return
  throw new Error("there is no answer")
}

export async function firstAbort() {
  const {session} = await connect()
  const controller = new AbortController()
  const turn = failure(session.sendText("What is a thread?", {signal: controller.signal}))
  controller.abort()
  const {code} = await turn
  if (code !== "aborted") throw new Error(`the turn ended with ${code}`)
}

export async function firstConverse() {
  for await (const {content} of converse({...(await arrive()), userMessage: "What is a thread?"})) if (content) return
  throw new Error("there is no answer")
}
