// What the test of tls_test.go does in its page.
import { open, picture } from "./talk.js"

export async function everythingIsEncrypted() {
  const sockets = []
  globalThis.WebSocket = class extends WebSocket {
    constructor(url, protocols) {
      super(url, protocols)
      sockets.push(this.url)
    }
  }
  const talk = await open({videoEl: document.getElementById("video")})
  const {session} = talk
  await session.connect()
  const shown = await picture(session.videoEl)
  await talk.silence()
  const from = talk.now
  await session.startMic()
  await session.speak("What is a thread?")
  await talk.until("turnEnd", undefined, from)
  const resources = performance.getEntriesByType("resource").map(({name}) => name)
  const got = {
    secure: isSecureContext, picture: shown, answer: talk.texts("final", from).join(" ") || talk.all("speechChunk", from).map(({text}) => text).join(" "),
    microphone: session.micStarted,
    plain: [...resources, ...sockets].filter((url) => !/^(https|wss):/.test(url)), sockets: sockets.length,
    whep: resources.filter((url) => url.includes("/rtc/")).length,
  }
  await session.dispose()
  return got
}
