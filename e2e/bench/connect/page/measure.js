// Measures one of the two clients in this page.

const service = await (await fetch("/service.json")).json()
const { widgetId } = service.agents.find(({ name }) => name === "receptionist")

const longTasks = []
const observer = new PerformanceObserver((list) => longTasks.push(...list.getEntries()))
observer.observe({ type: "longtask" })

const memories = []
for (const name of ["instantiate", "instantiateStreaming"]) {
  const original = WebAssembly[name]
  WebAssembly[name] = async (...args) => {
    const result = await original.apply(WebAssembly, args)
    memories.push(...Object.values((result.instance ?? result).exports).filter((value) => value instanceof WebAssembly.Memory))
    return result
  }
}

/** The bytes of the WebAssembly memories, which the browser's heap size does not include. */
export const memory = () => memories.reduce((sum, { buffer }) => sum + buffer.byteLength, 0)

/** The clients with one interface. Each function resolves when the client's modules are imported. */
const clients = {
  async ours() {
    const { appInit, AvatarSession, load } = await import("/js/dist/index.js")
    return {
      ready: load(),
      init: () => appInit({ widgetId, ...service.addresses }),
      open(init, video, on) {
        const session = new AvatarSession({ ...init, ...service.session, videoEl: video, micStartMode: "deferred" })
        session.on("speechChunk", ({ text }) => text && on.word())
        session.on("avatarStopTalking", () => on.silence())
        return { prepare: () => session.prepare(), connect: () => session.connect(), close: () => session.dispose(), speak: (text) => session.speak(text) }
      },
    }
  },
  async plain() {
    const { appInit, Connection } = await import("/build/bench/plain.js")
    return {
      ready: Promise.resolve(),
      init: () => appInit({ widgetId, ...service.addresses }),
      open: (init, video, on) => new Connection(init, video, on),
    }
  },
}

/** The bytes of the modules and the programs that the page has downloaded so far, compressed as they came. */
const downloaded = () =>
  performance.getEntriesByType("resource").filter(({ name }) => /\/dist\/.*\.(js|wasm)$|\/build\/bench\//.test(name)).reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)

/** Resolves after ms milliseconds, like a visitor who reads before the next click. */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Makes a new video element for a connection. */
function screen() {
  const video = document.createElement("video")
  video.playsInline = true
  document.body.append(video)
  return video
}

/**
 * Connects, and measures the times of connection, first frame and first word, in ms after the
 * call. With `prepare`, a client that supports it prepares its session before the call, while
 * the visitor moves to the button.
 */
async function connect(client, init, { wantWord, prepare }) {
  const video = screen()
  let began = performance.now()
  const since = () => performance.now() - began
  let session
  const word = new Promise((resolve) => {
    session = client.open(init, video, { word: () => resolve(since()), silence: () => {} })
  })
  if (prepare) {
    await session.prepare?.()
    await pause(300)
    began = performance.now()
  }
  let bytes
  const frame = new Promise((resolve) =>
    video.requestVideoFrameCallback(() => {
      bytes = downloaded()
      resolve(since())
    }),
  )
  await session.connect()
  const connected = since()
  const figures = { began, connected, frame: await frame, bytes, word: wantWord ? await word : 0 }
  return {
    figures,
    async close() {
      await session.close()
      video.remove()
    },
  }
}

/** The total blocking time of the main thread (tasks over 50 ms) between two times, and the longest task. */
function blocking(from, to) {
  longTasks.push(...observer.takeRecords())
  const tasks = longTasks.filter(({ startTime }) => startTime >= from && startTime < to).map(({ duration }) => duration)
  return { blocked: tasks.reduce((sum, ms) => sum + ms - 50, 0), longest: Math.max(0, ...tasks) }
}

/** Measures everything from the import to the first word, without a pause. */
export async function visit(name) {
  const began = performance.now()
  const client = await clients[name]()
  const ready = client.ready.then(() => performance.now() - began)
  const { figures, close } = await connect(client, await client.init(), { wantWord: true })
  const start = figures.began - began
  const all = {
    ready: await ready,
    frame: figures.frame,
    word: figures.word,
    bytesToFrame: figures.bytes,
    importToFrame: start + figures.frame,
    importToWord: start + figures.word,
    ...blocking(began, figures.began + figures.connected),
  }
  await close()
  return all
}

/** Measures an element from the click of a visitor who has read for 3 s, as the agent came into view with the page. */
export async function element(preload) {
  await import("/js/dist/element.js")
  const agent = document.createElement("agent-avatar")
  const { agenticUrl, genieUrl, ovpUrl } = service.addresses
  Object.assign(agent, { widgetId, preload, microphone: "none", agenticUrl, genieUrl, ovpUrl, options: service.session })
  document.body.append(agent)
  await pause(3000)
  const began = performance.now()
  const video = agent.shadowRoot.querySelector("video")
  const frame = new Promise((resolve) => video.requestVideoFrameCallback(() => resolve(performance.now() - began)))
  agent.shadowRoot.querySelector("button[part~=start]").click()
  const figures = { frame: await frame }
  agent.remove()
  return figures
}

/** A conversation in text, from the import to the first text of the first answer. The plain client has none. */
export async function chat(name) {
  if (name === "plain") return {}
  const began = performance.now()
  const { appInit, ChatSession } = await import("/js/dist/chat.js")
  const session = new ChatSession({ ...(await appInit({ widgetId, ...service.addresses })), ...service.session })
  await session.connect()
  for await (const { content } of session.streamText(questions[0])) {
    if (!content) continue
    const figures = { importToAnswer: performance.now() - began, bytesToAnswer: downloaded() }
    session.dispose()
    return figures
  }
}

/** Connects in a page whose client is loaded: the first time, and the last of several. */
export async function loaded(name, times, prepare) {
  const client = await clients[name]()
  await client.ready
  let init = await client.init()
  const connects = []
  for (let i = 0; i < times; i++) {
    await pause(i === 0 ? 1000 : 300)
    const { figures, close } = await connect(client, init, { wantWord: i === 0, prepare })
    connects.push({ ...figures, ...blocking(figures.began, figures.began + figures.connected) })
    await close()
    init = await client.init()
  }
  return { frame: connects[0].frame, word: connects[0].word, blocked: connects[0].blocked, longest: connects[0].longest, last: connects.at(-1).frame }
}

const questions = ["What is a thread?", "What is the local service?", "How does a page hear the agent?", "What is the relay for?"]

/** The long session, and the function that is called when its agent has finished speaking. */
let lasting, silence

/** Connects, and resolves when the agent has spoken its opening. */
export async function stay(name) {
  const client = await clients[name]()
  await client.ready
  const init = await client.init()
  const opening = new Promise((resolve) => (silence = resolve))
  lasting = client.open(init, screen(), { word: () => {}, silence: () => silence() })
  await lasting.connect()
  await opening
}

/** Asks the agent a question now, and again whenever it has finished speaking. */
export function talk() {
  let asked = 0
  silence = () => lasting.speak(questions[asked++ % questions.length])
  silence()
}
