package live

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/dialogue"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

func TestOpeningTurn(t *testing.T) {
	runSession(t, talkative(), Timing{}, func(f *fixture) {
		f.ready()
		f.conn.take()
		f.send(signaling.ApprovedPermissions, signaling.Approval{})
		f.say("too early")
		f.wait(5 * time.Second)
		got := f.expect(signaling.GeneratingSpeech, signaling.StvSpeechChunk, signaling.StvStartedTalking,
			signaling.StvSpeechChunk, signaling.StvFinishedTalking)
		id, _ := got[0].field("speechId").(string)
		if !strings.HasSuffix(id, signaling.SuffixOpening) {
			t.Errorf("speechId %q", id)
		}
		if got[0].field("text") != "Hello there." || got[4].field("agentContent") != "Hello there." {
			t.Errorf("got %v", got)
		}
		if got[1].field("text") != "Hello" || got[1].field("durationMs") != 100.0 {
			t.Errorf("chunk %s", got[1].payload)
		}
		// The sound begins 400 ms after its caption, and lasts 200 ms.
		expect.Equal(t, got[4].at.Sub(got[1].at), 600*time.Millisecond, "from caption to the end")
		expect.Len(t, f.brain.questions(), 0, "input during the opening was answered")
	})
}

func TestSilentOpening(t *testing.T) {
	profile := talkative()
	profile.Opening = " <blank> "
	runSession(t, profile, Timing{}, func(f *fixture) {
		f.ready()
		f.conn.take()
		f.send(signaling.ApprovedPermissions, signaling.Approval{})
		f.wait(time.Second)
		got := f.expect(signaling.GeneratingSpeech, signaling.StvSpeechChunk, signaling.StvStartedTalking, signaling.StvFinishedTalking)
		if got[0].field("text") != "<blank>" || got[3].field("agentContent") != "" {
			t.Errorf("got %v", got)
		}
		if got[1].field("text") != "" || got[1].field("durationMs") != 1.0 {
			t.Errorf("chunk %s, want the sentinel", got[1].payload)
		}
		expect.Equal(t, got[3].at.Sub(got[0].at), 500*time.Millisecond, "took")
		expect.Equal(t, f.media.downlink.samples, 0, "something was spoken")
	})
}

// TestTypedTurn checks the order of protocol §7.5, for a brain that is done
// before the voice has made its first sound.
func TestTypedTurn(t *testing.T) {
	runSession(t, talkative(), Timing{}, func(f *fixture) {
		f.brain.answer = saying(time.Millisecond, "Two things ", "changed. Both are ", "good.")
		f.open()
		f.say("What is new today?")
		f.wait(5 * time.Second)
		got := f.expect(
			signaling.AgentStartSpeech, signaling.AgentTurnToTalk,
			signaling.AgentRawText,                         // think
			signaling.AgentRawText, signaling.AgentRawText, // the first sentence is complete
			signaling.GeneratingSpeech,
			signaling.AgentRawText, signaling.AgentRawText, // the second
			signaling.StvSpeechChunk, signaling.StvStartedTalking,
			signaling.GeneratingSpeech,
			signaling.AgentRawText, signaling.AgentRawText, // share and the final think waited for the sound
			signaling.AgentEndTurn,
			signaling.StvSpeechChunk, // 100 ms later
			signaling.StvFinishedGenerating,
			signaling.StvSpeechChunk, signaling.StvSpeechChunk, signaling.StvSpeechChunk, signaling.StvSpeechChunk,
			signaling.StvFinishedTalking,
		)
		start, turn := got[0], got[1]
		id, _ := start.field("speechId").(string)
		if !strings.HasSuffix(id, "-transcript-What is new") || start.field("isNewTurn") != true {
			t.Errorf("start %s", start.payload)
		}
		expect.Equal(t, turn.payload, `{"userTranscription":"What is new today?"}`, "turn")
		if asked := f.brain.asked[0]; asked.ThreadID != "thread1" {
			t.Errorf("asked in the thread %q", asked.ThreadID)
		}
		for _, e := range got[2:] {
			if other, ok := e.field("speechId").(string); ok && other != id {
				t.Errorf("%s carries %q, want %q", e.name, other, id)
			}
		}
		if last := got[len(got)-1]; last.payload != `{"agentContent":"Two things changed. Both are good."}` {
			t.Errorf("end %s", last.payload)
		}
		if f.media.downlink.silence != 800*time.Millisecond { // the opening's lead, and this turn's
			t.Errorf("silence of %v between the sentences", f.media.downlink.silence)
		}
	})
}

// TestRefusedTurnIsReported by an error segment, as it is over HTTP.
func TestRefusedTurnIsReported(t *testing.T) {
	for _, refusal := range []error{dialogue.ErrBusy, quota.ErrBusy, dialogue.ErrNotStored, dialogue.ErrNoPermission} {
		openSession(t, talkative(), Timing{}, func(f *fixture) {
			f.brain.answer = func(context.Context, dialogue.TurnRequest, func(converse.Segment)) error { return refusal }
			f.say("Hello")
			f.wait(time.Second)
			got := f.expect(signaling.AgentStartSpeech, signaling.AgentTurnToTalk, signaling.AgentRawText, signaling.AgentEndTurn)
			if delta, _ := got[2].field("delta").(string); !strings.Contains(delta, `"type":"error"`) || !strings.Contains(delta, refusal.Error()) {
				t.Errorf("%v: %s", refusal, got[2].payload)
			}
		})
	}
}

func TestVoiceThatFailsEndsTheTurn(t *testing.T) {
	openSession(t, talkative(), Timing{}, func(f *fixture) {
		f.voice.err = errors.New("no sound")
		f.brain.answer = saying(0, "Fine.")
		f.say("Hello")
		f.wait(time.Second)
		got := f.expect(signaling.AgentStartSpeech, signaling.AgentTurnToTalk,
			signaling.AgentRawText, signaling.AgentRawText, signaling.AgentRawText, signaling.GeneratingSpeech,
			signaling.AgentRawText, signaling.AgentRawText, signaling.AgentEndTurn, signaling.StvFinishedGenerating,
			signaling.StvFinishedTalking)
		if last := got[len(got)-1]; last.payload != `{"agentContent":""}` {
			t.Errorf("said to have been spoken: %s", last.payload)
		}
	})
}

// counting is a test in which "One two" and half of "three" of an answer were
// played.
func counting(f *fixture) (first sent) {
	f.brain.answer = saying(0, "One two three four five.")
	f.open()
	f.say("Count")
	f.wait(150*time.Millisecond + captionLead + 250*time.Millisecond)
	f.brain.answer = nil
	return f.conn.take()[0]
}

func TestBargeInByMarker(t *testing.T) {
	runSession(t, talkative(), Timing{}, func(f *fixture) {
		first := counting(f)
		f.say("Stop")
		got := f.expect(signaling.AgentInterrupted, signaling.StvFinishedTalking,
			signaling.AgentStartSpeech, signaling.AgentTurnToTalk, signaling.AgentEndTurn)
		expect.Equal(t, got[1].payload, `{"agentContent":"One two"}`, "spoken")
		if got[2].field("isNewTurn") != true || got[2].field("turnId") == first.field("turnId") {
			t.Errorf("first %s, then %s", first.payload, got[2].payload)
		}
		expect.Equal(t, f.media.downlink.stops, 1, "how often the playout was stopped")
		f.wait(5 * time.Second)
		f.expect() // nothing of the old utterance comes late
		expect.List(t, f.brain.kept, []string{"One two"}, "the thread keeps")
	})
}

// TestBargeInEndsATurnThatWasNotAnswered checks choice B12: the brain of the old turn
// is still at work when the user interrupts.
func TestBargeInEndsATurnThatWasNotAnswered(t *testing.T) {
	runSession(t, talkative(), Timing{}, func(f *fixture) {
		f.brain.answer = saying(time.Second, "One two three. ", "Four five six. ", "Seven.")
		f.open()
		f.say("Count")
		f.wait(1600 * time.Millisecond)
		old := f.conn.take()[0]
		f.send(signaling.TextEntered, signaling.BargeIn())
		got := f.expect(signaling.AgentInterrupted, signaling.StvFinishedTalking, signaling.AgentEndTurn)
		expect.Equal(t, got[2].field("speechId"), old.field("speechId"), "ended %s", got[2].payload)
		f.wait(5 * time.Second)
		f.expect()
	})
}

func TestBargeInByVoice(t *testing.T) {
	runSession(t, talkative(), Timing{}, func(f *fixture) {
		f.join()
		f.send(signaling.ASRInit, signaling.ASRInitRequest{})
		counting(f)
		f.media.started()
		synctest.Wait()
		f.expect(signaling.UserStartedTalking, signaling.AgentInterrupted, signaling.StvFinishedTalking)
		f.media.ended("wait a moment", true)
		synctest.Wait()
		got := f.expect(signaling.AgentStartSpeech, signaling.AgentTurnToTalk, signaling.AgentEndTurn)
		expect.Equal(t, got[1].field("userTranscription"), "wait a moment", "turn %s", got[1].payload)
		f.media.ended("", false) // speech without words
		synctest.Wait()
		if last := f.brain.asked[len(f.brain.asked)-1]; last.Trigger != brain.TriggerUnheard || last.Text != "" {
			t.Errorf("asked %q by %q", last.Text, last.Trigger)
		}
	})
}

func TestTextJoinsTheQuestionThatTheBrainIsThinkingAbout(t *testing.T) {
	runSession(t, talkative(), Timing{}, func(f *fixture) {
		f.brain.answer = saying(3*time.Second, "Fine.")
		f.open()
		f.say("How are you")
		f.wait(time.Second)
		f.say("today?")
		got := f.expect(signaling.AgentStartSpeech, signaling.AgentTurnToTalk, signaling.AgentRawText,
			signaling.AgentStartSpeech, signaling.AgentTurnToTalk, signaling.AgentRawText)
		if got[3].field("isNewTurn") != false || got[3].field("turnId") != got[0].field("turnId") ||
			got[3].field("speechId") == got[0].field("speechId") {
			t.Errorf("first %s, then %s", got[0].payload, got[3].payload)
		}
		expect.Equal(t, got[4].field("userTranscription"), "today?", "turn %s", got[4].payload)
		expect.List(t, f.brain.questions(), []string{"How are you", "How are you\ntoday?"}, "asked")
		expect.Equal(t, f.brain.asked[1].Replaces, "q1", "in the thread it takes the place of")
		f.wait(5 * time.Second)
	})
}

func TestAgentThatCantBeInterruptedKeepsTheTextForLater(t *testing.T) {
	profile := talkative()
	profile.InterruptionsEnabled = false
	runSession(t, profile, Timing{}, func(f *fixture) {
		f.brain.answer = saying(0, "One two three.")
		f.open()
		f.send(signaling.ASRInit, signaling.ASRInitRequest{})
		f.say("Count")
		f.wait(300 * time.Millisecond)
		f.media.started()
		f.say("And then?")
		f.say("Go on")
		if q := f.brain.questions(); len(q) != 1 {
			t.Fatalf("asked %q while the agent speaks", q)
		}
		f.wait(2 * time.Second)
		expect.List(t, f.brain.questions(), []string{"Count", "And then?\nGo on"}, "asked")
		for _, e := range f.conn.take() {
			if e.name == signaling.AgentInterrupted || e.name == signaling.UserStartedTalking {
				t.Error(e.name)
			}
		}
		f.wait(5 * time.Second)
	})
}

func TestContextIsReplacedFromTheNextTurnOn(t *testing.T) {
	openSession(t, talkative(), Timing{}, func(f *fixture) {
		f.send(signaling.UpdateGenieContext, signaling.GenieContext{RequestVars: map[string]any{"a": 1.0, "b": "x"}, ContextID: "991"})
		f.say("one")
		f.send(signaling.UpdateGenieContext, signaling.GenieContext{RequestVars: map[string]any{"b": "y"}})
		f.say("two")
		f.send(signaling.UpdateGenieContext, signaling.GenieContext{RequestVars: map[string]any{"secrets": "y"}})
		f.say("three")
		first, second, third := f.brain.asked[0].Context, f.brain.asked[1].Context, f.brain.asked[2].Context
		if first.Vars["a"] != 1.0 || first.ContextID != "991" {
			t.Errorf("first turn had %v", first)
		}
		if len(second.Vars) != 1 || second.Vars["b"] != "y" || second.ContextID != "" {
			t.Errorf("second turn had %v", second)
		}
		expect.Equal(t, third.Vars["b"], "y", "a context with a reserved name was taken: %v", third)
	})
}

func TestToolCallGoesOutBeforeItsAnswer(t *testing.T) {
	runSession(t, talkative(), Timing{}, func(f *fixture) {
		f.brain.answer = func(ctx context.Context, _ dialogue.TurnRequest, say func(converse.Segment)) error {
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
		f.open()
		f.say("Save it")
		f.wait(5 * time.Second)
		got := f.expect(signaling.AgentStartSpeech, signaling.AgentTurnToTalk, signaling.AgentRawText, signaling.AgentRawText,
			signaling.GeneratingSpeech, signaling.StvSpeechChunk, signaling.StvStartedTalking, signaling.StvSpeechChunk)
		expect.Equal(t, got[4].field("text"), "One moment", "the words before the tool were kept back: %s", got[4].payload)
		f.wait(10 * time.Second)
		f.expect(signaling.AgentRawText, signaling.GeneratingSpeech, signaling.AgentEndTurn, signaling.StvSpeechChunk,
			signaling.StvFinishedGenerating, signaling.StvFinishedTalking)
	})
}
