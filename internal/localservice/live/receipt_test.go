package live

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/runtime/control"
)

func TestATypedTurnIsAcknowledgedOnceItIsStored(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		early := st.typeTurn("t-0", "too early")
		st.open()
		st.brain.answer = saying(time.Second, "Fine.")
		st.brain.full = true
		lost := st.typeTurn("t-1", "Hello")
		st.brain.full = false
		again := st.typeTurn("t-1", "Hello")
		other := st.receive(control.TextEntered, control.Text{Text: "no id", IsFinal: true})
		for turn, want := range map[*atomic.Int32]int32{early: 0, lost: 0, again: 1, other: 1} {
			if turn.Load() != want {
				t.Errorf("acknowledged %d times, want %d", turn.Load(), want)
			}
		}
		want := []string{"Hello", "Hello", "Hello\nno id"} // the first was not stored
		if got := st.brain.questions(); !slices.Equal(got, want) {
			t.Errorf("asked %q, want %q", got, want)
		}
	})
}

// TestARepeatedTurnIsDroppedAndAcknowledged while the first is on its way to the
// store, when it is there, and when another socket has put it there.
func TestARepeatedTurnIsDroppedAndAcknowledged(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		st.open()
		st.brain.answer = saying(time.Second, "One.")
		earlier := make(chan struct{}) // an earlier turn is being stored
		st.s.post(func() { st.s.stored = earlier })
		first := st.typeTurn("t-1", "Hello")
		second := st.typeTurn("t-1", "Hello")
		if first.Load() != 0 || second.Load() != 0 {
			t.Errorf("acknowledged %d and %d times before it is stored", first.Load(), second.Load())
		}
		close(earlier)
		synctest.Wait()
		if got := st.brain.questions(); len(got) != 1 || first.Load() != 1 || second.Load() != 1 {
			t.Errorf("asked %q; acknowledged %d and %d times", got, first.Load(), second.Load())
		}
	})
	play(t, talkative(), Timing{}, func(st *stage) {
		st.open()
		st.brain.turns = []string{"t-0"}
		st.brain.answer = saying(0, "One.", " Two.")
		earlier := st.typeTurn("t-0", "Before")
		first := st.typeTurn("t-1", "Hello")
		st.wait(1500 * time.Millisecond) // the agent talks
		again := st.typeTurn("t-1", "Hello")
		if earlier.Load() != 1 || first.Load() != 1 || again.Load() != 1 {
			t.Errorf("acknowledged %d, %d and %d times", earlier.Load(), first.Load(), again.Load())
		}
		st.wait(5 * time.Second)
		if got, want := st.brain.questions(), []string{"Hello"}; !slices.Equal(got, want) {
			t.Errorf("asked %q, want %q", got, want)
		}
		for _, e := range st.conn.take() {
			if e.name == control.AgentInterrupted {
				t.Error("the repetition interrupted the agent")
			}
		}
	})
}

// TestAMergedTurnKeepsItsIDs, so that neither part is stored a second time.
func TestAMergedTurnKeepsItsIDs(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		st.open()
		st.brain.answer = saying(3*time.Second, "Fine.")
		parts := []*atomic.Int32{st.typeTurn("t-1", "How are you"), st.typeTurn("t-2", "today"), st.typeTurn("t-3", "Robin?")}
		synctest.Wait()
		last := st.brain.asked[len(st.brain.asked)-1]
		if want := []string{"t-1", "t-2", "t-3"}; !slices.Equal(last.ClientTurns, want) {
			t.Errorf("the question has the ids %q, want %q", last.ClientTurns, want)
		}
		for i, n := range parts {
			if n.Load() != 1 {
				t.Errorf("part %d was acknowledged %d times", i+1, n.Load())
			}
		}
	})
}

// TestAMergedTurnSurvivesARepeatedOne: only the part that the session of an earlier
// socket has stored is dropped.
func TestAMergedTurnSurvivesARepeatedOne(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		st.open()
		st.brain.answer = saying(time.Second, "Fine.")
		earlier := make(chan struct{}) // the turns wait for the store
		st.s.post(func() { st.s.stored = earlier })
		first, second := st.typeTurn("t-1", "one"), st.typeTurn("t-2", "two")
		st.brain.late = []string{"t-1"}
		close(earlier)
		st.wait(5 * time.Second)
		if first.Load() != 1 || second.Load() != 1 {
			t.Errorf("acknowledged %d and %d times", first.Load(), second.Load())
		}
		if got, want := st.brain.questions(), []string{"one\ntwo", "two"}; !slices.Equal(got, want) {
			t.Errorf("asked %q, want %q", got, want)
		}
	})
}

func TestWhatWaitsForTheAgentIsAcknowledgedWhenItIsAsked(t *testing.T) {
	profile := talkative()
	profile.InterruptionsEnabled = false
	play(t, profile, Timing{}, func(st *stage) {
		st.open()
		st.brain.answer = saying(0, "One two three.")
		st.typeTurn("t-1", "Count")
		st.wait(300 * time.Millisecond)
		next := st.typeTurn("t-2", "And then?")
		if next.Load() != 0 {
			t.Error("acknowledged while it waits")
		}
		for range 30 {
			if next.Load() == 0 {
				st.wait(100 * time.Millisecond)
			}
		}
		if next.Load() != 1 {
			t.Fatalf("acknowledged %d times", next.Load())
		}
		st.wait(300 * time.Millisecond) // the agent talks again
		paused := st.typeTurn("t-3", "Never mind")
		st.send(control.PauseConversation, control.Empty{})
		st.send(control.ResumeConversation, control.Empty{})
		if paused.Load() != 0 {
			t.Error("a dropped text was acknowledged")
		}
		if again := st.typeTurn("t-3", "Never mind"); again.Load() != 1 {
			t.Error("a dropped text was not taken again")
		}
	})
}

func TestTurnsAreNotAcknowledgedWhenThatIsSwitchedOff(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		st.open()
		st.hub.SetAcknowledging(false)
		st.brain.answer = saying(0, "Fine.")
		for range 2 {
			if n := st.typeTurn("t-1", "Hello"); n.Load() != 0 {
				t.Error("acknowledged")
			}
			st.wait(5 * time.Second)
		}
		if got := st.brain.questions(); len(got) != 2 {
			t.Errorf("asked %q, want both", got)
		}
	})
}
