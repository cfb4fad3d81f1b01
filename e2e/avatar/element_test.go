package avatar

import (
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
)

// A session without elements has tracks; its picture and voice get elements later, also one each.
func TestWithoutElementsThereAreTracks(t *testing.T) {
	t.Parallel()
	_, p := open(t)
	var got struct {
		Kinds, Stream, Video, Audio, Merged []string
		Same                                bool
		Later                               seen
	}
	p.Call(&got, "element.js", "withoutElementsThereAreTracks")
	want := []string{"audio", "video"}
	if !slices.Equal(got.Kinds, want) || !slices.Equal(got.Stream, want) || !got.Same {
		t.Errorf("tracks %q, stream %q, same %v", got.Kinds, got.Stream, got.Same)
	}
	got.Later.want(t)
	if !slices.Equal(got.Video, []string{"video"}) || !slices.Equal(got.Audio, []string{"audio"}) {
		t.Errorf("the picture's element has %q, the voice's %q", got.Video, got.Audio)
	}
	expect.List(t, got.Merged, want, "merged again, the picture's element has")
}

func TestAudioOnlyAgentIsHeard(t *testing.T) {
	t.Parallel()
	_, p := open(t)
	var got struct {
		Mode, Ready, Said string
	}
	p.Do(&got, `
		const talk = await open({agent: "audio", audioEl: document.getElementById("audio")})
		await talk.session.connect()
		const meter = await talk.meter()
		await meter.loud()
		await meter.close()
		await talk.silence()
		return {mode: talk.session.mode, ready: talk.all("mediaReady")[0].mode, said: talk.texts("final").join(" ")}`)
	if got.Mode != "audio" || got.Ready != "audio" || got.Said != "Hello! You can hear me, but you can't see me." {
		t.Errorf("%+v", got)
	}
}
