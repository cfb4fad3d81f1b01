// The client that the runtime is compared with: what a page needs to see and hear an
// agent, written by hand in the order of the protocol, and nothing else. No recovery,
// no checks, no time limits.
import { io } from "socket.io-client"

/** Requests the data for a connection from the service. */
export async function appInit({ widgetId, agenticUrl, ovpUrl }) {
  const { ks } = await post(`${ovpUrl}/service/session/action/startWidgetSession`, { body: new URLSearchParams({ format: 1, widgetId }) })
  return post(`${agenticUrl}/application/appInit`, { headers: { Authorization: `KS ${ks}`, "Content-Type": "application/json" }, body: "{}" })
}

async function post(url, request) {
  const response = await fetch(url, { method: "POST", ...request })
  if (!response.ok) throw new Error(`${url}: ${response.status}`)
  return response.json()
}

/** A connection that plays in a video element; `on` has the functions for each caption and for the end of a speech. */
export class Connection {
  #peers = []
  #viewer

  constructor(init, video, on) {
    this.init = init
    this.video = video
    this.room = id(12)
    this.socket = io(init.conversationManagerUrl, {
      path: "/socket.io",
      transports: ["websocket"],
      forceNew: true,
      autoConnect: false,
      auth: { token: init.ks },
      query: { partnerId: init.partnerId, billed_client: "", stickyId: id(16), level: "published", debugMode: true },
    })
    this.socket.on("stvSpeechChunk", ({ text }) => text && on.word())
    this.socket.on("stvFinishedTalking", () => on.silence())
  }

  /** Resolves when the agent is connected and visible. */
  async connect() {
    const { socket, room } = this
    // The listeners for all events of the handshake are added first.
    const names = ["onServerConnected", "clientConfiguration", "joinComplete", "stvNewSession", "showAgent", "askPermissions", "asr-webrtc-ready", "asr-webrtc-answer"]
    const came = Object.fromEntries(names.map((name) => [name, new Promise((resolve) => socket.once(name, resolve))]))
    socket.connect()
    await came.onServerConnected
    socket.emit("join", {
      room,
      channel: room,
      kaltura: { ks: this.init.ks, force_experience: "avatar_only", capabilities: { avatar: "on", generate_followup_questions: "on" } },
      userAgent: navigator.userAgent,
      userAgentHints: null,
      isMobile: false,
      channel_password: null,
      peer_name: "unknown",
      peer_video: false,
      peer_audio: true,
    })
    await Promise.all([came.clientConfiguration, came.joinComplete])
    socket.emit("stvNewSession", { room_id: room })
    socket.emit("checkAvailability", {})
    const { session_id: session, webrtc_url: url } = await came.stvNewSession
    await Promise.all([this.#speak(came), this.#watch(url ?? `${this.init.srsBaseUrl}/rtc/v1/whep/?app=app&stream=${session}`)])
    socket.emit("approvedPermissions", { room })
  }

  /** Connects the microphone's peer, which has no track yet. */
  async #speak(came) {
    const { socket } = this
    await came.showAgent
    await came.askPermissions
    socket.emit("asr-webrtc-init", { sessionId: socket.id })
    await came["asr-webrtc-ready"]
    const peer = this.#peer("all")
    peer.onicecandidate = ({ candidate }) => candidate?.candidate && socket.emit("asr-webrtc-ice-candidate", { candidate })
    peer.addTransceiver("audio", { direction: "sendonly" })
    await peer.setLocalDescription()
    socket.emit("asr-webrtc-offer", { offer: peer.localDescription, is_reconnect: false })
    const { answer } = await came["asr-webrtc-answer"]
    await peer.setRemoteDescription(answer)
    socket.on("asr-ice-candidate", (candidate) => peer.addIceCandidate(candidate))
  }

  /** Receives picture and voice. Resolves with the first frame. */
  async #watch(url) {
    const { video } = this
    const peer = this.#peer("relay")
    const stream = new MediaStream()
    peer.ontrack = ({ track }) => stream.addTrack(track)
    peer.addTransceiver("video", { direction: "recvonly" })
    peer.addTransceiver("audio", { direction: "recvonly" })
    const frame = new Promise((resolve) => video.requestVideoFrameCallback(resolve))
    video.srcObject = stream
    await peer.setLocalDescription()
    const response = await fetch(url, { method: "POST", headers: { "Content-Type": "application/sdp" }, body: peer.localDescription.sdp })
    this.#viewer = new URL(response.headers.get("Location"), url)
    await peer.setRemoteDescription({ type: "answer", sdp: await response.text() })
    video.play()
    await frame
  }

  #peer(iceTransportPolicy) {
    const { turnServerUrl, turnCredentials = { username: "kaltura", credential: "avatar" } } = this.init
    const { username, credential } = turnCredentials
    const peer = new RTCPeerConnection({ iceServers: [{ urls: turnServerUrl, username, credential }], iceTransportPolicy, bundlePolicy: "max-bundle" })
    this.#peers.push(peer)
    return peer
  }

  /** Sends one typed turn. */
  speak(text) {
    this.socket.emit("onTextEntered", { text: "", isFinal: false, isSpeechStart: true })
    this.socket.emit("onTextEntered", { text, isFinal: true })
  }

  async close() {
    for (const peer of this.#peers) peer.close()
    this.video.srcObject = null
    this.socket.disconnect()
    await fetch(this.#viewer, { method: "DELETE" })
  }
}

function id(length) {
  const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789"
  return Array.from(crypto.getRandomValues(new Uint8Array(length)), (byte) => alphabet[byte % alphabet.length]).join("")
}
