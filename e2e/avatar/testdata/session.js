// What the tests of session_test.go do in their pages.
import { open, picture, relayed } from "./talk.js"

export async function avatarAppearsAndSaysItsOpeningLine() {
  globalThis.talk = await open({videoEl: document.getElementById("video")})
  const {session} = talk
  const heard = talk.meter().then((meter) => meter.loud())
  await session.connect()
  const first = await picture(session.videoEl)
  await heard
  await talk.silence()
  const wanted = ["streamReady", "track", "videoMetadata", "mediaReady", "disclosure", "connectTimings", "avatarStartTalking"]
  return {
    picture: first,
    ready: talk.all("mediaReady")[0],
    order: talk.events.map(({name, payload}) => name === "stateChange" ? payload.state : name)
      .filter((name) => ["preparing", "connecting", "connected", ...wanted].includes(name)),
    said: talk.texts("final").join(" "),
    partial: talk.texts("partial").join(" "),
    spoke: talk.all("avatarStopTalking")[0].text,
    relayed: await relayed(),
    state: session.state,
    timings: session.timings,
  }
}
