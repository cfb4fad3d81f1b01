package live

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/dialogue"
	"github.com/agentruntime/agentruntime/runtime/control"
	"github.com/agentruntime/agentruntime/runtime/converse"
)

func TestOpeningTurn(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		st.ready()
		st.conn.take()
		st.send(control.ApprovedPermissions, control.Approval{})
		st.say("too early")
		st.wait(5 * time.Second)
		got := st.expect(control.GeneratingSpeech, control.StvSpeechChunk, control.StvStartedTalking,
			control.StvSpeechChunk, control.StvFinishedTalking)
		id, _ := got[0].field("speechId").(string)
		if !strings.HasSuffix(id, control.SuffixOpening) {
			t.Errorf("speechId %q", id)
		}
		if got[0].field("text") != "Hello there." || got[4].field("agentContent") != "Hello there." {
			t.Errorf("got %v", got)
		}
		if got[1].field("text") != "Hello" || got[1].field("durationMs") != 100.0 {
			t.Errorf("chunk %s", got[1].payload)
		}
		// The sound begins 400 ms after its caption, and lasts 200 ms.
		if d := got[4].at.Sub(got[1].at); d != 600*time.Millisecond {
			t.Errorf("from caption to the end %v", d)
		}
		if q := st.brain.questions(); len(q) != 0 {
			t.Errorf("input during the opening was answered: %q", q)
		}
	})
}

func TestSilentOpening(t *testing.T) {
	profile := talkative()
	profile.OpeningPhrase = " <blank> "
	play(t, profile, Timing{}, func(st *stage) {
		st.ready()
		st.conn.take()
		st.send(control.ApprovedPermissions, control.Approval{})
		st.wait(time.Second)
		got := st.expect(control.GeneratingSpeech, control.StvSpeechChunk, control.StvStartedTalking, control.StvFinishedTalking)
		if got[0].field("text") != "<blank>" || got[3].field("agentContent") != "" {
			t.Errorf("got %v", got)
		}
		if got[1].field("text") != "" || got[1].field("durationMs") != 1.0 {
			t.Errorf("chunk %s, want the sentinel", got[1].payload)
		}
		if d := got[3].at.Sub(got[0].at); d != 500*time.Millisecond {
			t.Errorf("took %v", d)
		}
		if st.media.downlink.samples != 0 {
			t.Error("something was heard")
		}
	})
}

// TestTypedTurn holds the order of wire-protocol §7.5, for a brain that is done
// before the voice has made its first sound.
func TestTypedTurn(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		st.brain.answer = saying(time.Millisecond, "Two things ", "changed. Both are ", "good.")
		st.open()
		st.say("What is new today?")
		st.wait(5 * time.Second)
		got := st.expect(
			control.AgentStartSpeech, control.AgentTurnToTalk,
			control.AgentRawText,                       // think
			control.AgentRawText, control.AgentRawText, // the first sentence is complete
			control.GeneratingSpeech,
			control.AgentRawText, control.AgentRawText, // the second
			control.StvSpeechChunk, control.StvStartedTalking,
			control.GeneratingSpeech,
			control.AgentRawText, control.AgentRawText, // share and the final think waited for the sound
			control.AgentEndTurn,
			control.StvSpeechChunk, // 100 ms later
			control.StvFinishedGenerating,
			control.StvSpeechChunk, control.StvSpeechChunk, control.StvSpeechChunk, control.StvSpeechChunk,
			control.StvFinishedTalking,
		)
		start, turn := got[0], got[1]
		id, _ := start.field("speechId").(string)
		if !strings.HasSuffix(id, "-transcript-What is new") || start.field("isNewTurn") != true {
			t.Errorf("start %s", start.payload)
		}
		if turn.payload != `{"userTranscription":"What is new today?"}` {
			t.Errorf("turn %s", turn.payload)
		}
		for _, e := range got[2:] {
			if other, ok := e.field("speechId").(string); ok && other != id {
				t.Errorf("%s carries %q, want %q", e.name, other, id)
			}
		}
		if last := got[len(got)-1]; last.payload != `{"agentContent":"Two things changed. Both are good."}` {
			t.Errorf("end %s", last.payload)
		}
		if st.media.downlink.silence != 800*time.Millisecond { // the opening's lead, and this turn's
			t.Errorf("silence of %v between the sentences", st.media.downlink.silence)
		}
	})
}

func TestTurnWithoutWordsIsOver(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		st.open()
		st.say("Hello")
		st.expect(control.AgentStartSpeech, control.AgentTurnToTalk, control.AgentEndTurn)
		if st.s.active != nil {
			t.Error("the turn goes on")
		}
	})
}

func TestVoiceThatFailsEndsTheTurn(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		st.open()
		st.voice.err = errors.New("no sound")
		st.brain.answer = saying(0, "Fine.")
		st.say("Hello")
		st.wait(time.Second)
		got := st.expect(control.AgentStartSpeech, control.AgentTurnToTalk,
			control.AgentRawText, control.AgentRawText, control.AgentRawText, control.GeneratingSpeech,
			control.AgentRawText, control.AgentRawText, control.AgentEndTurn, control.StvFinishedGenerating,
			control.StvFinishedTalking)
		if last := got[len(got)-1]; last.payload != `{"agentContent":""}` {
			t.Errorf("said to have been spoken: %s", last.payload)
		}
	})
}

// counting is a scene in which "One two" and half of "three" of an answer were
// heard.
func counting(st *stage) (first sent) {
	st.brain.answer = saying(0, "One two three four five.")
	st.open()
	st.say("Count")
	st.wait(150*time.Millisecond + captionLead + 250*time.Millisecond)
	st.brain.answer = nil
	return st.conn.take()[0]
}

func TestBargeInByMarker(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		first := counting(st)
		st.say("Stop")
		got := st.expect(control.AgentInterrupted, control.StvFinishedTalking,
			control.AgentStartSpeech, control.AgentTurnToTalk, control.AgentEndTurn)
		if got[1].payload != `{"agentContent":"One two"}` {
			t.Errorf("spoken %s", got[1].payload)
		}
		if got[2].field("isNewTurn") != true || got[2].field("turnId") == first.field("turnId") {
			t.Errorf("first %s, then %s", first.payload, got[2].payload)
		}
		if st.media.downlink.stops != 1 {
			t.Errorf("the playout was stopped %d times", st.media.downlink.stops)
		}
		st.wait(5 * time.Second)
		st.expect() // nothing of the old utterance comes late
		if want := []string{"One two"}; !slices.Equal(st.brain.kept, want) {
			t.Errorf("the thread keeps %q, want %q", st.brain.kept, want)
		}
	})
}

// TestBargeInEndsATurnThatWasNotAnswered holds choice B12: the brain of the old
// turn is still at work when the user breaks in.
func TestBargeInEndsATurnThatWasNotAnswered(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		st.brain.answer = saying(time.Second, "One two three. ", "Four five six. ", "Seven.")
		st.open()
		st.say("Count")
		st.wait(1600 * time.Millisecond)
		old := st.conn.take()[0]
		st.send(control.TextEntered, control.BargeIn())
		got := st.expect(control.AgentInterrupted, control.StvFinishedTalking, control.AgentEndTurn)
		if got[2].field("speechId") != old.field("speechId") {
			t.Errorf("ended %s, want %v", got[2].payload, old.field("speechId"))
		}
		st.wait(5 * time.Second)
		st.expect()
	})
}

func TestBargeInByVoice(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		st.join()
		st.send(control.ASRInit, control.ASRInitRequest{})
		counting(st)
		st.media.handler.SpeechStarted()
		synctest.Wait()
		st.expect(control.UserStartedTalking, control.AgentInterrupted, control.StvFinishedTalking)
		st.media.handler.SpeechRecognized("wait a moment")
		synctest.Wait()
		got := st.expect(control.AgentStartSpeech, control.AgentTurnToTalk, control.AgentEndTurn)
		if got[1].field("userTranscription") != "wait a moment" {
			t.Errorf("turn %s", got[1].payload)
		}
	})
}

func TestMarkerWhileIdleDoesNothing(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		st.open()
		st.send(control.TextEntered, control.BargeIn())
		st.expect()
	})
}

func TestTextJoinsTheQuestionThatTheBrainIsThinkingAbout(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		st.brain.answer = saying(3*time.Second, "Fine.")
		st.open()
		st.say("How are you")
		st.wait(time.Second)
		st.say("today?")
		got := st.expect(control.AgentStartSpeech, control.AgentTurnToTalk, control.AgentRawText,
			control.AgentStartSpeech, control.AgentTurnToTalk, control.AgentRawText)
		if got[3].field("isNewTurn") != false || got[3].field("turnId") != got[0].field("turnId") ||
			got[3].field("speechId") == got[0].field("speechId") {
			t.Errorf("first %s, then %s", got[0].payload, got[3].payload)
		}
		if got[4].field("userTranscription") != "today?" {
			t.Errorf("turn %s", got[4].payload)
		}
		if q, want := st.brain.questions(), []string{"How are you", "How are you\ntoday?"}; !slices.Equal(q, want) {
			t.Errorf("asked %q, want %q", q, want)
		}
		if got := st.brain.asked[1].Replaces; got != "q1" {
			t.Errorf("in the thread it takes the place of %q, want the first question", got)
		}
		st.wait(5 * time.Second)
	})
}

func TestAgentThatCantBeInterruptedKeepsTheTextForLater(t *testing.T) {
	profile := talkative()
	profile.InterruptionsEnabled = false
	play(t, profile, Timing{}, func(st *stage) {
		st.brain.answer = saying(0, "One two three.")
		st.open()
		st.say("Count")
		st.wait(300 * time.Millisecond)
		st.say("And then?")
		st.say("Go on")
		if q := st.brain.questions(); len(q) != 1 {
			t.Fatalf("asked %q while the agent speaks", q)
		}
		st.wait(2 * time.Second)
		if q, want := st.brain.questions(), []string{"Count", "And then?\nGo on"}; !slices.Equal(q, want) {
			t.Errorf("asked %q, want %q", q, want)
		}
		for _, e := range st.conn.take() {
			if e.name == control.AgentInterrupted {
				t.Error("interrupted")
			}
		}
		st.wait(5 * time.Second)
	})
}

func TestContextIsReplacedFromTheNextTurnOn(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		st.open()
		st.send(control.UpdateGenieContext, control.GenieContext{RequestVars: map[string]any{"a": 1.0, "b": "x"}, ContextID: "991"})
		st.say("one")
		st.send(control.UpdateGenieContext, control.GenieContext{RequestVars: map[string]any{"b": "y"}})
		st.say("two")
		st.send(control.UpdateGenieContext, control.GenieContext{RequestVars: map[string]any{"secrets": "y"}})
		st.say("three")
		first, second, third := st.brain.asked[0].Context, st.brain.asked[1].Context, st.brain.asked[2].Context
		if first.Vars["a"] != 1.0 || first.ContextID != "991" {
			t.Errorf("first turn had %v", first)
		}
		if len(second.Vars) != 1 || second.Vars["b"] != "y" || second.ContextID != "" {
			t.Errorf("second turn had %v", second)
		}
		if third.Vars["b"] != "y" {
			t.Errorf("a context with a reserved name was taken: %v", third)
		}
	})
}

func TestToolCallGoesOutBeforeItsAnswer(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		st.brain.answer = func(ctx context.Context, _ dialogue.TurnRequest, say func(converse.Segment)) error {
			say(converse.Segment{Type: converse.Avatar, Content: "One moment", SegmentStart: true})
			say(converse.Segment{Type: converse.Tool, Content: `save_note {"note":"x"}`})
			select {
			case <-time.After(10 * time.Second):
			case <-ctx.Done():
				return ctx.Err()
			}
			say(converse.Segment{Type: converse.Avatar, Content: "Saved."})
			return nil
		}
		st.open()
		st.say("Save it")
		st.wait(5 * time.Second)
		got := st.expect(control.AgentStartSpeech, control.AgentTurnToTalk, control.AgentRawText, control.AgentRawText,
			control.GeneratingSpeech, control.StvSpeechChunk, control.StvStartedTalking, control.StvSpeechChunk)
		if got[4].field("text") != "One moment" {
			t.Errorf("the words before the tool were kept back: %s", got[4].payload)
		}
		st.wait(10 * time.Second)
		st.expect(control.AgentRawText, control.GeneratingSpeech, control.AgentEndTurn, control.StvSpeechChunk,
			control.StvFinishedGenerating, control.StvFinishedTalking)
	})
}
