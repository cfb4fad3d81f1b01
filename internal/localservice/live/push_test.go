package live

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/runtime/control"
)

// push gives the session a line that is in its thread.
func (st *stage) push(thread, text string) bool {
	st.t.Helper()
	ok := st.hub.Push(context.Background(), thread, "m9", text)
	return ok
}

// TestPush: a line that a server pushes is said like an answer, without a user's line.
func TestPush(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		st.open()
		if !st.push("thread1", "Your table is ready.") || st.push("another", "Not here.") {
			t.Error("want delivered to the thread of the session, and to no other")
		}
		st.wait(5 * time.Second)
		got := st.expect(
			control.AgentStartSpeech, control.AgentRawText, control.AgentRawText, control.GeneratingSpeech,
			control.StvSpeechChunk, control.StvStartedTalking, control.AgentRawText, control.AgentEndTurn, control.StvFinishedGenerating,
			control.StvSpeechChunk, control.StvSpeechChunk, control.StvSpeechChunk, control.StvFinishedTalking,
		)
		if id := fmt.Sprint(got[0].field("speechId")); len(id) < 6 || id[4:] != "-begin-agent-conversation" || got[0].field("isNewTurn") != true {
			t.Errorf("begins with %s", got[0].payload)
		}
		if want := `{"role":"assistant","type":"think","content":"","segmentNumber":0,"et":0,"threadId":"thread1","messageId":"m9","segmentStart":true}`; got[1].field("delta") != want {
			t.Errorf("first segment %s, want %s", got[1].field("delta"), want)
		}
		if want := `{"role":"assistant","type":"avatar","content":"Your table is ready.","segmentNumber":1,"et":0,"segmentStart":true,"segmentEnd":true}`; got[2].field("delta") != want {
			t.Errorf("the line is %s, want %s", got[2].field("delta"), want)
		}
		if last := got[len(got)-1].field("agentContent"); last != "Your table is ready." {
			t.Errorf("said %q", last)
		}
		if q := st.brain.questions(); len(q) != 0 {
			t.Errorf("the brain was asked %q", q)
		}
	})
}

// TestPushWaitsForSilence: a push does not cut what is being said, a user's turn cuts a
// push, and lines wait for the opening, for one another, and for the end of a pause.
func TestPushWaitsForSilence(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		said := func() (lines []string) {
			t.Helper()
			st.wait(8 * time.Second)
			for _, e := range st.conn.take() {
				if e.name == control.StvFinishedTalking {
					lines = append(lines, fmt.Sprint(e.field("agentContent")))
				}
			}
			return lines
		}
		want := func(what string, want ...string) {
			t.Helper()
			if got := said(); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: said %q, want %q", what, got, want)
			}
		}
		if st.push("thread1", "Before the join.") {
			t.Error("delivered before the join")
		}
		st.ready()
		st.push("thread1", "One.")
		st.push("thread1", "Two.")
		want("before the approval")
		st.send(control.ApprovedPermissions, control.Approval{Room: "room1"})
		want("after it", "Hello there.", "One.", "Two.")

		st.brain.answer = saying(time.Millisecond, "Fine.")
		st.say("How are you?")
		st.push("thread1", "Three.")
		want("during an answer", "Fine.", "Three.")

		st.push("thread1", "Four is a long line of words.")
		st.wait(800 * time.Millisecond)
		st.push("thread1", "Five.")
		st.say("Stop")
		want("cut by a turn", "Four is", "Fine.", "Five.")

		st.send(control.PauseConversation, control.Empty{})
		st.push("thread1", "Six.")
		want("while paused")
		st.send(control.ResumeConversation, control.Empty{})
		want("after the pause", "Six.")

		st.push("thread1", "Seven is a long line of words.")
		st.wait(800 * time.Millisecond)
		st.push("thread1", "Eight.")
		st.send(control.TextEntered, control.BargeIn())
		want("cut without a turn", "Seven is", "Eight.")
	})
}

func TestPushesAreBounded(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		st.ready()
		for i := range maxPushed + 1 {
			if got, want := st.push("thread1", "Line."), i < maxPushed; got != want {
				t.Fatalf("push %d: delivered %t, want %t", i, got, want)
			}
		}
		if !st.hub.Attached(context.Background(), "thread1") || st.hub.Attached(context.Background(), "another") {
			t.Error("want the thread of the session attached, and no other")
		}
	})
}
