// What the longer tests of this package do in their pages. The site has the package twice; this is its first copy.
import * as a from "/a/index.js"

/** Turns a rejection into plain data. */
const failure = (promise) => promise.then(
  (value) => ({value}),
  (e) => ({...JSON.parse(JSON.stringify(e)), real: e instanceof a.AgentError && e instanceof Error}))

const tick = (ms = 0) => new Promise((done) => setTimeout(done, ms))

export async function bothLiveAndEnd() {
  const names = () => Reflect.ownKeys(globalThis).map(String)
  const before = names()
  const exits = []
  const held = async () => (await a.diagnostics()).callbacks
  await a.load({program: "chat", onExit: (code) => exits.push("chat " + code)})
  const one = await held()
  await a.load({onExit: (code) => exits.push("full " + code)})
  const both = await held()
  const session = new a.AvatarSession({token: "t", genieUrl: "https://genie.example"})
  await session.startPlayback()
  const {sessions} = await a.diagnostics()
  const loaded = names()
  await a.dispose()
  await tick()
  return {exits: exits.sort(), sessions, held: [one, both, await held()],
    globals: [...loaded, ...names()].filter((name) => !before.includes(name))}
}

export async function disposedTwice() {
  const exits = []
  await a.load({wasmUrl: "/probe.wasm", onExit: (code) => exits.push(code)})
  const open = failure(a.appInit({widgetId: "never"}))
  await tick(30)
  await a.dispose()
  await a.dispose()
  await tick()
  const ticks = globalThis.ticks
  await tick(50)
  const ticked = globalThis.ticks !== ticks
  dispatchEvent(new Event("poke"))
  const poked = globalThis.poked === true
  await a.load({wasmUrl: "/probe.wasm"})
  const again = await failure(a.appInit({widgetId: "fine"}))
  await a.appInit({widgetId: "callback"})
  return {open: await open, exits, ticked, poked, again, called: globalThis.poked === true}
}
