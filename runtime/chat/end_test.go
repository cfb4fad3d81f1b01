package chat

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// TestPageExit: when the page's listener returns, every request was sent and the session
// has ended.
func TestPageExit(t *testing.T) {
	connected(t, Options{Options: session.Options{ThreadID: "5f0c"}}, func(r *rig) {
		answer := r.later(r.t.Context(), "Hello")
		x := r.asked(0).answer().say(text("Hi"))
		leave := r.page.listener.Hide(false)
		expect.List(t, r.brain.otherCalls(), []string{completed}, "when the listener returns")
		synctest.Wait() // the reply comes on a goroutine of its own, which must not run while the session ends: a page has one thread
		leave()
		if x.ctx.Err() == nil || r.Snapshot().State != Closed || r.page.watches != 0 {
			t.Errorf("when the listener returns: %v, %s, %d watches", x.ctx.Err(), r.Snapshot().State, r.page.watches)
		}
		expect.Error(t, answer.ended().err, fault.Aborted, "ended with")
		events := r.heard()[6:] // behind "final Hi"
		told := slices.Index(events, "sessionCompleted pagehide true")
		if told < 0 || !slices.Equal(slices.Delete(events, told, told+1), []string{"stateChange closed", "ended pagehide", "turnEnd"}) {
			t.Errorf("events %v", r.heard())
		}
	})
}

// TestAHiddenPageThatReads is not given up while its answer streams
// (protocol §8.8).
func TestAHiddenPageThatReads(t *testing.T) {
	connected(t, Options{Options: session.Options{ThreadID: "5f0c"}}, func(r *rig) {
		r.page.listener.Visible(false)
		time.Sleep(29 * time.Second)
		answer := r.later(r.t.Context(), "Hello")
		x := r.asked(0).answer()
		for range 5 {
			time.Sleep(29 * time.Second)
			x.say(text("."))
		}
		x.end()
		if got := answer.ended(); got.err != nil || len(all[event.SessionCompleted](r)) != 0 {
			t.Errorf("%v, %v", got.err, all[event.SessionCompleted](r))
		}
		time.Sleep(30 * time.Second)
		if got := all[event.SessionCompleted](r); len(got) != 1 || got[0].Reason != "hidden_grace" || r.Snapshot().State != Connected {
			t.Errorf("%+v in state %s", got, r.Snapshot().State)
		}
	})
}

// TestAReportBeforeAConnectHoldsNoTab: a session that is not connected is no conversation that
// other tabs wait for, and is none to report again.
func TestAReportBeforeAConnectHoldsNoTab(t *testing.T) {
	run(t, Options{Options: session.Options{ThreadID: "5f0c"}}, func(r *rig) {
		if got, err := r.CompleteThread(r.t.Context()); err != nil || !got.OK {
			t.Errorf("%+v, %v", got, err)
		}
		if r.page.watches != 0 || r.page.channels != 0 {
			t.Errorf("%d listeners and %d channels in the page", r.page.watches, r.page.channels)
		}
		r.mustConnect()
		if r.page.watches != 1 || r.page.channels != 1 {
			t.Errorf("when connected: %d listeners and %d channels", r.page.watches, r.page.channels)
		}
		r.Disconnect(session.DisconnectOptions{})
		synctest.Wait()
		expect.List(t, r.brain.otherCalls(), []string{completed}, "calls")
	})
}

// TestCloseWaitsUntilTheServiceWasTold, so that a program may exit after Close; without a
// reply, Close waits no longer than the limit.
func TestCloseWaitsUntilTheServiceWasTold(t *testing.T) {
	connected(t, Options{Options: session.Options{ThreadID: "5f0c"}}, func(r *rig) {
		r.brain.status = 0
		var wg sync.WaitGroup
		for range 4 { // of several goroutines all wait
			wg.Go(func() {
				r.Close()
				if got := r.Recorded(); len(got) != 3 || short(got[2]) != "sessionCompleted disconnect false" {
					t.Errorf("when Close returns: %d events", len(got))
				}
			})
		}
		wg.Wait()
	})
}

// TestCloseWaitsForTheReader, however long a request takes to let go.
func TestCloseWaitsForTheReader(t *testing.T) {
	connected(t, Options{}, func(r *rig) {
		r.later(r.t.Context(), "Hello")
		x := r.asked(0).answer().say(think)
		x.lingers = time.Second
		r.Close()
		if !x.isOver() {
			t.Error("a reader was left")
		}
	})
}
