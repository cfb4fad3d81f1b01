package avatar

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

// The most that turnTimings may differ from a stopwatch in the page. Beside other pages, the samples of one
// or the other come later on two cores, so these tests are not parallel.
const (
	soundTolerance  = 30 // ms
	frameTolerance  = 50 // ms
	speechTolerance = 50 // ms
	// framesBefore is how many frames between the announcement of a sentence and its lips are enough to
	// compare with, if no two frames around the sound are more than frameInterval apart. A busy machine
	// shows fewer frames, with larger changes between them; the first frame is then an estimate.
	framesBefore  = 5
	frameInterval = 60 // ms
)

// timedTurn is a turn, and what the stopwatch measured. Times are in ms from the beginning of the turn.
type timedTurn struct {
	Timings struct {
		From, Outcome, TurnID, SpeechID, SpeechEndBy string
		DurationMs                                   float64
		Marks                                        map[string]float64
		Estimated                                    []string
	}
	Sound       float64
	Frame       *float64 // the first that moves, if one does
	WithSound   float64  // the first frame that was shown with the sound
	Before      int      // frames from the announcement to 200 ms before the sound
	Gap         float64  // the longest between two frames around the sound
	Asked, Sent float64  // typed: the call and its end
	Spoke       float64  // spoken: the end of the visitor's speech
	TurnID      string   // of avatarStartTalking
}

// TestTypedTurnAgreesWithAStopwatch: the first sound is that of an AudioWorklet, and the first
// frame that moves is found in larger frames and by another rule.
func TestTypedTurnAgreesWithAStopwatch(t *testing.T) {
	h := pagetest.New(t, localservice.Options{})
	got := agreesWithAStopwatch(t, h, "typedTurn")
	expect.Equal(t, got.Timings.From, "typed", "the turn is")
	if got.Asked > 1 || got.Sent < -1 { // durationMs is rounded
		t.Errorf("the turn began %.0f ms after the call and %.0f ms after its end", -got.Asked, -got.Sent)
	}
}

// TestSpokenTurnAgreesWithAStopwatch: the end of the visitor's speech is that of an AudioWorklet too.
func TestSpokenTurnAgreesWithAStopwatch(t *testing.T) {
	h := pagetest.New(t, localservice.Options{Script: hears})
	got := agreesWithAStopwatch(t, h, "spokenTurn")
	if got.Timings.From != "spoken" || got.Timings.SpeechEndBy != "detector" {
		t.Errorf("the turn is %s, the end of speech found by %q", got.Timings.From, got.Timings.SpeechEndBy)
	}
	if math.Abs(got.Spoke) > speechTolerance {
		t.Errorf("the turn began %.0f ms after the end of the speech", -got.Spoke)
	}
}

// agreesWithAStopwatch has a turn by a function of timings.js, and compares its marks.
func agreesWithAStopwatch(t *testing.T, h *pagetest.Server, function string) (got timedTurn) {
	t.Helper()
	openPage(h).Call(&got, "timings.js", function)
	m := got.Timings.Marks
	moved := "none"
	if got.Frame != nil {
		moved = fmt.Sprintf("%.0f", *got.Frame)
	}
	t.Logf("marks %v, estimated %v; stopwatch: asked %.0f, spoke %.0f, sound %.0f, frame %s (%d before)",
		m, got.Timings.Estimated, got.Asked, got.Spoke, got.Sound, moved, got.Before)
	if got.Timings.Outcome != "answered" || got.Timings.TurnID == "" || got.Timings.TurnID != got.TurnID {
		t.Errorf("timings %+v, the talk was of the turn %q", got.Timings, got.TurnID)
	}
	if slices.Contains(got.Timings.Estimated, "firstSound") || math.Abs(m["firstSound"]-got.Sound) > soundTolerance {
		t.Errorf("first sound at %.0f ms, by the stopwatch at %.0f ms", m["firstSound"], got.Sound)
	}
	frame, estimated := got.WithSound, slices.Contains(got.Timings.Estimated, "firstFrame")
	if !estimated && got.Frame != nil {
		frame = *got.Frame
	} else if got.Frame != nil && got.Before >= framesBefore && got.Gap <= frameInterval {
		t.Errorf("the first frame is an estimate, although %d frames came before, %.0f ms apart at most", got.Before, got.Gap)
	}
	// The two rules may find neighbours, which are further apart when the page is busy.
	if math.Abs(m["firstFrame"]-frame) > max(frameTolerance, got.Gap+1) {
		t.Errorf("first frame at %.0f ms, by the stopwatch at %.0f ms", m["firstFrame"], frame)
	}
	order := []string{"sent", "transcript", "firstSegment", "firstText", "firstSound", "speechEnd"}
	if got.Timings.From == "spoken" {
		order[0] = "userSpeechEnd"
	}
	for i, name := range order[1:] {
		if before := order[i]; m[before] > m[name] || m[name] > got.Timings.DurationMs {
			t.Errorf("%s at %.0f ms, %s at %.0f ms, the end at %.0f ms", before, m[before], name, m[name], got.Timings.DurationMs)
		}
	}
	return got
}
