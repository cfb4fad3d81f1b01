package avatar

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/live"
)

func TestTypedTurnIsAnsweredWithCaptionsInOrder(t *testing.T) {
	t.Parallel()
	h, p := open(t)
	var got struct {
		Sent           bool
		User           []string
		Final, Partial string
		Order          []string
		Speech         int
	}
	p.Call(&got, "turn.js", "typedTurnIsAnsweredWithCaptionsInOrder")
	const answer = "Nice to meet you, Ada. I'll remember your name."
	if !got.Sent || !slices.Equal(got.User, []string{"My name is Ada."}) {
		t.Errorf("sent %v, the visitor's words %q", got.Sent, got.User)
	}
	if got.Final != answer || got.Partial != answer {
		t.Errorf("sentences %q, captions %q, want %q", got.Final, got.Partial, answer)
	}
	expect.Equal(t, got.Speech, 1, "captions of utterances")
	index := func(name string) int { return slices.Index(got.Order, name) }
	for _, pair := range [][2]string{
		{"responsePending", "responseSettled"},
		{"user", "final"},
		{"final", "partial"},
		{"avatarStartTalking", "avatarStopTalking"},
		{"partial", "avatarStopTalking"},
	} {
		if a, b := index(pair[0]), index(pair[1]); a < 0 || b < 0 || a > b {
			t.Errorf("%s is not before %s: %q", pair[0], pair[1], got.Order)
		}
	}
	h.AwaitState(live.Listening)
}

// silenceLimit is how long an interrupted speech may be heard, beyond the delay with
// which its beginning was heard.
const silenceLimit = 300 // ms

// TestInterruptSilencesAtOnce: the captions and the text track are cleared too, and the transcript has what was spoken.
func TestInterruptSilencesAtOnce(t *testing.T) {
	h, p := open(t)
	var got struct {
		Ms, Delay    float64
		Captions     int
		Spoke        string
		Settled      bool
		Said, Shown  string
		Interrupted  bool
		Caption      string
		Cues, Active int
	}
	p.Call(&got, "turn.js", "interruptSilencesAtOnce")
	t.Logf("silent %.0f ms after the event, begun %.0f ms after its event", got.Ms, got.Delay)
	if limit := silenceLimit + got.Delay; got.Ms > limit {
		t.Errorf("heard for %.0f ms after the event, want at most %.0f", got.Ms, limit)
	}
	if got.Captions != 0 || !got.Settled || strings.Contains(got.Spoke, "weather") {
		t.Errorf("%d captions came later, settled %v, spoke %q", got.Captions, got.Settled, got.Spoke)
	}
	if got.Said == "" || got.Shown != got.Said || !got.Interrupted {
		t.Errorf("the transcript has %q (interrupted: %v) of what was spoken, %q", got.Shown, got.Interrupted, got.Said)
	}
	if got.Caption != "" || got.Cues == 0 || got.Active != 0 {
		t.Errorf("the caption is %q, of %d cues %d are shown", got.Caption, got.Cues, got.Active)
	}
	h.AwaitState(live.Listening)
}

func TestPauseIsQuietAndResumeGoesOn(t *testing.T) {
	t.Parallel()
	h, p := open(t)
	p.Call(nil, "turn.js", "pauseIsQuiet")
	h.AwaitState(live.Paused)
	var answer string
	const ask = `
		const from = talk.now
		await talk.session.speak("My name is Ada.")
		await meter.loud()
		await talk.until("avatarStopTalking", ({text}) => text.startsWith("Nice to meet you"), from)
		return talk.texts("final", from)[0]`
	p.Do(&answer, `await talk.session.resume(); await talk.until("resumed");`+ask)
	expect.Equal(t, answer, "Nice to meet you, Ada.", "after the pause the agent said")

	// The service closes the media when a pause takes too long.
	p.Do(nil, `talk.session.pause()`)
	h.AwaitState(live.Paused)
	h.Control("/sessions/newest/expire-pause", nil)
	p.Do(&answer, `
		await talk.until("resumeReady", ({ready}) => ready)
		const released = talk.now
		await talk.session.resume()
		await talk.session.speak("My name is Ada.")
		await talk.until("avatarStopTalking", ({text}) => text.startsWith("Nice to meet you"), released)
		const {colours} = await picture(talk.session.videoEl)
		if (colours < 16) throw Error("no picture")
		return talk.session.state`)
	expect.Equal(t, answer, "connected", "after the expired pause the session is")
}

// What a page can call as soon as it is connected is in the first part of the program: it
// works while the second part can't be had.
func TestFirstCallsNeedNoSecondPart(t *testing.T) {
	t.Parallel()
	h, p := open(t)
	h.Refuse("/js/dist/agentruntime.rest-", http.StatusServiceUnavailable)
	p.Allow("Failed to load resource") // when the picture is there
	p.Call(nil, "turn.js", "firstCalls")
}
