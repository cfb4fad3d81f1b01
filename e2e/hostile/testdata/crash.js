// What the tests of crash_test.go do in their pages.
import { agentOf, arrive, chatOf, converse, diagnostics, dispose, errorCode, held, load, outcome, scarce, settled, within } from "./hostile.js"

/** Ways in which a page ends the program that it runs, with the options of load for each. */
const crashes = {
  // A page whose stack is full calls the program, at every depth until it is over.
  "a full stack": {
    cause(session) {
      for (let i = 0; i < 20; i++) session.state // what is compiled at the first call needs a stack too
      let over = false
      const dive = () => {
        try { dive() } catch {}
        if (!over) try { session.state; over = true } catch {}
      }
      dive()
    },
  },
  "no more memory": {
    load: async () => ({ wasmModule: await scarce("/js/dist/agentruntime.wasm", 512) }),
    cause(session) {
      void outcome(() => session.sendText("x".repeat(100_000_000)))
    },
  },
}

export async function theEndOfTheProgramIsTheEndOfEverythingInIt(name) {
  const crash = crashes[name]
  const exits = []
  const onExit = (code) => exits.push(code)
  await load({onExit, ...(await crash.load?.())})
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
  crash.cause(session)
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

export async function fetchThatGivesAnythingEndsTheTurn() {
  await load()
  const chunk = (value) => {
    const left = [{done: false, value}]
    return {body: {getReader: () => ({read: async () => left.pop() ?? {done: true}, cancel: async () => {}})}}
  }
  const replies = {
    "no reply": () => 5, "a bigint status": () => ({status: 5n}), "a huge status": () => ({status: 1e300}), "a throw": () => { throw 5n },
    "a bigint for the end": () => ({body: {getReader: () => ({read: async () => ({done: 5n}), cancel: async () => {}})}}),
    "text": () => chunk("text"), "a negative length": () => chunk(Object.defineProperty(new Uint8Array(5), "length", {value: -7})),
    "a huge length": () => chunk(Object.defineProperty(new Uint8Array(5), "length", {value: 1e12})),
    "bytes that throw": () => chunk(new Proxy(new Uint8Array(5), {get() { throw new Error("proxy") }, getPrototypeOf() { throw new Error("proxy") }})),
    "a reader that throws": () => ({body: {getReader() { throw new Error("reader") }}}),
    "a body that is locked": () => ({body: new Response("x").body, locked: true}),
    "headers of anything": () => ({headers: [5n, Symbol("x")]}),
  }
  const {fetch} = globalThis
  const got = {}
  for (const [name, reply] of Object.entries(replies)) {
    const {session} = await chatOf()
    await session.connect()
    await session.sendText("My name is Sam.")
    globalThis.fetch = async (url, request) => {
      /** @type {any} */
      const real = await fetch(url, request)
      /** @type {any} */
      const own = reply()
      return typeof own === "object" ? {status: real.status, url: real.url, headers: real.headers, body: real.body, ...own} : own
    }
    const turn = outcome(() => session.sendText("What is my name?"))
    const behind = outcome(() => session.sendText("What is my name?"))
    got[name] = [await within(turn), await within(behind)]
    globalThis.fetch = fetch
    got[name].push(await outcome(() => session.dispose()))
  }
  return got
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
