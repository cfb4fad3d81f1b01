// What the tests of preview_test.go do in their pages.
import { appInit } from "/js/dist/index.js"

export async function previewsOfAnAvatarCanBeShown() {
  const {addresses, agents} = await (await fetch("/service.json")).json()
  const {avatars} = await appInit({widgetId: agents[0].widgetId, ...addresses})
  const image = new Image()
  image.src = avatars[0].previewImageUrl
  await image.decode()
  const video = document.createElement("video")
  video.muted = true
  const event = (name) => new Promise((resolve, reject) => {
    video.addEventListener(name, resolve, {once: true})
    video.addEventListener("error", () => reject(new Error(video.error?.message)), {once: true})
  })
  const ended = event("ended")
  video.src = avatars[0].loadingVideoUrl
  await event("loadeddata")
  const size = {image: image.naturalWidth, width: video.videoWidth, height: video.videoHeight, duration: video.duration}
  video.playbackRate = 4
  await video.play()
  await ended
  return {...size, played: video.currentTime}
}
