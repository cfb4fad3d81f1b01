package avatar

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

// hears is a brain that knows the words of speech.wav, which the fake microphone plays again and again.
var hears = []byte(`
hear: [` + strings.Repeat(`"What are your opening hours today?", `, 20) + `]
rules:
  - when: {contains: opening hours}
    steps: [say: "We are open from nine to five."]
`)

func TestSpeechCutsTheAgentAndIsAnswered(t *testing.T) {
	h := pagetest.New(t, localservice.Options{Script: hears})
	p := openPage(h)
	var got struct {
		Ms, Delay   float64
		User, Spoke string
		Microphones int
	}
	p.Call(&got, "microphone.js", "speechCutsTheAgentAndIsAnswered")
	t.Logf("silent %.0f ms after the event, begun %.0f ms after its event", got.Ms, got.Delay)
	if limit := silenceLimit + got.Delay; got.Ms > limit {
		t.Errorf("heard for %.0f ms after the barge-in, want at most %.0f", got.Ms, limit)
	}
	if got.User != "What are your opening hours today?" || got.Spoke != "We are open from nine to five." {
		t.Errorf("heard %q, answered %q", got.User, got.Spoke)
	}
	expect.Equal(t, got.Microphones, 1, "microphones are open")
	if h.OnlySession().Microphone == nil {
		t.Error("the service has no microphone")
	}
}

// TestDeferredMicrophoneIsAskedForLater, once, and is heard. Another one takes over. When that is unplugged the session goes on
// without it, says so, and takes a device again.
func TestDeferredMicrophoneIsAskedForLater(t *testing.T) {
	t.Parallel()
	h := pagetest.New(t, localservice.Options{Script: hears})
	p := openPage(h)
	var got struct {
		Before, After, Mics, Live               int
		Heard, HeardThen, Wanted, Used, Unknown string
	}
	p.Call(&got, "microphone.js", "deferredMicrophoneIsAskedForLater")
	if got.Before != 0 || got.After != 1 {
		t.Errorf("open microphones: %d before, %d with the session", got.Before, got.After)
	}
	if got.Heard != "What are your opening hours today?" || got.HeardThen == "" {
		t.Errorf("heard %q, with the other microphone %q", got.Heard, got.HeardThen)
	}
	if got.Mics < 2 || got.Used != got.Wanted || got.Live != 1 {
		t.Errorf("of %d microphones %q is used, want %q alone; %d are open", got.Mics, got.Used, got.Wanted, got.Live)
	}
	expect.Equal(t, got.Unknown, "mic_not_found", "a device that is not there")

	var later struct {
		Warning, Error, State, Sentence, Answer, Heard string
		Changes, Live, Over                            int
		Started, Again, Cleared                        bool
	}
	p.Call(&later, "microphone.js", "unpluggedMicrophoneIsReported")
	if later.Warning != "mic_not_found" || later.Error != "mic_not_found" || later.Sentence == "" || later.Started || later.Changes != 1 {
		t.Errorf("unplugged: %+v", later)
	}
	expect.Equal(t, later.Answer, "Nice to meet you, Ada. I'll remember your name.", "the agent said")
	if !later.Again || !later.Cleared || later.Live != 1 || later.Heard == "" || later.State != "connected" {
		t.Errorf("plugged in again: %+v", later)
	}
	expect.Equal(t, later.Over, 0, "microphones are open after the session")
}
