type Kind = "audio" | "video"

let ids = 0

/** A track without media. */
export class FakeMediaStreamTrack extends EventTarget {
  readonly id = `track-${++ids}`
  enabled = true
  muted = false
  readyState: "live" | "ended" = "live"
  label = ""
  settings: MediaTrackSettings = {}

  constructor(readonly kind: Kind) {
    super()
  }

  stop(): void {
    this.readyState = "ended"
  }

  getSettings(): MediaTrackSettings {
    return this.settings
  }

  clone(): FakeMediaStreamTrack {
    return new FakeMediaStreamTrack(this.kind)
  }
}

/** A stream of fake tracks. */
export class FakeMediaStream extends EventTarget {
  readonly id = `stream-${++ids}`
  readonly #tracks: FakeMediaStreamTrack[]

  /** Takes tracks, or the kinds of tracks to make. */
  constructor(tracks: readonly (FakeMediaStreamTrack | Kind)[] | FakeMediaStream = []) {
    super()
    this.#tracks = tracks instanceof FakeMediaStream ? tracks.getTracks() : tracks.map((track) => (typeof track === "string" ? new FakeMediaStreamTrack(track) : track))
  }

  get active(): boolean {
    return this.#tracks.some(({ readyState }) => readyState === "live")
  }

  getTracks(): FakeMediaStreamTrack[] {
    return [...this.#tracks]
  }

  getAudioTracks(): FakeMediaStreamTrack[] {
    return this.#tracks.filter(({ kind }) => kind === "audio")
  }

  getVideoTracks(): FakeMediaStreamTrack[] {
    return this.#tracks.filter(({ kind }) => kind === "video")
  }

  addTrack(track: FakeMediaStreamTrack): void {
    if (!this.#tracks.includes(track)) this.#tracks.push(track)
  }

  removeTrack(track: FakeMediaStreamTrack): void {
    const at = this.#tracks.indexOf(track)
    if (at >= 0) this.#tracks.splice(at, 1)
  }
}

/** The class of streams, for what takes a constructor. */
export const FakeMediaStreamCtor = FakeMediaStream

/** What a receiver can decode. */
export class FakeRTCRtpReceiver {
  track: FakeMediaStreamTrack | undefined

  constructor(track?: FakeMediaStreamTrack) {
    this.track = track
  }

  static getCapabilities(kind: Kind): RTCRtpCapabilities {
    const codecs = kind === "audio" ? [{ mimeType: "audio/opus", clockRate: 48_000, channels: 2 }] : [{ mimeType: "video/H264", clockRate: 90_000 }, { mimeType: "video/VP8", clockRate: 90_000 }]
    return { codecs, headerExtensions: [] }
  }
}

interface FakeSender {
  track: FakeMediaStreamTrack | null
  replaceTrack(track: FakeMediaStreamTrack | null): Promise<void>
  getParameters(): RTCRtpSendParameters
  setParameters(parameters: RTCRtpSendParameters): Promise<void>
}

/** A peer without a network: the answer connects it at once, with a track for each transceiver that receives. */
export class FakeRTCPeerConnection extends EventTarget {
  /** All peers since the last `reset()`. */
  static readonly instances: FakeRTCPeerConnection[] = []
  /** Whether new peers get their tracks by themselves; `disableAutoTrack()` for one of them. */
  static autoTrack = true

  static reset(): void {
    this.instances.length = 0
    this.autoTrack = true
  }

  readonly configuration: RTCConfiguration
  connectionState: RTCPeerConnectionState = "new"
  iceConnectionState: RTCIceConnectionState = "new"
  iceGatheringState: RTCIceGatheringState = "new"
  signalingState: RTCSignalingState = "stable"
  localDescription: RTCSessionDescriptionInit | null = null
  remoteDescription: RTCSessionDescriptionInit | null = null
  readonly candidates: (RTCIceCandidateInit | null)[] = []
  readonly transceivers: { kind: Kind; direction: RTCRtpTransceiverDirection; sender: FakeSender; receiver: FakeRTCRtpReceiver; setCodecPreferences(codecs: unknown[]): void }[] = []
  ontrack: ((event: { track: FakeMediaStreamTrack; streams: FakeMediaStream[] }) => void) | null = null
  onicecandidate: ((event: { candidate: unknown }) => void) | null = null
  onconnectionstatechange: (() => void) | null = null
  oniceconnectionstatechange: (() => void) | null = null
  onicegatheringstatechange: (() => void) | null = null
  #autoTrack = FakeRTCPeerConnection.autoTrack
  #stats: Iterable<readonly [string, unknown]> = []

  constructor(configuration: RTCConfiguration = {}) {
    super()
    this.configuration = configuration
    FakeRTCPeerConnection.instances.push(this)
  }

  get closed(): boolean {
    return this.connectionState === "closed"
  }

  addTransceiver(trackOrKind: Kind | FakeMediaStreamTrack, { direction = "sendrecv" }: RTCRtpTransceiverInit = {}): FakeRTCPeerConnection["transceivers"][number] {
    const kind = typeof trackOrKind === "string" ? trackOrKind : trackOrKind.kind
    const transceiver = { kind, direction, sender: senderOf(typeof trackOrKind === "string" ? null : trackOrKind), receiver: new FakeRTCRtpReceiver(new FakeMediaStreamTrack(kind)), setCodecPreferences: () => {} }
    this.transceivers.push(transceiver)
    return transceiver
  }

  addTrack(track: FakeMediaStreamTrack): FakeSender {
    return this.addTransceiver(track).sender
  }

  getTransceivers(): FakeRTCPeerConnection["transceivers"] {
    return [...this.transceivers]
  }

  getSenders(): FakeSender[] {
    return this.transceivers.map(({ sender }) => sender)
  }

  getReceivers(): FakeRTCRtpReceiver[] {
    return this.transceivers.map(({ receiver }) => receiver)
  }

  async createOffer(): Promise<RTCSessionDescriptionInit> {
    return { type: "offer", sdp: `v=0\r\n${this.transceivers.map(({ kind }) => `m=${kind} 9 UDP/TLS/RTP/SAVPF 96\r\n`).join("")}` }
  }

  async createAnswer(): Promise<RTCSessionDescriptionInit> {
    return { type: "answer", sdp: "v=0\r\n" }
  }

  async setLocalDescription(description?: RTCSessionDescriptionInit): Promise<void> {
    this.localDescription = description ?? (await this.createOffer())
    this.signalingState = this.localDescription.type === "offer" ? "have-local-offer" : "stable"
    this.setGathering("complete")
  }

  async setRemoteDescription(description: RTCSessionDescriptionInit): Promise<void> {
    this.remoteDescription = description
    this.signalingState = description.type === "answer" ? "stable" : "have-remote-offer"
    if (description.type !== "answer") return
    if (this.#autoTrack) for (const { kind, direction } of this.transceivers) if (/recv/.test(direction)) this.fireTrack(kind)
    this.setIce("connected")
  }

  async addIceCandidate(candidate: RTCIceCandidateInit | null): Promise<void> {
    this.candidates.push(candidate)
  }

  async getStats(): Promise<Map<string, unknown>> {
    return new Map(this.#stats)
  }

  close(): void {
    this.connectionState = this.iceConnectionState = this.signalingState = "closed"
  }

  // --- The test's side

  /** Delivers a track. */
  fireTrack(kind: Kind | FakeMediaStreamTrack, streams?: FakeMediaStream[]): FakeMediaStreamTrack {
    const track = typeof kind === "string" ? new FakeMediaStreamTrack(kind) : kind
    this.#fire("track", { track, streams: streams ?? [new FakeMediaStream([track])] })
    return track
  }

  /** Sets the state of the connection. */
  setIce(state: RTCIceConnectionState): void {
    this.iceConnectionState = state
    this.connectionState = state === "completed" ? "connected" : state === "checking" ? "connecting" : state
    this.#fire("iceconnectionstatechange", {})
    this.#fire("connectionstatechange", {})
  }

  setGathering(state: RTCIceGatheringState): void {
    this.iceGatheringState = state
    this.#fire("icegatheringstatechange", {})
  }

  /** Sets what `getStats()` returns: entries, or a list of reports with an `id`. */
  setStats(stats: Iterable<readonly [string, unknown]> | readonly { id: string }[]): void {
    this.#stats = [...stats].map((entry): readonly [string, unknown] => ("id" in entry ? [entry.id, entry] : (entry as readonly [string, unknown])))
  }

  /** No tracks come with the answer; see `fireTrack()`. */
  disableAutoTrack(): void {
    this.#autoTrack = false
  }

  #fire(name: string, fields: object): void {
    const event = Object.assign(new Event(name), fields)
    const handlers = this as unknown as Record<string, ((event: Event) => void) | null>
    handlers[`on${name}`]?.(event)
    this.dispatchEvent(event)
  }
}

function senderOf(track: FakeMediaStreamTrack | null): FakeSender {
  let parameters = { encodings: [{}] } as unknown as RTCRtpSendParameters
  return {
    track,
    async replaceTrack(next) {
      this.track = next
    },
    getParameters: () => parameters,
    async setParameters(next) {
      parameters = next
    },
  }
}

/** A video element that can play as soon as it has a stream, unless `autoCanPlay` is false. */
export class FakeVideoEl extends EventTarget {
  muted = false
  volume = 1
  paused = true
  readyState = 0
  videoWidth = 0
  videoHeight = 0
  sinkId = ""
  /** What `play()` rejects with. */
  playError: Error | undefined
  readonly #autoCanPlay: boolean
  #srcObject: unknown = null

  constructor({ autoCanPlay = true }: { autoCanPlay?: boolean } = {}) {
    super()
    this.#autoCanPlay = autoCanPlay
  }

  get srcObject(): unknown {
    return this.#srcObject
  }

  set srcObject(stream: unknown) {
    this.#srcObject = stream
    if (stream == null) this.readyState = 0
    else if (this.#autoCanPlay) queueMicrotask(() => this.fireCanPlay())
  }

  async play(): Promise<void> {
    if (this.playError) throw this.playError
    this.paused = false
  }

  pause(): void {
    this.paused = true
  }

  async setSinkId(id: string): Promise<void> {
    this.sinkId = id
  }

  /** Has a picture of that size. */
  fireCanPlay(width = 512, height = 512): void {
    if (this.#srcObject == null) return
    Object.assign(this, { videoWidth: width, videoHeight: height, readyState: 4 })
    for (const event of ["loadedmetadata", "canplay"]) this.dispatchEvent(new Event(event))
  }
}

class FakeAudioNode {
  readonly connections: unknown[] = []

  connect(to: unknown): unknown {
    this.connections.push(to)
    return to
  }

  disconnect(): void {
    this.connections.length = 0
  }
}

/** An analyser whose level the test sets. */
export class FakeAnalyserNode extends FakeAudioNode {
  fftSize = 2048
  smoothingTimeConstant = 0.8
  /** From 0 to 1. */
  level = 0

  get frequencyBinCount(): number {
    return this.fftSize / 2
  }

  getByteTimeDomainData(data: Uint8Array): void {
    for (let i = 0; i < data.length; i++) data[i] = 128 + Math.round((i % 2 ? -1 : 1) * this.level * 127)
  }

  getFloatTimeDomainData(data: Float32Array): void {
    for (let i = 0; i < data.length; i++) data[i] = (i % 2 ? -1 : 1) * this.level
  }

  getByteFrequencyData(data: Uint8Array): void {
    data.fill(Math.round(this.level * 255))
  }
}

/** The node of a worklet, with the options it was made with. */
export class FakeAudioWorkletNode extends FakeAudioNode {
  readonly port = { postMessage: () => {}, onmessage: null }
  readonly parameters: Map<string, { value: number }>

  constructor(readonly context: unknown, readonly name: string, readonly options: AudioWorkletNodeOptions = {}) {
    super()
    this.parameters = new Map(Object.entries(options.parameterData ?? {}).map(([name, value]) => [name, { value }]))
  }
}

/** An audio context whose nodes process nothing. */
export class FakeAudioContext {
  state: AudioContextState = "running"
  readonly sampleRate = 48_000
  readonly currentTime = 0
  /** The addresses of the worklet modules that were added. */
  readonly modules: string[] = []
  readonly sources: { node: FakeAudioNode; stream: unknown }[] = []
  readonly audioWorklet = { addModule: async (url: string | URL) => void this.modules.push(String(url)) }

  createAnalyser(): FakeAnalyserNode {
    return new FakeAnalyserNode()
  }

  createMediaStreamSource(stream: unknown): FakeAudioNode {
    const node = new FakeAudioNode()
    this.sources.push({ node, stream })
    return node
  }

  createMediaStreamDestination(): FakeAudioNode & { stream: FakeMediaStream } {
    return Object.assign(new FakeAudioNode(), { stream: new FakeMediaStream(["audio"]) })
  }

  async resume(): Promise<void> {
    this.state = "running"
  }

  async suspend(): Promise<void> {
    this.state = "suspended"
  }

  async close(): Promise<void> {
    this.state = "closed"
  }
}

/** A `getUserMedia` with the constraints of its calls. */
export type FakeGetUserMedia = ((constraints?: MediaStreamConstraints) => Promise<FakeMediaStream>) & { readonly calls: (MediaStreamConstraints | undefined)[] }

/** Makes a `getUserMedia` that grants a microphone, or refuses with an error of that name (default `NotAllowedError`). */
export function fakeGetUserMedia({ deny = false, name = "NotAllowedError" }: { deny?: boolean; name?: string } = {}): FakeGetUserMedia {
  const calls: (MediaStreamConstraints | undefined)[] = []
  const get = async (constraints?: MediaStreamConstraints) => {
    calls.push(constraints)
    if (deny) throw Object.assign(new Error("the device was refused"), { name })
    return new FakeMediaStream(["audio"])
  }
  return Object.assign(get, { calls })
}
