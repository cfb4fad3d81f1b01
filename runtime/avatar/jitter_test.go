package avatar

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// checkWaits checks that the waits of twenty sessions differ and are within part of mean, and
// that the wait of one session is always the same.
func checkWaits(t *testing.T, mean time.Duration, part float64, wait func(stickyID string) time.Duration) {
	t.Helper()
	waits := map[time.Duration]bool{}
	for i := range 20 {
		got := wait(fmt.Sprintf("client%010d", i))
		if off := got - mean; off.Abs() > time.Duration(float64(mean)*part) {
			t.Errorf("session %d waits %v, want %v ± %v of it", i, got, mean, part)
		}
		waits[got] = true
	}
	if len(waits) != 20 {
		t.Errorf("20 sessions have %d waits", len(waits))
	}
	if one, two := wait("client0000000003"), wait("client0000000003"); one != two {
		t.Errorf("one session waits %v and %v", one, two)
	}
}

// TestRebuildsAreSpread: sessions whose rebuilds failed together don't begin the next together.
func TestRebuildsAreSpread(t *testing.T) {
	checkWaits(t, 500*time.Millisecond, 0.5, func(stickyID string) (wait time.Duration) {
		connectedWith(t, Options{StickyID: stickyID}, func(r *rig, s *fakeservice.Socket) {
			join := r.service.Answer[signaling.Join]
			var failed time.Time
			r.service.Answer[signaling.Join] = func(s *fakeservice.Socket, _ fakeservice.Event) {
				failed = time.Now()
				r.service.Answer[signaling.Join] = func(s *fakeservice.Socket, e fakeservice.Event) {
					wait = time.Since(failed)
					join(s, e)
				}
				s.Push(socketio.Event{Kind: socketio.ReconnectFailed})
			}
			s.Drop(socketio.TransportClose)
			s.Back(false)
			time.Sleep(5 * second)
		})
		return wait
	})
}

// TestQuestionsForAnAvatarAreSpread: the capacity requests of a connect, after a reply that no
// avatar is free.
func TestQuestionsForAnAvatarAreSpread(t *testing.T) {
	checkWaits(t, 30*second, capacityJitter, func(stickyID string) (wait time.Duration) {
		run(t, Options{StickyID: stickyID, Limits: signaling.Limits{Overall: time.Minute}}, func(r *rig) {
			var asked []time.Time
			delete(r.service.Answer, signaling.StvNewSession) // the connect waits
			r.service.Answer[signaling.CheckAvailability] = func(s *fakeservice.Socket, _ fakeservice.Event) {
				asked = append(asked, time.Now())
				s.Say(signaling.AvailabilityResult, signaling.Availability{})
			}
			go func() { _ = r.Connect(context.Background()) }()
			time.Sleep(40 * second)
			synctest.Wait()
			if len(asked) == 2 {
				wait = asked[1].Sub(asked[0])
			}
		})
		return wait
	})
}

// TestSocketsDrawFromTheStickyID: every socket of a session uses the session's random numbers.
func TestSocketsDrawFromTheStickyID(t *testing.T) {
	run(t, Options{StickyID: "client0000000001"}, func(r *rig) {
		r.mustConnect()
		if got, want := r.service.Socket(0).Options().Random(), session.NewJitter("client0000000001", "socket").Next(); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}
