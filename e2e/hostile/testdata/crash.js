// What the tests of crash_test.go do in their pages.
import { agentOf, arrive, chatOf, converse, diagnostics, dispose, errorCode, held, load, outcome, settled, within } from "./hostile.js"

/** A page whose stack is full calls the program, at every depth until it is over. */
function fillStack(session) {
  for (let i = 0; i < 20; i++) session.state // what is compiled at the first call needs a stack too
  let over = false
  const dive = () => {
    try { dive() } catch {}
    if (!over) try { session.state; over = true } catch {}
  }
  dive()
}

export async function theEndOfTheProgramIsTheEndOfEverythingInIt() {
  const exits = []
  const onExit = (code) => exits.push(code)
  await load({onExit})
  const talk = await agentOf(), moving = await agentOf(), chat = await chatOf(), other = await chatOf()
  const all = [talk, moving, chat, other]
  const {session} = talk
  for (const {session} of all) await session.connect()
  await session.switchMode("avatar")
  await session.transport.startMic()
  const begun = chat.until("transcript", ({text}) => text.startsWith("I think"))
  const open = {
    "a turn": () => chat.session.sendText("Think about it"),
    "a turn behind it": () => chat.session.sendText("Hello"),
    "a stream": async () => { for await (const _ of other.session.streamText("Think about it")); },
    "a turn of no session": async () => { for await (const _ of converse({...await arrive(), userMessage: "Think about it"})); },
    "an event": async () => { await chat.session.next("turnEnd") },
    "a switch": async () => { await begun; await moving.session.switchMode("avatar") },
  }
  const results = Object.entries(open).map(async ([name, call]) => [name, await within(outcome(call))])
  await begun
  const before = held()
  fillStack(session)
  const outcomes = Object.fromEntries(await Promise.all(results))
  const result = {
    open: outcomes, states: all.map(({session}) => session.state), ends: all.map(({ends}) => ends),
    errors: all.map((t) => t.all("error").map(errorCode)), held: held(), gone: await diagnostics(), before,
    late: await outcome(() => chat.session.sendText("Hello?")),
  }
  const next = await chatOf()
  await next.session.connect()
  const {text} = await next.session.sendText("My name is Sam.")
  await next.session.dispose()
  return {...result, next: text, exits}
}

export async function microphoneGrantedAfterTheRuntimeIsClosed() {
  /** @type {PromiseWithResolvers<void>} */
  const {promise, resolve} = Promise.withResolvers()
  const media = navigator.mediaDevices
  const real = media.getUserMedia.bind(media)
  /** @type {PromiseWithResolvers<void>} */
  const question = Promise.withResolvers()
  const exit = Promise.withResolvers()
  media.getUserMedia = async () => { question.resolve(); await promise; return real({audio: true}) }
  await load({onExit: exit.resolve})
  const {session} = await agentOf({mode: "avatar"})
  await session.connect()
  const started = outcome(() => session.transport.startMic())
  await question.promise
  dispose()
  await exit.promise
  resolve()
  await settled(() => watched.microphones.length === 1)
  const [track] = watched.microphones
  await settled(() => track.readyState === "ended", 3000)
  return {outcome: await started, state: track.readyState}
}
