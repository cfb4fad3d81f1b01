package live

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// push gives the session a line that is in its thread.
func (f *fixture) push(thread, text string) bool {
	f.t.Helper()
	ok := f.hub.Push(context.Background(), thread, "m9", text)
	return ok
}

// TestPush: a line that a server pushes is said like an answer, without a user's line.
func TestPush(t *testing.T) {
	openSession(t, talkative(), Timing{}, func(f *fixture) {
		if !f.push("thread1", "Your table is ready.") || f.push("another", "Not here.") {
			t.Error("want delivered to the thread of the session, and to no other")
		}
		f.wait(5 * time.Second)
		got := f.expect(
			signaling.AgentStartSpeech, signaling.AgentRawText, signaling.AgentRawText, signaling.GeneratingSpeech,
			signaling.StvSpeechChunk, signaling.StvStartedTalking, signaling.AgentRawText, signaling.AgentEndTurn, signaling.StvFinishedGenerating,
			signaling.StvSpeechChunk, signaling.StvSpeechChunk, signaling.StvSpeechChunk, signaling.StvFinishedTalking,
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
		expect.Equal(t, got[len(got)-1].field("agentContent"), "Your table is ready.", "said")
		expect.Len(t, f.brain.questions(), 0, "the brain was asked")
	})
}

// TestPushWaitsForSilence: a push does not cut what is being said, a user's turn cuts a
// push, and lines wait for the opening, for one another, and for the end of a pause.
func TestPushWaitsForSilence(t *testing.T) {
	runSession(t, talkative(), Timing{}, func(f *fixture) {
		said := func() (lines []string) {
			t.Helper()
			f.wait(8 * time.Second)
			for _, e := range f.conn.take() {
				if e.name == signaling.StvFinishedTalking {
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
		if f.push("thread1", "Before the join.") {
			t.Error("delivered before the join")
		}
		f.ready()
		f.push("thread1", "One.")
		f.push("thread1", "Two.")
		want("before the approval")
		f.send(signaling.ApprovedPermissions, signaling.Approval{Room: "room1"})
		want("after it", "Hello there.", "One.", "Two.")

		f.brain.answer = saying(time.Millisecond, "Fine.")
		f.say("How are you?")
		f.push("thread1", "Three.")
		want("during an answer", "Fine.", "Three.")

		f.push("thread1", "Four is a long line of words.")
		f.wait(800 * time.Millisecond)
		f.push("thread1", "Five.")
		f.say("Stop")
		want("cut by a turn", "Four is", "Fine.", "Five.")

		f.send(signaling.PauseConversation, signaling.Empty{})
		f.push("thread1", "Six.")
		want("while paused")
		f.send(signaling.ResumeConversation, signaling.Empty{})
		want("after the pause", "Six.")

		f.push("thread1", "Seven is a long line of words.")
		f.wait(800 * time.Millisecond)
		f.push("thread1", "Eight.")
		f.send(signaling.TextEntered, signaling.BargeIn())
		want("cut without a turn", "Seven is", "Eight.")

		f.send(signaling.ASRInit, signaling.ASRInitRequest{})
		f.media.mic.speaking.Store(true)
		f.push("thread1", "Nine.")
		want("while the user speaks")
		f.media.mic.speaking.Store(false)
		want("when they have said nothing", "Nine.")
	})
}

// otherConn is a second socket.
type otherConn struct{ *fakeConn }

func (otherConn) ID() string { return "socket2" }

// TestAPushDoesNotWaitForASocketThatWaits for its turn to connect.
func TestAPushDoesNotWaitForASocketThatWaits(t *testing.T) {
	openSession(t, talkative(), Timing{}, func(f *fixture) {
		f.hub.cfg.Work = &quota.Pace{Limit: quota.Limit{Address: 1}} // a socket is the work of ten seconds
		ctx, cancel := context.WithCancel(f.t.Context())
		var served sync.WaitGroup
		served.Go(func() { f.hub.Serve(ctx, otherConn{&fakeConn{events: make(chan socketio.Event)}}) })
		synctest.Wait()
		began := time.Now()
		if !f.push("thread1", "Your table is ready.") || time.Since(began) > 0 {
			t.Errorf("a push took %v", time.Since(began))
		}
		cancel()
		served.Wait()
	})
}

func TestPushesAreBounded(t *testing.T) {
	runSession(t, talkative(), Timing{}, func(f *fixture) {
		f.ready()
		for i := range maxPushed + 1 {
			if got, want := f.push("thread1", "Line."), i < maxPushed; got != want {
				t.Fatalf("push %d: delivered %t, want %t", i, got, want)
			}
		}
		if !f.hub.Attached(context.Background(), "thread1") || f.hub.Attached(context.Background(), "another") {
			t.Error("want the thread of the session attached, and no other")
		}
	})
}
