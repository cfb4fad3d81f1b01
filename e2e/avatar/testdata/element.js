// What the tests of element_test.go do in their pages.
import { LevelMeter, open, picture } from "./talk.js"

export async function voiceHasAnElementOfItsOwn() {
  const video = document.getElementById("video")
  const audio = /** @type {HTMLAudioElement} */ (document.getElementById("audio"))
  const talk = await open({videoEl: video, audioEl: audio})
  await talk.session.connect()
  const kinds = (element) => element.srcObject.getTracks().map(({kind}) => kind).toSorted()
  const meter = await LevelMeter.at(/** @type {MediaStream} */ (audio.srcObject).getAudioTracks()[0])
  await meter.loud()
  await meter.close()
  await picture(video)
  const before = {video: kinds(video), audio: kinds(audio)}
  talk.session.setAudioEl(null)
  return {...before, merged: kinds(video)}
}

export async function withoutElementsThereAreTracks() {
  const talk = await open()
  const {session} = talk
  await session.connect()
  const meter = await talk.meter()
  await meter.loud()
  await meter.close()
  const stream = session.avatarStream
  const video = document.getElementById("video")
  session.setVideoEl(video)
  return {
    kinds: talk.all("track").map(({track}) => track.kind).toSorted(),
    stream: stream.getTracks().map(({kind}) => kind).toSorted(),
    later: await picture(video),
    same: session.avatarStream === stream && session.videoEl === video,
  }
}
