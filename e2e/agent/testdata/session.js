// What the tests of session_test.go do in their pages.
import { arrive, AvatarSession, ChatSession, connect, LevelMeter, failure, picture } from "./agent.js"

export async function oneConversationOverBothTransports() {
  globalThis.talk = await connect()
  const {session} = talk
  const transports = [], tracks = []
  session.on("transportChanged", ({mode, transport}) => {
    transports.push(mode + " " + transport.state)
    if (mode === "avatar") transport.on("track", ({track}) => track.kind === "audio" && tracks.push(track))
  })
  const chat = session.transport
  const {text} = await session.sendText("My name is Sam.")
  const threads = [session.threadId]
  await session.switchMode("avatar")
  const avatar = session.transport
  const seen = await picture(avatar.videoEl)
  const meter = await LevelMeter.at(tracks[0])
  const heard = meter.loud().then(() => true)
  const from = talk.now
  const left = await session.sendText("What is my name?")
  const spoken = await talk.spoken("name", from)
  const loud = await heard
  await meter.close()
  threads.push(session.threadId)
  await session.switchMode("chat")
  const again = (await session.sendText("What did I say first?")).text
  const everything = (await session.sendText("What did we talk about?")).text
  threads.push(session.threadId)
  return {
    text, spoken: left + ": " + spoken, again, everything, picture: seen, loud, transports, thread: session.threadId, threads,
    same: [chat instanceof ChatSession, avatar instanceof AvatarSession, session.transport instanceof ChatSession, session.transport !== chat],
    timings: session.timings, old: (await failure(chat.sendText("Hello?"))).code, oldThread: chat.threadId,
  }
}

export async function firstCalls() {
  const {session} = await connect({agent: "receptionist"})
  session.setToken((await arrive("receptionist")).ks)
  session.updateRequestVars({page: "größe"})
  session.setDynamicPrompt({page: {title: "Größen 😀"}})
  const {text} = await session.ask("Größe – 日本語? 😀")
  session.disconnect()
  return text
}
