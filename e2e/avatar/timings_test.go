package avatar

import (
	"math"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

// The most that turnTimings may differ from a stopwatch in the page.
const (
	soundTolerance = 30 // ms
	frameTolerance = 50 // ms
)

// TestTurnTimingsAgreeWithAStopwatch: the first sound is that of an AudioWorklet, and the first
// frame that moves is found in larger frames and by another rule.
func TestTurnTimingsAgreeWithAStopwatch(t *testing.T) {
	h := pagetest.New(t, localservice.Options{})
	p := openPage(h)
	var got struct {
		Timings struct {
			From, Outcome, TurnID, SpeechID string
			DurationMs                      float64
			Marks                           map[string]float64
			Estimated                       []string
		}
		Sound, Frame, Asked float64 // ms from the beginning of the turn, by the stopwatch
		TurnID              string  // of avatarStartTalking
	}
	p.Call(&got, "timings.js", "turnTimingsAgreeWithAStopwatch")
	m := got.Timings.Marks
	t.Logf("marks %v, estimated %v; stopwatch: asked %.0f, sound %.0f, frame %.0f", m, got.Timings.Estimated, got.Asked, got.Sound, got.Frame)
	if got.Timings.From != "typed" || got.Timings.Outcome != "answered" || got.Timings.TurnID == "" || got.Timings.TurnID != got.TurnID {
		t.Errorf("timings %+v, the talk was of the turn %q", got.Timings, got.TurnID)
	}
	if slices.Contains(got.Timings.Estimated, "firstSound") || math.Abs(m["firstSound"]-got.Sound) > soundTolerance {
		t.Errorf("first sound at %.0f ms, by the stopwatch at %.0f ms", m["firstSound"], got.Sound)
	}
	if math.Abs(m["firstFrame"]-got.Frame) > frameTolerance {
		t.Errorf("first frame at %.0f ms, by the stopwatch at %.0f ms", m["firstFrame"], got.Frame)
	}
	if math.Abs(got.Asked) > soundTolerance {
		t.Errorf("the turn began %.0f ms after the call", -got.Asked)
	}
	order := []string{"sent", "transcript", "firstSegment", "firstText", "firstSound", "speechEnd"}
	for i, name := range order[1:] {
		if before := order[i]; m[before] > m[name] || m[name] > got.Timings.DurationMs {
			t.Errorf("%s at %.0f ms, %s at %.0f ms, the end at %.0f ms", before, m[before], name, m[name], got.Timings.DurationMs)
		}
	}
}
