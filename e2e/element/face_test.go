package element

import (
	"strings"
	"testing"
)

const robinSays = "Hello there! I'm Robin, the demo receptionist. How can I help you?"

// One tag shows an avatar that speaks, with captions and announcements to screen readers.
func TestOneTagIsALiveFace(t *testing.T) {
	t.Parallel()
	_, p := open(t)
	p.Do(nil, `await place("agent-avatar")`)
	var before struct {
		Phase  string
		Loaded []string
	}
	p.Do(&before, `
		await until(() => seen("[part~=start]"))
		return {phase: element.phase, loaded: performance.getEntriesByType("resource").map(({name}) => new URL(name).pathname).filter((path) => path.startsWith("/js/dist/"))}`)
	if before.Phase != "idle" || len(before.Loaded) == 0 {
		t.Errorf("before the click: %+v", before)
	}
	for _, path := range before.Loaded {
		if strings.HasSuffix(path, ".wasm") || strings.HasSuffix(path, "index.js") {
			t.Errorf("%s was loaded before the click", path)
		}
	}
	p.Do(nil, `globalThis.talk = record(["phaseChange", "sessionCreated", "stateChange", "avatarStopTalking", "ended"]); button("start").focus()`)
	p.Keys("\r")
	var got struct {
		Picture struct{ Width, Colours int }
		Poster  bool
		Caption string
		Said    string
		Phases  []string
		Session bool
	}
	p.Call(&got, "face.js", "oneTagIsALiveFace")
	if got.Picture.Width == 0 || got.Picture.Colours < 16 {
		t.Errorf("picture %+v", got.Picture)
	}
	// On a busy machine the agent has also answered to the beeps of the browser's microphone, and
	// a page whose timers come late shows the end of an utterance only.
	if line, _, _ := strings.Cut(got.Caption, "\n"); line == "" || !strings.Contains(robinSays, line) || !strings.HasPrefix(got.Said, robinSays) {
		t.Errorf("caption %q, told to screen readers %q", got.Caption, got.Said)
	}
	if strings.Join(got.Phases, " ") != "connecting live" || !got.Session || !got.Poster {
		t.Errorf("phases %q, session %v, poster %v", got.Phases, got.Session, got.Poster)
	}
}
