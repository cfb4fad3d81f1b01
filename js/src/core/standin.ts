// Stand-ins for the service, and for what a browser has for media, with which the real program connects a session without
// either: in the worker of warmup.ts, and where bench/fakes measures what starting the program costs a test.

/** The host of every address. */
export const host = "https://warmup.invalid"

const json = (value: object) => new Response(JSON.stringify(value), { headers: { "content-type": "application/json" } })

/** Answers requests as the service does. */
async function answer(input: string | URL | Request): Promise<Response> {
  const { pathname } = new URL(input instanceof Request ? input.url : input)
  if (pathname.endsWith("/appInit")) return json({ ks: "warmup", conversationManagerUrl: host, srsBaseUrl: host, turnServerUrl: "turn:warmup.invalid", avatars: [] })
  if (pathname === "/whep") return new Response("v=0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\n", { status: 201, headers: { location: "/whep", "content-type": "application/sdp" } })
  return json({})
}

/** The messages with which the service replies to one of the program, by the beginning of that message. */
const replies: Readonly<Record<string, readonly string[]>> = {
  "": ['0{"sid":"warmup","pingInterval":25000,"pingTimeout":20000}'],
  "40": ['40{"sid":"warmup"}', '42["onServerConnected",{}]'],
  '42["join"': ['42["clientConfiguration",{}]', '42["joinComplete",{}]'],
  '42["stvNewSession"': [`42["stvNewSession",{"webrtc_url":"${host}/whep"}]`, '42["showAgent",{}]', '42["askPermissions",{}]'],
  '42["asr-webrtc-init"': ['42["asr-webrtc-ready",{}]'],
  '42["asr-webrtc-offer"': ['42["asr-webrtc-answer",{"answer":{"type":"answer","sdp":"v=0\\r\\n"}}]'],
}

class StandInSocket extends EventTarget {
  readonly bufferedAmount = 0

  constructor() {
    super()
    queueMicrotask(() => {
      this.dispatchEvent(new Event("open"))
      this.#reply("")
    })
  }

  send(text: string): void {
    const begin = Object.keys(replies).find((begin) => begin !== "" && text.startsWith(begin))
    if (begin !== undefined) queueMicrotask(() => this.#reply(begin))
  }

  close(): void {
    queueMicrotask(() => this.dispatchEvent(Object.assign(new Event("close"), { code: 1000, wasClean: true }))) // Node.js 20 has no CloseEvent
  }

  #reply(to: string): void {
    for (const data of replies[to]!) this.dispatchEvent(new MessageEvent("message", { data }))
  }
}

class StandInTrack extends EventTarget {
  readonly id = "warmup"
  constructor(readonly kind: string) {
    super()
  }
  stop(): void {}
}

class StandInStream {
  addTrack(): void {}
  removeTrack(): void {}
}

class StandInPeer extends EventTarget {
  localDescription: unknown

  addTransceiver(): object {
    return {}
  }
  async createOffer(): Promise<object> {
    return { type: "offer", sdp: "v=0\r\n" }
  }
  async setLocalDescription(description: object): Promise<void> {
    this.localDescription = description
  }
  async setRemoteDescription(): Promise<void> {
    for (const kind of ["audio", "video"]) this.dispatchEvent(Object.assign(new Event("track"), { track: new StandInTrack(kind), streams: [] }))
  }
  async getStats(): Promise<Map<string, object>> {
    return new Map()
  }
  close(): void {}
}

/** An element that paints a frame when it is asked to. */
export class StandInVideo extends EventTarget {
  srcObject: unknown = null
  readonly readyState = 4
  readonly videoWidth = 1
  readonly videoHeight = 1
  #painted: ((now: number, frame: object) => void) | undefined

  async play(): Promise<void> {}
  requestVideoFrameCallback(painted: (now: number, frame: object) => void): number {
    this.#painted = painted
    queueMicrotask(() => this.#painted?.(0, { width: 1, height: 1 }))
    return 1
  }
  cancelVideoFrameCallback(): void {
    this.#painted = undefined
  }
}

/** What replaces the global variables of these names before a program starts. */
export const standIns = { fetch: answer, WebSocket: StandInSocket, RTCPeerConnection: StandInPeer, MediaStream: StandInStream }
