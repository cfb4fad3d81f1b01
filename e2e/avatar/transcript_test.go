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
	p.Call(&got, "/e2e/avatar/testdata/transcript.js", "transcriptAsSpoken")
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
