package avatar

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

// The transcript of agentruntime/ui never shows more than the sentence that is being spoken,
// and after an interruption it is what the service has spoken. Captions are cleared at once,
// and are also in a text track.
func TestTranscriptAsSpoken(t *testing.T) {
	t.Parallel()
	p := pagetest.New(t, localservice.Options{}).Open("/example/avatar/")
	var got struct {
		Spoken, Shown string
		Ahead         []string // what was shown before its sound
		Interrupted   bool
		Caption       string
		Cues, Active  int
		Known         int // sentences that the page knew when the agent was cut
		Region        string
	}
	p.Do(&got, `
		const {open} = await import("/e2e/avatar/testdata/talk.js")
		const {attachTextTrack, Captions, SpokenTranscript} = await import("/js/dist/ui.js")
		const video = document.getElementById("video")
		const talk = await open({videoEl: video})
		const liveRegion = document.createElement("div")
		const captions = new Captions(talk.session)
		const transcript = new SpokenTranscript(talk.session, {liveRegion})
		attachTextTrack(video, captions)
		// The sentences whose first chunk has been announced, 400 ms before it sounds.
		let announced = ""
		const ahead = []
		talk.session.on("speechChunk", ({text}) => (announced += text.replace(/\s/g, "")))
		transcript.onChange(({entry}) => {
			if (entry.who !== "agent" || entry.interrupted) return
			const sentences = entry.text.split(/(?<=[.!?])\s+/)
			for (const sentence of sentences) {
				if (!announced.includes(sentence.replace(/\s/g, "").slice(0, 3))) ahead.push(sentence)
			}
		})
		await talk.session.connect()
		await talk.until("avatarStopTalking")
		const from = talk.now
		await talk.session.speak("Tell me a long story.")
		await new Promise((resolve) => transcript.onChange(({entry}) => entry.who === "agent" && entry.text.split(". ").length > 2 && resolve()))
		const known = talk.texts("final", from).length
		const [track] = video.textTracks
		const cues = track.cues.length
		talk.session.interrupt()
		await talk.until("interrupted", undefined, from)
		const caption = captions.current?.text ?? ""
		const {text} = await talk.until("avatarStopTalking", undefined, from)
		const entry = transcript.entries.at(-1)
		await talk.session.disconnect()
		return {
			Spoken: text, Shown: entry.text, Ahead: ahead, Interrupted: entry.interrupted, Caption: caption,
			Cues: cues, Active: track.activeCues.length, Known: known, Region: liveRegion.textContent,
		}`)
	if got.Spoken == "" || got.Shown != got.Spoken || !got.Interrupted {
		t.Errorf("the transcript has %q (interrupted: %v) of what was spoken, %q", got.Shown, got.Interrupted, got.Spoken)
	}
	if len(got.Ahead) > 0 {
		t.Errorf("shown before its sound: %q", got.Ahead)
	}
	if said := strings.Count(got.Shown, ". ") + 1; got.Known < said {
		t.Errorf("%d sentences were known, and %d said", got.Known, said)
	}
	if got.Caption != "" || got.Cues == 0 || got.Active != 0 {
		t.Errorf("the caption is %q, of %d cues %d are shown", got.Caption, got.Cues, got.Active)
	}
	if !strings.Contains(got.Region, "Once upon a time") || strings.Count(got.Region, "Once upon a time") != 1 {
		t.Errorf("the live region has %q", got.Region)
	}
}
