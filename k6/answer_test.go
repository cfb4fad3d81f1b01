package agentruntime

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// TestAnswerWithoutSound: one of an agent without a voice ends with its text, one that only shows something without any.
func TestAnswerWithoutSound(t *testing.T) {
	for name, test := range map[string]struct {
		outcome, text string
		segments      []string
	}{
		"text":    {"answered", "Not much.", []string{"Not ", "much. "}},
		"nothing": {"empty", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				speech := "4nkM-transcript-Hello"
				events := []event.Event{
					event.TurnTimings{SpeechID: "before", Outcome: "answered"},
					event.TurnStarted{SpeechID: &speech, IsNewTurn: true},
				}
				for _, text := range test.segments {
					events = append(events, event.BrainSegment{Segment: converse.Segment{Type: converse.Avatar, Content: text}})
				}
				turn := newTurn()
				for _, e := range events {
					time.Sleep(time.Second)
					if turn.receive(e) {
						t.Fatalf("over at %#v", e)
					}
				}
				if !turn.receive(event.TurnTimings{SpeechID: speech, Outcome: test.outcome}) {
					t.Fatal("the answer has no end")
				}
				got, err := turn.answer()
				want := Answer{Text: test.text, Duration: float64(1000 * len(events))}
				if test.segments != nil {
					want.FirstText = 3000
				}
				if err != nil || got != want {
					t.Errorf("%+v, %v; want %+v", got, err, want)
				}
			})
		})
	}
}

// TestAnAnswerThatFails ends the question at once, also before the answer has begun.
func TestAnAnswerThatFails(t *testing.T) {
	speech := "4nkM-transcript-Hello"
	started := event.TurnStarted{SpeechID: &speech, IsNewTurn: true}
	for name, events := range map[string][]event.Event{
		"after it began":  {started, event.TurnTimings{SpeechID: speech, From: "typed", Outcome: "failed"}},
		"before it began": {event.TurnTimings{From: "typed", Outcome: "failed"}},
	} {
		turn, over := newTurn(), false
		for _, e := range events {
			over = turn.receive(e)
		}
		if _, err := turn.answer(); !over || !errors.Is(err, fault.StreamError) {
			t.Errorf("%s: over %v, %v", name, over, err)
		}
	}
}
