// Package autoplay tests pages in a browser that plays no sound before the visitor has
// clicked, as browsers do outside of tests.
package autoplay

import (
	"testing"

	"github.com/agentruntime/agentruntime/e2e/browsertest"
	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

func TestMain(m *testing.M) {
	pagetest.Main(m, browsertest.Options{Flags: []string{"--autoplay-policy=document-user-activation-required"}})
}

// TestOnlyTheSoundWaitsForAClick: the picture plays at once, and the voice after a key press.
func TestOnlyTheSoundWaitsForAClick(t *testing.T) {
	t.Parallel()
	h := pagetest.New(t, localservice.Options{})
	p := h.Open("/e2e/autoplay/testdata/index.html")
	p.Prelude = `
		const {appInit, AvatarSession} = await import("/js/dist/index.js")
		const {agents, Recording, service} = await import("/e2e/pagetest/page/tools.js")
		const {picture} = await import("/e2e/pagetest/page/measure.js")
		const video = document.getElementById("video")
		const button = document.getElementById("sound")
	`
	var before struct {
		Width   int
		Kind    string
		Blocked string
		Muted   bool
		Chosen  bool
	}
	p.Do(&before, `
		const init = await appInit({widgetId: agents.receptionist, ...service.addresses})
		const session = globalThis.session = new AvatarSession({...init, ...service.session, micStartMode: "deferred", videoEl: video})
		const talk = new Recording(session, ["warning"])
		await session.connect()
		const {kind} = await talk.until("warning", ({code}) => code === "playback_blocked")
		const {width} = await picture(video)
		globalThis.played = new Promise((resolve) => { button.onclick = () => resolve(session.startPlayback()) })
		button.focus()
		return {width, kind, blocked: session.playbackBlocked, muted: video.muted && !video.paused, chosen: session.audioOutputMuted}`)
	if before.Width == 0 || before.Kind != "audio" || before.Blocked != "audio" || !before.Muted || before.Chosen {
		t.Errorf("before the click %+v", before)
	}
	p.Keys("\r")
	var after struct {
		Playing bool
		Blocked *string
	}
	p.Do(&after, `
		const playing = await globalThis.played
		return {playing: playing && !video.muted && !video.paused, blocked: globalThis.session.playbackBlocked}`)
	if !after.Playing || after.Blocked != nil {
		t.Errorf("after the click %+v", after)
	}
}
