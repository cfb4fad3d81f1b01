package live

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

func TestATypedTurnIsAcknowledgedOnceItIsStored(t *testing.T) {
	runSession(t, talkative(), Timing{}, func(f *fixture) {
		early := f.typeTurn("t-0", "too early")
		f.open()
		f.brain.answer = saying(time.Second, "Fine.")
		f.brain.full = true
		lost := f.typeTurn("t-1", "Hello")
		f.brain.full = false
		again := f.typeTurn("t-1", "Hello")
		other := f.receive(signaling.TextEntered, signaling.Text{Text: "no id", IsFinal: true})
		for turn, want := range map[*atomic.Int32]int32{early: 0, lost: 0, again: 1, other: 1} {
			expect.Equal(t, turn.Load(), want, "how often acknowledged")
		}
		want := []string{"Hello", "Hello", "Hello\nno id"} // the first was not stored
		expect.List(t, f.brain.questions(), want, "asked")
	})
}

// TestARepeatedTurnIsDroppedAndAcknowledged while the first is on its way to the
// store, when it is there, and when another socket has put it there.
func TestARepeatedTurnIsDroppedAndAcknowledged(t *testing.T) {
	openSession(t, talkative(), Timing{}, func(f *fixture) {
		f.brain.answer = saying(time.Second, "One.")
		earlier := make(chan struct{}) // an earlier turn is being stored
		f.s.post(func() { f.s.stored = earlier })
		first := f.typeTurn("t-1", "Hello")
		second := f.typeTurn("t-1", "Hello")
		if first.Load() != 0 || second.Load() != 0 {
			t.Errorf("acknowledged %d and %d times before it is stored", first.Load(), second.Load())
		}
		close(earlier)
		synctest.Wait()
		if got := f.brain.questions(); len(got) != 1 || first.Load() != 1 || second.Load() != 1 {
			t.Errorf("asked %q; acknowledged %d and %d times", got, first.Load(), second.Load())
		}
	})
	openSession(t, talkative(), Timing{}, func(f *fixture) {
		f.brain.turns = []string{"t-0"}
		f.brain.answer = saying(0, "One.", " Two.")
		earlier := f.typeTurn("t-0", "Before")
		first := f.typeTurn("t-1", "Hello")
		f.wait(1500 * time.Millisecond) // the agent talks
		again := f.typeTurn("t-1", "Hello")
		if earlier.Load() != 1 || first.Load() != 1 || again.Load() != 1 {
			t.Errorf("acknowledged %d, %d and %d times", earlier.Load(), first.Load(), again.Load())
		}
		f.wait(5 * time.Second)
		expect.List(t, f.brain.questions(), []string{"Hello"}, "asked")
		for _, e := range f.conn.take() {
			if e.name == signaling.AgentInterrupted {
				t.Error("the repetition interrupted the agent")
			}
		}
	})
}

// TestAMergedTurnSurvivesARepeatedOne: only the part that the session of an earlier
// socket has stored is dropped.
func TestAMergedTurnSurvivesARepeatedOne(t *testing.T) {
	openSession(t, talkative(), Timing{}, func(f *fixture) {
		f.brain.answer = saying(time.Second, "Fine.")
		earlier := make(chan struct{}) // the turns wait for the store
		f.s.post(func() { f.s.stored = earlier })
		first, second := f.typeTurn("t-1", "one"), f.typeTurn("t-2", "two")
		f.brain.late = []string{"t-1"}
		close(earlier)
		f.wait(5 * time.Second)
		if first.Load() != 1 || second.Load() != 1 {
			t.Errorf("acknowledged %d and %d times", first.Load(), second.Load())
		}
		expect.List(t, f.brain.questions(), []string{"one\ntwo", "two"}, "asked")
	})
}

func TestWhatWaitsForTheAgentIsAcknowledgedWhenItIsAsked(t *testing.T) {
	profile := talkative()
	profile.InterruptionsEnabled = false
	openSession(t, profile, Timing{}, func(f *fixture) {
		f.brain.answer = saying(0, "One two three.")
		f.typeTurn("t-1", "Count")
		f.wait(300 * time.Millisecond)
		next := f.typeTurn("t-2", "And then?")
		expect.Equal(t, next.Load(), 0, "acknowledged while it waits")
		for range 30 {
			if next.Load() == 0 {
				f.wait(100 * time.Millisecond)
			}
		}
		if next.Load() != 1 {
			t.Fatalf("acknowledged %d times", next.Load())
		}
		f.wait(300 * time.Millisecond) // the agent talks again
		paused := f.typeTurn("t-3", "Never mind")
		f.send(signaling.PauseConversation, signaling.Empty{})
		f.send(signaling.ResumeConversation, signaling.Empty{})
		expect.Equal(t, paused.Load(), 0, "a dropped text was acknowledged")
		if again := f.typeTurn("t-3", "Never mind"); again.Load() != 1 {
			t.Error("a dropped text was not taken again")
		}
	})
}

// TestTextsThatDoNotFitIntoOneTurnAreAskedOneAfterTheOther, in the order in which they were typed.
func TestTextsThatDoNotFitIntoOneTurnAreAskedOneAfterTheOther(t *testing.T) {
	long := func(word string) string { return strings.TrimSpace(strings.Repeat(word+" ", 2000)) }
	texts := []string{long("one"), long("two"), "three", "four"}
	for name, interruptible := range map[string]bool{"interruptible": true, "uninterruptible": false} {
		t.Run(name, func(t *testing.T) {
			profile := talkative()
			profile.InterruptionsEnabled = interruptible
			openSession(t, profile, Timing{}, func(f *fixture) {
				f.brain.answer = saying(time.Second, "Fine.")
				var turns []*atomic.Int32
				for i, text := range texts[:3] {
					turns = append(turns, f.typeTurn(fmt.Sprint("t-", i), text))
				}
				f.wait(1500 * time.Millisecond) // the agent says its first answer
				turns = append(turns, f.typeTurn("t-3", texts[3]))
				f.wait(time.Minute)
				want := []string{texts[0], texts[1], "three\nfour"}
				expect.List(t, f.brain.questions(), want, "asked")
				for i, n := range turns {
					expect.Equal(t, n.Load(), 1, "how often %.9q was acknowledged", texts[i])
				}
			})
		})
	}
}

func TestWhatWaitsIsAskedAfterAnInterruptionWithoutWords(t *testing.T) {
	openSession(t, talkative(), Timing{}, func(f *fixture) {
		f.brain.answer = saying(time.Second, "One two three four five six seven eight.")
		long := strings.Repeat("x", maxText)
		f.typeTurn("t-1", long)
		waits := f.typeTurn("t-2", "And then?")
		f.wait(1500 * time.Millisecond) // the agent talks
		f.send(signaling.TextEntered, signaling.BargeIn())
		f.wait(pushSilence)
		if got, want := f.brain.questions(), []string{long, "And then?"}; !slices.Equal(got, want) || waits.Load() != 1 {
			t.Errorf("asked %.12q, want %.12q; acknowledged %d times", got, want, waits.Load())
		}
	})
}

func TestATextThatIsTooLongIsRefused(t *testing.T) {
	openSession(t, talkative(), Timing{}, func(f *fixture) {
		f.brain.answer = saying(time.Second, "Fine.")
		fits, long := strings.Repeat("ä", maxText), strings.Repeat("ä", maxText+1)
		if n := f.typeTurn("t-1", long); n.Load() != 0 {
			t.Error("a text that is too long was acknowledged")
		}
		refused := false
		for _, e := range f.conn.take() {
			refused = refused || e.name == signaling.AgentRawText && strings.Contains(e.payload, errTooLong.Error())
		}
		if !refused {
			t.Error("the client does not get the reason")
		}
		if n := f.typeTurn("t-2", fits); n.Load() != 1 {
			t.Errorf("a text that just fits was acknowledged %d times", n.Load())
		}
		expect.List(t, f.brain.questions(), []string{fits}, "asked")
	})
}

func TestWhatWaitsIsBounded(t *testing.T) {
	openSession(t, talkative(), Timing{}, func(f *fixture) {
		f.brain.answer = saying(time.Second, "Fine.")
		for i := range maxWaiting + 1 {
			f.typeTurn(fmt.Sprint("t-", i), strings.Repeat("x", maxText))
		}
		dropped := f.typeTurn("t-dropped", "y")
		f.wait(5 * time.Minute)
		if got := len(f.brain.questions()); got != maxWaiting+1 || dropped.Load() != 0 {
			t.Errorf("asked %d questions, want %d; the last was acknowledged %d times", got, maxWaiting+1, dropped.Load())
		}
	})
}

func TestTurnsAreNotAcknowledgedWhenThatIsSwitchedOff(t *testing.T) {
	openSession(t, talkative(), Timing{}, func(f *fixture) {
		f.hub.SetAcknowledging(false)
		f.brain.answer = saying(0, "Fine.")
		for range 2 {
			if n := f.typeTurn("t-1", "Hello"); n.Load() != 0 {
				t.Error("acknowledged")
			}
			f.wait(5 * time.Second)
		}
		expect.Len(t, f.brain.questions(), 2, "asked")
	})
}
