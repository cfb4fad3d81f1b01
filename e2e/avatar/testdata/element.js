// What the tests of element_test.go do in their pages.
import { LevelMeter, open, picture } from "./talk.js"

export async function withoutElementsThereAreTracks() {
  const talk = await open()
  const {session} = talk
  await session.connect()
  const stream = session.avatarStream
  const video = document.getElementById("video")
  const audio = /** @type {HTMLAudioElement} */ (document.getElementById("audio"))
  session.setVideoEl(video)
  session.setAudioEl(audio)
  const kinds = ({srcObject}) => srcObject.getTracks().map(({kind}) => kind).toSorted()
  const meter = await LevelMeter.at(/** @type {MediaStream} */ (audio.srcObject).getAudioTracks()[0])
  await meter.loud()
  await meter.close()
  const got = {
    kinds: talk.all("track").map(({track}) => track.kind).toSorted(),
    stream: stream.getTracks().map(({kind}) => kind).toSorted(),
    later: await picture(video),
    same: session.avatarStream === stream && session.videoEl === video,
    video: kinds(video),
    audio: kinds(audio),
  }
  session.setAudioEl(null)
  return {...got, merged: kinds(video)}
}
