package avatar

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// TestRebuildsAreSpread: sessions whose rebuilds failed together don't begin the next together.
func TestRebuildsAreSpread(t *testing.T) {
	for random, want := range map[float64]time.Duration{0: 250 * time.Millisecond, 0.75: 625 * time.Millisecond} {
		connected(t, func(r *rig, s *fakeservice.Socket) {
			r.random = func() float64 { return random }
			join := r.service.Answer[signaling.Join]
			var failed, again time.Time
			r.service.Answer[signaling.Join] = func(s *fakeservice.Socket, _ fakeservice.Event) {
				failed = time.Now()
				r.service.Answer[signaling.Join] = func(s *fakeservice.Socket, e fakeservice.Event) {
					again = time.Now()
					join(s, e)
				}
				s.Push(socketio.Event{Kind: socketio.ReconnectFailed})
			}
			s.Drop(socketio.TransportClose)
			s.Back(false)
			time.Sleep(5 * second)
			synctest.Wait()
			expect.Equal(t, again.Sub(failed), want, "a session with %v waits", random)
		})
	}
}

// TestCapacityIsAskedAgainDuringAConnect after replies that no avatar is free (protocol §2.6).
func TestCapacityIsAskedAgainDuringAConnect(t *testing.T) {
	for random, want := range map[float64][]time.Duration{
		0:    {0, 25500 * time.Millisecond, 63750 * time.Millisecond},
		0.75: {0, 32250 * time.Millisecond, 80625 * time.Millisecond},
	} {
		run(t, Options{Limits: signaling.Limits{Overall: 10 * time.Minute}}, func(r *rig) {
			r.random = func() float64 { return random }
			began := time.Now()
			var asked []time.Duration
			ready := r.service.Answer[signaling.StvNewSession]
			delete(r.service.Answer, signaling.StvNewSession)
			r.service.Answer[signaling.CheckAvailability] = func(s *fakeservice.Socket, e fakeservice.Event) {
				asked = append(asked, time.Since(began))
				free := len(asked) == 3 // the next question may come from another goroutine after Say
				s.Say(signaling.AvailabilityResult, signaling.Availability{Available: free})
				if free {
					ready(s, e)
				}
			}
			r.connectOnly()
			expect.List(t, asked, want, "a session with %v asked after", random)
		})
	}
}
