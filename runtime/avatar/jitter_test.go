package avatar

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

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
			if wait := again.Sub(failed); wait != want {
				t.Errorf("a session with %v waits %v, want %v", random, wait, want)
			}
		})
	}
}

// TestQuestionsForAnAvatarAreSpread: the capacity requests of a connect, after a reply that no
// avatar is free.
func TestQuestionsForAnAvatarAreSpread(t *testing.T) {
	for random, want := range map[float64]time.Duration{0: 25500 * time.Millisecond, 0.75: 32250 * time.Millisecond} {
		run(t, Options{Limits: signaling.Limits{Overall: time.Minute}}, func(r *rig) {
			r.random = func() float64 { return random }
			var asked []time.Time
			delete(r.service.Answer, signaling.StvNewSession) // the connect waits
			r.service.Answer[signaling.CheckAvailability] = func(s *fakeservice.Socket, _ fakeservice.Event) {
				asked = append(asked, time.Now())
				s.Say(signaling.AvailabilityResult, signaling.Availability{})
			}
			go func() { _ = r.Connect(context.Background()) }()
			time.Sleep(40 * second)
			synctest.Wait()
			if len(asked) != 2 || asked[1].Sub(asked[0]) != want {
				t.Errorf("a session with %v asks at %v, want a wait of %v", random, asked, want)
			}
		})
	}
}
