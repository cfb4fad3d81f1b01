package avatar

import (
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

// TestPreviewsOfAnAvatarCanBeShown: the browser decodes the picture and the clip that
// appInit names.
func TestPreviewsOfAnAvatarCanBeShown(t *testing.T) {
	t.Parallel()
	h := pagetest.New(t, localservice.Options{})
	p := h.Open(folder + "load.html")
	var got struct {
		Image, Width, Height int
		Duration, Played     float64
	}
	p.Do(&got, `
		const {appInit} = await import("/js/dist/index.js")
		const {addresses, agents} = await (await fetch("/service.json")).json()
		const {avatars} = await appInit({widgetId: agents[0].widgetId, ...addresses})
		const image = new Image()
		image.src = avatars[0].previewImageUrl
		await image.decode()
		const video = document.createElement("video")
		video.muted = true
		const event = (name) => new Promise((resolve, reject) => {
			video.addEventListener(name, resolve, {once: true})
			video.addEventListener("error", () => reject(new Error(video.error.message)), {once: true})
		})
		const ended = event("ended")
		video.src = avatars[0].loadingVideoUrl
		await event("loadeddata")
		const size = {image: image.naturalWidth, width: video.videoWidth, height: video.videoHeight, duration: video.duration}
		video.playbackRate = 4
		await video.play()
		await ended
		return {...size, played: video.currentTime}`)
	if got.Image == 0 || got.Width != 640 || got.Height != 360 || got.Duration != 4 || got.Played < 3.9 {
		t.Errorf("shown: %+v", got)
	}
}
