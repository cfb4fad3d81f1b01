// Records what a session sends and receives, for the wire inspector: it wraps the page's
// WebSocket and fetch before the runtime takes them. Nothing secret is recorded.

// The longest recorded text, in characters.
const maxLength = 2000

const secret = /("(?:\w*token|ks|authorization|credential|password|username|secret)"\s*:\s*)"[^"]*"/gi
const long = /[\w\-+/=|]{80,}/g

const recorders = new Set()
const record = (kind, text) => {
  const plain = text.replace(secret, '$1"…"').replace(long, "…").slice(0, maxLength)
  for (const each of recorders) each(kind, plain)
}

/** Calls a function for each thing that is sent, received or logged. */
export const onWire = (recorder) => recorders.add(recorder)

/** The session's option `logger`. */
export const logger = (level, message, data) => record(`log ${level}`, data === undefined ? message : `${message} ${JSON.stringify(data)}`)

const textOf = (data) => (typeof data === "string" ? data : `(${data.byteLength ?? data.size} bytes)`)
// Without the query, which may hold a token.
const place = (address) => {
  const { host, pathname } = new URL(address, location.href)
  return host + pathname
}

globalThis.WebSocket = class extends WebSocket {
  constructor(address, protocols) {
    super(address, protocols)
    record("socket", `opens ${place(address)}`)
    this.addEventListener("message", ({ data }) => record("socket ←", textOf(data)))
    this.addEventListener("close", ({ code, reason }) => record("socket", `closed ${code} ${reason}`))
  }

  send(data) {
    record("socket →", textOf(data))
    super.send(data)
  }
}

const { fetch } = globalThis
globalThis.fetch = async (resource, options) => {
  const { method, url } = new Request(resource, { ...options, body: undefined })
  const name = `${method} ${place(url)}`
  const begin = performance.now()
  const after = () => `${Math.round(performance.now() - begin)} ms`
  try {
    const reply = await fetch(resource, options)
    record("http", `${name} ${reply.status} after ${after()}`)
    return reply
  } catch (error) {
    record("http", `${name} ${error.name} after ${after()}`)
    throw error
  }
}
