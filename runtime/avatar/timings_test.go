package avatar

import (
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// answer sends a whole answer that is spoken, in the order of protocol §7.5. Its steps are
// 100 ms apart, the first at once.
func answer(s *fakeservice.Socket, speech, turn, transcript string, during func()) {
	step := func(name string, payload any) {
		s.Say(name, payload)
		synctest.Wait()
		time.Sleep(100 * time.Millisecond)
	}
	delta := func(seg converse.Segment) {
		brain(s, speech, seg)
		synctest.Wait()
		time.Sleep(100 * time.Millisecond)
	}
	step(signaling.AgentStartSpeech, signaling.StartSpeech{SpeechID: speech, TurnID: turn, IsNewTurn: true})
	step(signaling.AgentTurnToTalk, signaling.TurnToTalk{UserTranscription: transcript})
	delta(converse.Segment{Type: converse.Think, ThreadID: "5f0c", MessageID: "m-9"})
	delta(converse.Segment{Type: converse.Tool, Content: `look_up {"word":"Ada"}`})
	delta(converse.Segment{Type: converse.Avatar, Content: "Hello Ada."})
	step(signaling.GeneratingSpeech, signaling.Sentence{Text: "Hello Ada.", SpeechID: speech})
	step(signaling.StvStartedTalking, signaling.Empty{})
	during()
	delta(converse.Segment{Type: converse.Think, IsFinal: true})
	step(signaling.AgentEndTurn, signaling.EndTurn{SpeechID: speech, TurnID: turn})
	step(signaling.StvFinishedTalking, signaling.FinishedTalking{AgentContent: "Hello Ada."})
}

func wantMarks(t *testing.T, got, want map[event.TurnMark]int64) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("marks %v, want %v", got, want)
	}
}

func TestATypedTurnIsTimed(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		r.say("I am Ada.")
		time.Sleep(500 * time.Millisecond)
		answer(s, "one", "t-1", "I am Ada.", func() {
			// The sound is measured, 30 ms after the message about it.
			at := time.Now().Add(-70 * time.Millisecond)
			r.Session.speechEvent(media.Event{Kind: media.FirstSound, At: at})
			r.Session.speechEvent(media.Event{Kind: media.FirstFrame, At: at.Add(20 * time.Millisecond), Estimated: true})
		})
		all := all[event.TurnTimings](r)
		if len(all) != 1 {
			t.Fatalf("timings %+v", all)
		}
		got := all[0]
		wantMarks(t, got.Marks, map[event.TurnMark]int64{
			"sent": 0, "transcript": 600, "firstSegment": 700, "firstText": 900, "firstSound": 1130, "firstFrame": 1150,
			"textEnd": 1300, "speechEnd": 1400,
		})
		expect.List(t, got.Estimated, []event.TurnMark{"firstFrame", "speechEnd"}, "estimated")
		if got.From != "typed" || got.Outcome != "answered" || got.TurnID != "t-1" || got.SpeechID != "one" || got.ClientTurnID == "" ||
			got.ThreadID != "5f0c" || got.MessageID != "m-9" || got.DurationMs != 1400 {
			t.Errorf("timings %+v", got)
		}
		if len(got.Tools) != 1 || got.Tools[0].Name != "look_up" || got.Tools[0].Called != 800 {
			t.Errorf("tools %+v", got.Tools)
		}
	})
}

// TestASpokenTurnBeginsWithTheEndOfTheSpeech: the session's own detector knows it, or else
// the first message of the service is the estimate.
func TestASpokenTurnBeginsWithTheEndOfTheSpeech(t *testing.T) {
	for by, want := range map[string]map[event.TurnMark]int64{
		"detector": {
			"userSpeechEnd": 0, "transcript": 400, "firstSegment": 500, "firstText": 700, "firstSound": 900, "textEnd": 1100, "speechEnd": 1200,
		},
		"service": {
			"userSpeechEnd": 0, "transcript": 100, "firstSegment": 200, "firstText": 400, "firstSound": 600, "textEnd": 800, "speechEnd": 900,
		},
	} {
		connected(t, func(r *rig, s *fakeservice.Socket) {
			s.Say(signaling.UserStartedTalking, signaling.Empty{})
			synctest.Wait()
			if by == "detector" {
				r.Session.micEvent(media.Event{Kind: media.Level, Level: 1, At: time.Now()})
				time.Sleep(300 * time.Millisecond)
				r.Session.micEvent(media.Event{Kind: media.Level, Level: 1}) // it falls slowly
			}
			answer(s, "one", "t-1", "I am Ada.", func() {})
			got := all[event.TurnTimings](r)
			if len(got) != 1 || got[0].From != "spoken" || got[0].SpeechEndBy != by {
				t.Fatalf("%s: %+v", by, got)
			}
			wantMarks(t, got[0].Marks, want)
		})
	}
}

func TestATurnThatIsInterruptedIsTimedOnce(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		answer(s, "one", "t-1", "Tell me a story.", func() { s.Say(signaling.AgentInterrupted, signaling.Empty{}) })
		got := all[event.TurnTimings](r)
		if len(got) != 1 || got[0].Outcome != "interrupted" || got[0].Marks[event.MarkInterrupted] != 700 {
			t.Errorf("timings %+v", got)
		}
	})
}
